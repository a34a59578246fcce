package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/build/judge/directory"
	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/templates"
)

// wayThatWorks is a way to look better that works at a cost.
type wayThatWorks struct{ aim, way, cost, yield string }

// TestWhatGamingCosts computes what the ways to look better that work cost the one who goes them, and checks that the
// page on verification says so. TestWaysToGame tries those that do not work.
func TestWhatGamingCosts(t *testing.T) {
	t.Parallel()
	g := game{t}
	var want strings.Builder
	for _, w := range []wayThatWorks{g.behave(), g.rest(), g.undercut(), g.warn(), g.share(), g.buy()} {
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", w.aim, w.way, w.cost, w.yield)
	}
	page, err := templates.FS.ReadFile("pages/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## What gaming costs\n")
	_, table, _ = strings.Cut(table, "| --- | --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if diff := gocmp.Diff(want.String(), table+"\n"); diff != "" {
		t.Errorf("verify.md, What gaming costs (-computed +page):\n%s\ncomputed:\n%s", diff, &want)
	}
}

// game plays the owner of a service that wants to look better.
type game struct{ *testing.T }

// service returns a service that is safe to pay, with other facts instead of those of the month.
func (g game) service(id int, name, micros string, facts ...string) *postgres.ServiceFacts {
	g.Helper()
	m := newMadeUp(name, int64(id))
	m.facts.Category = "Data"
	if len(facts) == 0 {
		facts = []string{"listed 300 days ago", "days 29 to 0 ago: 96 of 96 checks up"}
	}
	for _, line := range append(facts, "GET /x paid", "row base "+micros+" "+name) {
		if err := m.addFact(line); err != nil {
			g.Fatalf("%s: %q: %v", name, line, err)
		}
	}
	m.answer(&m.facts.Endpoints[0])
	return m.facts
}

// judge judges services as one directory.
func (g game) judge(revenue *ledger.Revenue, list ...*postgres.ServiceFacts) *site.Snapshot {
	f := &postgres.Facts{Chains: []ledger.ChainFacts{{Network: base, MeasuredSince: ago(90 * 24 * time.Hour)}},
		Revenue: revenue}
	for _, s := range list {
		f.Services = append(f.Services, *s)
	}
	slices.SortFunc(f.Services, func(a, b postgres.ServiceFacts) int { return cmp.Compare(a.Slug, b.Slug) })
	return judgeAll(f, now)
}

// detail returns the judgment of a service of a snapshot.
func (g game) detail(s *site.Snapshot, slug string) *site.ServiceDetail {
	g.Helper()
	for i := range s.Services {
		if d := &s.Services[i].Detail; d.Slug == slug {
			return d
		}
	}
	g.Fatalf("no service %s", slug)
	return nil
}

// first returns the first number that works.
func (g game) first(works func(n int) bool) int {
	g.Helper()
	for n := range 1000 {
		if works(n) {
			return n
		}
	}
	g.Fatal("no number works")
	return 0
}

// behave is to sell honestly until the service is safe to pay.
func (g game) behave() wayThatWorks {
	isSafe := func(facts ...string) bool {
		d := g.detail(g.judge(nil, g.service(1, "newcomer", "10000", facts...)), "newcomer")
		return d.Assessment.Advice.Level == site.AdviceGood
	}
	days := g.first(func(n int) bool {
		return isSafe(fmt.Sprintf("listed %d days ago", n), fmt.Sprintf("days %d to 0 ago: 96 of 96 checks up", n))
	})
	checks := g.first(func(n int) bool {
		return n > 0 && isSafe("listed 30 days ago", fmt.Sprintf("days 1 to 1 ago: %d of %[1]d checks up", n))
	})
	return wayThatWorks{"verdict", "behave well, and cheat later", fmt.Sprintf("%d days and %d checks", days, checks),
		"*safe* until the next visit sees it"}
}

// rest is to be down for as long as the service stays safe to pay.
func (g game) rest() wayThatWorks {
	const perDay, month = 96, 30
	quarters := g.first(func(n int) bool {
		facts := []string{"listed 300 days ago"}
		for age := month - 1; age >= 0; age-- {
			down := min(perDay, max(0, n-perDay*(month-1-age)))
			facts = append(facts, fmt.Sprintf("days %d to %[1]d ago: %d of %d checks up", age, perDay-down, perDay))
		}
		d := g.detail(g.judge(nil, g.service(1, "sleeper", "10000", facts...)), "sleeper")
		return d.Assessment.Advice.Level != site.AdviceGood
	}) - 1
	return wayThatWorks{"uptime", "be down, and stay safe to pay", "nothing",
		fmt.Sprintf("%g hours in %d days, which its uptime shows", float64(quarters)/4, month)}
}

const honestOperators = 6

// crowd returns six honest services at $0.02, and n decoys at $0.0001, each of an operator of its own.
func (g game) crowd(honest, n int) []*postgres.ServiceFacts {
	var list []*postgres.ServiceFacts
	for i := range honest {
		list = append(list, g.service(i+1, fmt.Sprintf("honest-%d", i), "20000"))
	}
	for i := range n {
		list = append(list, g.service(100+i, fmt.Sprintf("decoy-%03d", i), "100"))
	}
	return list
}

// undercut is to list decoys that halve the median of a category.
func (g game) undercut() wayThatWorks {
	operators := g.first(func(n int) bool {
		s := g.judge(nil, g.crowd(honestOperators, n)...)
		return s.Tags[0].Prices.MedianUSD.Compare("0.01") < 0
	})
	return wayThatWorks{"price", fmt.Sprintf("halve the median of %d operators", honestOperators),
		fmt.Sprintf("%d decoys, each with a domain and an account of its own", operators),
		fmt.Sprintf("honest prices look high; a price below $%s has no vote", site.LeastPlausibleUSD)}
}

// warn is to list decoys until an honest service has a warning.
func (g game) warn() wayThatWorks {
	decoys := func(honest int) int {
		return g.first(func(n int) bool {
			d := g.detail(g.judge(nil, g.crowd(honest, n)...), "honest-0")
			return slices.ContainsFunc(d.Assessment.Risk.Flags, func(f site.RiskFlag) bool { return f.Code == "price_outlier" })
		})
	}
	return wayThatWorks{"warnings", `put "Unusually high price" on others`,
		fmt.Sprintf("%d such decoys beside one operator, %d beside %d", decoys(1), decoys(honestOperators), honestOperators),
		fmt.Sprintf("on those that ask for %d times the median", price.OutlierFactor)}
}

// share is to name the account of a service that is paid until a part of its revenue counts.
func (g game) share() wayThatWorks {
	payee := ledger.PayeeFacts{Network: base, Address: strings.ToLower(accountNamed("victim"))}
	for age := 60; age >= 0; age-- {
		day := dayOfTime(now).AddDate(0, 0, -age)
		payee.Days = append(payee.Days, ledger.RevenueDay{Day: day, Facilitator: "acme", Settlements: 1, USD: "1",
			FirstAt: day, LastAt: day})
	}
	var thief *site.ServiceDetail
	days := g.first(func(n int) bool {
		of := g.service(2, "thief", "10000", fmt.Sprintf("listed %d days ago", n),
			fmt.Sprintf("days %d to 0 ago: 96 of 96 checks up", min(n, 29)))
		for i := range of.Endpoints[0].Prices {
			of.Endpoints[0].Prices[i].PayTo = accountNamed("victim")
		}
		thief = g.detail(g.judge(&ledger.Revenue{Payees: []ledger.PayeeFacts{payee}}, g.service(1, "victim", "10000"), of),
			"thief")
		return thief.Assessment.Traction.TxCount30d != nil && *thief.Assessment.Traction.TxCount30d > 0
	})
	if thief.Assessment.Traction.Merit() != nil {
		g.Error("revenue that strangers share is a merit")
	}
	return wayThatWorks{"revenue", "name the account of somebody who is paid",
		fmt.Sprintf("%d days in which all buyers pay that somebody", days),
		fmt.Sprintf("$%s of $1 a day, no merit, and *%s*", *thief.Assessment.Traction.VolumeUSD30d,
			strings.ReplaceAll(thief.Assessment.Advice.Level, "_", " "))}
}

// buy is to pay oneself from fresh accounts until the service is the most used one of its category.
func (g game) buy() wayThatWorks {
	const honest = 37
	day := dayOfTime(now)
	buyers := g.first(func(n int) bool {
		revenue := &ledger.Revenue{}
		services := []*postgres.ServiceFacts{g.service(1, "victim", "10000"), g.service(2, "wash", "10000")}
		for i, n := range []int64{honest, int64(n)} {
			if n == 0 {
				continue
			}
			usd := fmt.Sprintf("%d.%02d", n/100, n%100)
			revenue.Payees = append(revenue.Payees, ledger.PayeeFacts{Network: base,
				Address: strings.ToLower(accountNamed(services[i].Slug)), Before: ledger.RevenueSum{USD: "0"},
				Days: []ledger.RevenueDay{{Day: day, Facilitator: "acme", Settlements: n, USD: usd, FirstAt: day, LastAt: day}}})
			revenue.Services = append(revenue.Services, ledger.ServiceBuyers{ServiceID: services[i].ID, Buyers30d: n,
				Self: ledger.BuyerSum{USD: "0"}, Scouts: ledger.BuyerSum{USD: "0"}, TopUSD: []string{"0.01", "0.01", "0.01"}})
		}
		slices.SortFunc(revenue.Payees, func(a, b ledger.PayeeFacts) int { return cmp.Compare(a.Address, b.Address) })
		s := g.judge(revenue, services...)
		picks := directory.Picks{}
		for _, slug := range []string{"victim", "wash"} {
			picks.Add("Data", pickOf(g.detail(s, slug)))
		}
		picks.Set(s.Tags)
		return s.Tags[0].MostUsed.Slug == "wash"
	})
	return wayThatWorks{"picks", fmt.Sprintf("outdo a most used one of %d buyers by paying oneself", honest),
		fmt.Sprintf("%d accounts that no service names, a settlement of each, and their fees", buyers),
		"the pick, for 30 days; a buyer that returns pays on two days"}
}
