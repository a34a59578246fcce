package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site"
	"tollbook/site/leaktest"
	"tollbook/site/postgres"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestNetworks checks the JSON that scripts read.
func TestNetworks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := Networks(&b, []chain.Report{{
		Network: "eip155:8453", Blocks: 7, Settlements: 6, RolledBack: 5, Calls: 4, Errors: 3,
		Took: 2500 * time.Millisecond,
	}}, true)
	want := `{"networks":[{"network":"eip155:8453","blocks":7,"settlements":6,"rolled_back":5,"calls":4,"errors":3,` +
		`"seconds":2.5}]}` + "\n"
	if err != nil || b.String() != want || !json.Valid([]byte(b.String())) {
		t.Errorf("%v: %s, want %s", err, b.String(), want)
	}
}

// TestSynthesisLine checks the line on a round of questions, with its reasons in order.
func TestSynthesisLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		round *crawl.SynthesisReport
		want  string
	}{
		{nil, ""},
		{&crawl.SynthesisReport{Asked: 2, Accepted: 2}, "2 questions to the model: 2 answers accepted\n"},
		{&crawl.SynthesisReport{Asked: 5, Accepted: 1, Refused: map[string]int{"link": 3, "cut": 1}, Spent: true},
			"5 questions to the model: 1 answers accepted, 4 refused (cut 1, link 3); the day's limit of " +
				"questions is reached\n"},
		{&crawl.SynthesisReport{Asked: 1, Refused: map[string]int{"status-401": 1},
			Stopped: "ask the model: status-401"},
			"1 questions to the model: 0 answers accepted, 1 refused (status-401 1); the round stopped: " +
				"ask the model: status-401\n"},
	} {
		if got := synthesisLine(tt.round); got != tt.want {
			t.Errorf("%+v:\n%swant\n%s", tt.round, got, tt.want)
		}
	}
}

// TestServices checks that the list has the state of each service, for people and for programs.
func TestServices(t *testing.T) {
	t.Parallel()
	list := []postgres.Service{{Slug: "a", LastStatus: new(site.StatusOffline)}, {Slug: "b"}}
	for _, tt := range []struct {
		asJSON bool
		want   []string
	}{
		{false, []string{"SLUG  STATE    CATEGORY", "a     offline", "b     unknown"}},
		{true, []string{`{"slug":"a","name":"","state":"offline",`, `{"slug":"b","name":"","state":"unknown",`}},
	} {
		var b strings.Builder
		if err := Services(&b, list, tt.asJSON); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the list lacks %q:\n%s", want, b.String())
			}
		}
	}
}

// TestBuild checks the summary of a build.
func TestBuild(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := build.Report{Snapshot: "x", Services: 65, Files: 3278, Bytes: 27_200_000, Zip: 4_100_000, Packs: 2,
		Took: time.Second}
	if err := Build(&b, r, false); err != nil {
		t.Fatal(err)
	}
	want := "Built 65 services: 3,278 files, 27.2 MB; 0 reused\nSnapshot x: zip 4.1 MB, 2 new packs, 1.0 s\n"
	if got := b.String(); got != want {
		t.Errorf("it prints\n%swant\n%s", got, want)
	}
}
