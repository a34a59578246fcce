package objects

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/output/outputtest"
)

// TestOpenStoreRefuses checks that a misspelt address is an error at once, and that no error contains a secret.
func TestOpenStoreRefuses(t *testing.T) {
	t.Parallel()
	const secret = "c0ffee-s3cr3t"
	env := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secret}
	for _, test := range []struct{ address, endpoint string }{
		{"", ""}, {"https://bucket.example/x", ""}, {"s3://", ""}, {"s3://ab", ""}, {"s3://Bucket/x", ""},
		{"s3://bucket/a//b", ""}, {"s3://bucket/../x", ""},
		{"s3://bucket", "ftp://x"}, {"s3://bucket", "http://user:" + secret + "@host"},
		{"s3://bucket", "http://host/path"}, {"s3://bucket", "://" + secret},
	} {
		_, err := OpenStore(test.address, StoreOptions{Getenv: func(name string) string {
			if name == "AWS_ENDPOINT_URL" {
				return test.endpoint
			}
			return env[name]
		}})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q at %q: %v", test.address, test.endpoint, err)
		}
	}
}

// TestBucketRefused checks that wrong credentials are an error at once, with the server's message and without the
// credentials.
func TestBucketRefused(t *testing.T) {
	t.Parallel()
	server := outputtest.Versity(t)
	address := server.Bucket(t)
	for _, tt := range []struct {
		want string
		env  []string
	}{
		{"; check AWS_ACCESS_KEY_ID, and that", []string{"AWS_ACCESS_KEY_ID=nobody",
			"AWS_SECRET_ACCESS_KEY=c0ffee-s3cr3t"}},
		{"; check AWS_SECRET_ACCESS_KEY", []string{"AWS_ACCESS_KEY_ID=testkey", "AWS_SECRET_ACCESS_KEY=c0ffee-s3cr3t"}},
		{"; check AWS_ACCESS_KEY_ID and the rights of that key", nil},
	} {
		env := append(tt.env, "AWS_ENDPOINT_URL=http://"+server.Address)
		s, err := OpenStore(address, StoreOptions{Getenv: outputtest.Getenv(env)})
		if err != nil {
			t.Fatal(err)
		}
		_, putErr := s.Put(t.Context(), "a.json", strings.NewReader("x"), PutOptions{})
		_, _, getErr := s.Get(t.Context(), "a.json", GetOptions{})
		_, listErr := s.List(t.Context(), "")
		for _, err := range []error{putErr, getErr, listErr} {
			if err == nil || errors.Is(err, archive.ErrUnreachable) || errors.Is(err, fs.ErrNotExist) ||
				strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "testsecret") ||
				!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), " at "+server.Address+": ") {
				t.Errorf("%v, want %q and the server's address", err, tt.want)
			}
		}
	}
	s, err := OpenStore("s3://no-such-bucket/x", StoreOptions{Getenv: server.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "a.json", GetOptions{}); err == nil || errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "NoSuchBucket") || !strings.Contains(err.Error(), "; create the bucket") {
		t.Errorf("a missing bucket: %v", err)
	}
}

// TestBucketUnreachable checks that a server that is away, stalls, cuts or fails is unreachable, after the configured
// number of attempts.
func TestBucketUnreachable(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int64
	for about, handler := range map[string]http.HandlerFunc{
		"503": func(w http.ResponseWriter, r *http.Request) {
			attempts.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"cuts": func(http.ResponseWriter, *http.Request) { attempts.Add(1); panic(http.ErrAbortHandler) },
		"stalls": func(_ http.ResponseWriter, r *http.Request) {
			attempts.Add(1)
			<-r.Context().Done()
		},
	} {
		attempts.Store(0)
		server := httptest.NewServer(handler)
		defer server.Close()
		b, err := OpenBucket("bucket/x", StoreOptions{Attempts: 2, Stall: 3 * time.Second,
			Getenv: outputtest.Getenv([]string{"AWS_ENDPOINT_URL=" + server.URL, "AWS_ACCESS_KEY_ID=a",
				"AWS_SECRET_ACCESS_KEY=c0ffee-s3cr3t"})})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = b.Get(t.Context(), "a.json", GetOptions{})
		if !errors.Is(err, archive.ErrUnreachable) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v, want %v", about, err, archive.ErrUnreachable)
		}
		if n := attempts.Load(); n < 2 {
			t.Errorf("%s: %d attempts", about, n)
		}
	}
	b, err := OpenBucket("bucket/x", StoreOptions{Attempts: 1,
		Getenv: outputtest.Getenv([]string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"})})
	if err != nil {
		t.Fatal(err)
	}
	const want = "list in s3://bucket/x at 127.0.0.1:1: the store can't be reached: dial tcp 127.0.0.1:1: connect: " +
		"connection refused; check AWS_ENDPOINT_URL"
	if _, err := b.List(t.Context(), ""); err == nil || err.Error() != want {
		t.Errorf("a server that does not run: %v, want %s", err, want)
	}
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	if b, err = OpenBucket("bucket/x", StoreOptions{Attempts: 1,
		Getenv: outputtest.Getenv([]string{"AWS_ENDPOINT_URL=" + stranger.URL})}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "certificate") ||
		!strings.HasSuffix(err.Error(), "; have that server's certificate renewed, or check AWS_ENDPOINT_URL") {
		t.Errorf("a server whose certificate is not accepted: %v", err)
	}
}
