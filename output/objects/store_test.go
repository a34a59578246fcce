package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"tollbook/output/archive"
	"tollbook/output/outputtest"
)

// openStore opens the store at an address on a server; server is nil for a folder.
func openStore(t testing.TB, address string, server *outputtest.Server) Store {
	t.Helper()
	o := StoreOptions{Getenv: os.Getenv}
	if server != nil {
		o.Getenv = server.Getenv
	}
	s, err := OpenStore(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore checks the promises of Store for every kind of store.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about string
		open  func(t *testing.T) Store
	}{
		{"folder", func(t *testing.T) Store { return openStore(t, filepath.Join(tempDir(t), "some", "where"), nil) }},
		{"versitygw", func(t *testing.T) Store {
			server := outputtest.Versity(t)
			return openStore(t, server.Bucket(t), server)
		}},
		{"minio", func(t *testing.T) Store {
			server := outputtest.MinIO(t)
			return openStore(t, server.Bucket(t), server)
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			s := test.open(t)
			for _, promise := range []struct {
				about string
				test  func(*testing.T, Store)
			}{
				{"an object comes back", testPutGet},
				{"what is missing", testMissing},
				{"conditions", testConditions},
				{"one of many wins", testRace},
				{"a replaced object is the old or the new", testReplace},
				{"a large object", testLarge},
				{"an object that waits", testAfter},
				{"lists are complete and in order", testList},
				{"deleting", testDelete},
				{"sweeping", testSweep},
				{"names", testNames},
				{"told to stop", testStopped},
			} {
				t.Run(promise.about, func(t *testing.T) { promise.test(t, s) })
			}
		})
	}
}

func mustPut(t testing.TB, s Store, name, text string, o PutOptions) string {
	t.Helper()
	etag, err := s.Put(t.Context(), name, strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return etag
}

func mustGet(t testing.TB, s Store, name string, o GetOptions) (Object, string) {
	t.Helper()
	obj, body, err := s.Get(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return obj, string(data)
}

func testPutGet(t *testing.T, s Store) {
	packed := []byte("\x1f\x8b" + strings.Repeat("bytes that look packed", 100))
	want := Header{Type: "application/json; charset=utf-8", Encoding: "gzip", Cache: "public, max-age=5"}
	etag := mustPut(t, s, "v1/acme.json", string(packed), PutOptions{Header: want})
	obj, got := mustGet(t, s, "v1/acme.json", GetOptions{})
	if got != string(packed) || obj.Size != int64(len(packed)) || obj.ETag != etag || etag == "" ||
		obj.Name != "v1/acme.json" {
		t.Errorf("got %+v with %d bytes, put %d with ETag %s", obj, len(got), len(packed), etag)
	}
	stat, err := s.Stat(t.Context(), "v1/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.KeepsHeader() { // exactly: browsers cannot read "aws-chunked,gzip"
		if diff := cmp.Diff([]Header{want, want}, []Header{obj.Header, stat.Header}); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	}
	if stat.Size != obj.Size || stat.ETag != etag || stat.Modified.IsZero() {
		t.Errorf("stat %+v", stat)
	}
	for _, r := range []struct {
		from, length int64
		want         string
	}{
		{0, 1, string(packed[:1])}, {3, 4, string(packed[3:7])}, {5, 0, string(packed[5:])},
		{int64(len(packed)) - 1, 100, string(packed[len(packed)-1:])},
	} {
		obj, got := mustGet(t, s, "v1/acme.json", GetOptions{Offset: r.from, Length: r.length, IfMatch: etag})
		if got != r.want || obj.Size != int64(len(packed)) || obj.ETag != etag {
			t.Errorf("range %d+%d: %q of %+v, want %q", r.from, r.length, got, obj, r.want)
		}
	}
	if other := mustPut(t, s, "v1/acme.json", "other bytes", PutOptions{}); other == etag {
		t.Errorf("other bytes have the same ETag %s", etag)
	}
	mustPut(t, s, "v1/empty.json", "", PutOptions{})
	if obj, got := mustGet(t, s, "v1/empty.json", GetOptions{}); got != "" || obj.Size != 0 {
		t.Errorf("an empty object: %q, %+v", got, obj)
	}
}

func testMissing(t *testing.T, s Store) {
	for _, name := range []string{"none.json", "v1/none.json", "none/none.json"} {
		if _, _, err := s.Get(t.Context(), name, GetOptions{}); !errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("get: %v", err)
		}
		if _, err := s.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat: %v", err)
		}
		if err := s.Delete(t.Context(), []string{name}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if list, err := s.List(t.Context(), "none/"); err != nil || len(list) > 0 {
		t.Errorf("list: %v, %v", list, err)
	}
}

func testConditions(t *testing.T, s Store) {
	first := mustPut(t, s, "pointer.json", "one", PutOptions{IfNone: true})
	for about, err := range map[string]error{
		"none, over one": second(s.Put(t.Context(), "pointer.json", strings.NewReader("two"),
			PutOptions{IfNone: true})),
		"match of another": second(s.Put(t.Context(), "pointer.json", strings.NewReader("two"),
			PutOptions{IfMatch: "0123456789abcdef0123456789abcdef"})),
		"get of another": third(s.Get(t.Context(), "pointer.json",
			GetOptions{IfMatch: "0123456789abcdef0123456789abcdef"})),
		"beyond the end": third(s.Get(t.Context(), "pointer.json", GetOptions{Offset: 100, Length: 1})),
		"a range of another": third(s.Get(t.Context(), "pointer.json",
			GetOptions{Offset: 1, Length: 1, IfMatch: "0123456789abcdef0123456789abcdef"})),
	} {
		if !errors.Is(err, archive.ErrCondition) {
			t.Errorf("%s: %v, want %v", about, err, archive.ErrCondition)
		}
	}
	if _, _, err := s.Get(t.Context(), "pointer.json", GetOptions{IfNone: first}); !errors.Is(err, ErrSame) {
		t.Errorf("the same: %v, want %v", err, ErrSame)
	}
	if _, got := mustGet(t, s, "pointer.json", GetOptions{}); got != "one" {
		t.Errorf("conditions that do not hold wrote %q", got)
	}
	next := mustPut(t, s, "pointer.json", "two", PutOptions{IfMatch: first})
	if _, got := mustGet(t, s, "pointer.json", GetOptions{IfNone: first}); got != "two" {
		t.Errorf("got %q", got)
	}
	if _, err := s.Put(t.Context(), "pointer.json", strings.NewReader("three"),
		PutOptions{IfMatch: first}); !errors.Is(err, archive.ErrCondition) {
		t.Errorf("match of the one before, now %s: %v", next, err)
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }

func testList(t *testing.T, s Store) {
	var want []string
	var wg sync.WaitGroup
	for i := range 1100 {
		name := fmt.Sprintf("list/%04d/page=%d.json", i/50, i)
		want = append(want, name)
		if i%50 == 0 {
			wg.Wait()
		}
		wg.Go(func() { mustPut(t, s, name, "x", PutOptions{NoSync: true}) })
	}
	wg.Wait()
	mustPut(t, s, "list.json", "x", PutOptions{}) // beside the folder of the same name
	list, err := s.List(t.Context(), "list/")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	last := ""
	for _, obj := range list {
		if obj.Name <= last {
			t.Errorf("%s is listed after %s", obj.Name, last)
		}
		last = obj.Name
		got[obj.Name] = obj.Size
	}
	for _, name := range want {
		if got[name] != 1 {
			t.Fatalf("%s is not listed, with %d others of %d", name, len(got), len(want))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d are listed, want %d", len(got), len(want))
	}
}

func testDelete(t *testing.T, s Store) {
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("gone/%d/a.json", i))
		mustPut(t, s, names[i], "x", PutOptions{})
	}
	if err := s.Delete(t.Context(), append(names[:4], "gone/never.json")); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "gone/")
	if err != nil || len(list) != 1 || list[0].Name != "gone/4/a.json" {
		t.Errorf("remaining: %v, %v", list, err)
	}
	mustPut(t, s, "gone/0/a.json", "again", PutOptions{}) // in a folder that may be removed
}

func testSweep(t *testing.T, s Store) {
	mustPut(t, s, "kept.json", "x", PutOptions{})
	switch s := s.(type) {
	case *StoreDir:
		if err := os.WriteFile(filepath.Join(s.root, TempPrefix+"1-1"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	case *Bucket:
		if _, err := s.core.NewMultipartUpload(t.Context(), s.bucket, s.prefix+"half.zip",
			minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Sweep(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	switch s := s.(type) {
	case *StoreDir:
		if left, _ := filepath.Glob(filepath.Join(s.root, TempPrefix+"1*")); len(left) > 0 {
			t.Errorf("%s remains", left)
		}
	case *Bucket:
		for up := range s.core.ListIncompleteUploads(t.Context(), s.bucket, "", true) {
			t.Errorf("%s is left, %v", up.Key, up.Err)
		}
	}
	if _, err := s.Stat(t.Context(), "kept.json"); err != nil {
		t.Error(err)
	}
}

func testNames(t *testing.T, s Store) {
	for _, name := range []string{"", "../a", "/a", "a//b", "a/", "ä", strings.Repeat("a", 2000)} {
		if _, err := s.Put(t.Context(), name, strings.NewReader("x"), PutOptions{}); !errors.Is(err, archive.ErrName) {
			t.Errorf("put %.20q: %v", name, err)
		}
		if _, _, err := s.Get(t.Context(), name, GetOptions{}); !errors.Is(err, archive.ErrName) {
			t.Errorf("get %.20q: %v", name, err)
		}
	}
	odd := "v1/search/~e6~97/category=AI~26more/x+y'(1)!*;@&=$,_-.json"
	mustPut(t, s, odd, "odd", PutOptions{})
	if _, got := mustGet(t, s, odd, GetOptions{}); got != "odd" {
		t.Errorf("an odd name reads %q", got)
	}
	if list, err := s.List(t.Context(), "v1/search/"); err != nil || len(list) != 1 || list[0].Name != odd {
		t.Errorf("an odd name is listed as %v, %v", list, err)
	}
}

func testStopped(t *testing.T, s Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, "stopped.json", strings.NewReader("x"), PutOptions{}); !errors.Is(err, ctx.Err()) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.List(ctx, ""); !errors.Is(err, ctx.Err()) {
		t.Errorf("list: %v", err)
	}
	if _, err := s.Stat(t.Context(), "stopped.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}
