package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/x402"
	"tollbook/templates"
)

// readMethodology returns the source of the public page.
func readMethodology(t *testing.T) string {
	t.Helper()
	text, err := templates.FS.ReadFile("pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMethodologyHasEveryCheck checks that the page describes exactly the rules of site/x402, in their words.
func TestMethodologyHasEveryCheck(t *testing.T) {
	t.Parallel()
	page := readMethodology(t)
	_, rest, _ := strings.Cut(page, "\n## Conformance\n")
	conformance, _, _ := strings.Cut(rest, "\n## ")
	var want []string
	for _, r := range x402.Rules() {
		want = append(want, r.ID)
		_, own, ok := strings.Cut(conformance, "\n### "+r.ID+"\n")
		own, _, _ = strings.Cut(own, "\n### ")
		own = strings.Join(strings.Fields(own), " ") // lines of the page end anywhere
		for _, text := range []string{"**" + r.Label + ".** " + r.Expected, "- Passes: ", "- Fails: ",
			"- Mend: " + r.Mend} {
			if !strings.Contains(own, text) {
				t.Errorf("%s (found: %v) does not say %q", r.ID, ok, text)
			}
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z0-9]+_[a-z0-9_]+)$`).FindAllStringSubmatch(conformance, -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page defines %v, the rules are %v", got, want)
	}
}

// TestMethodologyHasEveryWarning checks that the page has each warning with its meaning.
func TestMethodologyHasEveryWarning(t *testing.T) {
	t.Parallel()
	page := readMethodology(t)
	for _, c := range x402.WarningCodes() {
		if !strings.Contains(page, "\n| `"+c.Code+"` | "+c.Meaning) {
			t.Errorf("the page does not say that %s is raised when: %s", c.Code, c.Meaning)
		}
	}
}

// flagCode finds the codes of risk flags in the source of this package. Each is a literal in the call that creates the
// flag.
var flagCode = regexp.MustCompile(`newFlag\((?:site\.Risk\w+|level), "(\w+)"`)

// TestMethodologyHasEveryRiskFlag checks that the page defines each flag.
func TestMethodologyHasEveryRiskFlag(t *testing.T) {
	t.Parallel()
	page := readMethodology(t)
	_, risk, _ := strings.Cut(page, "\n## Risk\n")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flagCode.FindAllStringSubmatch(string(source), -1) {
			code := m[1]
			codes[code] = true
			if title := riskTitles[code]; title == "" || !strings.Contains(risk, "\n| `"+code+"` | "+title+" | ") {
				t.Errorf("%s creates flag %s, which the page does not define as %q", name, code, title)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(codes)), slices.Sorted(maps.Keys(riskTitles)); !slices.Equal(got, want) {
		t.Errorf("the source creates the flags %v, and riskTitles has %v; if a call is missing, change flagCode", got,
			want)
	}
}

// TestMethodologyHasEveryNumber checks that the page has the limits that the judgments use.
func TestMethodologyHasEveryNumber(t *testing.T) {
	t.Parallel()
	days := func(d time.Duration) string { return fmt.Sprintf("%d days", d/(24*time.Hour)) }
	page := readMethodology(t)
	for _, n := range []struct{ name, value string }{
		{"An endpoint is active after it was seen for", days(site.ActiveFor)},
		{"Payment ready after a usable 402 for", days(readyFor)},
		{"Verified after a confirmation for", days(verifiedFor)},
		{"Verified after a token was seen for", days(tokenFor)},
		{"Changes of a recipient that make it unstable", fmt.Sprint(unstableChanges)},
		{"Days in which these changes count", fmt.Sprint(unstableDays)},
		{"Age of the first settlement and of measuring, from which a trend is known", days(trendAge)},
		{"Buckets of the response time histogram", fmt.Sprint(site.HistogramBuckets)},
		{"Days of the p95 window", fmt.Sprint(site.WindowDays["7d"])},
		{"Checks of conformance", fmt.Sprint(len(x402.Rules()))},
		{"Days that stability looks at", fmt.Sprint(price.StabilityDays)},
		{"Days in which a moved recipient is a danger", fmt.Sprint(changedDangerDays)},
		{"Days in which a moved recipient is a warning", fmt.Sprint(changedWarningDays)},
		{"Operators with such a price that a category needs for an outlier", fmt.Sprint(price.OutlierOperators)},
		{"Lowest price that moves a median", "$" + string(site.LeastPlausibleUSD)},
		{"Recipients that a scout pays in 30 days, at least", fmt.Sprint(site.ScoutRecipients)},
		{"Settlements of a scout to each recipient on average, at most", fmt.Sprint(site.ScoutSettlements)},
		{"Dollars of a scout to each recipient on average, at most", "$" + site.ScoutUSD},
		{"Days until a later claim has a part of an account", fmt.Sprint(sharesAfter)},
		{"Offline visits in a row that make a service offline", fmt.Sprint(offlineAfter)},
		{"Times the median that make a price an outlier", fmt.Sprint(price.OutlierFactor)},
		{"A domain is young below", fmt.Sprintf("%d days", youngDays)},
		{"Days of a facilitator's series", fmt.Sprint(site.SeriesDays)},
		{"Concentrated volume: part of the three largest buyers, at least", fmt.Sprintf("0.%d", concentratedTenths)},
		{"Concentrated volume: dollars in 30 days, at least", fmt.Sprint(concentratedUSD)},
		{"Concentrated volume: settlements in 30 days, at least", fmt.Sprint(concentratedCount)},
		{"A sharing service is unresponsive after failing for", days(unresponsiveAfter)},
		{"UTC days of the cost of calls", fmt.Sprint(Days)},
		{"Settlements that the cost of calls needs", fmt.Sprint(minCalls)},
	} {
		if row := "\n| " + n.name + " | " + n.value + " |\n"; !strings.Contains(page, row) {
			t.Errorf("the page does not have the row %q", row)
		}
	}
	for _, g := range []struct {
		grade string
		least int
	}{{"A", 90}, {"B", 75}, {"C", 60}, {"D", 40}} {
		if !strings.Contains(page, fmt.Sprintf("\n| %s | %d%% or more | ", g.grade, g.least)) {
			t.Errorf("the page does not say that %s is %d%%", g.grade, g.least)
		}
	}
}

// TestMethodologyExamples checks the two graded examples of the page against the program.
func TestMethodologyExamples(t *testing.T) {
	t.Parallel()
	page := readMethodology(t)
	for _, example := range []struct{ heading, fixture string }{
		{"A version 2 service", "21-wrong-domain-name"},
		{"A version 1 service", "09-v1-body"},
	} {
		archive, err := txtar.ParseFile("../../site/x402/testdata/" + example.fixture + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		var judged struct {
			Grade  string
			Passed int
			Failed map[string]string
		}
		for _, f := range archive.Files {
			if f.Name == "answer.json" {
				if err := json.Unmarshal(f.Data, &judged); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, part, _ := strings.Cut(page, "\n### "+example.heading+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		part, _, _ = strings.Cut(part, "\n### ")
		for _, r := range x402.Rules() {
			result := "pass"
			if judged.Failed[r.ID] != "" {
				result = "fail"
			}
			if !strings.Contains(part, "\n| `"+r.ID+"` | "+result+" | ") {
				t.Errorf("%s: %s should %s", example.heading, r.ID, result)
			}
		}
		if verdict := fmt.Sprintf("%d of %d pass", judged.Passed, len(x402.Rules())); !strings.Contains(part,
			verdict) || !strings.Contains(part, "**grade "+judged.Grade+"**") {
			t.Errorf("%s: the program says %s and grade %s", example.heading, verdict, judged.Grade)
		}
	}
}
