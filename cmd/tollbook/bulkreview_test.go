//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/report"
	"tollbook/site/postgres/postgrestest"
)

// TestBulkReview approves by grade and rejects several submissions, as an operator would, with real processes.
func TestBulkReview(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn, "USER=ada"}
	const contact = "--crawl-contact=" + testContact
	ran(t, env, "submissions", "list")
	id := func(i int) string { return "00000000-0000-4000-8000-00000000000" + string(rune('0'+i)) }
	query(t, dsn, `
		INSERT INTO inbox (id, kind, state, received_at, client, domain, body, probe_result, probe_grade)
		SELECT ('00000000-0000-4000-8000-00000000000' || i)::uuid, 'submission', 'pending',
			now() + i * interval '1 second', '', 's' || i || '.example', jsonb_build_object('url',
			'https://s' || i || '.example', 'email', 'owner@s.example', 'service_name', 'Service ' || i, 'description',
			'About it.', 'website_url', 'https://s' || i || '.example', 'category', 'Data', 'endpoints',
			'["/a"]'::jsonb),
			'{"endpoints_found":1,"errors":[]}',
			(ARRAY['A', 'B', 'F', NULL, 'A', 'C', NULL])[i]
		FROM generate_series(1, 7) AS i`)

	for _, c := range []struct {
		args       []string
		code       int
		want, says string // on stdout, on stderr
	}{
		{[]string{"approve"}, 2, "", "approve needs either IDs, or --grade or --verified"},
		{[]string{"approve", id(1), "--grade", "A"}, 2, "", "approve needs either IDs"},
		{[]string{"approve", "--grade", "a"}, 2, "", `--grade "a": use A, B, C, D or F`},
		{[]string{"approve", "--verified"}, 2, "", "crawl.contact is not set"},
		{[]string{"approve", id(1), "x"}, 2, "", `"x" is no id of a submission`},
		{[]string{"reject", "--reason", "No."}, 2, "", "ID is missing"},
		{[]string{"approve", "--grade", "A"}, 1, "", "approve 2 submissions: no terminal to ask on; add --yes"},
		{[]string{"approve", "--verified", "--yes", contact}, 0, "No submission that waits fulfils this",
			"not verified"},
		{[]string{"approve", "--grade", "B", "--dry-run"}, 0, id(2), ""},
		{[]string{"approve", id(3), "--dry-run"}, 0, id(3), ""},
		{[]string{"approve", "--grade", "A", "--verified", "--yes", "--json", contact}, 0, "[]\n", ""},
	} {
		code, stdout, stderr := tollbook(t, env, append([]string{"submissions"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.want) || !strings.Contains(stderr, c.says) {
			t.Errorf("submissions %s: exit %d\n%s%s\nwant %d, %s, %s", c.args, code, stdout, stderr, c.code, c.want,
				c.says)
		}
	}
	if got := query(t, dsn, `SELECT count(*)::text FROM inbox WHERE state <> 'pending'`); got != "0" {
		t.Fatalf("%s are decided already", got)
	}

	approved := func(args ...string) (list []report.Decision) {
		t.Helper()
		_, stdout, stderr := tollbook(t, env, append([]string{"submissions"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
		return list
	}
	want := []report.Decision{
		{ID: id(1), State: "approved", Slug: "service-1"}, {ID: id(2), State: "approved", Slug: "service-2"},
		{ID: id(5), State: "approved", Slug: "service-5"},
	}
	if diff := gocmp.Diff(want, approved("approve", "--grade", "B", "--yes", "--json")); diff != "" {
		t.Errorf("grade B and better (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]report.Decision{}, approved("approve", "--grade", "B", "--yes", "--json")); diff != "" {
		t.Errorf("a second time (-want +got):\n%s", diff)
	}
	// One is decided, one does not exist, one is given twice; the others are decided all the same.
	code, stdout, stderr := tollbook(t, env, "submissions", "reject", id(1), id(3), id(9), id(3), id(4), "--reason", "No.")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 1 || len(lines) != 4 || !strings.Contains(stderr, "2 of 4 submissions were not decided") ||
		!strings.Contains(lines[0], "failed    submission "+id(1)+" is decided already: it was approved") ||
		!strings.Contains(lines[1], "rejected  No.") ||
		!strings.Contains(lines[2], "failed    no submission has the id") ||
		!strings.Contains(lines[3], "rejected  No.") {
		t.Errorf("rejected: exit %d\n%s%s", code, stdout, stderr)
	}
	if out := ran(t, env, "submissions", "approve", id(6), id(7)); !strings.Contains(out,
		id(6)+"  approved  listed as service-6") || !strings.Contains(out, id(7)+"  approved  listed as service-7") {
		t.Errorf("approved by ids:\n%s", out)
	}
	if out := ran(t, env, "submissions", "list"); out != "No submissions.\n" {
		t.Errorf("those that wait:\n%s", out)
	}
}
