package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tollbook/output/archive"
)

func testRace(t *testing.T, s Store) {
	etag := ""
	for round, o := range []PutOptions{{IfNone: true}, {}} {
		if o.IfMatch = etag; round == 0 {
			o.IfMatch = ""
		}
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				tag, err := s.Put(t.Context(), "race.json", strings.NewReader(fmt.Sprint(round, i)), o)
				switch {
				case err == nil:
					won.Add(1)
					etag = tag // the test fails unless one Put alone succeeds
				case !errors.Is(err, archive.ErrCondition):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d have won", round, won.Load())
		}
	}
}

func testReplace(t *testing.T, s Store) {
	letter := func(i int) string { return strings.Repeat(string(rune('a'+i%20)), 100_000+i%20) }
	mustPut(t, s, "replaced.txt", letter(0), PutOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, body, err := s.Get(t.Context(), "replaced.txt", GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				data, err := io.ReadAll(body)
				body.Close()
				if err != nil || len(data) == 0 || string(data) != letter(int(data[0]-'a')) {
					t.Errorf("a mixture of %d bytes, %v", len(data), err)
				}
			}
		})
	}
	for i := range 30 {
		mustPut(t, s, "replaced.txt", letter(i), PutOptions{NoSync: i%2 == 0})
	}
	close(stop)
	wg.Wait()
}

func testLarge(t *testing.T, s Store) {
	data := make([]byte, 2*partSize+12345)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(data)
	etag, err := s.Put(t.Context(), "snapshots/large.zip", bytes.NewReader(data), PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	obj, body, err := s.Get(t.Context(), "snapshots/large.zip", GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	h := sha256.New()
	if n, err := io.Copy(h, body); err != nil || n != int64(len(data)) ||
		archive.Sum(h.Sum(nil)) != sha256.Sum256(data) || obj.ETag != etag {
		t.Errorf("%d of %d bytes come back, ETag %s of %s, %v", n, len(data), obj.ETag, etag, err)
	}
	at := int64(partSize - 3)
	if _, got := mustGet(t, s, "snapshots/large.zip",
		GetOptions{Offset: at, Length: 7, IfMatch: etag}); got != string(data[at:at+7]) {
		t.Errorf("a range over parts: %x, want %x", got, data[at:at+7])
	}
}

// testAfter checks that a body that is sent in advance becomes visible when After is closed, and that a Put whose
// context ends before leaves nothing.
func testAfter(t *testing.T, s Store) {
	data := make([]byte, 2*partSize+12345)
	rand.NewChaCha8([32]byte{2}).Read(data)
	for _, may := range []bool{false, true} {
		name := fmt.Sprintf("snapshots/waits-%v.zip", may)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		after := make(chan struct{})
		_, err := s.Put(ctx, name, &endedBody{Body: bytes.NewReader(data), ended: func() {
			if _, err := s.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is visible before After is closed: %v", name, err)
			}
			if may {
				close(after)
			} else {
				cancel()
			}
		}}, PutOptions{After: after, ReadBack: true})
		if may {
			if _, got := mustGet(t, s, name, GetOptions{}); err != nil || got != string(data) {
				t.Errorf("%s: other bytes, %v", name, err)
			}
			continue
		}
		if _, statErr := s.Stat(t.Context(), name); !errors.Is(err, context.Canceled) ||
			!errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("%s: %v; then %v", name, err, statErr)
		}
	}
}

// endedBody reports when its last byte is read.
type endedBody struct {
	Body
	once  sync.Once
	ended func()
}

func (b *endedBody) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.Body.ReadAt(p, off)
	if off+int64(n) == b.Size() {
		b.once.Do(b.ended)
	}
	return n, err
}
