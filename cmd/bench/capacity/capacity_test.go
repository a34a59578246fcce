package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var update = flag.Bool("update", false, "write the table of ARCHITECTURE.md anew")

// round are costs that can be reckoned in the head.
func round() costs {
	c := measured()
	for i := range c.list {
		c.list[i].value = 1
	}
	for name, value := range map[string]string{"period s": "1000", "machine cores": "10", "machine GB": "100", "machine disk GB": "1000", "build MB": "0"} {
		if err := c.set(name + "=" + value); err != nil {
			panic(err)
		}
	}
	return c
}

// TestDemands holds each stage to its formula.
func TestDemands(t *testing.T) {
	t.Parallel()
	got := map[string]float64{}
	list := round().demands(1_000_000)
	for i, d := range list {
		got[d.stage+", "+d.unit] = d.needs
		if i > 0 && d.share() > list[i-1].share() {
			t.Errorf("%s is fuller than %s, which stands before it", d.stage, list[i-1].stage)
		}
	}
	want := map[string]float64{
		"visits, cores":            1,    // 1000 visits a second of one endpoint, a millisecond each
		"ingest of visits, cores":  1,    // 1000 checks a second
		"database, GB of disk":     4.4,  // a million times 1000 + 86.4·31 + 365 + 365 bytes
		"build, all cores, core-s": 1000, // a million milliseconds
		"build, the one reader, s": 1000,
		"build, memory, GB":        1,
		"publish, the zip, s":      1000,
		"publish, single files, s": 1_000_000,
		"serve, memory, GB":        1,
		"serve, requests, cores":   0.001,
		"serve, searches, cores":   1,
	}
	got["database, GB of disk"] = float64(int(got["database, GB of disk"]*10)) / 10
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	if p := (demand{needs: 14.1, has: 10}).parts(); p != 3 {
		t.Errorf("141 %% of a machine fall into %d parts, want 3", p)
	}
}

// TestCycle lets builds follow each other: in time while they take less than a period, else at their own pace.
func TestCycle(t *testing.T) {
	t.Parallel()
	c := round() // of a thousand seconds, ten cores, a millisecond and a kilobyte each
	for _, test := range []struct {
		services float64
		want     rhythm
	}{
		{1000, rhythm{1000, 2002}},                    // a build takes a second, and so does sending it
		{1_000_000, rhythm{2000, 1000 + 2000 + 2000}}, // a thousand each: the next begins late
	} {
		if diff := cmp.Diff(test.want, c.cycle(test.services), cmp.AllowUnexported(rhythm{})); diff != "" {
			t.Errorf("%.0f services (-want +got):\n%s", test.services, diff)
		}
	}
}

// TestDocument holds the table of ARCHITECTURE.md to the costs.
func TestDocument(t *testing.T) {
	t.Parallel()
	const name, begin, end = "../../../ARCHITECTURE.md", "<!-- go run ./cmd/bench/capacity -->\n```\n", "```\n"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table that begins with %q", name, begin)
	}
	var want bytes.Buffer
	if err := tell(&want, measured(), []float64{20_000, 200_000, 2_000_000}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), table); diff != "" {
		t.Errorf("the table is not that of the costs; go test ./cmd/bench/capacity -update (-want +got):\n%s", diff)
	}
}
