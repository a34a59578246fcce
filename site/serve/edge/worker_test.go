package edge

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

func mustAsk(t *testing.T, addr string, c call) response {
	t.Helper()
	a, err := ask(addr, c)
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return a
}

// testWorkerLimits checks that the limiter gets the client: an IPv4 address in any notation, or an IPv6 network of 64
// bits.
func testWorkerLimits(t *testing.T, w *world) {
	addr := startWorker(t, w.root)
	from := func(client, target string) response {
		return mustAsk(t, addr, call{"GET", target, "CF-Connecting-IP: " + client + "\r\n"})
	}
	for _, client := range []string{"203.0.113.7", "2001:db8:1:2::5"} {
		for range 3 {
			if a := from(client, "/v1/stats"); a.Code != 200 {
				t.Errorf("%s: %d before its limit", client, a.Code)
			}
		}
	}
	for client, want := range map[string]int{
		"203.0.113.7": 429, "::ffff:203.0.113.7": 429, "2001:db8:1:2::5": 429, "2001:DB8:1:2:ffff::9": 429,
		"2001:0db8:0001:0002:0:0:0:1": 429, "2001:db8:1:3::5": 200, "203.0.113.8": 200,
	} {
		if a := from(client, "/api/v1/stats"); a.Code != want || a.Code == 429 &&
			(!strings.Contains(a.Body, `"type":"rate_limited"`) || a.Header["Cache-Control"] != "no-store") {
			t.Errorf("%s: %d %v %s, want %d", client, a.Code, a.Header, a.Body, want)
		}
	}
	if a := from("203.0.113.7", "/status"); a.Code != 200 {
		t.Errorf("a page: %d", a.Code)
	}
}

// testWorkerPaths checks that a path that the platform rewrites gets the response of the rewritten path.
func testWorkerPaths(t *testing.T, w *world) {
	addr := startWorker(t, w.root)
	for sent, seen := range map[string]string{"/v1/./stats": "/v1/stats", "/nope/../v1/stats": "/v1/stats",
		"/v1/%2e%2e/v1/tags": "/v1/tags", `/v1\status`: "/v1/status", "/../v1/nope": "/v1/nope"} {
		want, got := mustAsk(t, w.addr, call{"GET", seen, ""}), mustAsk(t, addr, call{"GET", sent, ""})
		if got.Code != want.Code || got.Body != want.Body {
			t.Errorf("%s: %d %.80s, %s is %d %.80s", sent, got.Code, got.Body, seen, want.Code, want.Body)
		}
	}
}

// testWorkerFollows checks that a worker follows the pointer, and keeps its snapshot while the pointer can't be read.
func testWorkerFollows(t *testing.T, w *world) {
	testgate.All(t) // it waits for each look at the pointer
	w = w.copy(t)
	addr := startWorker(t, w.root)
	pointer := filepath.Join(w.root, "checkpoint.json")
	text, err := os.ReadFile(pointer)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint, err := archive.ParseCheckpoint(text)
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func(a response) bool) {
		t.Helper()
		for began := time.Now(); ; {
			a := mustAsk(t, addr, call{"GET", "/v1/stats", ""})
			if a.Code != 200 {
				t.Fatalf("%s: %d %s", what, a.Code, a.Body)
			}
			if ok(a) {
				return
			}
			if time.Since(began) > 3*time.Minute {
				t.Fatalf("%s: still %v", what, a.Header)
			}
			time.Sleep(100 * time.Millisecond) // it looks at the pointer every few seconds
		}
	}
	until("first", func(a response) bool { return a.Header["X-Snapshot"] == w.snaps[1] })
	checkpoint.Snapshot, checkpoint.Previous = w.snaps[0], &w.snaps[1]
	if err := os.WriteFile(pointer, checkpoint.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	until("moved", func(a response) bool { return a.Header["X-Snapshot"] == w.snaps[0] })
	if err := os.WriteFile(pointer, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	until("damaged pointer", func(a response) bool { return a.Header["X-Snapshot-Warning"] == "stale" })
	if a := mustAsk(t, addr, call{"GET", "/readyz", ""}); a.Code != 200 || !strings.Contains(a.Body, `"warning":`) {
		t.Errorf("/readyz: %d %s", a.Code, a.Body)
	}
}

// testWorkerDamage checks that a damaged zip returns a 500 without the cause and never wrong bytes, and that an empty
// bucket returns a 503.
func testWorkerDamage(t *testing.T, w *world) {
	w = w.copy(t)
	file := filepath.Join(w.root, "snapshots", w.snaps[1]+".zip")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v1/openapi.json", "status.html"} {
		at := bytes.Index(data, []byte(name)) + len(name) + 2000 // into its deflated bytes
		for i := range 40 {
			data[at+i] ^= 0x55
		}
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	addr := startWorker(t, w.root)
	if a := mustAsk(t, addr, call{"GET", "/v1/openapi.json", "Accept-Encoding: gzip\r\n"}); a.Code != 500 ||
		a.Header["Cache-Control"] != "no-store" || !strings.Contains(a.Body, `"message":"internal error"`) {
		t.Errorf("damaged: %d %v %.200s", a.Code, a.Header, a.Body)
	}
	if a := mustAsk(t, addr, call{"GET", "/status", ""}); a.Code != 500 || a.Header["Cache-Control"] != "no-store" ||
		a.Header["Content-Type"] != "text/html; charset=utf-8" || a.Header["Content-Security-Policy"] == "" ||
		!strings.Contains(a.Body, "Something went wrong") {
		t.Errorf("a damaged page: %d %v %.200s", a.Code, a.Header, a.Body)
	}
	if a := mustAsk(t, addr, call{"GET", "/v1/stats", ""}); a.Code != 200 {
		t.Errorf("beside the damage: %d %s", a.Code, a.Body)
	}
	empty := startWorker(t, t.TempDir())
	if a := mustAsk(t, empty, call{"GET", "/v1/stats", ""}); a.Code != 503 ||
		!strings.Contains(a.Body, "nothing is published yet") {
		t.Errorf("empty: %d %s", a.Code, a.Body)
	}
}

// testWorkerLists checks that a list is a 500, and never shorter, if one of its files is missing or too short.
func testWorkerLists(t *testing.T, w *world) {
	missing := func([]byte) []byte { return nil }
	shortRows := func(file []byte) []byte { // without the first row
		lines := bytes.SplitAfter(file, []byte("\n"))
		return bytes.Join(slices.Delete(lines, 1, 2), nil)
	}
	shortColumn := func(file []byte) []byte {
		var column struct {
			Data []json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(file, &column); err != nil || len(column.Data) < 2 {
			t.Fatalf("%.100s: %v", file, err)
		}
		column.Data = column.Data[1:]
		file, err := json.Marshal(column)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	newest := routes.RowsKey(slices.Index(w.index.Slugs, "odd-0-00") / site.RowsPerBlock)
	for _, test := range []struct {
		member, target string
		change         func(file []byte) []byte
	}{
		{"v1/columns/name.json", "/v1/services?q=chat", missing},
		{"v1/columns/name.json", "/v1/services?q=zzzz", shortColumn},
		{"v1/columns/prices_usd.json", "/v1/search?sort=price", missing},
		{"v1/columns/status.json", "/v1/search?q=chat&status=online", shortColumn},
		{"v1/columns/status.json", "/v1/best?q=chat", shortColumn},
		{newest, "/v1/services?include=assessment", missing},
		{"v1/rows/0.json", "/v1/search?per_page=100&sort=price", shortRows},
		{"v1/rows/0.json", "/v1/best", missing},
		{"v1/terms.json", "/v1/search?q=chat", missing},
		{"v1/terms.json", "/discovery/search?query=chat", missing},
		{"v1/terms/ch.json", "/v1/search?q=chat", missing},
		{"v1/terms/ch.json", "/v1/best?q=chat", shortRows},
		{"v1/vocabulary.json", "/v1/search?q=transcribtion", missing},
		{"discovery/columns/scheme.json", "/discovery/resources?scheme=nope", shortColumn},
		{"discovery/columns/scheme.json", "/discovery/search?scheme=exact", missing},
		{"discovery/services.json", "/discovery/search?query=chat", shortColumn},
		{"discovery/services.json", "/discovery/search?query=zzzz", missing},
	} {
		d := w.copy(t)
		rewriteZip(t, filepath.Join(d.root, "snapshots", w.snaps[1]+".zip"), test.member, test.change)
		addr := startWorker(t, d.root)
		for range 2 { // the second time from memory
			said := `"message":"internal error"`
			if strings.HasPrefix(test.target, "/discovery/") {
				said = `"error":"internal error"`
			}
			if a := mustAsk(t, addr, call{"GET", test.target, ""}); a.Code != 500 || !strings.Contains(a.Body, said) {
				t.Errorf("%s with another %s: %d %.300s", test.target, test.member, a.Code, a.Body)
			}
		}
		if a := mustAsk(t, addr, call{"GET", "/v1/services", ""}); a.Code != 200 {
			t.Errorf("without another %s: %d %s", test.member, a.Code, a.Body)
		}
	}
}

// rewriteZip changes one member of a zip; a change to nil removes it.
func rewriteZip(t *testing.T, name, member string, change func(file []byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	from, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := fs.ReadFile(from, member)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range from.File {
		if f.Name != member {
			err = errors.Join(err, to.Copy(f))
		}
	}
	if file = change(file); file != nil {
		f, createErr := to.Create(member)
		if createErr != nil {
			t.Fatal(createErr)
		}
		_, writeErr := f.Write(file)
		err = errors.Join(err, writeErr)
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.WriteFile(name, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testWorkerReads checks that a worker caches its reads: repeated requests read at most the pointer from the bucket.
func testWorkerReads(t *testing.T, w *world) {
	addr := startWorker(t, w.root)
	type counts struct{ Head, Get, Bytes, Hits, Puts int }
	count := func() (c counts) {
		a := mustAsk(t, addr, call{"GET", "/counts", ""})
		if err := json.Unmarshal([]byte(a.Body), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	targets := []string{"/v1/services", "/v1/services?per_page=7&page=3", "/v1/stats", "/v1/services?q=fire",
		"/v1/checks?limit=100&offset=70", "/"}
	for _, target := range targets {
		mustAsk(t, addr, call{"GET", target, ""})
	}
	first := count()
	for range 20 {
		for _, target := range targets {
			mustAsk(t, addr, call{"GET", target, ""})
		}
	}
	then := count()
	if first.Get == 0 || then.Head != first.Head || then.Get-first.Get > 10 {
		t.Errorf("first %+v, then %+v", first, then)
	}
	info, err := os.Stat(filepath.Join(w.root, "snapshots", w.snaps[1]+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if int64(first.Bytes) > info.Size()/2 {
		t.Errorf("%d bytes are read of a zip of %d", first.Bytes, info.Size())
	}
	t.Logf("%d requests: %+v of a zip of %d bytes", len(targets), first, info.Size())
}
