package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"

	"tollbook/output/archive"
)

// deflated is the report of the peer's process.
type deflated struct {
	Seconds  float64 `json:"seconds"`  // of all files
	Distinct float64 `json:"distinct"` // of distinct contents
	Bytes    int64   `json:"bytes"`    // before compression
}

// atOnce is the number of bytes that are read before they are compressed.
const atOnce = 64 << 20

// zips returns the zips of a published folder: its snapshot and packs.
func zips(dir string) ([]string, error) {
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.zip"))
	if err != nil {
		return nil, err
	}
	packs, err := filepath.Glob(filepath.Join(dir, "packs", "*.zip"))
	return append(snapshots, packs...), err
}

// deflateOnce is the process of the peer. All cores compress every file in a folder's zips as output does: by the same
// library and level, with a reused compressor and buffer for each. Reading is not timed.
func deflateOnce(_ context.Context, dir string) error {
	list, err := zips(dir)
	if err != nil {
		return err
	}
	var report deflated
	seen := map[[sha256.Size]byte]bool{}
	for _, name := range list {
		if err := report.add(name, seen); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func (d *deflated) add(name string, seen map[[sha256.Size]byte]bool) error {
	z, err := archive.OpenZipFile(name)
	if err != nil {
		return err
	}
	defer z.Close()
	for names := z.Names(); len(names) > 0; {
		var fresh, again [][]byte
		for size := 0; len(names) > 0 && size < atOnce; names = names[1:] {
			data, err := z.ReadFile(names[0])
			if err != nil {
				return err
			}
			size += len(data)
			d.Bytes += int64(len(data))
			if sum := sha256.Sum256(data); seen[sum] {
				again = append(again, data)
			} else {
				seen[sum] = true
				fresh = append(fresh, data)
			}
		}
		first, err := deflateAll(fresh)
		if err != nil {
			return err
		}
		second, err := deflateAll(again)
		if err != nil {
			return err
		}
		d.Distinct += first.Seconds()
		d.Seconds += (first + second).Seconds()
	}
	return nil
}

func deflateAll(files [][]byte) (time.Duration, error) {
	var next atomic.Int64
	var g errgroup.Group
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			var b bytes.Buffer
			w, err := flate.NewWriter(&b, archive.DeflateLevel)
			if err != nil {
				return err
			}
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				b.Reset()
				w.Reset(&b)
				if _, err := w.Write(files[i]); err != nil {
					return err
				}
				if err := w.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(began), err
}
