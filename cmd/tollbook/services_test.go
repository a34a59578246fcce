package main

import (
	"encoding/json"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/report"
	"tollbook/crawl"

	"tollbook/site/postgres/postgrestest"
)

// TestImportDryRun checks that a dry run reports the changes of a file and changes nothing. It reports errors together
// with the differences.
func TestImportDryRun(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	file := writeFile(t, "two.json", directory(2, "Old words."))
	before := ran(t, env, "export")
	if out := ran(t, env, "services", "import", "--dry-run",
		file); out != "+ service-0000 https://s0000.example: /a, POST /b\n+ service-0001 https://s0001.example: "+
		"/a, POST /b\n"+
		"2 services would be listed, 0 would get endpoints, 0 are listed already, 0 have an address that is "+
		"never visited\n" {
		t.Errorf("of an empty directory:\n%s", out)
	}
	if after := ran(t, env, "export"); after != before {
		t.Errorf("a dry run changed the directory:\n%s", after)
	}
	ran(t, env, "services", "import", file)
	before = ran(t, env, "export")
	three := writeFile(t, "three.json", directory(3, "New words."))
	code, out, stderr := run(t, env, "services", "import", "--dry-run", three)
	if code != 1 || !strings.Contains(stderr, "nothing would be imported") ||
		out != "+ service-0002 https://s0002.example: /a, POST /b\n"+
			"! service-0000 https://s0000.example is listed as service-0000\n    description: Old words. → New "+
			"words.\n"+
			"! service-0001 https://s0001.example is listed as service-0001\n    description: Old words. → New "+
			"words.\n"+
			"1 services would be listed, 0 would get endpoints, 2 are listed already, 0 have an address that is "+
			"never visited\n" {
		t.Errorf("of one that has two of three: exit %d\n%s%s", code, out, stderr)
	}
	code, out, _ = run(t, env, "services", "import", "--dry-run", "--json", three)
	var plan crawl.ImportPlan
	if err := json.Unmarshal([]byte(out), &plan); err != nil || code != 1 || len(plan.New) != 1 ||
		len(plan.Conflicts) != 2 || plan.Conflicts[0].Listed != "service-0000" {
		t.Errorf("as JSON: exit %d, %v\n%s", code, err, out)
	}
	if after := ran(t, env, "export"); after != before {
		t.Errorf("a dry run changed the directory:\n%s", after)
	}
	if code, _, stderr := run(t, env, "services", "import", three); code != 1 ||
		!strings.Contains(stderr, "already listed") {
		t.Errorf("the import itself: exit %d, %s", code, stderr)
	}
}

// TestServicesShow checks the facts of one service, as text and as JSON.
func TestServicesShow(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, env, "services", "import", writeFile(t, "one.json", directory(1, "It\u202esays \\u001b[31mthis.")))
	var f report.Service
	if err := json.Unmarshal([]byte(ran(t, env, "services", "show", "service-0000", "--json")), &f); err != nil {
		t.Fatal(err)
	}
	if f.Slug != "service-0000" || f.BaseURL != "https://s0000.example" || f.CheckSeconds != 900 ||
		f.LastCheckedAt != nil || len(f.Endpoints) != 2 || f.Endpoints[0].Prices == nil {
		t.Errorf("%+v", f)
	}
	out := ran(t, env, "services", "show", "service-0000")
	for _, want := range []string{"URL         https://s0000.example\n", "Last visit  never, -\n",
		"Endpoint    POST /b (import)\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.ContainsAny(out, "\u202e\x1b") {
		t.Errorf("what a terminal would obey is printed: %q", out)
	}
	if code, _, stderr := run(t, env, "services", "show", "nobody"); code != 1 ||
		!strings.Contains(stderr, `no service "nobody" is listed`) {
		t.Errorf("one that is not there: exit %d, %s", code, stderr)
	}
}
