package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/postgrestest"
)

// TestExport checks that an import of an export creates a directory that exports the same bytes. E-mail addresses are
// exported only on request.
func TestExport(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn, "USER=ada"}
	data := t.TempDir()
	ran(t, env, "services", "import", writeFile(t, "list.json", listOfServices(3, "A <b>service</b> & more.")))
	ran(t, env, "facilitators", "import")
	var some []struct{ ID string }
	if err := json.Unmarshal([]byte(ran(t, env, "facilitators", "list", "--json")), &some); err != nil ||
		len(some) == 0 {
		t.Fatal(err)
	}
	ran(t, env, "facilitators", "trust", some[0].ID)
	ran(t, env, "build", "--data", data)
	base, server := serving(t, env, data)
	var ids []string
	for _, name := range []string{"waits", "good", "bad"} {
		ids = append(ids,
			taken(t, post(t, base+"/v1/submit", jsonBody, submission(name, "notes", `"Line one.\nN0tes."`))).
				SubmissionID)
	}
	server.interrupt(t, os.Interrupt)
	ran(t, env, "submissions", "approve", ids[1])
	ran(t, env, "submissions", "reject", ids[2], "--reason", "It asks for nothing.", "--as", "bob")
	ran(t, env, "services", "remove", "--yes", "service-0001")
	ran(t, env, "services", "pause", "service-0000")
	ran(t, env, "sources", "enable", "payai", "--as", "cleo")
	ran(t, env, "sources", "enable", "cdp")
	ran(t, env, "sources", "disable", "cdp")
	if code, _, _ := tollbook(t, env, "services", "verify", "service-0002", "--json"); code != 1 { // creates the token
		t.Fatal("a service that nobody answers for is verified")
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `
		INSERT INTO tokens VALUES ('eip155:8453', '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', 'USDC', 6, true);
		INSERT INTO audit (at, actor, action, service_id, detail) SELECT '2026-11-20T01:02:03.456789Z', 'ada', 'verify', id, slug FROM services WHERE slug = 'service-0002';
		UPDATE services SET verified_at = '2026-11-20T01:02:03.456789Z', check_interval = '30 minutes' WHERE slug = 'service-0002';
		UPDATE endpoints SET method = 'POST' WHERE NOT method_declared`)
	conn.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	file, full := filepath.Join(dir, "directory.jsonl"), filepath.Join(dir, "full.jsonl")
	ran(t, env, "export", file)
	ran(t, env, "export", "--with-contacts", full)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	plain, contacts := readFile(t, file), readFile(t, full)
	if strings.Contains(plain, "s3cret") || strings.Contains(plain, "N0tes") ||
		strings.Count(contacts, "owner-s3cret@") != 3 || strings.Count(contacts, "N0tes") != 3 {
		t.Errorf("contacts in it:\n%s\nand with them:\n%s", plain, contacts)
	}
	if again := ran(t, env, "export"); again != plain {
		t.Errorf("exported again (-first +second):\n%s", cmp.Diff(plain, again))
	}

	other := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, other, "import", full)
	if diff := cmp.Diff(contacts, ran(t, other, "export", "--with-contacts")); diff != "" {
		t.Errorf("exported from what was imported (-want +got):\n%s", diff)
	}
	for what, list := range map[string][]string{"services": {"services", "list", "--json"},
		"facilitators": {"facilitators", "list", "--json"},
		"sources":      {"sources", "list", "--json"},
		"submissions":  {"submissions", "list", "--state", "all", "--json"}} {
		was, is := ran(t, env, list...), ran(t, other, list...)
		if what == "services" { // an import makes every service due now
			was, is = withoutTimes(t, was), withoutTimes(t, is)
		}
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if out := ran(t, other, "submissions", "show", ids[2]); !strings.Contains(out, "bob: reject It asks for nothing.") {
		t.Errorf("the audit trail:\n%s", out)
	}
	if code, _, stderr := tollbook(t, other, "import", full); code != 1 || !strings.Contains(stderr, "is not empty") {
		t.Errorf("imported twice: exit %d, %s", code, stderr)
	}
	elsewhere := t.TempDir()
	ran(t, other, "build", "--data", elsewhere)
	if listed := readFile(t, filepath.Join(elsewhere, "public", "current", "v1",
		"index.json")); !strings.Contains(listed, `"good"`) || strings.Contains(listed, `"service-0001"`) {
		t.Errorf("what is built of it: %.2000s", listed)
	}
	// the slug of an erased service is not used again, in either directory
	base, server = serving(t, other, elsewhere)
	id := taken(t, post(t, base+"/v1/submit", jsonBody, submission("other", "service_name", `"service-0001"`))).
		SubmissionID
	server.interrupt(t, os.Interrupt)
	if out := ran(t, other, "submissions", "approve", id); strings.HasPrefix(out, "Listed as service-0001.") {
		t.Errorf("an erased slug: %s", out)
	}
}

// withoutTimes returns a list of services without their next visits.
func withoutTimes(t *testing.T, list string) string {
	t.Helper()
	var services []map[string]any
	if err := json.Unmarshal([]byte(list), &services); err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		delete(s, "next_check_at")
	}
	data, err := json.Marshal(services)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestImportRefuses checks that an invalid or truncated file leaves the directory empty. The error names its line.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	const head, end = `{"kind":"tollbook-directory","version":1,"contacts":false}`, `{"kind":"end","lines":2}`
	service := func(pairs ...string) string {
		text := `{"kind":"service","slug":"acme","name":"Acme","description":"d","base_url":"https://acme.example","website_url":null,"category":"Data","source":"imported:file","created_at":"2026-11-20T00:00:00Z","verified_at":null,"check_interval_seconds":900,"ownership_token":null,"endpoints":[{"method":"","path":"/a","description":null,"mime_type":null,"origin":"import"}],"audit":[]}`
		return strings.NewReplacer(pairs...).Replace(text)
	}
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "the file was cut"},
		{"cut", head + "\n" + service() + "\n", "file.jsonl:2: the file was cut"},
		{"cut within a line", head + "\n" + service()[:100], "file.jsonl:2: want a JSON object"},
		{"a line taken out", head + "\n" + end, "file.jsonl:2: 1 lines precede this one, but it says 2"},
		{"another file", `[{"url":"https://acme.example"}]`, "file.jsonl:1: want a JSON object"},
		{"a newer one", strings.Replace(head, `"version":1`, `"version":2`, 1),
			"file.jsonl:1: version 2: this program reads version 1"},
		{"more than is known", head + "\n" + service(`"audit":[]`, `"audit":[],"rank":1`) + "\n" + end,
			`file.jsonl:2: unknown field "rank"`},
		{"a kind that is not known", head + "\n" + `{"kind":"check"}`,
			`file.jsonl:2: kind "check" is not allowed here`},
		{"out of order", head + "\n" + `{"kind":"erased","slug":"x","removed_at":"2026-11-20T00:00:00Z"}` + "\n" +
			service(), "file.jsonl:3: kind service comes after kind erased"},
		{"a wrong slug", head + "\n" + service(`"acme"`, `"Acme/../x"`) + "\n" + end, "file.jsonl:2: slug "},
		{"a wrong address", head + "\n" + service("https://acme.example", "javascript:x") + "\n" + end,
			"file.jsonl:2: url "},
		{"a wrong path", head + "\n" + service(`"/a"`, `"//evil.example/a"`) + "\n" + end, "file.jsonl:2: endpoints "},
		{"a slug twice", head + "\n" + service() + "\n" + service("https://acme.example", "https://b.example") + "\n",
			"file.jsonl:3: slug acme is already at line 2"},
		{"an erased slug that is listed", head + "\n" + service() + "\n" +
			`{"kind":"erased","slug":"acme","removed_at":"2026-11-20T00:00:00Z"}`,
			"file.jsonl:3: slug acme is already at line 2"},
		{"a wrong facilitator",
			head + "\n" +
				`{"kind":"facilitator","id":"a ` +
				`b","name":"A","website_url":"https://a.example","docs_url":null,"facilitator_url":null,"upstream_status":"merged","trusted":true,"addresses":[]}` + "\n" + end, `id "a b" must be`},
		{"a submission of a service that is not there",
			head + "\n" +
				`{"kind":"submission","id":"00000000-0000-4000-8000-000000000000","received_at":"2026-11-20T00:00:00Z","domain":"acme.example","url":"https://acme.example","email":"","service_name":"Acme","description":"d","website_url":"https://acme.example","category":"Data","endpoints":["/a"],"state":"approved","decided_at":"2026-11-20T00:00:00Z","reason":null,"slug":"nowhere","probe_result":null,"audit":[]}` + "\n" + end, `no service "nowhere" is in the list`},
		{"a decision that does not exist", head + "\n" + `{"kind":"source","name":"cdp","enabled":true,"audit":[` +
			`{"at":"2026-11-20T00:00:00Z","actor":"ada","action":"approve"}]}` + "\n" + end,
			"file.jsonl:2: audit: each line must have an actor and one of the actions"},
		{"a source twice", head + "\n" + strings.Repeat(`{"kind":"source","name":"cdp","enabled":true,"audit":[]}`+"\n",
			2) + end, "file.jsonl:3: source cdp is already at line 2"},
		{"a line without an end", head + "\n" + strings.Repeat(" ", 9<<20), "file.jsonl:2: is longer than 8 MiB"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "file.jsonl"), tt.file)
		p := command(t, env, "import", "file.jsonl")
		p.Dir = dir
		p.start(t)
		if code := p.status(t); code != 1 || !strings.Contains(p.said(), tt.want) {
			t.Errorf("%s: exit %d: %.600s\nwant %s", tt.name, code, p.said(), tt.want)
		}
	}
	if out := ran(t, env, "export"); out != head+"\n"+`{"kind":"end","lines":1}`+"\n" {
		t.Errorf("the directory is not empty: %s", out)
	}
}
