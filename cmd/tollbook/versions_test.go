//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/output/archive"
)

// olderVariable names the program of an older commit, whose clock asClock sets, too. .ci/long builds it. TestVersions
// compares with it, and it begins the year of TestYear.
const olderVariable = "TOLLBOOK_TEST_OLDER"

// programVersion is the program of some commit.
type programVersion struct {
	name, path string
}

func (v programVersion) command(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := command(t, env, args...)
	p.Path, p.Args[0] = v.path, v.path
	return p
}

// run runs a command, which must succeed. Where its output is JSON, it returns that.
func (v programVersion) run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	p := v.command(t, env, args...).start(t)
	if code := p.status(t); code != 0 {
		t.Errorf("%s: tollbook %s: exit %d:\n%s", v.name, strings.Join(args, " "), code, p.said())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// sharedDifference returns where two JSON documents differ in what both have, "" if they do not. A later version may
// add members.
func sharedDifference(path string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		o, ok := b.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %T, not an object", path, b)
		}
		for _, k := range slices.Sorted(keysOf(a)) {
			if other, has := o[k]; has {
				if d := sharedDifference(path+"."+k, a[k], other); d != "" {
					return d
				}
			}
		}
	case []any:
		o, ok := b.([]any)
		if !ok || len(o) != len(a) {
			return fmt.Sprintf("%s: %d values, and %v", path, len(a), b)
		}
		for i := range a {
			if d := sharedDifference(fmt.Sprintf("%s[%d]", path, i), a[i], o[i]); d != "" {
				return d
			}
		}
	default:
		if a != b {
			return fmt.Sprintf("%s: %.200v and %.200v", path, a, b)
		}
	}
	return ""
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// compareShared fails if what two programs said differs in members that both have.
func compareShared(t *testing.T, what, one, other string) {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(one), &a) != nil || json.Unmarshal([]byte(other), &b) != nil {
		if one != other {
			t.Errorf("%s: one program says\n%.600s\nthe other\n%.600s", what, one, other)
		}
		return
	}
	if d := sharedDifference("", a, b); d != "" {
		t.Errorf("%s: the programs differ at %s", what, d)
	}
}

// routesToCompare are answered by files and by each of the rules that cut answers out of files.
var routesToCompare = []string{"/v1/services?per_page=2", "/v1/services?network=SOL&per_page=2&page=1",
	"/v1/services?sort=price&per_page=3", "/v1/services/firefly-embeddings", "/v1/search?q=embeddings",
	"/v1/best?q=embeddings", "/v1/checks?limit=5", "/v1/changes?limit=150", "/v1/status", "/v1/coverage",
	"/v1/facilitators", "/v1/flow", "/v1/sources", "/v1/incidents", "/checkpoint.json",
	"/services/firefly-embeddings", "/", "/feed.xml", "/data", "/v1/nothing"}

// TestVersions lets a program of an older commit read what this one publishes, and this one what the older publishes:
// verify, serve with every kind of route, find, best, show and check at its server, data pull and query, MCP, publish
// and rollback. Each must succeed, and say the same as the program that published, in all members that both know.
// olderVariable names the older program; without it, the test is skipped, because .ci/long alone builds one.
func TestVersions(t *testing.T) {
	path := os.Getenv(olderVariable)
	if path == "" {
		t.Skip(olderVariable + " is not set")
	}
	needPostgres(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	older, this := programVersion{"the older program", path}, programVersion{"this program", self}
	commands := 0
	for _, c := range []struct{ writer, reader programVersion }{{this, older}, {older, this}} {
		t.Run(c.reader.name+" reads "+c.writer.name, func(t *testing.T) {
			commands += readVersion(t, c.writer, c.reader)
		})
	}
	t.Logf("figures: %s and this program: %d commands, routes and tools, both ways", older.name, commands)
}

// readVersion publishes with one program and reads with the other. It returns how many answers it compared.
func readVersion(t *testing.T, writer, reader programVersion) (compared int) {
	kept := keptPublications[len(keptPublications)-1]
	env := []string{"DATABASE_URL=" + restoreKept(t, kept.database)}
	data, bucket := t.TempDir(), filepath.Join(t.TempDir(), "bucket")
	public := filepath.Join(data, "public")
	key, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	private, err := archive.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	publicKey := filepath.Join(t.TempDir(), "public.pem")
	if err := os.WriteFile(publicKey, archive.PublicKey(private), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "TOLLBOOK_SIGNING_KEY="+string(key))
	writer.run(t, env, "build", "--data", data, "--site-base-url", "https://directory.example")
	if t.Failed() {
		return 0
	}
	both := func(env []string, args ...string) {
		t.Helper()
		compared++
		compareShared(t, "tollbook "+strings.Join(args, " "), steady(writer.run(t, env, args...)),
			steady(reader.run(t, env, args...)))
	}
	both(nil, "verify", public, "--key", publicKey, "--json")
	serve := func(v programVersion) string {
		p := v.command(t, nil, "serve", "--from", public, "--serve-listen", "127.0.0.1:0").start(t)
		_, address, _ := strings.Cut(p.await(t, "Serving "), " on ")
		return strings.TrimSuffix(strings.Fields(address)[0], "/")
	}
	own, others := serve(writer), serve(reader)
	for _, route := range routesToCompare {
		compared++
		a, b := get(t, own+route), get(t, others+route)
		if a.status != b.status {
			t.Errorf("serve: GET %s: %d from the program that published, %d from the other: %.200s", route, a.status,
				b.status, b.body)
			continue
		}
		compareShared(t, "serve: GET "+route, requestID.ReplaceAllString(a.body, ""),
			requestID.ReplaceAllString(b.body, ""))
	}
	// The server fills in the page of results itself, so its markup may differ.
	compared++
	a, b := get(t, own+"/search?q=embeddings"), get(t, others+"/search?q=embeddings")
	if diff := gocmp.Diff(foundLink.FindAllString(a.body, -1), foundLink.FindAllString(b.body, -1)); diff != "" ||
		a.status != 200 || b.status != 200 || !foundLink.MatchString(a.body) {
		t.Errorf("serve: GET /search: %d and %d, links to services:\n%s", a.status, b.status, diff)
	}
	for _, args := range [][]string{{"find", "embeddings", "--json"}, {"find", "--sort", "price", "--json"},
		{"best", "embeddings", "--json"}, {"show", "firefly-embeddings", "--json"}} {
		both(nil, append(args, "--directory", own)...)
	}
	for _, v := range []programVersion{writer, reader} {
		to := filepath.Join(t.TempDir(), "tables")
		v.run(t, nil, "data", "pull", own, "--to", to, "--key", publicKey)
		for _, sql := range []string{"SELECT slug FROM services ORDER BY slug", "SELECT count(*) AS n FROM prices",
			"SELECT count(*) AS n FROM settlements"} {
			both(nil, "data", "query", sql, "--from", to, "--json")
		}
	}
	var told []map[string]string // answers by tool
	for _, v := range []programVersion{writer, reader} {
		p := v.command(t, nil, "mcp", "--from", public)
		session := connectMCP(t, &sdk.CommandTransport{Command: p.Cmd})
		answers := map[string]string{}
		for tool, args := range map[string]map[string]any{"search_services": {"q": "embeddings"},
			"get_service": {"slug": "firefly-embeddings"}} {
			answers[tool], _ = callTool(t, session, tool, args)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: mcp: %v", v.name, err)
		}
		told = append(told, answers)
	}
	for tool, answer := range told[0] {
		compared++
		compareShared(t, "mcp: "+tool, answer, told[1][tool])
	}
	reader.run(t, env, "publish", "--data", data, "--publish-to", bucket)
	both(nil, "verify", bucket, "--key", publicKey, "--json")
	reader.run(t, append(env, "DATABASE_URL="+restoreKept(t, kept.database)), "build", "--data", t.TempDir(),
		"--site-base-url", "https://directory.example")
	first := published(t, data)
	writer.run(t, env, "build", "--data", data, "--site-base-url", "https://directory.example")
	writer.run(t, env, "publish", "--data", data, "--publish-to", bucket)
	reader.run(t, env, "rollback", first, "--data", data, "--publish-to", bucket)
	both(nil, "verify", bucket, "--key", publicKey, "--json")
	return compared + 4
}

var (
	// requestID is what differs between two answers of one server, too.
	requestID = regexp.MustCompile(`"request_id": ?"[^"]*",?|[0-9a-f]{8}-[0-9a-f-]{27}`)
	foundLink = regexp.MustCompile(`/services/[a-z0-9-]+(?:\.html)?"`)
	// took are times of day and durations of a report.
	took = regexp.MustCompile(`"(seconds|took|duration|elapsed|age|age_s)[a-z_]*": ?[^,}\n]*,?`)
)

// steady leaves out of a report what no two runs share.
func steady(report string) string { return took.ReplaceAllString(report, "") }
