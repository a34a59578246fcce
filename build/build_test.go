package build

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

var update = flag.Bool("update", false, "rewrite the wanted files of testdata/*.txtar; read what changed before you keep it")

// TestScenarios is the product in examples. Each archive in testdata tells, in its first lines, what happened to a
// directory; facts.json is what the crawler kept of it, now the moment of the build; the files after "files" are what
// readers get. Files that an archive does not spell out are named in "files" alone.
func TestScenarios(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var facts postgres.Facts
			var now time.Time
			wanted := archive.Files[:0:0]
			for _, f := range archive.Files {
				switch f.Name {
				case "facts.json":
					if err := json.Unmarshal(f.Data, &facts); err != nil {
						t.Fatalf("read facts.json: %v", err)
					}
				case "now":
					if now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(f.Data))); err != nil {
						t.Fatal(err)
					}
				default:
					wanted = append(wanted, f)
				}
			}
			tree := write(t, &facts, now)
			names := slices.Sorted(maps.Keys(tree))
			tree["files"] = []byte(strings.Join(slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "assets/") }), "\n") + "\n")
			for i, f := range wanted {
				key, part, _ := strings.Cut(f.Name, "#")
				got := readable(t, key, tree[key], part)
				if *update {
					wanted[i].Data = got
					continue
				}
				if diff := cmp.Diff(string(f.Data), string(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-len(wanted)], wanted...)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// readable indents files that are one long line; lists, which have a row a line, stay as they are. A part of data is
// named by its members: "assessment.risk".
func readable(t *testing.T, name string, data []byte, part string) []byte {
	t.Helper()
	if data == nil {
		return []byte("(no such file)\n")
	}
	if first, _, _ := strings.Cut(string(data), "\n"); !strings.HasSuffix(name, ".json") || strings.HasSuffix(first, ":[") {
		return data
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s is no JSON: %v", name, err)
	}
	d := json.RawMessage(data)
	for member := range strings.SplitSeq("data."+part, ".") {
		if part == "" {
			break
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(d, &object); err != nil || object[member] == nil {
			t.Fatalf("%s has no %s in %s: %v", name, member, part, err)
		}
		d = object[member]
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// write judges facts and renders every file of the tree.
func write(t *testing.T, facts *postgres.Facts, now time.Time) map[string][]byte {
	t.Helper()
	pages, err := render.NewPages(render.Site{BaseURL: "https://tollbook.example"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := archive.NewZipWriter(&b, archive.ZipOptions{Modified: now})
	j := beginJudgment(facts, sumHours(facts, now), now, now.Add(15*time.Minute), "https://tollbook.example", site.FreeHosts{})
	there := func([]postgres.ServiceFacts) error { return nil } // the facts have everything
	w := &snapshotWriter{judgment: j, lookups: newLookups(j.snapshot), catalogue: &catalogue{}, to: zip, endpoints: there, details: there}
	j.survey(0, len(facts.Services), func(i int, endpoints []site.Endpoint) {
		w.lookups.survey(i, endpoints)
		w.catalogue.survey(endpoints)
	})
	j.conclude()
	w.edition = pages.Edition(j.snapshot)
	if err := w.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := archive.OpenZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string][]byte{}
	for _, name := range written.Names() {
		if name == archive.SumsFile {
			continue
		}
		if tree[name], err = written.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := now.Add(-d)
	return &t
}

func TestStatus(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		s    postgres.Service
		want string
	}{
		{"never checked", postgres.Service{}, "unknown"},
		{"only inconclusive visits", postgres.Service{LastCheckedAt: ago(time.Minute)}, "unknown"},
		{"online", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("online")}, "online"},
		{"degraded", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("degraded")}, "degraded"},
		{"offline twice", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("offline"), ConsecutiveFailures: 2}, "degraded"},
		{"offline three times", postgres.Service{LastCheckedAt: ago(time.Minute), LastStatus: new("offline"), ConsecutiveFailures: 3}, "offline"},
		{"not seen for an hour", postgres.Service{LastCheckedAt: ago(time.Hour), LastStatus: new("online")}, "online"},
		{"not seen for longer", postgres.Service{LastCheckedAt: ago(time.Hour + time.Second), LastStatus: new("online")}, "unknown"},
		{"slower interval", postgres.Service{LastCheckedAt: ago(80 * time.Minute), LastStatus: new("online"), CheckInterval: 30 * time.Minute}, "online"},
		{"visited hourly after a day offline", postgres.Service{LastCheckedAt: ago(2 * time.Hour), LastStatus: new("offline"), ConsecutiveFailures: 99, FailingSince: ago(2 * day)}, "offline"},
		{"visited daily after a week offline", postgres.Service{LastCheckedAt: ago(2 * day), LastStatus: new("offline"), ConsecutiveFailures: 99, FailingSince: ago(8 * day)}, "offline"},
	} {
		if c.s.CheckInterval == 0 {
			c.s.CheckInterval = 15 * time.Minute
		}
		if got := status(&c.s, now); got != c.want {
			t.Errorf("%s: status %s, want %s", c.name, got, c.want)
		}
	}
}

func TestUptimeWindows(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	sum := func(start time.Time, counted, up int) postgres.Rollup {
		return postgres.Rollup{Start: start, Checks: counted, Counted: counted, Up: up, Timed: up, ResponseMS: int64(100 * up)}
	}
	f := &postgres.ServiceFacts{
		Hours: []postgres.Rollup{sum(now.Truncate(time.Hour).Add(-24*time.Hour), 4, 2), sum(now.Truncate(time.Hour), 2, 1)},
		Days: []postgres.Rollup{
			sum(today.AddDate(0, 0, -89), 10, 0), // the oldest day of 90
			sum(today.AddDate(0, 0, -30), 10, 5), // a day too old for 30
			sum(today.AddDate(0, 0, -29), 10, 5),
			sum(today.AddDate(0, 0, -6), 10, 9),
			sum(today, 3, 3),
		},
	}
	day := sumOf(f.Hours)
	got := uptime(f, &day, now)
	want := site.UptimeWindows{
		H24: new(50.0), D7: new(92.31), D30: new(73.91), D90: new(51.16),
		Coverage: site.Coverage{
			H24: site.CoverageWindow{DaysCovered: 2, CheckCount: 6}, D7: site.CoverageWindow{DaysCovered: 2, CheckCount: 13},
			D30: site.CoverageWindow{DaysCovered: 3, CheckCount: 23}, D90: site.CoverageWindow{DaysCovered: 5, CheckCount: 43},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(site.UptimeWindows{}, uptime(&postgres.ServiceFacts{}, &tally{}, now)); diff != "" {
		t.Errorf("windows without checks (-want +got):\n%s", diff)
	}
	var days []string
	for _, period := range site.Windows {
		for _, p := range lastDays(uptimePoints(f, now), period, midnight(now)) {
			days = append(days, period+" "+p.PeriodStart.Format("0102")+" "+p.PeriodEnd.Format("0102 15:04"))
		}
	}
	wantDays := []string{
		"24h 1120 1120 12:30",
		"7d 1114 1115 00:00", "7d 1120 1120 12:30",
		"30d 1022 1023 00:00", "30d 1114 1115 00:00", "30d 1120 1120 12:30",
		"90d 0823 0824 00:00", "90d 1021 1022 00:00", "90d 1022 1023 00:00", "90d 1114 1115 00:00", "90d 1120 1120 12:30",
	}
	if diff := cmp.Diff(wantDays, days); diff != "" {
		t.Errorf("points by period (-want +got):\n%s", diff)
	}
}

// asked are prices that services ask.
func asked(list ...site.Decimal) *prices {
	p := newPrices()
	for _, price := range list {
		p.add(price)
	}
	p.sort()
	return p
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	five := asked("0.5", "0.01", "2", "0.001", "0.01")
	for _, c := range []struct {
		price site.Decimal
		want  *float64
	}{
		{"0.001", new(0.0)}, {"0.01", new(25.0)}, {"0.5", new(75.0)}, {"2", new(100.0)},
	} {
		if diff := cmp.Diff(c.want, five.percentile(&c.price)); diff != "" {
			t.Errorf("percentile of %s (-want +got):\n%s", c.price, diff)
		}
	}
	if got := asked("0.01").percentile(new(site.Decimal("0.01"))); got != nil {
		t.Errorf("percentile of the only price = %v, want null", *got)
	}
	if got := five.percentile(nil); got != nil {
		t.Errorf("percentile of no price = %v, want null", *got)
	}
}

const (
	base  = "eip155:8453"
	usdc  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	alice = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	bob   = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

func price(amount, payTo string, since time.Time, until *time.Time) postgres.Price {
	return postgres.Price{Since: since, Until: until, Scheme: "exact", Network: base, NetworkCAIP2: new(base), Asset: usdc, PayTo: payTo, Amount: amount, X402Version: 2}
}

func service(endpoints ...postgres.EndpointFacts) *postgres.ServiceFacts {
	for i := range endpoints {
		e := &endpoints[i]
		if e.FirstSeenAt.IsZero() {
			e.FirstSeenAt = *ago(time.Hour)
		}
		if e.Path == "" {
			e.Method, e.Path = "GET", "/"+string(rune('a'+i))
		}
	}
	return &postgres.ServiceFacts{Service: postgres.Service{Slug: "acme", BaseURL: "https://acme.test", Category: "AI", CheckInterval: 15 * time.Minute}, Endpoints: endpoints}
}

func priced(prices ...postgres.Price) postgres.EndpointFacts {
	return postgres.EndpointFacts{Prices: prices}
}

func TestStability(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		f    *postgres.ServiceFacts
		want *float64
	}{
		{"no prices", service(), nil},
		{"never moved", service(priced(price("100", alice, *ago(60 * day), nil))), new(1.0)},
		{"moved once", service(priced(price("100", alice, *ago(60 * day), ago(3*day)), price("200", alice, *ago(3 * day), nil))), new(0.97)},
		{"moved before the 30 days", service(priced(price("100", alice, *ago(60 * day), ago(40*day)), price("200", alice, *ago(40 * day), nil))), new(1.0)},
		{"two amounts that stay are no other price", service(priced(
			price("100", alice, *ago(60 * day), ago(3*day)), price("200", alice, *ago(60 * day), ago(3*day)),
			price("200", bob, *ago(3 * day), nil), price("100", bob, *ago(3 * day), nil))), new(1.0)},
		{"another recipient is no other price", service(priced(price("100", alice, *ago(60 * day), ago(3*day)), price("100", bob, *ago(3 * day), nil))), new(1.0)},
	} {
		if diff := cmp.Diff(c.want, stability(c.f, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPayToChanges(t *testing.T) {
	t.Parallel()
	moved := *ago(48 * time.Hour)
	f := service(priced(price("100", alice, *ago(900 * time.Hour), &moved), price("100", bob, moved, nil)))
	want := []site.PayToChange{{
		NetworkCAIP2: base, Endpoint: "GET /a", OldPayTo: strings.ToLower(alice), NewPayTo: strings.ToLower(bob), ObservedAt: site.NewTime(moved),
	}}
	if diff := cmp.Diff(want, payToChanges(f)); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	s := Judge(&postgres.Facts{Services: []postgres.ServiceFacts{*f}}, now, now, "https://tollbook.example", site.FreeHosts{})
	if risk := s.Services[0].Detail.Assessment.Risk; risk.Level != site.RiskDanger || risk.Flags[0].Code != "pay_to_changed" {
		t.Errorf("risk of a recipient moved two days ago = %+v, want danger by pay_to_changed", risk)
	}
}

func TestPayToDivergence(t *testing.T) {
	t.Parallel()
	since := *ago(time.Hour)
	of := func(payTo string) postgres.EndpointFacts { return priced(price("100", payTo, since, nil)) }
	got := offerOf(service(of(alice), of(alice), of(bob)), now)
	want := &site.PayToDivergence{NetworkCAIP2: base, Expected: []string{strings.ToLower(alice)}, Observed: []string{strings.ToLower(bob)}, FirstSeenAt: site.NewTime(since)}
	if diff := cmp.Diff(want, got.endpoints[2].PayToDivergence); diff != "" {
		t.Errorf("divergence of the third (-want +got):\n%s", diff)
	}
	if got.endpoints[0].PayToDivergence != nil {
		t.Errorf("divergence of the first = %+v, want null", got.endpoints[0].PayToDivergence)
	}
	if got := offerOf(service(of(alice), of(bob)), now); got.endpoints[1].PayToDivergence != nil {
		t.Errorf("one against one has no majority, got %+v", got.endpoints[1].PayToDivergence)
	}
}

func TestInactiveEndpointsCountInNothing(t *testing.T) {
	t.Parallel()
	old := priced(price("1", alice, *ago(500 * time.Hour), nil))
	old.FirstSeenAt, old.LastPaidAt = *ago(900 * time.Hour), ago(14*24*time.Hour)
	got := offerOf(service(old, priced(price("100", alice, *ago(time.Hour), nil))), now)
	if len(got.endpoints) != 1 || *got.min != "0.0001" {
		t.Errorf("offer has %d endpoints from %s, want 1 from 0.0001", len(got.endpoints), *got.min)
	}
}
