//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// listOfServices returns a list of n services that no crawler visits.
func listOfServices(n int, description string) []byte {
	type entry struct {
		Name        string   `json:"service_name"`
		Description string   `json:"description"`
		URL         string   `json:"url"`
		Category    string   `json:"category"`
		Endpoints   []string `json:"endpoints"`
	}
	list := make([]entry, n)
	for i := range list {
		list[i] = entry{fmt.Sprintf("Service %04d", i), description, fmt.Sprintf("https://s%04d.example", i), "Data",
			[]string{"/a", "POST /b"}}
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return data
}

func writeFile(t *testing.T, name string, data []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// published returns the ID of a folder's current snapshot, after it checks every byte.
func published(t *testing.T, data string) (id string) {
	t.Helper()
	source, err := output.OpenSource(filepath.Join(data, "public"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	s, err := source.Current()
	if errors.Is(err, output.ErrEmpty) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := archive.Verify(t.Context(), s, ""); err != nil {
		t.Errorf("the current snapshot: %v", err)
	}
	return s.ID
}

// fails runs the program. It must exit with status 1 and one message that contains want, and print no secret.
func fails(t *testing.T, env []string, want string, args ...string) {
	t.Helper()
	code, stdout, stderr := tollbook(t, env, args...)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "tollbook: ") || !strings.Contains(stderr, want) ||
		strings.Contains(stderr, "panic") {
		t.Errorf("tollbook %s: exit %d, stdout %q, stderr\n%swant 1 and\n%s", strings.Join(args, " "), code, stdout,
			stderr, want)
	}
	if strings.Contains(stderr, "s3cret") {
		t.Errorf("tollbook %s tells the password:\n%s", strings.Join(args, " "), stderr)
	}
}

// TestDatabaseFaults checks that every command that needs the database reports its faults and changes nothing.
func TestDatabaseFaults(t *testing.T) {
	t.Parallel()
	good := postgrestest.NewDatabase(t)
	data := t.TempDir()
	list := writeFile(t, "services.json", listOfServices(3, "Sums."))
	for _, args := range [][]string{{"services", "import", list, "--data", data}, {"build", "--data", data}} {
		if code, _, stderr := tollbook(t, []string{"DATABASE_URL=" + good}, args...); code != 0 {
			t.Fatalf("tollbook %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
		}
	}
	snapshot := published(t, data)

	newer := postgrestest.NewDatabase(t)
	if code, _, stderr := tollbook(t, []string{"DATABASE_URL=" + newer}, "services", "list"); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	query(t, newer, `UPDATE tollbook_schema SET version = version + 1`)

	for _, tt := range []struct{ name, url, want string }{
		{"down", "postgres://tollbook:s3cret@127.0.0.1:1/tollbook", "connection refused"},
		{"no socket", "postgres:///tollbook?host=/nowhere&user=u&password=s3cret", "no such file or directory"},
		{"newer schema", newer, "the database has a newer schema than this program knows"},
		{"no database", strings.Replace(good, "/test", "/nothing", 1), `database "nothing`},
		{"no URL", "s3cret", "it is not a Postgres URL or keyword string"},
		{"wrong option", "postgres://tollbook:s3cret@127.0.0.1/tollbook?sslmode=perhaps",
			"it is not a Postgres URL or keyword string"},
		{"password with a percent sign", "postgres://tollbook:s3cret%zz@127.0.0.1/tollbook",
			"it is not a Postgres URL or keyword string"},
		{"password with a slash", "postgres://tollbook:s3cret/x@127.0.0.1/tollbook", "open DATABASE_URL: "},
		{"another program's address", "https://tollbook:s3cret@127.0.0.1/tollbook",
			"it is not a Postgres URL or keyword string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := []string{"DATABASE_URL=" + tt.url}
			elsewhere := filepath.Join(t.TempDir(), "data")
			fails(t, env, tt.want, "build", "--data", data)
			fails(t, env, tt.want, "build", "--data", elsewhere)
			fails(t, env, tt.want, "crawl", "--once", "--data", elsewhere)
			fails(t, env, tt.want, "services", "import", list, "--data", elsewhere)
			fails(t, env, tt.want, "services", "list", "--data", elsewhere)
			checkEmpty(t, elsewhere)
		})
	}
	if got := published(t, data); got != snapshot {
		t.Errorf("the current snapshot is %s, want %s", got, snapshot)
	}
	if n := query(t, newer, `SELECT count(*)::text FROM services`); n != "0" {
		t.Errorf("%s services in the database of a newer schema", n)
	}
}

// query runs a statement and returns the first value. It closes its connection, since some tests query in a loop.
func query(t *testing.T, url, sql string) (value string) {
	t.Helper()
	conn := postgrestest.Connect(t, url)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&value); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// TestImport checks that a list is imported completely or not at all, and that the error names the line and the fault.
func TestImport(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, env, "services", "list") // creates the tables, which the program says
	listed := func() string {
		t.Helper()
		code, stdout, stderr := tollbook(t, env, "services", "list", "--json")
		if code != 0 || stderr != "" {
			t.Fatalf("services list: exit %d\n%s", code, stderr)
		}
		return stdout
	}
	good := `[[service]]
service_name = "Acme Quotes"
description  = "Share prices."
url          = "https://api.acme.example"
category     = "Finance"
endpoints    = ["/quote", "POST /search"]
`
	second := strings.NewReplacer("Acme", "Umbra", "acme", "umbra").Replace(good)
	for _, tt := range []struct{ name, file, data, want string }{
		{"no file", "", "", "no such file or directory"},
		{"wrong address", "s.toml", good + "\n" + strings.Replace(second, "https://api.umbra.example", "ftp://umbra",
			1), "s.toml:11:16: url must"},
		{"no name", "s.toml", good + "\n" + strings.Replace(second, `"Umbra Quotes"`, `""`, 1),
			"s.toml:9:16: service_name is missing"},
		{"unknown field", "s.toml", good + "\n" + second + "price = 3\n", "s.toml:14:1: unknown field price"},
		{"not TOML", "s.toml", good + "\n[[service\n", "s.toml:8:10: "},
		{"the same twice", "s.toml", good + "\n" + good, "s.toml:9:16: slug acme-quotes is already at line 2"},
		{"not JSON", "s.json", "[\n{\"service_name\": \"A\",\n]", "s.json:3:1: "},
		{"wrong type", "s.json", "[\n{\"service_name\": 3}]", "s.json:2:18: "},
		{"no list", "s.json", `{"service_name":"A"}`, "s.json:1:1: "},
		{"a folder", ".", "", "is a directory"},
		{"an empty list", "s.json", "[]", "s.json contains no service"},
		{"an empty file", "s.toml", "\n", "s.toml contains no service"},
	} {
		path := filepath.Join(t.TempDir(), tt.file)
		if tt.data != "" {
			path = writeFile(t, tt.file, []byte(tt.data))
		}
		if tt.file == "" {
			path += "/missing.toml"
		}
		t.Run(tt.name, func(t *testing.T) {
			fails(t, env, tt.want, "services", "import", path)
			if got := listed(); got != "[]\n" {
				t.Errorf("listed although the file was refused: %s", got)
			}
		})
	}
	if _, stdout, _ := tollbook(t, env, "services",
		"list"); stdout != "No services are listed. Add some: tollbook services apply FILE\n" {
		t.Errorf("services list says %q", stdout)
	}
	path := writeFile(t, "s.toml", []byte(good+"\n"+second))
	if code, stdout, stderr := tollbook(t, env, "services", "import", path); code != 0 ||
		!strings.HasSuffix(stdout, "\n2 to add, 0 to change, 0 to retire, 0 unchanged\n"+
			"Applied. Next: tollbook crawl visits the services\n") {
		t.Fatalf("exit %d, stdout %q, stderr\n%s", code, stdout, stderr)
	}
	got := decode[[]map[string]any](t, listed())
	for _, s := range got {
		if s["next_check_at"] == nil {
			t.Errorf("%s is never visited", s["slug"])
		}
		delete(s, "next_check_at")
	}
	want := []map[string]any{
		{"slug": "acme-quotes", "state": "unknown", "listing_state": "listed", "opted_out": false,
			"name":     "Acme Quotes",
			"base_url": "https://api.acme.example", "category": "Finance", "last_checked_at": nil},
		{"slug": "umbra-quotes", "state": "unknown", "listing_state": "listed", "opted_out": false,
			"name":     "Umbra Quotes",
			"base_url": "https://api.umbra.example", "category": "Finance", "last_checked_at": nil},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("services list --json (-want +got):\n%s", diff)
	}
	_, table, _ := tollbook(t, env, "services", "list")
	if lines := strings.Split(table, "\n"); len(lines) != 4 ||
		strings.Join(strings.Fields(lines[1]), " ") != "acme-quotes unknown Finance never https://api.acme.example" {
		t.Errorf("services list says\n%s", table)
	}
	before := listed()
	third := strings.NewReplacer("Acme", "Nadir", "acme", "nadir").Replace(good)
	again := writeFile(t, "again.toml",
		[]byte(third+"\n"+strings.Replace(good, "service_name", "slug = \"new\"\nservice_name", 1)))
	fails(t, env, "is listed as acme-quotes; name that slug, or leave the slug out", "services", "import", again)
	if got := listed(); got != before {
		t.Errorf("a refused list changed what is listed:\n%s", got)
	}
}

// TestSampleAndRealStayApart checks that real services and a demo's services never share a database.
func TestSampleAndRealStayApart(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	list := writeFile(t, "services.json", listOfServices(1, "Sums."))

	real := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	if code, _, stderr := tollbook(t, real, "services", "import", list); code != 0 {
		t.Fatal(stderr)
	}
	p := command(t, real, "demo", "--data", t.TempDir(), "--listen", "127.0.0.1:0").start(t)
	if code := p.status(t); code != 1 || !strings.Contains(p.said(), "this database contains a real directory") {
		t.Errorf("demo on a real directory: exit %d\n%s", code, p.said())
	}

	sample := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	demo := command(t, sample, "demo", "--data", t.TempDir(), "--listen", "127.0.0.1:0").shipped(t).start(t)
	demo.await(t, "Building the first snapshot") // its services are stored
	demo.interrupt(t, os.Interrupt)
	fails(t, sample, "this database contains the sample services of a demo", "services", "import", list)
	fails(t, sample, "this database contains the sample services of a demo", "crawl", "--once")
	data := t.TempDir()
	if code, _, stderr := tollbook(t, sample, "build", "--data", data); code != 0 {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(data, "public", "current", "index.html"))
	if err != nil || !bytes.Contains(bytes.ToLower(page), []byte("sample data")) {
		t.Errorf("a build of a demo's database does not say that its services are made up: %v\n%.500s", err, page)
	}
}

// TestEmptyDirectory checks that every step works without services, and that responses say so until a snapshot exists.
func TestEmptyDirectory(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := filepath.Join(t.TempDir(), "data")
	reader := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--serve-listen",
		"127.0.0.1:0").start(t)
	base := strings.Fields(reader.await(t, "Serving "))[2]
	base = strings.TrimSuffix(base, "/")
	if a := get(t, base+"/v1/services"); a.status != 503 || !strings.HasPrefix(a.body, `{"error":{"code":503,`) ||
		a.header.Get("Retry-After") == "" {
		t.Errorf("before the first build: %d %v\n%s; want 503, an error object and Retry-After", a.status, a.header,
			a.body)
	}
	checkEmpty(t, data) // a reader creates nothing

	code, stdout, stderr := tollbook(t, env, "crawl", "--once", "--data", data)
	if code != 0 || !strings.HasPrefix(stdout, "0 services visited in ") || stderr != "" {
		t.Errorf("crawl: exit %d, stdout %q, stderr\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = tollbook(t, env, "crawl", "--once", "--json", "--data", data)
	report := decode[map[string]float64](t, stdout)
	delete(report, "seconds")
	want := map[string]float64{"visits": 0, "online": 0, "degraded": 0, "offline": 0, "inconclusive": 0, "changes": 0,
		"sites": 0, "sites_unseen": 0, "endpoints_added": 0, "domains": 0, "opted_out": 0}
	if diff := gocmp.Diff(want, report); code != 0 || stderr != "" || diff != "" {
		t.Errorf("crawl --json: exit %d, stderr %q (-want +got):\n%s", code, stderr, diff)
	}
	code, stdout, stderr = tollbook(t, env, "build", "--json", "--data", data)
	built := decode[struct {
		Snapshot string
		Services int
	}](t, stdout)
	if code != 0 || stderr != "" || built.Snapshot == "" || built.Services != 0 {
		t.Errorf("build --json: exit %d, stderr %q, stdout %s", code, stderr, stdout)
	}
	a := until(t, base+"/v1/services", "first snapshot", func(a answer) bool { return a.status == 200 })
	if a.header.Get("X-Snapshot") != built.Snapshot || !strings.Contains(a.body, `"total":0`) {
		t.Errorf("after the first build: snapshot %s, want %s\n%s", a.header.Get("X-Snapshot"), built.Snapshot, a.body)
	}
	for _, e := range endpoints {
		if strings.Contains(e.path, "{slug}") {
			continue
		}
		if a := get(t, base+e.path); a.status != 200 {
			t.Errorf("GET %s: %d", e.path, a.status)
		} else if faults := checkBody(a.body, e.data, e.meta); len(faults) > 0 {
			t.Errorf("GET %s:\n%s", e.path, strings.Join(faults, "\n"))
		}
	}
	tree := command(t, nil, "serve", "--from", filepath.Join(data, "public", "current"), "--serve-listen",
		"127.0.0.1:0").start(t)
	address := strings.TrimSuffix(strings.Fields(tree.await(t, "Serving "))[2], "/")
	if b := get(t, address+"/v1/services"); b.status != 200 || b.body != a.body {
		t.Errorf("serve --from a tree: %d\n%s\nwant what the zip holds:\n%s", b.status, b.body, a.body)
	}
	tree.interrupt(t, syscall.SIGTERM)
	reader.interrupt(t, os.Interrupt)
}
