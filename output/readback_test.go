package output

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A zip that the disk kept otherwise than it was sent is not published: each of its bytes counts, those that no member's
// sum covers too.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"first", "middle", "last"} {
		d := openFolder(t, t.TempDir())
		first := mustPublish(t, d, t0, tree(1))
		d.disk.hook = func(op, path string, do func() error) error {
			err := do()
			if op == "sync" && strings.HasSuffix(path, "snapshot.zip") && err == nil {
				flipByte(t, path, where)
			}
			return err
		}
		if _, err := publish(d, t0.Add(time.Minute), tree(2)); !errors.Is(err, ErrDamaged) {
			t.Errorf("with its %s byte flipped it was published: %v", where, err)
		}
		d.disk.hook = nil
		if c, err := d.Checkpoint(); err != nil || c.Snapshot != first.Checkpoint.Snapshot {
			t.Errorf("%s byte: current is %s (%v), want the snapshot before", where, c.Snapshot, err)
		}
		if err := checkWhole(d.Root()); err != nil {
			t.Errorf("%s byte: %v", where, err)
		}
	}
}

func flipByte(t *testing.T, path, where string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[map[string]int{"first": 0, "middle": len(data) / 2, "last": len(data) - 1}[where]] ^= 0x10
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever was written in whichever portions is read back, and no byte, and no size, of it may differ.
func TestReadBackPieces(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, sentPiece - 1, sentPiece, sentPiece + 1, 3*sentPiece + 7} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 8)
		}
		s, path := newSent(), filepath.Join(t.TempDir(), "zip")
		for rest, n := data, 1; len(rest) > 0; n = 2*n + 1 {
			part := rest[:min(n, len(rest))]
			if _, err := s.Write(part); err != nil {
				t.Fatal(err)
			}
			rest = rest[len(part):]
		}
		if sum := sha256.Sum256(data); !bytes.Equal(sum[:], s.Sum(nil)) {
			t.Errorf("%d bytes: its sum is not theirs", size)
		}
		check := func(what string, kept []byte, want error) {
			if err := os.WriteFile(path, kept, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := s.readBack(path); !errors.Is(err, want) {
				t.Errorf("%d bytes, %s: %v, want %v", size, what, err, want)
			}
		}
		check("as they are", data, nil)
		check("one more", append(data, 0), ErrDamaged)
		for _, at := range []int{0, sentPiece - 1, sentPiece, 2 * sentPiece, size - 1} {
			if at < 0 || at >= size {
				continue
			}
			data[at] ^= 1
			check(fmt.Sprintf("byte %d another", at), data, ErrDamaged)
			data[at] ^= 1
		}
		if size > 0 {
			check("one less", data[:size-1], ErrDamaged)
		}
	}
}
