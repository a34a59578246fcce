package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/output"
	"tollbook/output/objects"
	"tollbook/site"
	"tollbook/site/postgres"
)

// TestNetworks checks the JSON that scripts read.
func TestNetworks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := Networks(&b, []chain.Report{{
		Network: "eip155:8453", Blocks: 7, Settlements: 6, RolledBack: 5, Calls: 4, Errors: 3,
		Took: 2500 * time.Millisecond,
	}}, []crawl.RecipientsReport{{Network: "solana:x", Can: 3, Cannot: 2, Unknown: 1}}, true)
	want := `{"networks":[{"network":"eip155:8453","blocks":7,"settlements":6,"rolled_back":5,"calls":4,"errors":3,` +
		`"seconds":2.5}],"recipients":[{"network":"solana:x","can_receive":3,"cannot_receive":2,"unknown":1,"left":0}]}` +
		"\n"
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
	list := []postgres.Service{{Slug: "a", LastStatus: new(site.StatusOffline), State: postgres.StateListed},
		{Slug: "b", State: postgres.StateListed}, {Slug: "c", State: postgres.StatePaused}}
	for _, tt := range []struct {
		asJSON bool
		want   []string
	}{
		{false, []string{"SLUG  STATE    CATEGORY", "a     offline", "b     unknown", "c     paused"}},
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

// TestCost checks what a day of publications costs, against a sum by hand, and its words.
func TestCost(t *testing.T) {
	t.Parallel()
	p := output.Published{PerDay: 96, Traffic: objects.Traffic{Writes: 17_160, Reads: 22, Sent: 94_900_000,
		Received: 76_300_000}}
	c := CostOf(p)
	for _, tt := range []struct{ got, want string }{
		{Requests(p), "17,160 writes, 22 reads, 0 deletions, 94.9 MB sent, 76.3 MB received"},
		{c.Daily(),
			"a day at 96 publications: 1,647,360 writes, 2,112 reads, 0 deletions, 9.1 GB sent, 7.3 GB received"},
		// 1.64736 × 5 + 0.002112 × 0.4 = 8.2376; 1.64736 × 4.5 + 0.002112 × 0.36 = 7.4139; 7.3248 × 0.09 = 0.6592
		{c.Dollars(), "a day at list prices of 2025: Amazon S3 $8.24 (outside its network $0.66 more), " +
			"Cloudflare R2 $7.41, Google Cloud Storage $8.24 (outside its network $0.88 more)"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		p    output.Published
		want string
	}{
		{output.Published{Written: 612, PerDay: 96, Traffic: objects.Traffic{Writes: 619, Reads: 5},
			Expansion: &output.Expansion{All: true, Files: 612, Writes: 612, Limit: 2000}},
			"Objects: all 612 files; they are up to 612 writes a day, within the limit of 2,000 for --expand auto\n" +
				"Requests: 619 writes, 5 reads, 0 deletions, 0.0 MB sent, 0.0 MB received\n  the next publications write only " +
				"objects that change; they say what a day costs, and so does tollbook doctor\n"},
		{output.Published{PerDay: 96, Expansion: &output.Expansion{Writes: 64_128, Limit: 2000}},
			"Objects: none beside the zip; all files would be up to 64,128 writes a day, above the limit of 2,000 for " +
				"--expand auto\n"},
		{output.Published{PerDay: 96, Expansion: &output.Expansion{All: true, Files: 668, Writes: 64_128, Limit: 2000}},
			"Objects: all 668 files, because the place has them and readers may use them; they are up to 64,128 writes a " +
				"day, above the limit of 2,000 for --expand auto. If readers ask tollbook serve, --expand none is cheaper\n"},
		{output.Published{PerDay: 96, Expansion: &output.Expansion{Files: 80, Writes: 64_128, Limit: 2000}},
			"Objects: 80 responses of the API, because the place has them; all files would be up to 64,128 writes a day, " +
				"above the limit of 2,000 for --expand auto\n"},
	} {
		var b strings.Builder
		if err := printCost(&b, tt.p); err != nil || b.String() != tt.want {
			t.Errorf("%v, it prints\n%swant\n%s", err, b.String(), tt.want)
		}
	}
	p.PerDay = 0
	if CostOf(p) != nil || CostOf(output.Published{PerDay: 96}) != nil {
		t.Error("a publication without a schedule, or to a folder, costs something")
	}
}
