package serve

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"tollbook/output"
	"tollbook/site"
)

// sharedRows are the rows of all files that the cache has, each once: a service's row is the same in every list, in every
// order, and lists by one filter have it again.
type sharedRows struct {
	mu    sync.Mutex
	bySum map[output.Sum]*sharedRow
	bytes int
}

type sharedRow struct {
	bytes []byte
	sum   output.Sum
	users int // places in files of the cache

	search atomic.Pointer[site.SearchRow] // what search must know of it, nil until it asked
}

// sharing is a value of the cache that has shared rows.
type sharing interface{ shared() []*sharedRow }

// sharedRowBytes is what a row costs in memory beside its bytes.
const sharedRowBytes = 160

// share answers the rows that are alike, until release of the same.
func (s *sharedRows) share(rows [][]byte) []*sharedRow {
	sums := make([]output.Sum, len(rows))
	for i, row := range rows {
		sums[i] = sha256.Sum256(row)
	}
	shared := make([]*sharedRow, len(rows))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sum := range sums {
		row := s.bySum[sum]
		if row == nil {
			row = &sharedRow{bytes: bytes.Clone(rows[i]), sum: sum}
			s.bySum[sum] = row
			s.bytes += len(rows[i]) + sharedRowBytes
		}
		row.users++
		shared[i] = row
	}
	return shared
}

// read has rows that are shared ready for search.
func (s *sharedRows) read(rows []*sharedRow) error {
	ready := 0
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += searchRowBytes * ready
	}()
	for _, row := range rows {
		if row.search.Load() != nil {
			continue
		}
		of, err := site.ParseSearchRow(row.bytes)
		if err != nil {
			return err
		}
		if row.search.CompareAndSwap(nil, &of) {
			ready++
		}
	}
	return nil
}

// release says that a file has left the cache. Whoever reads it still can.
func (s *sharedRows) release(rows []*sharedRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		if row.users--; row.users == 0 {
			delete(s.bySum, row.sum)
			s.bytes -= len(row.bytes) + sharedRowBytes
			if row.search.Load() != nil {
				s.bytes -= searchRowBytes
			}
		}
	}
}

// size is what all of them take.
func (s *sharedRows) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
