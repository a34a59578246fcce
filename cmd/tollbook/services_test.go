package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/report"
	"tollbook/crawl/list"
	"tollbook/site/postgres/postgrestest"
)

// TestImportDryRun checks that a dry run reports the changes of a file and changes nothing. It reports errors together
// with the differences.
func TestImportDryRun(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	file := writeFile(t, "two.json", listOfServices(2, "Old words."))
	before := ran(t, env, "export")
	if out := ran(t, env, "services", "import", "--dry-run",
		file); out != "+ service-0000 https://s0000.example: /a, POST /b\n+ service-0001 https://s0001.example: "+
		"/a, POST /b\n2 to add, 0 to change, 0 to retire, 0 unchanged\nNothing was changed, because of --dry-run\n" {
		t.Errorf("of an empty directory:\n%s", out)
	}
	if after := ran(t, env, "export"); after != before {
		t.Errorf("a dry run changed the directory:\n%s", after)
	}
	ran(t, env, "services", "import", file)
	before = ran(t, env, "export")
	three := writeFile(t, "three.json", listOfServices(3, "New words."))
	want := "+ service-0002 https://s0002.example: /a, POST /b\n" +
		"~ service-0000\n    description: Old words. → New words.\n" +
		"~ service-0001\n    description: Old words. → New words.\n" +
		"1 to add, 2 to change, 0 to retire, 0 unchanged\n"
	if diff := cmp.Diff(want+"Nothing was changed, because of --dry-run\n",
		ran(t, env, "services", "import", "--dry-run", three)); diff != "" {
		t.Errorf("of one that has two of three (-want +got):\n%s", diff)
	}
	var plan list.Plan
	out := ran(t, env, "services", "import", "--dry-run", "--json", three)
	if err := json.Unmarshal([]byte(out), &plan); err != nil || len(plan.Add) != 1 || len(plan.Change) != 2 {
		t.Errorf("as JSON: %v\n%s", err, out)
	}
	if after := ran(t, env, "export"); after != before {
		t.Errorf("a dry run changed the directory:\n%s", after)
	}
	if diff := cmp.Diff(want+"Applied. Next: tollbook crawl visits the services\n",
		ran(t, env, "services", "import", three)); diff != "" {
		t.Errorf("the import itself (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("0 to add, 0 to change, 0 to retire, 3 unchanged\nNo change\n",
		ran(t, env, "services", "import", three)); diff != "" {
		t.Errorf("the import again (-want +got):\n%s", diff)
	}
}

// importFile imports a list as "tollbook services import" does.
func importFile(ctx context.Context, data dataOptions, file string) error {
	l := listServices{Name: file, Actor: "test"}
	return l.RunFile(ctx, data, applyMode{}, streams{Out: io.Discard, Err: io.Discard})
}

// TestServicesShow checks the facts of one service, as text and as JSON.
func TestServicesShow(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, env, "services", "import", writeFile(t, "one.json", listOfServices(1, "It\u202esays \\u001b[31mthis.")))
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
	if code, _, stderr := tollbook(t, env, "services", "show", "nobody"); code != 1 ||
		!strings.Contains(stderr, `no service "nobody" is listed`) {
		t.Errorf("one that is not there: exit %d, %s", code, stderr)
	}
}

// TestApply checks the life of a file: a plan, no change, a mended name, a refusal to retire without --yes, a
// removed service that stays removed until it is allowed, and a slug that is not given again.
func TestApply(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	one := writeFile(t, "services.json", listOfServices(1, "d"))
	two := writeFile(t, "services.json", listOfServices(2, "d"))
	ran(t, env, "services", "apply", two)
	if out := ran(t, env, "services", "apply", two); !strings.HasSuffix(out, "2 unchanged\nNo change\n") {
		t.Errorf("the same again:\n%s", out)
	}
	if code, _, stderr := tollbook(t, env, "services", "apply", "--prune", one); code != 1 ||
		!strings.Contains(stderr, "the plan would retire 1 service; run the command again with --yes") {
		t.Errorf("without a terminal: exit %d, %s", code, stderr)
	}
	ran(t, env, "services", "apply", "--prune", "--yes", one)
	if out := ran(t, env, "services", "list"); !strings.Contains(out, "service-0001  retired") {
		t.Errorf("after --prune:\n%s", out)
	}
	if out := ran(t, env, "services", "apply", two); !strings.Contains(out, "state: retired → listed") {
		t.Errorf("in the file again:\n%s", out)
	}
	fails(t, env, "nothing was erased", "services", "remove", "service-0001")
	ran(t, env, "services", "remove", "--yes", "service-0001")
	if out := ran(t, env, "services", "apply", two); !strings.Contains(out, ": stays removed; ") ||
		strings.Contains(out, "+ ") {
		t.Errorf("after remove:\n%s", out)
	}
	ran(t, env, "services", "allow", "service-0001")
	if out := ran(t, env, "services", "apply", two); !strings.Contains(out, "+ s0001-example https://s0001.example") {
		t.Errorf("after allow:\n%s", out)
	}
}

// TestEditOfAFile checks that an edit which the next apply of a file undoes says so, and one that no file undoes does not.
func TestEditOfAFile(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	file := writeFile(t, "services.json", listOfServices(1, "d"))
	ran(t, env, "services", "apply", file)
	ran(t, env, "services", "add", "--name", "Books", "--description", "d", "--category", "Data", "--endpoint", "/q",
		"--url", "https://books.example")
	const warning = "! service-0000 comes from a file of services: write this change there, too, or the next tollbook " +
		"services apply of that file undoes it\n"
	for _, more := range [][]string{{"--dry-run"}, nil} {
		args := append([]string{"services", "edit", "service-0000", "--description", "Mended."}, more...)
		if out := ran(t, env, args...); !strings.Contains(out, warning) {
			t.Errorf("%s does not warn:\n%s", args, out)
		}
	}
	if out := ran(t, env, "services", "apply", file); !strings.Contains(out, "description: Mended. → d\n") {
		t.Errorf("the warning is wrong, the file undoes nothing:\n%s", out)
	}
	for _, slug := range []string{"service-0000", "books"} { // no change, and a service of no file
		if out := ran(t, env, "services", "edit", slug, "--description", "d"); strings.Contains(out, "! ") {
			t.Errorf("edit of %s warns:\n%s", slug, out)
		}
	}
	if out := ran(t, env, "services", "edit", "books", "--name", "Novels"); strings.Contains(out, "! ") {
		t.Errorf("edit of a service of no file warns:\n%s", out)
	}
}

// TestOneHostOneService checks that each door knows a host in whatever form it is written: a service is listed once, and
// is found by each form.
func TestOneHostOneService(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	add := func(url string) []string {
		return []string{"services", "add", "--name", "Books", "--description", "d", "--category", "Data", "--endpoint", "/q",
			"--url", url}
	}
	ran(t, env, add("https://bücher.test")...)
	for _, form := range []string{"https://xn--bcher-kva.test/", "HTTPS://B%C3%BCcher.TEST.:443"} {
		fails(t, env, "the service is listed already", add(form)...)
		file := writeFile(t, "services.json", []byte(`[{"service_name": "Books", "description": "d", "category": "Data",
			"source": "imported:operator", "url": "`+form+`", "endpoints": ["/q"]}]`))
		if out := ran(t, env, "services", "apply", file); !strings.HasSuffix(out, "1 unchanged\nNo change\n") {
			t.Errorf("apply of %s:\n%s", form, out)
		}
		if out := ran(t, env, "services", "edit", "books", "--url", form); !strings.HasSuffix(out, "No change\n") {
			t.Errorf("edit to %s:\n%s", form, out)
		}
	}
	if out := ran(t, env, "services", "list", "--json"); strings.Count(out, `"slug"`) != 1 ||
		!strings.Contains(out, `"https://xn--bcher-kva.test"`) {
		t.Errorf("listed:\n%s", out)
	}
	folder := t.TempDir()
	ran(t, env, "build", "--data", folder)
	for _, form := range []string{"https://bücher.test/q", "https://xn--bcher-kva.test/q", "https://B%C3%BCcher.test.:443/q"} {
		// 2: nothing is known of the service yet
		code, out, stderr := tollbook(t, env, "check", "--data", folder, form)
		if code != 2 || !strings.Contains(out, "books") {
			t.Errorf("check %s: exit %d\n%s%s", form, code, out, stderr)
		}
	}
}
