package serve

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// zipOf returns the name and the bytes of a publication's current zip.
func zipOf(t testing.TB, d *output.Folder) (name string, data []byte) {
	t.Helper()
	c, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	name = "snapshots/" + c.Snapshot + ".zip"
	data, err = os.ReadFile(filepath.Join(d.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return name, data
}

func TestDownload(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	h := handlerOf(t, d, t.Output())
	name, zip := zipOf(t, d)
	n := len(zip)
	whole := get(h, "/"+name)
	tag := whole.Header().Get("Etag")
	if len(tag) < 10 || strings.HasPrefix(tag, "W/") {
		t.Fatalf("ETag %s", tag)
	}
	for _, test := range []struct {
		name    string
		method  string
		headers []string
		code    int
		from    int
		to      int // exclusive
	}{
		{"whole", "GET", nil, 200, 0, n},
		{"only its header", "HEAD", nil, 200, 0, n},
		{"a range", "GET", []string{"Range", "bytes=10-19"}, 206, 10, 20},
		{"the header of a range", "HEAD", []string{"Range", "bytes=10-19"}, 206, 10, 20},
		{"from a byte on", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", n-7)}, 206, n - 7, n},
		{"the last bytes", "GET", []string{"Range", "bytes=-5"}, 206, n - 5, n},
		{"past the end", "GET", []string{"Range", fmt.Sprintf("bytes=5-%d", n+100)}, 206, 5, n},
		{"of the same zip", "GET", []string{"Range", "bytes=1-2", "If-Range", tag}, 206, 1, 3},
		{"of another zip", "GET", []string{"Range", "bytes=1-2", "If-Range", `"other"`}, 200, 0, n},
		{"several ranges", "GET", []string{"Range", "bytes=1-2,4-5"}, 200, 0, n},
		{"another unit", "GET", []string{"Range", "rows=1-2"}, 416, 0, 0},
		{"behind the end", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416, 0, 0},
		{"known", "GET", []string{"If-None-Match", `"other", ` + tag}, 304, 0, 0},
		{"expected", "GET", []string{"If-Match", tag, "Range", "bytes=0-0"}, 206, 0, 1},
		{"not as expected", "GET", []string{"If-Match", `"other"`}, 412, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "/"+name+"?a=b", nil)
			for i := 0; i < len(test.headers); i += 2 {
				r.Header.Set(test.headers[i], test.headers[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.code {
				t.Fatalf("status %d, want %d: %v", w.Code, test.code, w.Header())
			}
			header := w.Header()
			switch {
			case test.code == 416:
				if header.Get("Content-Type") != typeJSON || !strings.Contains(w.Body.String(), `"code":416`) ||
					header.Get("Etag") != "" || header.Get("Cache-Control") != "no-store" {
					t.Errorf("%v %s", header, w.Body)
				}
				return
			case test.code > 300:
				if w.Body.Len() > 0 {
					t.Errorf("a body: %q", w.Body)
				}
				return
			}
			want := zip[test.from:test.to]
			if test.method == "HEAD" {
				want = nil
			}
			if !bytes.Equal(w.Body.Bytes(), want) {
				t.Errorf("%d bytes, want %d", w.Body.Len(), len(want))
			}
			got := map[string]string{}
			for _, field := range []string{"Content-Type", "Cache-Control", "Etag", "Accept-Ranges", "Content-Length",
				"Content-Range", "Content-Encoding", "X-Content-Type-Options", "Ratelimit"} {
				got[field] = header.Get(field)
			}
			wantHeader := map[string]string{
				"Content-Type": "application/zip", "Cache-Control": "public, max-age=31536000, immutable", "Etag": tag,
				"Accept-Ranges":  "bytes",
				"Content-Length": fmt.Sprint(test.to - test.from), "Content-Range": "", "Content-Encoding": "",
				"X-Content-Type-Options": "nosniff", "Ratelimit": "",
			}
			if test.code == 206 {
				wantHeader["Content-Range"] = fmt.Sprintf("bytes %d-%d/%d", test.from, test.to-1, n)
			}
			if diff := cmp.Diff(wantHeader, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDownloadNames checks that clients can download only files of the publication, and no other path or file of its
// folder.
func TestDownloadNames(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	h := handlerOf(t, d, t.Output())
	name, zip := zipOf(t, d)
	if err := os.WriteFile(filepath.Join(d.Root(), "snapshots", "secret.zip"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	packs, err := d.Packs()
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	if got := get(h, "/packs/"+packs[0]+".zip"); got.Code != 200 ||
		got.Header().Get("Content-Type") != "application/zip" {
		t.Errorf("a pack: %d %v", got.Code, got.Header())
	}
	for _, path := range []string{
		"/snapshots/secret.zip", "/snapshots/", "/snapshots", "/snapshots/20261120T234501Z-3f2a9c.zip",
		"/packs/2020010100.zip", "/packs/2026112024.zip",
		"/" + strings.ToUpper(name), "/" + name + "/", "/" + strings.TrimSuffix(name, ".zip"), "/snapshots/../" + name,
		"//" + name, "/v1/" + name,
		"/" + strings.Replace(name, "Z", "%5A", 1), "/packs/..%2f" + name, "/.lock", "/tree/", "/checkpoint.json/",
		"/checkpoint", "/%63heckpoint.json",
	} {
		if got := get(h, path); got.Code != 404 || bytes.Contains(got.Body.Bytes(), zip[:20]) {
			t.Errorf("GET %s: %d", path, got.Code)
		}
	}
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/"+name, nil))
	if r.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.Code)
	}
}

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }, RateLimit: 1})
	for range 3 { // no client's limit counts this request
		want, err := os.ReadFile(filepath.Join(d.Root(), "checkpoint.json"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := archive.ParseCheckpoint(want)
		if err != nil {
			t.Fatal(err)
		}
		got := get(h, "/checkpoint.json")
		if diff := cmp.Diff(string(want), got.Body.String()); diff != "" || got.Code != 200 {
			t.Errorf("status %d (-want +got):\n%s", got.Code, diff)
		}
		if got.Header().Get("Cache-Control") != "public, max-age=5" || got.Header().Get("X-Snapshot") != c.Snapshot ||
			got.Header().Get("Last-Modified") != "" {
			t.Errorf("header %v", got.Header())
		}
		if again := get(h, "/checkpoint.json", "If-None-Match", got.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("known: %d", again.Code)
		}
		publishTo(t, d, c.Built().Add(time.Minute), siteFiles(t))
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	// A tree without a publication has no checkpoint and no zips.
	bare := NewHandler(Options{Source: openSource(t, filepath.Join(d.Root(), "current"))})
	for _, path := range []string{"/checkpoint.json", "/snapshots/" + func() string {
		name, _ := zipOf(t, d)
		return name
	}()} {
		if got := get(bare, path); got.Code != 404 {
			t.Errorf("%s of a tree: %d", path, got.Code)
		}
	}
}

// TestVerifyServed checks that the downloads of a running server match their sums and signature, with packs and single
// files.
func TestVerifyServed(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	server := httptest.NewServer(handlerOf(t, d, t.Output()))
	defer server.Close()
	packs, err := d.Packs()
	if err != nil {
		t.Fatal(err)
	}
	verify := func(files bool) (output.Verified, string) {
		web, err := objects.OpenWeb(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		var report strings.Builder
		v, err := output.VerifyStore(t.Context(), web, output.VerifyOptions{
			Files: files, Packs: func(archive.Tree) ([]string, error) { return packs, nil },
			Report: func(name string, err error) { fmt.Fprintln(&report, name, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return v, report.String()
	}
	if v, _ := verify(false); v.Packs != len(packs) || v.Packs == 0 || v.Files < 10 || v.Objects != 0 || v.Wrong != 0 {
		t.Errorf("%+v", v)
	}
	if v, report := verify(true); v.Objects != v.Files || v.Wrong != 0 {
		t.Errorf("%+v\n%s", v, report)
	}
	// Verification detects a changed pack.
	path := filepath.Join(d.Root(), "packs", packs[0]+".zip")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[30+int(data[26])+int(data[28])+2] ^= 1 // a byte of the first file, behind its name and extra field
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if v, report := verify(false); v.Wrong == 0 || !strings.Contains(report, "packs/"+packs[0]) {
		t.Errorf("%+v\n%s", v, report)
	}
}

// TestDownloadFromReplicas checks that copies of one publication have the same strong ETags, so that a download that
// began at one replica goes on at another, and that other content has another ETag.
func TestDownloadFromReplicas(t *testing.T) {
	t.Parallel()
	files := siteFiles(t)
	noise := make([]byte, 300<<10) // larger than a file whose ETag was always its sum
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	files["assets/noise.bin"] = noise
	first := publish(t, files)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(first.Root())); err != nil {
		t.Fatal(err)
	}
	name, zip := zipOf(t, first)
	a := handlerOf(t, first, t.Output())
	b := NewHandler(Options{Source: openSource(t, copied), Now: func() time.Time { return now },
		Logger: slog.New(slog.DiscardHandler)})
	tag := get(a, "/"+name).Header().Get("Etag")
	if other := get(b, "/"+name).Header().Get("Etag"); tag != other || tag != fmt.Sprintf("\"%x\"", sha256.Sum256(zip)) {
		t.Fatalf("ETags %s and %s, want the sum of the zip", tag, other)
	}
	r := httptest.NewRequest(http.MethodGet, "/"+name, nil)
	r.Header.Set("Range", "bytes=100-")
	r.Header.Set("If-Range", tag)
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	if w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), zip[100:]) {
		t.Errorf("the other replica answers %d with %d bytes, want 206 with %d", w.Code, w.Body.Len(), len(zip)-100)
	}
	changed := append([]byte{}, zip...)
	changed[len(changed)/2] ^= 1
	path := filepath.Join(copied, name)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if other := get(b, "/"+name).Header().Get("Etag"); other == tag {
		t.Errorf("a changed zip has the ETag %s, too", other)
	}
}
