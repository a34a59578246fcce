package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// flaky is a store whose first breaks bodies fail after cut bytes.
type flaky struct {
	objects.Store
	cut      int64
	breaks   atomic.Int64
	read     atomic.Int64
	requests atomic.Int64
	get      func(ctx context.Context)
}

func (f *flaky) Get(ctx context.Context, name string, o objects.GetOptions) (objects.Object, io.ReadCloser, error) {
	if strings.HasPrefix(name, "snapshots/") {
		f.requests.Add(1)
		if f.get != nil {
			f.get(ctx)
		}
	}
	obj, body, err := f.Store.Get(ctx, name, o)
	if err != nil || !strings.HasPrefix(name, "snapshots/") {
		return obj, body, err
	}
	var r io.Reader = body
	if f.breaks.Add(-1) >= 0 {
		r = io.MultiReader(io.LimitReader(body, f.cut), broken{})
	}
	return obj, struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r, &counted{&f.read}), body}, nil
}

type counted struct{ n *atomic.Int64 }

func (c *counted) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("%w: cut", archive.ErrUnreachable) }

// flakyHandler serves a publication through a flaky store. Its snapshot is already open.
func flakyHandler(t *testing.T, log io.Writer) (*flaky, http.Handler, string, []byte) {
	t.Helper()
	d := publish(t, siteFiles(t))
	store, err := objects.OpenStoreDir(d.Root())
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Store: store}
	source := output.OpenStoreSource(f, 1<<20, slog.New(slog.DiscardHandler))
	t.Cleanup(source.Close)
	name, zip := zipOf(t, d)
	return f, NewHandler(Options{Source: source, Logger: slog.New(slog.NewTextHandler(log, nil))}), name, zip
}

// TestDownloadFromStore checks that the server reads no more from a store than it sends, and continues after a break.
// If the rest never arrives, the response is visibly incomplete.
func TestDownloadFromStore(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f, h, name, zip := flakyHandler(t, &log)
	server := httptest.NewServer(h)
	defer server.Close()
	fetch := func(headers ...string) (int, []byte, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return res.StatusCode, data, err
	}
	code, data, err := fetch("Range", "bytes=100-163")
	if err != nil || code != 206 || !bytes.Equal(data, zip[100:164]) || f.requests.Load() != 1 || f.read.Load() != 64 {
		t.Errorf("a range: %d, %d bytes, %v; %d requests for %d bytes", code, len(data), err, f.requests.Load(),
			f.read.Load())
	}
	f.cut = 1000
	f.breaks.Store(2)
	if code, data, err = fetch(); err != nil || code != 200 || !bytes.Equal(data, zip) {
		t.Errorf("broken off twice: %d, %d bytes of %d, %v", code, len(data), len(zip), err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
	f.cut = 0
	f.breaks.Store(1 << 40)
	if code, data, err = fetch(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("nothing comes: %d, %d bytes, %v, want %v", code, len(data), err, io.ErrUnexpectedEOF)
	}
	server.Close() // waits until the handler has returned
	if !strings.Contains(log.String(), "download aborted") {
		t.Errorf("logged %s", &log)
	}
}

// TestDownloadOutlastsReadTimeout checks that a download may take longer than the read timeout.
func TestDownloadOutlastsReadTimeout(t *testing.T) {
	t.Parallel()
	f, h, name, zip := flakyHandler(t, t.Output())
	server := httptest.NewUnstartedServer(h)
	const timeout = 2 * time.Second // a request must arrive within this time
	server.Config.ReadTimeout = timeout
	server.Config.IdleTimeout = time.Minute // the default is the read timeout
	server.Start()
	defer server.Close()
	if a, err := server.Client().Get(server.URL + "/checkpoint.json"); err != nil || a.Body.Close() != nil ||
		a.StatusCode != 200 {
		t.Fatalf("%v, %v", a, err)
	}
	f.get = func(ctx context.Context) {
		select {
		case <-ctx.Done(): // must not happen
		case <-time.After(timeout + timeout/2):
		}
	}
	res, err := server.Client().Get(server.URL + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(data, zip) {
		t.Errorf("%d bytes of %d, %v", len(data), len(zip), err)
	}
}
