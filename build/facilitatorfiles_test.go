package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/judge"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/testgate"
)

// TestFacilitatorFiles checks that every timeframe with every set of embeds has every page of 25 and of 100. Each page
// must be the one that newNaivePage sorts and encodes.
func TestFacilitatorFiles(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	for _, n := range []int{0, 1, 25, 130} {
		facts := &postgres.Facts{}
		for i := range n {
			facts.Facilitators = append(facts.Facilitators, ledger.FacilitatorFacts{Facilitator: ledger.Facilitator{
				ID: fmt.Sprintf("f%03d", i), Name: `"timeseries":[1,2]`, WebsiteURL: "https://f.test?a=<b>&c",
				UpstreamStatus: "pull_request",
			}})
		}
		judged := judge.New(facts, judge.Options{Now: now, Next: now})
		judged.Prepare()
		s := judged.Snapshot
		for i := range s.Facilitators {
			f := &s.Facilitators[i]
			f.VolumeUSD24h, f.VolumeUSD7d = site.Decimal(fmt.Sprint(i%7)), site.Decimal(fmt.Sprint(i*31%17))
			f.VolumeUSD30d, f.VolumeUSDAll = site.Decimal(fmt.Sprint(i*37%19)), site.Decimal(fmt.Sprint(i))
		}
		var list []site.FacilitatorListItem
		for _, f := range s.Facilitators {
			list = append(list, f.FacilitatorListItem)
		}
		files := map[string][]byte{}
		totals := map[string]int{}
		if err := writeFacilitators(s, totals, func(name string, data []byte) error {
			if files[name] != nil {
				t.Errorf("%s is written twice", name)
			}
			files[name] = bytes.Clone(data)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{}
		wantTotals := map[string]int{}
		for include, escaped := range map[string]string{"": "", "chains": "/include=chains",
			"timeseries": "/include=timeseries", "chains,timeseries": "/include=chains~2ctimeseries"} {
			wantTotals["v1/facilitators"+escaped] = n
			for _, timeframe := range []string{"24h", "7d", "30d", "all"} {
				for _, size := range []int{25, 100} {
					for page := 1; page == 1 || (page-1)*size < n; page++ {
						data := newNaivePage(t, list, timeframe, include, size, page)
						key := fmt.Sprintf("v1/facilitators/timeframe=%s%s/days=90/per_page=%d/page=%d.json",
							timeframe, escaped, size, page)
						want[key] = data
					}
				}
			}
		}
		want["v1/facilitators.json"] = newNaivePage(t, list, "7d", "", 25, 1)
		if diff := cmp.Diff(wantTotals, totals); diff != "" {
			t.Errorf("%d: totals (-want +got):\n%s", n, diff)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(files))); diff != "" {
			t.Fatalf("%d: files (-want +got):\n%s", n, diff)
		}
		for key := range want {
			if diff := cmp.Diff(string(want[key]), string(files[key])); diff != "" {
				t.Errorf("%d: %s (-want +got):\n%s", n, key, diff)
			}
		}
	}
}

// newNaivePage encodes a page from scratch.
func newNaivePage(t *testing.T, list []site.FacilitatorListItem, timeframe, include string, size, page int) []byte {
	t.Helper()
	value := func(f site.FacilitatorListItem) int {
		var n int
		fmt.Sscan(string(map[string]site.Decimal{"24h": f.VolumeUSD24h, "7d": f.VolumeUSD7d, "30d": f.VolumeUSD30d,
			"all": f.VolumeUSDAll}[timeframe]), &n)
		return n
	}
	ordered := slices.Clone(list)
	// list is sorted by ID
	slices.SortStableFunc(ordered, func(a, b site.FacilitatorListItem) int { return value(b) - value(a) })
	var rows []string
	for i := (page - 1) * size; i < page*size && i < len(ordered); i++ {
		f := ordered[i]
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if !strings.Contains(include, "chains") {
			f.Chains = nil
		}
		if !strings.Contains(include, "timeseries") {
			f.Timeseries = nil
		}
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.TrimSpace(b.String()))
	}
	body := "{\"data\":[\n" + strings.Join(rows, ",\n")
	if len(rows) > 0 {
		body += "\n"
	}
	return fmt.Appendf(nil,
		"%s],\"meta\":{\"total\":%d,\"page\":%d,\"per_page\":%d,\"total_pages\":%d,\"timeframe\":%q}}\n",
		body, len(list), page, size, (len(list)+size-1)/size, timeframe)
}
