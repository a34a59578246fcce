package sample

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// sharedTrade are all payments before start, computed once for all tests.
var sharedTrade = sync.OnceValue(func() []payment {
	l := NewLedger(start)
	var list []payment
	for n := range historyDays * 24 {
		for _, sent := range l.hour(n) {
			for _, t := range sent {
				for _, p := range t.payments {
					if p.at.Before(start) {
						list = append(list, p)
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b payment) int { return a.at.Compare(b.at) })
	return list
})

func TestLedgerIsDeterministic(t *testing.T) {
	t.Parallel()
	one, other := NewLedger(start), NewLedger(start)
	for n := historyDays*24 + 30; n > historyDays*24-100; n-- {
		one.hour(n) // fills and empties the cache, in another order
	}
	for n := historyDays*24 - 60; n < historyDays*24+20; n++ {
		if !reflect.DeepEqual(one.hour(n), other.hour(n)) {
			t.Errorf("hour %d differs", n)
		}
	}
}

func TestTradeSize(t *testing.T) {
	t.Parallel()
	list := sharedTrade()
	if n := len(list); n < 20_000 || n > 50_000 {
		t.Errorf("%d payments in ninety days, want some tens of thousands", n)
	}
	networks, settlers, schemes := map[string]int{}, map[string]int{}, map[string]int{}
	days := map[time.Time]int{}
	for _, p := range list {
		networks[p.rail.network.ID]++
		settlers[p.by.ID]++
		schemes[p.rail.scheme]++
		days[p.at.Truncate(day)]++
	}
	for network := range steps {
		if networks[network] < 500 {
			t.Errorf("%d payments on %s, want 500", networks[network], network)
		}
	}
	for _, f := range facilitators() {
		if settlers[f.ID] < 200 {
			t.Errorf("%d payments by %s, want 200", settlers[f.ID], f.ID)
		}
	}
	if schemes["upto"] < 500 || schemes["batch-settlement"] < 50 || len(schemes) != 3 || len(days) != historyDays {
		t.Errorf("schemes %v, %d days", schemes, len(days))
	}
}

// TestPaymentsMatchTerms compares every payment with the prices of the history, which visitors recorded a little after
// they changed.
func TestPaymentsMatchTerms(t *testing.T) {
	t.Parallel()
	type ask struct{ network, token, payee, amount string }
	type span struct{ since, until time.Time }
	offered, upTo := map[ask][]span{}, map[[2]string]bool{}
	owner := map[uuid.UUID]*service{}
	for _, s := range cast() {
		for _, e := range s.endpoints {
			owner[postgres.EndpointID(s.Slug, e.declared, e.path)] = s
		}
	}
	follows := map[string]bool{} // recipients of services whose prices or recipients move faster than visits
	for _, h := range sharedHistories() {
		for _, p := range h.Prices {
			a := ask{*p.NetworkCAIP2, x402.NormalizeAddress(*p.NetworkCAIP2, p.Asset),
				x402.NormalizeAddress(*p.NetworkCAIP2, p.PayTo), p.Amount}
			until := start
			if p.Until != nil {
				until = *p.Until
			}
			// There may be a gap or an incident in between.
			offered[a] = append(offered[a], span{p.Since.Add(-2 * day), until.Add(2 * day)})
			upTo[[2]string{a.network, a.payee}] = upTo[[2]string{a.network, a.payee}] || p.Scheme == "upto"
			if behaviours[owner[p.EndpointID].Behaviour].varies {
				follows[a.payee] = true
			}
		}
	}
	followed := 0
	for _, p := range sharedTrade() {
		if err := x402.CheckAddress(p.rail.network.ID, p.payer); err != nil {
			t.Fatalf("payer: %v", err)
		}
		switch {
		case !p.listed:
			if len(offered[ask{p.rail.network.ID, p.token, p.payee, p.amount}]) > 0 {
				t.Errorf("a stranger is paid at a service's address %s", p.payee)
			}
			continue
		case follows[p.payee] || moves(p):
			followed++
			continue
		case p.rail.scheme == "batch-settlement":
			if p.payer != escrow {
				t.Errorf("a redemption for %s names %s as its payer", p.payee, p.payer)
			}
			continue
		case p.rail.scheme == "upto":
			if !upTo[[2]string{p.rail.network.ID, p.payee}] {
				t.Errorf("%s takes no such payments", p.payee)
			}
			continue
		}
		spans := offered[ask{p.rail.network.ID, p.token, p.payee, p.amount}]
		if !slices.ContainsFunc(spans, func(s span) bool { return !p.at.Before(s.since) && p.at.Before(s.until) }) {
			t.Errorf("%v: %s of %s to %s on %s was not asked for then", p.at, p.amount, p.token, p.payee,
				p.rail.network.ID)
		}
	}
	if followed == 0 {
		t.Error("no payments to the services whose prices change")
	}
}

// moves reports whether a payment goes to the service whose recipient changes between two visits.
func moves(p payment) bool {
	s := bySlug("saltmarsh-yields")
	return p.payee == x402.NormalizeAddress(p.rail.network.ID, p.rail.recipient(s.Owner, moved(p.at)))
}

// paidTo returns the payments to any recipient that the service ever had.
func paidTo(slug string) []payment {
	recipients := map[string]bool{}
	for network, r := range settled() {
		for n := range 3 {
			recipients[x402.NormalizeAddress(network, r.recipient(bySlug(slug).Owner, n))] = true
		}
	}
	var list []payment
	for _, p := range sharedTrade() {
		if recipients[p.payee] {
			list = append(list, p)
		}
	}
	return list
}

// TestTradePatterns checks that the patterns that a directory's figures distinguish occur in the trade.
func TestTradePatterns(t *testing.T) {
	t.Parallel()
	share := func(list []payment, of func(payment) bool) float64 {
		n := 0
		for _, p := range list {
			if of(p) {
				n++
			}
		}
		return float64(n) / float64(max(len(list), 1))
	}
	top := func(list []payment) string {
		count := map[string]int{}
		best := ""
		for _, p := range list {
			count[p.payer]++
			if count[p.payer] > count[best] {
				best = p.payer
			}
		}
		return best
	}
	half := start.Add(-historyDays * day / 2)
	young := func(p payment) bool { return p.at.After(half) }

	loyal := paidTo("ledgerleaf-companies")
	if by := top(loyal); share(loyal, func(p payment) bool { return p.payer == by }) < 0.9 || len(loyal) < 100 {
		t.Errorf("of %d payments to ledgerleaf-companies too few come from one buyer", len(loyal))
	}
	if own := paidTo("quiltwork-risk"); share(own, func(p payment) bool { return p.payer == p.payee }) < 0.5 {
		t.Errorf("of %d payments to quiltwork-risk too few are its own", len(own))
	}
	single := map[string]bool{}
	for _, p := range paidTo("thimble-classifier") {
		single[p.payer] = true
	}
	if len(single) != 1 {
		t.Errorf("thimble-classifier has the buyers %v, want one", single)
	}
	if s := share(paidTo("harborlight-search"), young); s < 0.58 {
		t.Errorf("harborlight-search grows, but %.2f of its payments are in the second half", s)
	}
	if s := share(paidTo("skyferry-flights"), young); s > 0.42 {
		t.Errorf("skyferry-flights shrinks, but %.2f of its payments are in the second half", s)
	}
	if n := len(paidTo("hourglass-cron")); n == 0 || share(paidTo("hourglass-cron"), func(p payment) bool {
		return p.at.After(start.Add(-35 * day))
	}) > 0 {
		t.Errorf("hourglass-cron was switched off 35 days ago; it has %d payments, some of them later", n)
	}
	for _, slug := range []string{"driftwood-treasury", "bramble-testbed", "cabinet-essays"} {
		if n := len(paidTo(slug)); n > 0 {
			t.Errorf("%d payments to %s, which can't be paid here", n, slug)
		}
	}
	weekend := share(sharedTrade(), func(p payment) bool {
		return p.at.Weekday() == time.Saturday || p.at.Weekday() == time.Sunday
	})
	if weekend > 0.25 {
		t.Errorf("%.2f of all payments are at weekends, want fewer than on other days", weekend)
	}
}

func TestFacilitators(t *testing.T) {
	t.Parallel()
	list := Facilitators(start)
	if diff := cmp.Diff(list, Facilitators(start)); diff != "" {
		t.Errorf("two calls differ:\n%s", diff)
	}
	owners := map[[2]string]string{}
	deprecated, dated := 0, 0
	for _, f := range list {
		if !strings.HasPrefix(f.ID, "sample-") || !strings.HasSuffix(f.Name, "(sample)") ||
			!strings.HasSuffix(f.WebsiteURL, "."+Domain+"/") {
			t.Errorf("%s, %s at %s could be taken for a real one", f.ID, f.Name, f.WebsiteURL)
		}
		for _, s := range f.Settlers {
			key := [2]string{s.Network, s.Address}
			if owners[key] != "" || x402.CheckAddress(s.Network, s.Address) != nil {
				t.Errorf("%s: account %v is invalid, or also that of %s", f.ID, key, owners[key])
			}
			owners[key] = f.ID
			if s.Deprecated {
				deprecated++
			}
			if s.Since != nil {
				dated++
			}
		}
	}
	if deprecated == 0 || dated == 0 {
		t.Errorf("%d accounts deprecated, %d with a first day; want some", deprecated, dated)
	}
	used := map[string]bool{}
	for _, p := range sharedTrade() {
		id, listed := owners[[2]string{p.rail.network.ID, p.settler}]
		if listed == p.by.Unlisted || listed && id != p.by.ID {
			t.Errorf("%s settled with the account %s of %q", p.by.ID, p.settler, id)
		}
		for _, f := range list {
			for _, s := range f.Settlers {
				if s.Address == p.settler && s.Since != nil && p.at.Before(*s.Since) {
					t.Errorf("%s settled on %v, before its first day", p.settler, p.at)
				}
			}
		}
		used[p.settler] = true
	}
	for key, id := range owners {
		if !used[key[1]] {
			t.Errorf("account %v of %s never settled anything", key, id)
		}
	}
}

func TestReadFacilitatorsRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[[facilitator": "toml",
		"[[facilitator]]\nid = \"a\"\ncolour = \"red\"\n":          "strict mode",
		"[[facilitator]]\nid = \"a\"\nnetworks = [\"atlantis\"]\n": `facilitator a: unknown network "atlantis"`,
	} {
		if _, err := readFacilitators([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestTradeSpeedsUp checks that a demo shows payments within a minute of its start, and that weeks later there are not
// too many to catch up.
func TestTradeSpeedsUp(t *testing.T) {
	t.Parallel()
	l := NewLedger(start)
	count := func(from time.Time) (n int) {
		c := l.chains[Network]
		for _, t := range c.sent(c.at(from), c.at(from.Add(day)), from.Add(2*day)) {
			n += len(t.payments)
		}
		return n
	}
	past, first, second := count(start.Add(-day)), count(start.Add(time.Minute)), count(start.Add(25*time.Hour))
	if first < 10*past || first < 24*60 || second > first/2 || second < 2*past {
		t.Errorf("payments on Base: %d on the day before the start, %d on the day after, %d on the second", past, first,
			second)
	}
	for n := range 3 * 24 {
		for network, list := range l.hour(historyDays*24 + n) {
			if len(list) > 0 && network != Network {
				t.Errorf("%s has payments after the start but no node", network)
			}
		}
	}
}
