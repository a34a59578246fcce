package output

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// openStore opens the store at an address on a server; server is nil for a folder.
func openStore(t testing.TB, address string, server *outputtest.Server) objects.Store {
	t.Helper()
	o := objects.StoreOptions{Getenv: os.Getenv}
	if server != nil {
		o.Getenv = server.Getenv
	}
	s, err := objects.OpenStore(address, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustPut(t testing.TB, s objects.Store, name, text string, o objects.PutOptions) string {
	t.Helper()
	etag, err := s.Put(t.Context(), name, strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return etag
}

func mustGet(t testing.TB, s objects.Store, name string, o objects.GetOptions) (objects.Object, string) {
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

func second[T any](_ T, err error) error { return err }

func everything(string) bool { return true }

// publishTo publishes the current snapshot of d.
func publishTo(s objects.Store, r Register, d *Folder, change ...func(*PublishOptions)) (Published, error) {
	o := PublishOptions{Now: t0, Expand: everything, Header: func(string) objects.Header {
		return objects.Header{Type: "text/plain", Cache: "max-age=60"}
	}}
	for _, c := range change {
		c(&o)
	}
	return NewPublisher(s, r, o).Publish(context.Background(), d)
}

func mustPublishTo(t testing.TB, s objects.Store, r Register, d *Folder, change ...func(*PublishOptions)) Published {
	t.Helper()
	p, err := publishTo(s, r, d, change...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verifyWhole verifies every sum in a store.
func verifyWhole(t testing.TB, s objects.Store) Verified {
	t.Helper()
	v, err := VerifyStore(context.Background(), s, VerifyOptions{
		Packs:  func(archive.Tree) ([]string, error) { return []string{archive.HourOf(t0)}, nil },
		Report: func(name string, err error) { t.Errorf("%s: %v", name, err) },
	})
	if err != nil {
		t.Error(err)
	}
	return v
}

// content returns the content of an expanded object as a reader gets it.
func content(s objects.Store, name string) (string, error) {
	obj, body, err := s.Get(context.Background(), name, objects.GetOptions{})
	if err != nil {
		return "", err
	}
	defer body.Close()
	var r io.Reader = body
	if obj.Header.Encoding == "gzip" {
		if r, err = gzip.NewReader(body); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(r)
	return string(data), err
}

// namesIn lists a store.
func namesIn(t testing.TB, s objects.Store) []string {
	t.Helper()
	list, err := s.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range list {
		names = append(names, obj.Name)
	}
	return names
}

// stores runs a test on every kind of store that is available.
func stores(t *testing.T, test func(t *testing.T, open func(t testing.TB) objects.Store)) {
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, func(t testing.TB) objects.Store { return openStore(t, tempDir(t), nil) })
	})
	t.Run("versitygw", func(t *testing.T) {
		t.Parallel()
		server := outputtest.Versity(t)
		test(t, func(t testing.TB) objects.Store { return openStore(t, server.Bucket(t), server) })
	})
}
