package output

import (
	"io"
	"os"
	"strings"
	"testing"

	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// openStore opens the store at an address on a server, nil for a folder.
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
