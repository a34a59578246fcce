package main

import (
	"encoding/json"
	"strings"
	"testing"

	"tollbook/site/postgres/postgrestest"
)

// TestServicesBlock checks that a blocked host is hidden from the next build, that every command which would list it
// says why not, that an export carries the block, and that its end brings the service back.
func TestServicesBlock(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	list, err := json.Marshal([]map[string]any{{"service_name": "Acme", "description": "d",
		"url": "https://api.acme.example", "category": "AI", "endpoints": []string{"/a"}}})
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "list.json", list)
	ran(t, env, "services", "import", file)
	block := func(args ...string) string { return ran(t, env, append([]string{"services"}, args...)...) }
	if out := block("block", "*.acme.example", "--as", "ada", "--reason", "sells lists"); out !=
		"Blocked *.acme.example. Hidden: acme. Next: tollbook build publishes the directory without them\n" {
		t.Errorf("block: %s", out)
	}
	if out := block("block", "spam.example", "--json"); !strings.Contains(out, `{"host":"spam.example"}`) {
		t.Errorf("block --json: %s", out)
	}
	if out := block("opt-outs"); !strings.Contains(out, "*.acme.example") || !strings.Contains(out,
		"blocked by ada: sells lists") {
		t.Errorf("opt-outs: %s", out)
	}
	if out := block("show", "acme"); !strings.Contains(out, "opted out by its owner, or blocked, since") {
		t.Errorf("show: %s", out)
	}
	if out := block("import", file); !strings.Contains(out, "ada blocked *.acme.example on ") ||
		!strings.Contains(out, "(sells lists); tollbook services unblock *.acme.example ends that") {
		t.Errorf("import: %s", out)
	}
	out := t.TempDir() + "/directory.jsonl"
	ran(t, env, "export", out)
	other := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, other, "import", out, "--data", t.TempDir())
	if out := ran(t, other, "services", "opt-outs"); strings.Count(out, "blocked by ") != 2 {
		t.Errorf("opt-outs after an import: %s", out)
	}
	if out := block("unblock", "*.acme.example"); out != "*.acme.example may be listed again. As before the block: acme\n" {
		t.Errorf("unblock: %s", out)
	}
	for _, args := range [][]string{{"unblock", "*.acme.example"}, {"block", "*.com"}, {"block", "https://a.example/x"}} {
		if code, _, stderr := tollbook(t, env, append([]string{"services"}, args...)...); code == 0 {
			t.Errorf("%q is accepted:\n%s", args, stderr)
		}
	}
}
