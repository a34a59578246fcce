//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/build/data"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/outputtest"
	"tollbook/site/postgres/postgrestest"
)

// newShop starts a service that asks to be paid at /quote.
func newShop(t *testing.T, recipient string) *httptest.Server {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/quote" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w, `{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"1000",
			"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":%q,"maxTimeoutSeconds":60,
			"resource":"http://%s/quote","description":"d","mimeType":"application/json",
			"extra":{"name":"USD Coin","version":"2"}}]}`, recipient, r.Host)
	}))
	t.Cleanup(shop.Close)
	return shop
}

// findWords returns the files below a folder whose name or content has one of some words in any case. It reads zips,
// gzip and Parquet files too.
func findWords(t *testing.T, root string, words ...string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !e.Type().IsRegular() {
			found = append(found, findIn(t, name, nil, words)...)
			return err
		}
		content, err := os.ReadFile(path)
		found = append(found, findIn(t, name, content, words)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func findIn(t *testing.T, name string, content []byte, words []string) (found []string) {
	t.Helper()
	text := bytes.ToLower(append([]byte(name+"\n"), content...))
	for _, word := range words {
		if bytes.Contains(text, []byte(strings.ToLower(word))) {
			found = append(found, name+": "+word)
		}
	}
	switch {
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatalf("%s: %s: %v", name, f.Name, err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, f.Name, err)
			}
			found = append(found, findIn(t, name+"!"+f.Name, data, words)...)
		}
	case bytes.HasPrefix(content, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found = append(found, findIn(t, name+"!gzip", plain, words)...)
	case bytes.HasPrefix(content, []byte("PAR1")):
		found = append(found, findInParquet(t, name, content, words)...)
	}
	return found
}

func findInParquet(t *testing.T, name string, content []byte, words []string) (found []string) {
	t.Helper()
	tables := data.Tables()
	i := slices.IndexFunc(tables, func(of *data.Table) bool {
		return strings.Contains(name, "data/"+of.Name+".") || strings.Contains(name, "data/"+of.Name+"/")
	})
	if i < 0 {
		t.Fatalf("%s is of no table", name)
	}
	f, err := data.OpenParquet(bytes.NewReader(content), int64(len(content)), tables[i])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	err = data.EachParquetRow(f, tables[i], func(row data.Row) error {
		text := strings.ToLower(fmt.Sprintf("%+v", row))
		for _, word := range words {
			if strings.Contains(text, strings.ToLower(word)) {
				found = append(found, name+": a row: "+word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return found
}

// TestRemovalRemoves lists two services, publishes them twice, and removes one. After the next build and publication no
// byte names it in the folder, in a folder that is published to, or in a bucket, and readers cannot ask for an earlier
// snapshot. A list, a catalogue, an export and a source do not list it again before somebody allows it.
func TestRemovalRemoves(t *testing.T) {
	t.Parallel()
	const recipient = "0xDeAd00000000000000000000000000000000bEEF"
	gone, stays := newShop(t, recipient), newShop(t, "0x209693Bc6afc0C5328bA36FaF03C514EF312287C")
	host := strings.TrimPrefix(gone.URL, "http://")
	catalogue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"x402Version":2,"items":[
			{"resource":"%s/quote","type":"http","serviceName":"Zebrafish Prices"}],
			"pagination":{"limit":100,"offset":0,"total":1}}`, gone.URL)
	}))
	t.Cleanup(catalogue.Close)
	server := outputtest.Versity(t)
	dataDir, place, bucket := memoryDir(t), memoryDir(t), server.Bucket(t)
	env := append(server.Env(server.Address), "DATABASE_URL="+postgrestest.NewDatabase(t),
		"TOLLBOOK_CRAWL_ALLOW_PRIVATE=127.0.0.1", "TOLLBOOK_CRAWL_HOST_GAP=1ms", "USER=keeper")
	list := writeFile(t, "services.toml", fmt.Appendf(nil, `
[[service]]
service_name = "Zebrafish Prices"
description  = "Prices of zebrafish, which nobody else has."
url          = "%s"
category     = "Data"
slug         = "zebrafish-prices"
endpoints    = ["/quote"]

[[service]]
service_name = "Quail Quotes"
description  = "Quotes of quails."
url          = "%s"
category     = "Data"
endpoints    = ["/quote"]
`, gone.URL, stays.URL))
	words := []string{"zebrafish", host, recipient}
	build := func() string { return ran(t, env, "build", "--data", dataDir) }
	publish := func(to string) string {
		return ran(t, env, "publish", "--data", dataDir, "--publish-to", to, "--expand", "all")
	}

	ran(t, env, "services", "apply", "--new-categories", list)
	ran(t, env, "crawl", "--once")
	var old []string
	for range 2 {
		build()
		old = append(old, published(t, dataDir))
		publish(place)
		publish(bucket)
		waitForSecond(t, dataDir)
	}
	serve := command(t, env, "serve", "--data", dataDir, "--serve-listen", "127.0.0.1:0").start(t)
	base := strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "))[2], "/")
	if got := get(t, base+"/v1/services/zebrafish-prices?snapshot="+old[0]); got.status != http.StatusOK {
		t.Fatalf("before: %d %s", got.status, got.body)
	}
	for _, root := range []string{dataDir, place, server.Dir} {
		if len(findWords(t, root, words...)) == 0 {
			t.Fatalf("%s: nothing names the service before", root)
		}
	}
	export := filepath.Join(t.TempDir(), "export.jsonl")

	ran(t, env, "services", "remove", "--yes", "--reason", "a court said so", "zebrafish-prices")
	if out := build(); !strings.Contains(out, "Deleted 2 earlier snapshots that contained removed services\n") {
		t.Errorf("build:\n%s", out)
	}
	for _, to := range []string{place, bucket} {
		if out := publish(to); !strings.Contains(out, "Deleted 2 earlier snapshots that contained removed services\n") {
			t.Errorf("publish to %s:\n%s", to, out)
		}
		ran(t, env, "verify", to)
	}
	ran(t, env, "verify", filepath.Join(dataDir, "public"))
	for _, root := range []string{dataDir, place, server.Dir} {
		for _, found := range findWords(t, root, words...) {
			t.Errorf("%s: %s", root, found)
		}
	}
	until(t, base+"/v1/services/zebrafish-prices", "404", func(a answer) bool {
		return a.status == http.StatusNotFound
	})
	unknown := get(t, base+"/v1/services?snapshot=20200101T000000Z-000000")
	for _, id := range old {
		for _, path := range []string{"/v1/services/zebrafish-prices?snapshot=", "/services/zebrafish-prices?snapshot=",
			"/v1/services?snapshot="} {
			if got := get(t, base+path+id); got.status != unknown.status {
				t.Errorf("GET %s%s: %d %.300s, want %d", path, id, got.status, got.body, unknown.status)
			}
		}
		if got := get(t, base+"/snapshots/"+id+".zip"); got.status != http.StatusNotFound {
			t.Errorf("GET /snapshots/%s.zip: %d", id, got.status)
		}
		fails(t, env, output.ErrNotRetained.Error(), "rollback", "--data", dataDir, id)
		fails(t, env, output.ErrErased.Error(), "rollback", "--data", dataDir, "--publish-to", bucket, id)
	}

	removed := "by keeper (a court said so): stays removed"
	absent := func(env []string, about string) {
		t.Helper()
		if out := ran(t, env, "services", "list"); strings.Contains(strings.ToLower(out), "zebrafish") {
			t.Errorf("after %s:\n%s", about, out)
		}
	}
	if out := ran(t, env, "services", "apply", list); !strings.Contains(out, removed) ||
		!strings.Contains(out, "0 to add, 0 to change, 0 to retire, 1 unchanged") {
		t.Errorf("apply:\n%s", out)
	}
	absent(env, "apply")
	if out := ran(t, env, "services", "import", catalogue.URL+"/discovery/resources"); !strings.Contains(out, removed) {
		t.Errorf("import of a catalogue:\n%s", out)
	}
	absent(env, "import")
	fails(t, env, removed, "services", "add", "--name", "Zebra", "--url", gone.URL+"/quote/", "--category", "Data",
		"--description", "d", "--endpoint", "/x")
	config := writeFile(t, "tollbook.toml", fmt.Appendf(nil,
		"[crawl]\nallow_private = [\"127.0.0.1\"]\nhost_gap = \"1ms\"\n\n"+
			"[[source]]\nname = \"a\"\nkind = \"x402-discovery\"\n"+
			"address = %q\ntrust = true\ntake = \"all\"\n", catalogue.URL+"/discovery/resources"))
	out := ran(t, env, "sources", "pull", "a", "--json", "--config", config)
	var pulled []struct {
		Rows    int `json:"rows"`
		Removed int `json:"services_stay_removed"`
		Added   int `json:"services_added"`
	}
	if err := json.Unmarshal([]byte(out), &pulled); err != nil || len(pulled) != 1 || pulled[0].Rows != 1 ||
		pulled[0].Removed != 1 || pulled[0].Added != 0 {
		t.Errorf("a source: %v %s", err, out)
	}
	absent(env, "a source")

	ran(t, env, "export", export)
	moved := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "USER=keeper"}
	ran(t, moved, "import", export)
	if out := ran(t, moved, "services", "apply", list); !strings.Contains(out, removed) {
		t.Errorf("apply after a restore:\n%s", out)
	}
	absent(moved, "a restore")
	again := filepath.Join(t.TempDir(), "export.jsonl")
	ran(t, moved, "export", again)
	if a, b := readFile(t, export), readFile(t, again); !strings.Contains(a, `"kind":"erased"`) ||
		lineOf(a, `"erased"`) != lineOf(b, `"erased"`) {
		t.Errorf("the removal is exported as\n%s\nand after a restore as\n%s", lineOf(a, `"erased"`),
			lineOf(b, `"erased"`))
	}

	// A source that names the host does not bring its words back into what is published.
	waitForSecond(t, dataDir)
	build()
	publish(bucket)
	for _, found := range findWords(t, server.Dir, words...) {
		t.Errorf("after a source named it: %s", found)
	}

	if out := ran(t, env, "services", "removed"); !strings.Contains(out, "zebrafish-prices removed on ") ||
		!strings.Contains(out, host) {
		t.Errorf("removed:\n%s", out)
	}
	ran(t, env, "services", "allow", "zebrafish-prices", "--as", "anna")
	if out := ran(t, env, "services", "removed"); !strings.Contains(out, "; allowed on ") ||
		!strings.Contains(out, " by anna; ") {
		t.Errorf("removed, after allow:\n%s", out)
	}
	fails(t, env, "a slug is never given twice", "services", "apply", list)
	free := writeFile(t, "services.toml", []byte(strings.Replace(readFile(t, list), `slug         = "zebrafish-prices"`,
		"", 1)))
	if out := ran(t, env, "services", "apply", free); !strings.Contains(out, "1 to add") {
		t.Errorf("apply, after allow:\n%s", out)
	}
}

// waitForSecond waits until the second in which the current snapshot was built is over, so that the next one has
// another ID.
func waitForSecond(t *testing.T, dir string) {
	t.Helper()
	built, ok := archive.ParseSnapshotID(published(t, dir))
	if !ok {
		t.Fatal("no snapshot is published")
	}
	time.Sleep(time.Until(built.Add(time.Second)))
}

// lineOf returns the first line of a text that contains a word.
func lineOf(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}
