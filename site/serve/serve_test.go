package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/output"
	"tollbook/site/webbotauth"
)

var (
	built = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)
	next  = built.Add(15 * time.Minute)
	now   = built.Add(5 * time.Minute)
)

// tempDir returns a folder on a memory file system if the system has one.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-serve-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// publish publishes files to a new folder. Files under pack/<hour>/ are stored in that hour's pack.
func publish(t testing.TB, files map[string][]byte) *output.Folder {
	t.Helper()
	d, err := output.OpenFolder(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	publishTo(t, d, built, files)
	return d
}

func publishTo(t testing.TB, d *output.Folder, at time.Time, files map[string][]byte) {
	t.Helper()
	b, err := d.Begin(context.Background(), output.BuildOptions{Now: at, Next: at.Add(next.Sub(built))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	packs := map[string]map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if rest, ok := strings.CutPrefix(name, "pack/"); ok {
			hour, name, _ := strings.Cut(rest, "/")
			if packs[hour] == nil {
				packs[hour] = map[string][]byte{}
			}
			packs[hour][name] = files["pack/"+rest]
			continue
		}
		if err := b.Add(name, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, hour := range slices.Sorted(maps.Keys(packs)) {
		err := b.AddPack(hour, func(add func(string, []byte) error) error {
			for _, name := range slices.Sorted(maps.Keys(packs[hour])) {
				if err := add(name, packs[hour][name]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func openSource(t testing.TB, root string) *output.Source {
	t.Helper()
	s, err := output.OpenSource(root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// handlerOf serves a publication. Each 500 is written to log.
func handlerOf(t testing.TB, d *output.Folder, log io.Writer) http.Handler {
	t.Helper()
	return NewHandler(Options{
		Source: openSource(t, d.Root()), Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
}

func siteFiles(t testing.TB) map[string][]byte {
	t.Helper()
	a, err := txtar.ParseFile("testdata/site.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range a.Files {
		files[f.Name] = f.Data
	}
	return files
}

// get returns the response to a request, without a network.
func get(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestKeyDirectory reads the key directory: that of a static snapshot, and the signed one of a server with the key.
func TestKeyDirectory(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := webbotauth.NewSigner(key, "https://tollbook.example")
	if err != nil {
		t.Fatal(err)
	}
	files := siteFiles(t)
	files[webbotauth.DirectoryFile] = signer.Directory()
	d := publish(t, files)
	for _, test := range []struct {
		name   string
		signer *webbotauth.Signer
	}{{"of the snapshot", nil}, {"of the server", signer}} {
		h := NewHandler(Options{Source: openSource(t, d.Root()), Now: func() time.Time { return now },
			Signer: test.signer})
		got := get(h, "/"+webbotauth.DirectoryFile)
		want := map[string]any{"status": 200, "type": webbotauth.DirectoryType, "signed": test.signer != nil,
			"body": string(signer.Directory())}
		if diff := cmp.Diff(want, map[string]any{"status": got.Code, "type": got.Header().Get("Content-Type"),
			"signed": got.Header().Get("Signature") != "", "body": got.Body.String()}); diff != "" {
			t.Errorf("key directory %s (-want +got):\n%s", test.name, diff)
		}
	}
	bare := handlerOf(t, publish(t, siteFiles(t)), io.Discard)
	if got := get(bare, "/"+webbotauth.DirectoryFile); got.Code != http.StatusNotFound {
		t.Errorf("without a key the directory answers %d, want 404", got.Code)
	}
}

// TestScript runs testdata/api.txt over real connections, from a zip and from the same files in a folder.
func TestScript(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"snapshots", "tree"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			d := publish(t, siteFiles(t))
			for _, other := range []string{"snapshots", "tree"} {
				if other != from {
					if err := os.RemoveAll(filepath.Join(d.Root(), other)); err != nil {
						t.Fatal(err)
					}
				}
			}
			log := &syncBuffer{}
			addr := listenAndServe(t, handlerOf(t, d, log))
			saved := map[string]string{}
			for _, c := range parseScript(t, string(script)) {
				c.run(t, addr, saved)
			}
			if n := strings.Count(log.String(), "request_id="); n != strings.Count(string(script), "code == 500") {
				t.Errorf("%d requests are in the log:\n%s", n, log)
			}
		})
	}
}

// syncBuffer receives the log of a server.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// call is one request of a script, with the assertions on its response.
type call struct {
	line    int
	request string   // "GET /path"
	headers []string // "Name: value"
	asserts []string
}

// parseScript reads requests that are separated by empty lines. A line that begins with # is a comment.
func parseScript(t *testing.T, script string) []call {
	t.Helper()
	var calls []call
	inside := false
	for i, line := range strings.Split(script, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			inside = false
		case !inside:
			calls = append(calls, call{line: i + 1, request: line})
			inside = true
		case strings.HasPrefix(line, "> "):
			calls[len(calls)-1].headers = append(calls[len(calls)-1].headers, line[2:])
		default:
			calls[len(calls)-1].asserts = append(calls[len(calls)-1].asserts, line)
		}
	}
	if len(calls) < 50 {
		t.Fatalf("the script has %d requests", len(calls))
	}
	return calls
}

func (c call) run(t *testing.T, addr string, saved map[string]string) {
	t.Helper()
	expand := func(s string) string {
		for name, value := range saved {
			s = strings.ReplaceAll(s, "$"+name, value)
		}
		return s
	}
	var headers strings.Builder
	for _, h := range c.headers {
		headers.WriteString(expand(h) + "\r\n")
	}
	response, body, err := exchange(addr, expand(c.request), headers.String())
	if err != nil {
		t.Errorf("line %d: %s: %v", c.line, c.request, err)
		return
	}
	for i, a := range c.asserts {
		if name, ok := strings.CutPrefix(a, "keep "); ok {
			name, header, _ := strings.Cut(name, " = header ")
			saved[name] = response.Header.Get(header)
			continue
		}
		if err := check(response, body, expand(a)); err != nil {
			t.Errorf("line %d: %s: %v", c.line+len(c.headers)+i+1, c.request, err)
		}
	}
}

// exchange sends a request line unchanged; a client would normalise it first.
func exchange(addr, request, headers string) (*http.Response, string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: tollbook.test\r\nConnection: close\r\n%s\r\n", request,
		headers); err != nil {
		return nil, "", err
	}
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	var in io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" && method != http.MethodHead {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, "", err
		}
	}
	body, err := io.ReadAll(in)
	return response, string(body), err
}

// check tests one assertion: "code == 200", "header Name ~ regexp", "body contains text".
func check(response *http.Response, body, assert string) error {
	what, rest, _ := strings.Cut(assert, " ")
	var got string
	present := true
	switch what {
	case "code":
		got = strconv.Itoa(response.StatusCode)
	case "body":
		got = body
	case "header":
		var name string
		name, rest, _ = strings.Cut(rest, " ")
		got, present = strings.Join(response.Header.Values(name), ", "), len(response.Header.Values(name)) > 0
	default:
		return fmt.Errorf("%q is no assertion", assert)
	}
	op, want, _ := strings.Cut(rest, " ")
	want = strings.ReplaceAll(want, `\n`, "\n")
	ok := false
	switch op {
	case "==":
		ok = present && got == want
	case "contains":
		ok = strings.Contains(got, want)
	case "lacks":
		ok = !strings.Contains(got, want)
	case "~":
		ok = regexp.MustCompile(want).MatchString(got)
	case "absent":
		ok = !present
	default:
		return fmt.Errorf("%q is no assertion", assert)
	}
	if !ok {
		return fmt.Errorf("%s, got %q", assert, got)
	}
	return nil
}
