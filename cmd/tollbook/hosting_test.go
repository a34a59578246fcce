package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/templates"
)

// hostingPrices returns the prices on the page for operators, in millionths of a dollar.
func hostingPrices(t *testing.T, page string) map[string]float64 {
	t.Helper()
	prices := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^\| (write|read|storage|traffic|worker|machine) \| ([0-9.]+) \|`).
		FindAllStringSubmatch(page, -1) {
		p, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		prices[m[1]] = p
	}
	if len(prices) != 6 {
		t.Fatalf("the page has the prices %v", prices)
	}
	return prices
}

// grouped returns a number with commas.
func grouped(n float64) string {
	s := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// shownDollars returns a sum, rounded as on the page.
func shownDollars(d float64) string {
	if d >= 100 {
		return grouped(d)
	}
	return strconv.FormatFloat(d, 'f', 2, 64)
}

// TestHostingCosts computes the tables of the page on costs again, from the counts and prices on it, and checks that the
// default costs a directory of 200 services at most a dollar a month.
// TestPublishRequests of package output checks the request counts against a real store.
func TestHostingCosts(t *testing.T) {
	t.Parallel()
	text, err := templates.FS.ReadFile("pages/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	price := hostingPrices(t, page)
	const (
		builds = 2918
		polls  = 1313280
		stored = 396
	)
	if hours := 30.4 * 24; builds != math.Round(hours*4) || polls != math.Round(hours*3600/2) {
		t.Errorf("a month has %v hours", hours)
	}
	sizes := regexp.MustCompile(`(?m)^\| ([0-9,]+) \| ([0-9,]+) \| [0-9,]+ MB \| ([0-9,.]+) MB \|$`).
		FindAllStringSubmatch(page, -1)
	if len(sizes) != 3 {
		t.Fatalf("the page has the sizes %v", sizes)
	}
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var rows []string
	for _, s := range sizes {
		files, zip := number(s[2]), number(s[3])*1e6
		parts := 0.0
		if zip > 16<<20 {
			parts = math.Ceil(zip/(16<<20)) + 2
		}
		writes, objects := builds*(5+parts)+730, builds*(5+parts+2+files)+730
		reads := builds*(10+parts) + polls
		sum := func(writes, copies float64) float64 {
			return writes/1e6*price["write"] + reads/1e6*price["read"] + copies*zip/1e9*price["storage"]
		}
		// the default writes the zip, or all files while they are few
		if most := sum(writes, stored) + 30.4*run.MaxDailyWrites/1e6*price["write"]; s[1] == "200" && most > 1 {
			t.Errorf("a directory of 200 services costs up to %.2f dollars a month by default", most)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %.1f GB | %s | %s | %s |", s[1], grouped(writes),
			grouped(objects), stored*zip/1e9,
			shownDollars(sum(writes, stored)), shownDollars(sum(objects, stored+1)),
			shownDollars(builds*zip*2/1e9*price["traffic"])))
	}
	const million = 2.4 // in GB
	rows = append(rows,
		fmt.Sprintf("| traffic, if it is charged | %s | 2.4 GB |", shownDollars(million*price["traffic"])),
		fmt.Sprintf("| runs of a worker | %s | and a read for each answer that no cache has: at most %s |",
			shownDollars(price["worker"]), shownDollars(price["read"])),
	)
	for _, row := range rows {
		if !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
	for _, p := range report.Prices {
		row := fmt.Sprintf("| %s | %.2f | %.2f | %.2f |", p.Store, p.Write, p.Read, p.Traffic)
		if !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
	page = strings.Join(strings.Fields(page), " ")
	limit := fmt.Sprintf(
		"at most %s writes a day, as if all of them changed in each publication. That is %s dollars a "+
			"day: %s files with a build every 15 minutes, %s with one a day",
		grouped(run.MaxDailyWrites), shownDollars(run.MaxDailyWrites/1e6*price["write"]),
		grouped(math.Floor(run.MaxDailyWrites/96)), grouped(run.MaxDailyWrites))
	if !strings.Contains(page, limit) {
		t.Errorf("the page lacks %q", limit)
	}
	if year := fmt.Sprintf("list prices of %d of these stores", report.PricesOf); !strings.Contains(page, year) {
		t.Errorf("the page lacks %q", year)
	}
	each := fmt.Sprintf("plus %s dollars for each further machine's requests", shownDollars(polls/1e6*price["read"]))
	if !strings.Contains(page, each) {
		t.Errorf("the page lacks %q", each)
	}
	if one := fmt.Sprintf("one machine with nginx costs %s dollars",
		shownDollars(price["machine"])); !strings.Contains(page, one) {
		t.Errorf("the page lacks %q", one)
	}
}
