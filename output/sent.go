package output

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// sent sums what is written to a zip: all of it for its seal, and piece by piece, so that it is read back on all cores.
type sent struct {
	hash.Hash          // of all
	size      int64    // of all
	pieces    []uint32 // sums of pieces, the last of which may have less than sentPiece bytes
}

const sentPiece = 256 << 10 // bytes

func newSent() *sent { return &sent{Hash: sha256.New()} }

// Write implements io.Writer.
func (s *sent) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		in := s.size % sentPiece
		if in == 0 {
			s.pieces = append(s.pieces, 0)
		}
		part := rest[:min(int64(len(rest)), sentPiece-in)]
		last := &s.pieces[len(s.pieces)-1]
		*last = crc32.Update(*last, crc32.IEEETable, part)
		s.size, rest = s.size+int64(len(part)), rest[len(part):]
	}
	return s.Hash.Write(p)
}

// readBack reads a zip that was written and sealed: its bytes must be those that were sent. What they decode to is what was
// added, for that is what was compressed, or compared where it was copied.
func (s *sent) readBack(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != s.size {
		return fmt.Errorf("read back %s: %w: it has %d bytes, %d were written", path, ErrDamaged, info.Size(), s.size)
	}
	var g errgroup.Group
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(s.pieces)) {
		g.Go(func() error {
			piece := make([]byte, min(sentPiece, s.size))
			for {
				n := next.Add(1) - 1
				if n >= int64(len(s.pieces)) {
					return nil
				}
				piece := piece[:min(sentPiece, s.size-n*sentPiece)]
				if err := readFullAt(f, piece, n*sentPiece); err != nil {
					return fmt.Errorf("read back %s: %w", path, err)
				}
				if crc32.ChecksumIEEE(piece) != s.pieces[n] {
					return fmt.Errorf("read back %s: %w: it does not hold what was written", path, ErrDamaged)
				}
			}
		})
	}
	return g.Wait()
}
