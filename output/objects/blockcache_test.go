package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tollbook/output/archive"
)

// TestBlockCache checks that concurrent reads through the cache return the bytes of the object. No block is requested
// twice at a time, and the cache stays within its limit.
func TestBlockCache(t *testing.T) {
	t.Parallel()
	store := openStore(t, tempDir(t), nil)
	data := make([]byte, 200*blockSize+777)
	rand.NewChaCha8([32]byte{2}).Read(data)
	if _, err := store.Put(t.Context(), "a.zip", bytes.NewReader(data), PutOptions{}); err != nil {
		t.Fatal(err)
	}
	obj, err := store.Stat(t.Context(), "a.zip")
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	hooked := &countedStore{store, &requests}

	b := NewBlockCache(hooked, int64(len(data)*2))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got := make([]byte, len(data))
			if n, err := b.readAt(obj, got, 0); n != len(data) || err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	wg.Wait()
	if n := requests.Load(); n != 4 { // 201 blocks, 64 a request
		t.Errorf("%d requests for 16 readers of all, want 4", n)
	}

	b = NewBlockCache(hooked, 0) // the minimum size
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(1, uint64(worker)))
		wg.Go(func() {
			for range 200 {
				off := rng.Int64N(int64(len(data)) + 10)
				p := make([]byte, rng.IntN(5*blockSize))
				n, err := b.readAt(obj, p, off)
				want := data[min(off, int64(len(data))):min(off+int64(len(p)), int64(len(data)))]
				if !bytes.Equal(p[:n], want) || (n < len(p)) != (err == io.EOF) && len(p) > 0 ||
					err != nil && err != io.EOF {
					t.Errorf("read %d at %d: %d, %v", len(p), off, n, err)
				}
			}
		})
	}
	wg.Wait()
	b.mu.Lock() // the last fetch may still remove blocks
	defer b.mu.Unlock()
	if b.order.Len() > b.limit || len(b.byKey) != b.order.Len() {
		t.Errorf("%d of %d blocks are cached, %d in all", b.order.Len(), b.limit, len(b.byKey))
	}

	// The object is replaced: blocks that are not cached are not read from the new one.
	mustPut(t, store, "a.zip", strings.Repeat("new", len(data)/3), PutOptions{})
	fresh := NewBlockCache(store, 0)
	if _, err := fresh.readAt(obj, make([]byte, 10), 0); !errors.Is(err, archive.ErrCondition) {
		t.Errorf("a replaced object: %v, want %v", err, archive.ErrCondition)
	}
	if len(fresh.byKey) > 0 {
		t.Errorf("an error is cached")
	}
}

// TestFetchRangeBroken checks that a range whose body breaks off is requested again, and that the error is returned in
// the end.
func TestFetchRangeBroken(t *testing.T) {
	t.Parallel()
	store := openStore(t, tempDir(t), nil)
	mustPut(t, store, "a.zip", strings.Repeat("x", 1000), PutOptions{})
	obj, err := store.Stat(t.Context(), "a.zip")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		broken int
		ok     bool
	}{{0, true}, {readTries - 1, true}, {readTries, false}} {
		left := test.broken
		data, err := fetchRange(&shortStore{store, &left}, obj, 100, 800)
		if (err == nil) != test.ok || test.ok && len(data) != 800 ||
			!test.ok && !errors.Is(err, archive.ErrUnreachable) {
			t.Errorf("%d broken: %d bytes, %v", test.broken, len(data), err)
		}
	}
}

// countedStore counts requests for objects.
type countedStore struct {
	Store
	requests *atomic.Int64
}

func (s *countedStore) Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error) {
	s.requests.Add(1)
	return s.Store.Get(ctx, name, o)
}

func (s *countedStore) Stat(ctx context.Context, name string) (Object, error) {
	s.requests.Add(1)
	return s.Store.Stat(ctx, name)
}

// shortStore cuts bodies short.
type shortStore struct {
	Store
	left *int
}

func (s *shortStore) Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error) {
	obj, body, err := s.Store.Get(ctx, name, o)
	if *s.left--; *s.left >= 0 && err == nil {
		body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(body, 5), body}
	}
	return obj, body, err
}

// TestRangeReaderZip64 reads a zip by ranges whose number of members needs ZIP64.
func TestRangeReaderZip64(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := archive.NewZipWriter(&b, archive.ZipOptions{})
	const members = 70_000
	for i := range members {
		if err := w.Add(fmt.Sprintf("v1/%d/%d.json", i/1000, i), []byte(fmt.Sprintf("row %d", i))); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, tempDir(t), nil)
	if _, err := store.Put(t.Context(), "snapshots/x.zip", bytes.NewReader(b.Bytes()), PutOptions{}); err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	z, err := OpenZip(NewBlockCache(&countedStore{store, &requests}, 0), "snapshots/x.zip")
	if err != nil {
		t.Fatal(err)
	}
	if n := requests.Load(); z.Digest() != sum.Digest || len(z.Names()) != members+1 || n > int64(b.Len()/chunkSize)+3 {
		t.Errorf("digest %s, %d members, %d requests for %d bytes", z.Digest(), len(z.Names()), n, b.Len())
	}
	for _, i := range []int{0, 1, 65_535, 65_536, members - 1} {
		if got, err := z.ReadFile(fmt.Sprintf("v1/%d/%d.json", i/1000, i)); err != nil ||
			string(got) != fmt.Sprintf("row %d", i) {
			t.Errorf("member %d reads %q, %v", i, got, err)
		}
	}
}
