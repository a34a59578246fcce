package judge

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/rail"
)

func TestTrend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v7, v30 string
		want    *float64
	}{
		{"0", "0", nil}, {"0", "30", new(0.0)}, {"7", "30", new(1.0)}, {"14", "30", new(2.0)}, {"3.5", "30", new(0.5)},
		{"30", "30", new(4.2857)},
	} {
		if diff := cmp.Diff(c.want, trend(mustParseUSD(t, c.v7), mustParseUSD(t, c.v30))); diff != "" {
			t.Errorf("$%s of 7 days, $%s of 30 (-want +got):\n%s", c.v7, c.v30, diff)
		}
	}
}

// TestTrendComparesWholeDays checks that the trend of a steady seller is the same before and after midnight, and that
// the sums of 30 days include today.
func TestTrendComparesWholeDays(t *testing.T) {
	t.Parallel()
	midnight := now.UTC().Truncate(24 * time.Hour)
	for _, c := range []struct {
		name  string
		now   time.Time
		today string // volume of the part of today, "" for none
		want  []any
	}{
		{"a second before midnight", midnight.Add(-time.Second), "24", []any{new(1.0), site.Decimal("720")}},
		{"at midnight", midnight, "", []any{new(1.0), site.Decimal("696")}},
		{"an hour after it", midnight.Add(time.Hour), "1", []any{new(1.0), site.Decimal("697")}},
	} {
		facts := newService(newPricedEndpoint(newPrice("1", alice, c.now.AddDate(0, 0, -80), nil)))
		facts.ID, facts.Endpoints[0].LastPaidAt = 1, &c.now
		payee := ledger.PayeeFacts{Network: base, Address: strings.ToLower(alice)}
		for age := 70; age >= 0; age-- {
			d := ledger.RevenueDay{Day: dayOfTime(c.now).AddDate(0, 0, -age), Facilitator: "acme", Settlements: 24,
				USD: "24"}
			if d.FirstAt, d.LastAt = d.Day, d.Day; age == 0 {
				d.USD = c.today
			}
			if d.USD != "" {
				payee.Days = append(payee.Days, d)
			}
		}
		f := &postgres.Facts{Services: []postgres.ServiceFacts{*facts},
			Chains:  []ledger.ChainFacts{{Network: base, MeasuredSince: new(c.now.AddDate(0, 0, -90))}},
			Revenue: &ledger.Revenue{Payees: []ledger.PayeeFacts{payee}}}
		got := newRevenueIndex(f, [][]claim{listClaims(facts, c.now)}, listing.FreeHosts{}, c.now).traction(0)
		if diff := cmp.Diff(c.want, []any{got.Trend7dVs30d, *got.VolumeUSD30d}); diff != "" {
			t.Errorf("%s: trend and volume (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestCoversTrend checks that a trend needs thirty whole days since the first settlement, and of each measured network.
func TestCoversTrend(t *testing.T) {
	t.Parallel()
	const age = 30 * 24 * time.Hour
	for _, c := range []struct {
		name         string
		first        time.Duration // 0 for none
		base, solana time.Duration
		want         bool
	}{
		{"old enough", age, age, age, true},
		{"no settlement", 0, age, age, false},
		{"a young first settlement", age - time.Second, 2 * age, 2 * age, false},
		{"a network measured later", 2 * age, 2 * age, age - time.Second, false},
	} {
		today := now.Truncate(24 * time.Hour)
		ago := func(age time.Duration) *time.Time { return new(today.Add(-age)) }
		r := &revenueIndex{now: now, chains: map[string]ledger.ChainFacts{
			base: {MeasuredSince: ago(c.base)}, solana: {MeasuredSince: ago(c.solana)},
		}}
		var first time.Time
		if c.first > 0 {
			first = *ago(c.first)
		}
		if got := r.coversTrend([]string{base, solana}, first); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestIsConcentrated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		top    []string
		volume string
		count  int64
		want   bool
	}{
		{"exactly nine tenths of ten dollars in fifty", []string{"4", "3", "2"}, "10", 50, true},
		{"a micro-dollar less than nine tenths", []string{"4", "3", "1.999999"}, "10", 50, false},
		{"nine dollars and ninety-nine cents", []string{"9.99"}, "9.99", 50, false},
		{"forty-nine settlements", []string{"10"}, "10", 49, false},
		{"one buyer", []string{"10"}, "10", 50, true},
		{"a fourth buyer does not count", []string{"3", "3", "2.9", "1.1"}, "10", 50, false},
		{"nothing", nil, "0", 0, false},
	} {
		if got := isConcentrated(c.top, mustParseUSD(t, c.volume), c.count); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestMedianAndMax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amounts      []ledger.AmountCount
		median, most site.Decimal // "" for null
	}{
		{nil, "", ""},
		{[]ledger.AmountCount{{USD: "0.5", Settlements: 1}}, "0.5", "0.5"},
		{[]ledger.AmountCount{{USD: "0.5", Settlements: 1}, {USD: "1", Settlements: 1}}, "0.75", "1"},
		{[]ledger.AmountCount{{USD: "0.5", Settlements: 2}, {USD: "1", Settlements: 1}}, "0.5", "1"},
		{[]ledger.AmountCount{{USD: "0.5", Settlements: 5}, {USD: "1", Settlements: 5}}, "0.75", "1"},
		{[]ledger.AmountCount{{USD: "0.000001", Settlements: 1}, {USD: "0.000002", Settlements: 1}}, "0.0000015",
			"0.000002"},
	} {
		median, most := medianAndMax(c.amounts)
		if orNone(median) != c.median || orNone(most) != c.most {
			t.Errorf("of %v: median %s, most %s, want %s, %s", c.amounts, orNone(median), orNone(most), c.median,
				c.most)
		}
	}
}

// TestRedemptionsNameNoBuyers checks that redemptions count as volume, and that figures of buyers and of single
// payments are unknown if there is nothing else.
func TestRedemptionsNameNoBuyers(t *testing.T) {
	t.Parallel()
	today := now.UTC().Truncate(24 * time.Hour)
	figures := func(buyers *ledger.ServiceBuyers, count int64) site.Traction {
		facts := newService(newPricedEndpoint(newPrice("1", alice, now.AddDate(0, 0, -40), nil)))
		facts.ID, facts.Endpoints[0].LastPaidAt = 1, new(now)
		buyers.ServiceID = 1
		f := &postgres.Facts{Services: []postgres.ServiceFacts{*facts},
			Chains: []ledger.ChainFacts{{Network: base, MeasuredSince: ago(90 * 24 * time.Hour)}},
			Revenue: &ledger.Revenue{Services: []ledger.ServiceBuyers{*buyers}, Payees: []ledger.PayeeFacts{{
				Network: base, Address: strings.ToLower(alice),
				Days: []ledger.RevenueDay{{Day: today, Facilitator: "acme", Settlements: count, USD: "20",
					FirstAt: today, LastAt: today}},
			}}}}
		return newRevenueIndex(f, [][]claim{listClaims(facts, now)}, listing.FreeHosts{}, now).traction(0)
	}
	for _, c := range []struct {
		name   string
		of     ledger.ServiceBuyers
		count  int64
		want   []any // buyers, shares, median and maximum
		caveat string
	}{
		{"redemptions alone", ledger.ServiceBuyers{}, 2, []any{(*int64)(nil), (*float64)(nil), (*float64)(nil),
			(*site.Decimal)(nil), (*site.Decimal)(nil)}, "2 settlements are redemptions"},
		{"one among payments", ledger.ServiceBuyers{Buyers30d: 1, TopUSD: []string{"5"},
			Amounts: []ledger.AmountCount{{USD: "2.5", Settlements: 2}}}, 3, []any{new(int64(1)), new(0.25), new(0.25),
			new(site.Decimal("2.5")), new(site.Decimal("2.5"))}, "One settlement is a redemption"},
		{"payments alone", ledger.ServiceBuyers{Buyers30d: 1, TopUSD: []string{"20"},
			Amounts: []ledger.AmountCount{{USD: "10", Settlements: 2}}}, 2, []any{new(int64(1)), new(1.0), new(1.0),
			new(site.Decimal("10")), new(site.Decimal("10"))}, ""},
	} {
		got := figures(&c.of, c.count)
		if diff := cmp.Diff(c.want, []any{got.UniqueBuyers30d, got.TopBuyerShare30d, got.Top3BuyersShare30d,
			got.MedianSettlement30d, got.MaxSettlement30d}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if *got.VolumeUSD30d != "20" || *got.TxCount30d != c.count ||
			strings.Contains(got.Caveat, "redemption") != (c.caveat != "") || !strings.Contains(got.Caveat, c.caveat) {
			t.Errorf("%s: $%s in %d settlements, caveat %q", c.name, *got.VolumeUSD30d, *got.TxCount30d, got.Caveat)
		}
	}
}

// TestOrganicLeavesOutRelativesAndScouts checks that what they paid is left out, of a shared volume the same part, and
// that buyers stay unknown if they are.
func TestOrganicLeavesOutRelativesAndScouts(t *testing.T) {
	t.Parallel()
	of := ledger.ServiceBuyers{Buyers30d: 9, Self: ledger.BuyerSum{Buyers: 1, Settlements: 97, USD: "24.25"},
		Scouts: ledger.BuyerSum{Buyers: 3, Settlements: 4, USD: "0.25"}, Returning30d: 2}
	for _, c := range []struct {
		name         string
		total, share string
		buyers       *int64
		volume       site.Decimal
		want         []*int64 // organic, returning, one-time, scouts, relatives
	}{
		{"whole", "34.5", "34.5", new(int64(9)), "10",
			[]*int64{new(int64(5)), new(int64(2)), new(int64(3)), new(int64(3)), new(int64(1))}},
		{"half of it", "34.5", "17.25", new(int64(9)), "5",
			[]*int64{new(int64(5)), new(int64(2)), new(int64(3)), new(int64(3)), new(int64(1))}},
		{"unknown buyers", "34.5", "34.5", nil, "10", []*int64{nil, nil, nil, nil, nil}},
	} {
		got := site.Traction{UniqueBuyers30d: c.buyers}
		addOrganic(&got, &monthSums{total30: mustParseUSD(t, c.total), share30: mustParseUSD(t, c.share), count30: 137},
			&of)
		if *got.OrganicVolumeUSD30d != c.volume || *got.OrganicTxCount30d != 36 {
			t.Errorf("%s: $%s in %d settlements, want $%s in 36", c.name, *got.OrganicVolumeUSD30d,
				*got.OrganicTxCount30d, c.volume)
		}
		if diff := cmp.Diff(c.want, []*int64{got.OrganicBuyers30d, got.ReturningBuyers30d, got.OneTimeBuyers30d,
			got.ScoutBuyers30d, got.SelfBuyers30d}); diff != "" {
			t.Errorf("%s: buyers (-want +got):\n%s", c.name, diff)
		}
	}
}

func orNone(d *site.Decimal) site.Decimal {
	if d == nil {
		return ""
	}
	return *d
}

func TestClaimsEndADayAfterTheLastVisit(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	closed := at(10, 23)
	gone := newPricedEndpoint(newPrice("1", bob, at(1, 0), nil)) // not seen paid for two weeks
	gone.FirstSeenAt, gone.LastPaidAt = at(1, 0), new(at(6, 3))
	never := newPricedEndpoint(newPrice("1", "0xNEVER", at(1, 0), nil))
	never.FirstSeenAt = at(5, 9)
	now := at(20, 12)
	f := newService(newPricedEndpoint(newPrice("1", alice, at(1, 0), &closed), newPrice("1", bob, closed, nil)), gone,
		never,
		newPricedEndpoint(checks.Price{Since: at(1, 0), NetworkCAIP2: new(solana),
			PayTo: "So11111111111111111111111111111111111111112"}), newPricedEndpoint(checks.Price{PayTo: "nowhere"}),
		newOffering(checks.Offer{Protocol: "mpp", NetworkCAIP2: tempo, PayTo: alice},
			checks.Offer{Protocol: "mpp", NetworkCAIP2: tempo}, checks.Offer{Protocol: "mpp", PayTo: alice},
			checks.Offer{Protocol: "l402", NetworkCAIP2: rail.InvoiceMainnet, PayTo: "0261c0"}),
		newOffering(checks.Offer{Protocol: "mpp", NetworkCAIP2: tempo, PayTo: bob}))
	f.Endpoints[5].FormerRecipients = []checks.FormerRecipient{
		{NetworkCAIP2: tempo, PayTo: "0xFORMER", Until: closed}}
	f.Endpoints[0].LastPaidAt, f.Endpoints[3].LastPaidAt, f.Endpoints[5].LastPaidAt = new(now), new(now), new(now)
	f.Endpoints[6].FirstSeenAt, f.Endpoints[6].LastPaidAt = at(1, 0), new(at(6, 3))
	want := []string{
		base + " " + strings.ToLower(alice) + " 2026-11-11 false",
		base + " " + strings.ToLower(bob) + " asked true",
		base + " 0xNEVER 2026-11-06 true",
		solana + " So11111111111111111111111111111111111111112 asked true",
		tempo + " 0xFORMER 2026-11-11 false",
		tempo + " " + strings.ToLower(alice) + " asked true",
		tempo + " " + strings.ToLower(bob) + " 2026-11-07 true",
	}
	var got []string
	for _, c := range listClaims(f, now) {
		until := "asked"
		if !c.until.IsZero() {
			until = c.until.Format(time.DateOnly)
		}
		got = append(got, fmt.Sprint(c.network, " ", c.payTo, " ", until, " ", c.newest))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

const (
	solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	tempo  = "eip155:4217"
)

func newOffering(offers ...checks.Offer) postgres.EndpointFacts {
	return postgres.EndpointFacts{Endpoint: postgres.Endpoint{Offers: offers}}
}

// TestOffersHaveTraction checks that services are measured at the recipients of their offers as at those of prices.
func TestOffersHaveTraction(t *testing.T) {
	t.Parallel()
	today := now.UTC().Truncate(24 * time.Hour)
	f := &postgres.Facts{Chains: []ledger.ChainFacts{{Network: tempo, MeasuredSince: ago(90 * 24 * time.Hour)}},
		Revenue: &ledger.Revenue{Payees: []ledger.PayeeFacts{{Network: tempo, Address: strings.ToLower(alice),
			Days: []ledger.RevenueDay{{Day: today, Facilitator: "mpp", Settlements: 3, USD: "0.5", FirstAt: today,
				LastAt: today}}}}}}
	price := checks.Price{Since: *ago(time.Hour), NetworkCAIP2: new(tempo), PayTo: alice}
	var claims [][]claim
	for i, e := range []postgres.EndpointFacts{
		newOffering(checks.Offer{Protocol: "mpp", NetworkCAIP2: tempo, PayTo: alice}), newPricedEndpoint(price),
		newOffering(checks.Offer{Protocol: "mpp", NetworkCAIP2: base, PayTo: alice}),
		newOffering(checks.Offer{Protocol: "l402", NetworkCAIP2: rail.InvoiceMainnet, PayTo: "0261c0"}),
	} {
		s := newService(e)
		s.ID, s.Slug = int64(i), fmt.Sprint("s", i)
		f.Services, claims = append(f.Services, *s), append(claims, listClaims(s, now))
	}
	index := newRevenueIndex(f, claims, listing.FreeHosts{}, now)
	want := []string{"measured 0.25 3 shared with 1", "measured 0.25 3 shared with 1", "unmeasured-network", "no-payto"}
	var got []string
	for i := range f.Services {
		r := index.traction(i)
		text := r.Status
		if r.VolumeUSD30d != nil {
			text = fmt.Sprint(text, " ", *r.VolumeUSD30d, " ", *r.TxCount30d, " shared with ", r.SharedWith)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traction (-want +got):\n%s", diff)
	}
}

// TestClaimsBeginWhenTheyAreMade checks on which days a recipient belongs to which services: a service on its own, two
// of one operator, strangers that came later or on the same day, and one that was gone in between.
func TestClaimsBeginWhenTheyAreMade(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	type service struct {
		slug, host   string
		named, ended int // days ago; ended 0 if it names the account now
		failing      bool
		proved       int // days ago; 0 if it was never proved
	}
	named := func(slug, host string, named, ended int) service { return service{slug, host, named, ended, false, 0} }
	failing := func(s service) service { s.failing = true; return s }
	proved := func(s service, ago int) service { s.proved = ago; return s }
	for _, c := range []struct {
		name     string
		services []service
		want     []string // by service: settlements of all days, of 30 days, first day, what is its merit, flags
	}{
		{"one service has nothing from before it named the account", []service{named("old", "old.example", 40, 0)},
			[]string{"41 30 -40"}},
		{"a stranger that came later has nothing, and takes nothing",
			[]service{named("old", "old.example", 40, 0), named("thief", "thief.example", 0, 0)},
			[]string{"41 30 -40 recipient_claimed", "no-payto recipient_foreign"}},
		{"whatever the order of slugs",
			[]service{named("a-thief", "thief.example", 5, 0), named("old", "old.example", 40, 0)},
			[]string{"no-payto recipient_foreign", "41 30 -40 recipient_claimed"}},
		{"services of one operator divide from the day on which the second came",
			[]service{named("a", "a.old.com", 40, 0), named("b", "b.old.com", 5, 0)},
			[]string{"41 30 -40", "6 6 -5"}},
		{"strangers that came on the same day divide, and it is no merit",
			[]service{named("a", "a.example", 40, 0), named("b", "b.example", 40, 0)},
			[]string{"41 30 -40 strangers", "41 30 -40 strangers"}},
		{"a stranger has the days after the older claim ended",
			[]service{named("old", "old.example", 40, 10), named("new", "new.example", 20, 0)},
			[]string{"32 21 -40", "9 9 -8"}},
		{"a stranger does not inherit from a service that is down",
			[]service{failing(named("old", "old.example", 40, 0)), named("thief", "thief.example", 20, 0)},
			[]string{"41 30 -40 recipient_claimed", "no-payto recipient_foreign"}},
		{"another service of the operator does",
			[]service{failing(named("a", "a.old.com", 40, 0)), named("b", "b.old.com", 20, 0)},
			[]string{"unresponsive", "21 21 -20"}},
		{"a stranger has a part from the thirtieth day on, and nothing of the days before",
			[]service{named("old", "old.example", 60, 0), named("thief", "thief.example", 31, 0)},
			[]string{"61 30 -60 strangers alone 28 for $28 recipient_claimed", "2 2 -1 strangers recipient_foreign"}},
		{"in the end it divides all of 30 days, which is no merit for either",
			[]service{named("old", "old.example", 60, 0), named("thief", "thief.example", 59, 0)},
			[]string{"61 30 -60 strangers recipient_claimed", "30 30 -29 strangers recipient_foreign"}},
		{"on the twenty-ninth it has none",
			[]service{named("old", "old.example", 60, 0), named("thief", "thief.example", 29, 0)},
			[]string{"61 30 -60 recipient_claimed", "no-payto recipient_foreign"}},
		{"none at all if only the older one is proved",
			[]service{proved(named("old", "old.example", 60, 0), 35), named("thief", "thief.example", 40, 0)},
			[]string{"61 30 -60 recipient_claimed", "no-payto recipient_foreign"}},
		{"nor if only the stranger is",
			[]service{named("old", "old.example", 60, 0), proved(named("thief", "thief.example", 40, 0), 35)},
			[]string{"61 30 -60 recipient_claimed", "no-payto recipient_foreign"}},
		{"if both are, from the day of the second proof on",
			[]service{proved(named("old", "old.example", 60, 0), 50), proved(named("new", "new.example", 50, 0), 9)},
			[]string{"61 30 -60 strangers alone 20 for $20 recipient_claimed", "10 10 -9 strangers recipient_foreign"}},
		{"a proof ends what is shared, and changes no day before",
			[]service{proved(named("old", "old.example", 60, 0), 5), named("thief", "thief.example", 40, 0)},
			[]string{"61 30 -60 strangers alone 25 for $25 recipient_claimed", "5 5 -10 strangers recipient_foreign"}},
		{"and what follows the older claim is the stranger's again",
			[]service{proved(named("old", "old.example", 60, 3), 5), named("new", "new.example", 40, 0)},
			[]string{"59 28 -60 strangers alone 23 for $23", "7 7 -10 strangers alone 2 for $2"}},
		{"a stranger does not inherit from a service that is down, however long it has a part",
			[]service{failing(named("old", "old.example", 60, 0)), named("thief", "thief.example", 31, 0)},
			[]string{"61 30 -60 strangers alone 28 for $28 recipient_claimed", "2 2 -1 strangers recipient_foreign"}},
		{"a host with only an address is one operator with its port alone",
			[]service{named("a", "127.0.0.1:1", 40, 0), named("b", "127.0.0.1:2", 3, 0)},
			[]string{"41 30 -40 recipient_claimed", "no-payto recipient_foreign"}},
	} {
		f := &postgres.Facts{Chains: []ledger.ChainFacts{{Network: base, MeasuredSince: ago(90 * 24 * time.Hour)}}}
		payee := ledger.PayeeFacts{Network: base, Address: strings.ToLower(alice)}
		for age := 60; age >= 0; age-- {
			day := today.AddDate(0, 0, -age)
			payee.Days = append(payee.Days, ledger.RevenueDay{Day: day, Facilitator: "acme", Settlements: 1, USD: "1",
				FirstAt: day, LastAt: day})
		}
		f.Revenue = &ledger.Revenue{Payees: []ledger.PayeeFacts{payee}}
		var claims [][]claim
		for i, s := range c.services {
			p := newPrice("1", alice, today.AddDate(0, 0, -s.named), nil)
			if s.ended > 0 {
				p.Until = new(today.AddDate(0, 0, -s.ended))
			}
			facts := newService(newPricedEndpoint(p))
			facts.ID, facts.Slug, facts.BaseURL = int64(i), s.slug, "https://"+s.host
			facts.Endpoints[0].LastPaidAt = new(now)
			if s.proved > 0 {
				facts.VerifiedAt, facts.FirstProvedAt = new(now), new(today.AddDate(0, 0, -s.proved))
			}
			if s.failing {
				facts.FailingSince = ago(8 * 24 * time.Hour)
			}
			f.Services, claims = append(f.Services, *facts), append(claims, listClaims(facts, now))
		}
		index := newRevenueIndex(f, claims, listing.FreeHosts{}, now)
		var got []string
		for i := range f.Services {
			r := index.traction(i)
			text := r.Status
			if r.TxCountAllTime != nil {
				text = fmt.Sprint(*r.TxCountAllTime, " ", *r.TxCount30d, " ", -int(today.Sub(r.FirstSettlementAt.Time)/(24*time.Hour)))
			}
			if r.SharedWithStrangers {
				text += " strangers"
			}
			if m := r.Merit(); m != nil && m != &r {
				text += fmt.Sprint(" alone ", *m.OrganicTxCount30d, " for $", *m.OrganicVolumeUSD30d)
			}
			if n := index.ownership.foreign(i, f.Services); n != nil {
				text += " " + flagForeign(n).Code
			}
			if n := index.ownership.claimed(i, f.Services); n != nil {
				text += " " + flagClaimed(n).Code
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestOperatorsAreComponents(t *testing.T) {
	t.Parallel()
	on := func(network, payTo string) claim { return claim{recipient: recipient{network, payTo}} }
	former := on(base, "0xd")
	former.until = now
	claims := [][]claim{
		{on(base, "0xa")},
		{on(base, "0xa"), on(base, "0xb")},
		{on("eip155:137", "0xb")},   // the same account on another EVM network
		{on(solana, "0xa")},         // another kind of chain is another account
		{former}, {on(base, "0xd")}, // a former recipient links nothing
		// addresses without an owner
		{on(base, "0x0000000000000000000000000000000000000000")},
		{on(base, "0x0000000000000000000000000000000000000000")},
		{on(solana, "11111111111111111111111111111111")}, {on(solana, "11111111111111111111111111111111")},
		{on(sepolia, "0xe")}, {on(sepolia, "0xe")}, // worth nothing
		{on("eip155:31337", "0xf")}, {on("eip155:31337", "0xf")}, // a network that nobody knows may be worth something
		{},
	}
	services := make([]postgres.ServiceFacts, len(claims))
	for i := range services {
		services[i].Slug = fmt.Sprintf("s%02d", i)
	}
	got := groupOperators(services, claims)
	var groups []string
	for _, g := range got.Groups {
		line := ""
		for _, s := range g.Services {
			line += s.Slug + " "
		}
		for _, r := range g.Recipients {
			line += fmt.Sprintf("%s:%s=%d ", r.NetworkCAIP2, r.PayTo, r.ServiceCount)
		}
		groups = append(groups, line)
	}
	want := []string{"s00 s01 s02 eip155:8453:0xa=2 eip155:137:0xb=1 eip155:8453:0xb=1 ", "s12 s13 eip155:31337:0xf=2 "}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if got.ServiceCount != 15 || got.OperatorCount != 12 {
		t.Errorf("%d services of %d operators, want 15 of 12", got.ServiceCount, got.OperatorCount)
	}
}

// TestSharesAddUpToRevenue checks sums of revenue for random owners of recipients. The services' shares of each
// window, day and facilitator add up to the revenue of the recipients while they had an owner. The days of a service
// add up to its total, and its facilitators to its 30 days.
func TestSharesAddUpToRevenue(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		services := rapid.IntRange(1, 6).Draw(t, "services")
		p := &ownership{owners: map[recipient][]owner{}}
		revenue := &ledger.Revenue{}
		var want30, wantAll usd
		wantVia := map[string]*usd{"a": {}, "b": {}}
		for n := range rapid.IntRange(1, 3).Draw(t, "payees") {
			r := recipient{base, fmt.Sprint("0x", n)}
			for i := range services {
				if rapid.Bool().Draw(t, "holds") {
					h := owner{service: i, operator: rapid.IntRange(0, 1).Draw(t, "operator"),
						since: dayNumber(today) - rapid.IntRange(0, 60).Draw(t, "since"), until: forever}
					if rapid.Bool().Draw(t, "former") {
						h.until = max(h.since, dayNumber(today)-rapid.IntRange(0, 40).Draw(t, "until"))
					}
					p.owners[r] = append(p.owners[r], h)
				}
			}
			payee := ledger.PayeeFacts{Network: base, Address: r.payTo}
			for age := 45; age >= 0; age-- {
				day := today.AddDate(0, 0, -age)
				somebody := slices.ContainsFunc(p.owners[r], func(h owner) bool {
					return h.includes(dayNumber(day))
				})
				for _, f := range []string{"a", "b"} {
					if !rapid.Bool().Draw(t, "paid") {
						continue
					}
					amount := rapid.StringMatching(`[0-9]{1,2}(\.[0-9]{1,8})?`).Draw(t, "usd")
					payee.Days = append(payee.Days, ledger.RevenueDay{Day: day, Facilitator: f, Settlements: 1,
						USD: amount, FirstAt: day, LastAt: day})
					if somebody {
						wantAll.add(mustParseUSD(t, amount))
					}
					if somebody && age < 30 {
						want30.add(mustParseUSD(t, amount))
						wantVia[f].add(mustParseUSD(t, amount))
					}
				}
			}
			revenue.Payees = append(revenue.Payees, payee)
		}
		var got30, gotAll usd
		gotVia := map[string]*usd{"a": {}, "b": {}}
		for i, e := range p.divideRevenue(revenue, services, now) {
			got30.add(e.share30)
			gotAll.add(e.shareAll)
			var days, via usd
			for _, d := range e.days {
				days.add(d.usd)
			}
			for _, v := range e.via {
				via.add(v.usd)
				gotVia[v.facilitator].add(v.usd)
			}
			if days.decimal() != e.shareAll.decimal() || via.decimal() != e.share30.decimal() {
				t.Fatalf("service %d: days sum to %s of %s, facilitators to %s of %s", i, days.decimal(),
					e.shareAll.decimal(), via.decimal(), e.share30.decimal())
			}
		}
		if got30.decimal() != want30.decimal() || gotAll.decimal() != wantAll.decimal() {
			t.Fatalf("shares sum to %s of 30 days, %s of all, want %s and %s", got30.decimal(), gotAll.decimal(),
				want30.decimal(), wantAll.decimal())
		}
		for id := range wantVia {
			if gotVia[id].decimal() != wantVia[id].decimal() {
				t.Fatalf("shares of facilitator %s sum to %s, want %s", id, gotVia[id].decimal(), wantVia[id].decimal())
			}
		}
	})
}

// TestListCountedTokens checks that only facilitators with settlers of their own count, in tokens with a dollar value.
func TestListCountedTokens(t *testing.T) {
	t.Parallel()
	tokens := []ledger.TokenFacts{{Network: base, Token: baseUSDC}, {Network: base, Token: baseEURC},
		{Network: bnb, Token: bnbUSDC}, {Network: sepolia, Token: testUSDC}, {Network: base, Token: "0xfake"}}
	claimed := newFacilitatorFacts("pull_request", tokens...)
	claimed.ID = "claimed"
	got := listCountedTokens([]ledger.FacilitatorFacts{newFacilitatorFacts("merged", tokens...), claimed})
	want := []ledger.CountedToken{
		{Facilitator: "acme", Network: base, Token: baseUSDC, Unit: "0.000001"},
		{Facilitator: "acme", Network: bnb, Token: bnbUSDC, Unit: "0.000000000000000001"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// BenchmarkRevenueIndex judges 20,000 services with 90 days of settlements. Each has one recipient, and every tenth
// shares it with nine others.
func BenchmarkRevenueIndex(b *testing.B) {
	const services = 20_000
	f := &postgres.Facts{Chains: []ledger.ChainFacts{{Network: base, MeasuredSince: ago(100 * 24 * time.Hour)}},
		Revenue: &ledger.Revenue{}}
	today := now.Truncate(24 * time.Hour)
	seen := map[string]bool{}
	for i := range services {
		address := fmt.Sprintf("0x%040x", i)
		if i%10 == 0 {
			address = fmt.Sprintf("0x%040x", i/100*100)
		}
		s := newService(newPricedEndpoint(newPrice("1", address, *ago(900 * time.Hour), nil)))
		s.ID, s.Slug = int64(i), fmt.Sprintf("s%05d", i)
		f.Services = append(f.Services, *s)
		f.Revenue.Services = append(f.Revenue.Services,
			ledger.ServiceBuyers{ServiceID: int64(i), Buyers30d: 9, TopUSD: []string{"1", "0.5", "0.25"},
				Amounts: []ledger.AmountCount{{USD: "0.01", Settlements: 900}}})
		if seen[address] {
			continue
		}
		seen[address] = true
		payee := ledger.PayeeFacts{Network: base, Address: address}
		for age := 89; age >= 0; age-- {
			payee.Days = append(payee.Days, ledger.RevenueDay{Day: today.AddDate(0, 0, -age), Facilitator: "acme",
				Settlements: 30, USD: "0.300001", FirstAt: today.AddDate(0, 0, -age), LastAt: today.AddDate(0, 0, -age)})
		}
		f.Revenue.Payees = append(f.Revenue.Payees, payee)
	}
	for b.Loop() {
		claims := make([][]claim, len(f.Services))
		for i := range claims {
			claims[i] = listClaims(&f.Services[i], now)
		}
		t := newRevenueIndex(f, claims, listing.FreeHosts{}, now)
		total := &big.Int{}
		for i := range f.Services {
			judged := t.traction(i)
			volume, _, _ := t.series(i)
			total.Add(total, big.NewInt(int64(len(volume)+judged.SharedWith)))
		}
		if total.Sign() == 0 {
			b.Fatal("nothing was judged")
		}
	}
}
