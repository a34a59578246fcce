package postgres_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// trades are n settlements of four months before start: some payees have many payers, one has a single one, some pay
// themselves, prices tie.
func trades(n int) []ledger.Settlement {
	r := rand.New(rand.NewPCG(1, 402))
	list := make([]ledger.Settlement, n)
	for i := range list {
		at := start.Add(-time.Duration(r.Int64N(int64(120 * 24 * time.Hour)))).Truncate(time.Second)
		payee := r.IntN(6)
		payer := r.IntN(150)
		switch {
		case payee == 0 && r.IntN(50) > 0:
			payer = 7
		case payee == 1 && r.IntN(4) == 0:
			payer = 1001
		}
		list[i] = ledger.Settlement{
			Network: []string{base, "eip155:137"}[r.IntN(2)], Block: at.Unix() / 2, Time: at,
			Transaction: fmt.Sprintf("0x%064x", i), Method: "eip3009",
			Facilitator: []string{"acme", "bolt", "cove"}[r.IntN(3)], Settler: "0xs",
			Token: []string{"usdc", "usdc", "wide"}[r.IntN(3)],
			Payer: fmt.Sprintf("0xa%d", payer), Payee: fmt.Sprintf("0xa%d", 1000+payee),
			Amount: []string{"0", "10000", "2500000", "10000"}[r.IntN(4)],
		}
		if list[i].Token == "wide" {
			list[i].Amount += "000000000000"
		}
	}
	return list
}

// decimal is the shortest exact text of a sum.
func decimal(r *big.Rat) string {
	return strings.TrimRight(strings.TrimRight(r.FloatString(40), "0"), ".")
}

// TestRevenue compares ReadRevenue with sums over all settlements.
func TestRevenue(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(),
		[]ledger.Facilitator{facilitator("acme"), facilitator("bolt"), facilitator("cove")}); err != nil {
		t.Fatal(err)
	}
	list := trades(6000)
	if n, err := db.RecordSettlements(t.Context(), list); err != nil || n != int64(len(list)) {
		t.Fatalf("%d recorded, error %v", n, err)
	}
	day := func(back int) *time.Time {
		d := start.Truncate(24*time.Hour).AddDate(0, 0, -back)
		return &d
	}
	recipients := []ledger.Recipient{
		{ServiceID: 1, Network: base, Address: "0xa1000"},
		{ServiceID: 2, Network: base, Address: "0xa1001"}, {ServiceID: 2, Network: "eip155:137", Address: "0xa1001"},
		{ServiceID: 2, Network: "eip155:137", Address: "0xa1002"},
		{ServiceID: 3, Network: base, Address: "0xa1001"}, // shared
		{ServiceID: 4, Network: base, Address: "0xa1003", Until: day(12)},
		{ServiceID: 4, Network: "eip155:137", Address: "0xa1003"},
		// the later word holds
		{ServiceID: 5, Network: base, Address: "0xa1004", Until: day(12)},
		{ServiceID: 5, Network: base, Address: "0xa1004", Until: day(5)},
		{ServiceID: 6, Network: base, Address: "0xa1004", Until: day(40)},
		{ServiceID: 6, Network: base, Address: "0xa1003", Until: day(200)},
		{ServiceID: 9, Network: base, Address: "0xa1005", Since: *day(12)}, // nobody's before
		{ServiceID: 9, Network: "eip155:137", Address: "0xa1000", Since: *day(115)},
		{ServiceID: 10, Network: "eip155:137", Address: "0xa1000", Since: *day(25), Until: day(22)},
		// another service's before the window
		{ServiceID: 9, Network: "eip155:137", Address: "0xa1005", Until: day(112)},
		{ServiceID: 10, Network: "eip155:137", Address: "0xa1005", Since: *day(111)},
		{ServiceID: 7, Network: base, Address: "0xnobody"}, {ServiceID: 8, Network: "eip155:1", Address: "0xa1001"},
	}
	for i := range recipients {
		recipients[i].Category = map[int64]string{1: "AI", 2: "AI", 3: "AI", 4: "Data", 5: "Data", 6: "Data",
			8: "Data", 9: "Other"}[recipients[i].ServiceID] // 7 and 10 have none
	}
	var tokens []ledger.CountedToken
	units := map[string]string{"usdc": "0.000001", "wide": "0.000000000000000001"}
	for _, f := range []string{"acme", "bolt"} { // not cove's
		for _, network := range []string{base, "eip155:137"} {
			for _, token := range []string{"usdc", "wide"} {
				tokens = append(tokens, ledger.CountedToken{Facilitator: f, Network: network, Token: token,
					Unit: units[token]})
			}
		}
	}
	for _, c := range []struct {
		how string
		now time.Time
	}{
		{"now", start}, {"of an earlier moment", start.AddDate(0, 0, -20)},
	} {
		var got *ledger.Revenue
		if err := db.Read(t.Context(), func(r *postgres.Reader) (err error) {
			got, err = r.ReadRevenue(t.Context(), c.now, recipients, tokens)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		checkBefore(t, c.now, got.Payees)
		got.Payees = unfolded(t, got)
		for i := range got.Payees {
			got.Payees[i].Before = ledger.RevenueSum{}
		}
		if diff := gocmp.Diff(naiveRevenue(list, c.now, recipients, units), got,
			cmpopts.IgnoreUnexported(ledger.Revenue{}, ledger.PayeeFacts{})); diff != "" {
			t.Errorf("takings %s (-want +got):\n%s", c.how, diff)
		}
		if got.Quality.SinglePayerSettlements30d == 0 || got.Quality.SelfSettlements30d == 0 {
			t.Errorf("nothing to find: %+v", got.Quality)
		}
	}
}

// checkBefore checks that the sum before the window is that of its days. Where the services change before it, there is
// no sum, and all days are listed.
func checkBefore(t *testing.T, now time.Time, payees []ledger.PayeeFacts) {
	t.Helper()
	window := now.Truncate(24*time.Hour).AddDate(0, 0, -89)
	for i := range payees {
		p := &payees[i]
		past, err := p.Past()
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		sum := new(big.Rat)
		var first, last time.Time
		for _, d := range past {
			usd, _ := new(big.Rat).SetString(d.USD)
			n, sum = n+d.Settlements, sum.Add(sum, usd)
			if first.IsZero() || d.FirstAt.Before(first) {
				first = d.FirstAt
			}
			if d.LastAt.After(last) {
				last = d.LastAt
			}
		}
		if diff := gocmp.Diff(ledger.RevenueSum{Settlements: n, USD: decimal(sum), FirstAt: first, LastAt: last},
			p.Before); diff != "" {
			t.Errorf("%s on %s before the window (-want +got):\n%s", p.Address, p.Network, diff)
		}
		young := p.Network == base && p.Address == "0xa1005"
		changes := p.Network != base && p.Address == "0xa1005"
		if (changes || young) != (n == 0) || changes != p.Days[0].Day.Before(window) {
			t.Errorf("%s on %s: %d settlements before the days that begin on %s", p.Address, p.Network, n,
				p.Days[0].Day)
		}
	}
}

func naiveRevenue(list []ledger.Settlement, now time.Time, recipients []ledger.Recipient,
	units map[string]string) *ledger.Revenue {
	today := now.Truncate(24 * time.Hour)
	month := today.AddDate(0, 0, -29)
	value := func(s ledger.Settlement) *big.Rat {
		amount, _ := new(big.Rat).SetString(s.Amount)
		unit, _ := new(big.Rat).SetString(units[s.Token])
		return amount.Mul(amount, unit)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(s ledger.Settlement) bool {
		return s.Facilitator == "cove" || !s.Time.Before(today.AddDate(0, 0, 1))
	})
	slices.SortFunc(list, func(a, b ledger.Settlement) int { return a.Time.Compare(b.Time) })
	out := &ledger.Revenue{}

	// payees
	since := map[string]time.Time{}
	for _, r := range recipients {
		k := r.Network + " " + r.Address
		if at, listed := since[k]; !listed || r.Since.Before(at) {
			since[k] = r.Since
		}
	}
	payees := map[string]*ledger.PayeeFacts{}
	sums := map[string]*big.Rat{}
	for _, s := range list {
		k := s.Network + " " + s.Payee
		if at, listed := since[k]; !listed || s.Time.Before(at) {
			continue
		}
		p := payees[k]
		if p == nil {
			p = &ledger.PayeeFacts{Network: s.Network, Address: s.Payee}
			payees[k] = p
		}
		d := s.Time.Truncate(24 * time.Hour)
		i := slices.IndexFunc(p.Days, func(t ledger.RevenueDay) bool {
			return t.Day.Equal(d) && t.Facilitator == s.Facilitator
		})
		if i < 0 {
			i = len(p.Days)
			p.Days = append(p.Days, ledger.RevenueDay{Day: d, Facilitator: s.Facilitator, FirstAt: s.Time})
		}
		p.Days[i].Settlements++
		p.Days[i].LastAt = s.Time
		key := fmt.Sprint(k, d, s.Facilitator)
		if sums[key] == nil {
			sums[key] = new(big.Rat)
		}
		p.Days[i].USD = decimal(sums[key].Add(sums[key], value(s)))
	}
	for _, p := range payees {
		slices.SortFunc(p.Days, func(a, b ledger.RevenueDay) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Facilitator, b.Facilitator))
		})
		out.Payees = append(out.Payees, *p)
	}
	slices.SortFunc(out.Payees, func(a, b ledger.PayeeFacts) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.Address, b.Address))
	})

	// categories
	for _, category := range []string{"", "AI", "Data", "Other"} {
		days := map[string]map[time.Time]bool{} // by payer
		for _, s := range list {
			d := s.Time.Truncate(24 * time.Hour)
			if d.Before(month) || slices.ContainsFunc(recipients, func(r ledger.Recipient) bool {
				return r.Address == s.Payer // all services have one operator
			}) || !slices.ContainsFunc(recipients, func(r ledger.Recipient) bool {
				return r.Category != "" && (category == "" || r.Category == category) &&
					r.Network == s.Network && r.Address == s.Payee &&
					!d.Before(r.Since) && (r.Until == nil || !d.After(*r.Until))
			}) {
				continue
			}
			if days[s.Payer] == nil {
				days[s.Payer] = map[time.Time]bool{}
			}
			days[s.Payer][d] = true
		}
		of := ledger.CategoryBuyers{Category: category, Buyers: int64(len(days))}
		for _, on := range days {
			if len(on) > 1 {
				of.Returning30d++
			}
		}
		out.Categories = append(out.Categories, of)
	}

	// services
	type buyer struct {
		facts ledger.BuyerFacts
		usd   *big.Rat
	}
	numbers, addresses := map[string]int64{}, map[int64][]string{} // of all buyers, and of those of each service
	for id := int64(1); id <= 10; id++ {
		buyers, days, amounts := map[string]*buyer{}, map[time.Time]map[string]bool{}, map[string]int64{}
		for _, s := range list {
			d := s.Time.Truncate(24 * time.Hour)
			if d.Before(today.AddDate(0, 0, -89)) || !slices.ContainsFunc(recipients, func(r ledger.Recipient) bool {
				return r.ServiceID == id && r.Network == s.Network && r.Address == s.Payee &&
					!d.Before(r.Since) && (r.Until == nil || !d.After(*r.Until))
			}) {
				continue
			}
			if days[d] == nil {
				days[d] = map[string]bool{}
			}
			days[d][s.Payer] = true
			if d.Before(month) {
				continue
			}
			b := buyers[s.Payer]
			if b == nil {
				b = &buyer{ledger.BuyerFacts{Address: s.Payer, FirstDay: d}, new(big.Rat)}
				buyers[s.Payer] = b
			}
			b.facts.LastDay = d
			b.facts.Settlements30d++
			b.usd.Add(b.usd, value(s))
			b.facts.USD30d = decimal(b.usd)
			if !slices.Contains(b.facts.Networks, s.Network) {
				b.facts.Networks = append(b.facts.Networks, s.Network)
				slices.Sort(b.facts.Networks)
			}
			amounts[decimal(value(s))]++
		}
		if len(days) == 0 {
			continue
		}
		s := ledger.ServiceBuyers{ServiceID: id, Buyers30d: int64(len(buyers))}
		var ranked []*buyer
		for _, b := range buyers {
			ranked = append(ranked, b)
		}
		slices.SortFunc(ranked, func(a, b *buyer) int {
			return cmp.Or(b.usd.Cmp(a.usd), cmp.Compare(a.facts.Address, b.facts.Address))
		})
		self := new(big.Rat)
		for _, b := range ranked { // no account of trades pays so many recipients that it is a scout
			facts, kind := b.facts, site.BuyerOrganic
			switch {
			case slices.ContainsFunc(recipients, func(r ledger.Recipient) bool { return r.Address == facts.Address }):
				self.Add(self, b.usd) // all services have one operator
				s.Self.Buyers++
				s.Self.Settlements += facts.Settlements30d
				kind = site.BuyerRelative
			case facts.FirstDay.Before(facts.LastDay):
				s.Returning30d++
			}
			numbers[facts.Address] = 0
			s.All = append(s.All, site.NumberedBuyer{Kind: kind, Settlements: facts.Settlements30d,
				USD: site.Decimal(facts.USD30d), FirstDay: int(facts.FirstDay.Unix() / 86400),
				LastDay: int(facts.LastDay.Unix() / 86400)})
			addresses[id] = append(addresses[id], facts.Address)
		}
		if len(ranked) > 0 {
			s.Self.USD, s.Scouts.USD = decimal(self), "0"
		}
		for i, b := range ranked {
			if i < 3 {
				s.TopUSD = append(s.TopUSD, b.facts.USD30d)
			}
			if i < 100 {
				s.TopBuyers = append(s.TopBuyers, b.facts)
			}
		}
		for d := today.AddDate(0, 0, -89); !d.After(today); d = d.AddDate(0, 0, 1) {
			if len(days[d]) > 0 {
				s.BuyerDays = append(s.BuyerDays, ledger.BuyerDay{Day: d, Buyers: int64(len(days[d]))})
			}
		}
		for usd, n := range amounts {
			s.Amounts = append(s.Amounts, ledger.AmountCount{USD: usd, Settlements: n})
		}
		slices.SortFunc(s.Amounts, func(a, b ledger.AmountCount) int {
			x, _ := new(big.Rat).SetString(a.USD)
			y, _ := new(big.Rat).SetString(b.USD)
			return x.Cmp(y)
		})
		out.Services = append(out.Services, s)
	}

	for i, address := range slices.Sorted(maps.Keys(numbers)) {
		numbers[address] = int64(i + 1)
	}
	for i := range out.Services {
		of := &out.Services[i]
		for k := range of.All {
			of.All[k].Number = numbers[addresses[of.ServiceID][k]]
		}
		slices.SortFunc(of.All, func(a, b site.NumberedBuyer) int { return cmp.Compare(a.Number, b.Number) })
	}

	// all that counts
	all, self, single := new(big.Rat), new(big.Rat), new(big.Rat)
	q := &out.Quality
	total, n, by := map[string]*big.Rat{}, map[string]int64{}, map[string]map[string]*big.Rat{}
	for _, s := range list {
		if s.Time.Before(month) {
			continue
		}
		q.Settlements30d++
		all.Add(all, value(s))
		if s.Payer == s.Payee {
			q.SelfSettlements30d++
			self.Add(self, value(s))
			continue
		}
		k := s.Network + " " + s.Payee
		if total[k] == nil {
			total[k], by[k] = new(big.Rat), map[string]*big.Rat{}
		}
		if by[k][s.Payer] == nil {
			by[k][s.Payer] = new(big.Rat)
		}
		total[k].Add(total[k], value(s))
		by[k][s.Payer].Add(by[k][s.Payer], value(s))
		n[k]++
	}
	for k, sum := range total {
		for _, part := range by[k] {
			if n[k] >= 50 && sum.Sign() > 0 && part.Cmp(new(big.Rat).Mul(sum, big.NewRat(9, 10))) >= 0 {
				single.Add(single, sum)
				q.SinglePayerSettlements30d += n[k]
			}
		}
	}
	q.USD30d, q.SelfUSD30d, q.SinglePayerUSD30d = decimal(all), decimal(self), decimal(single)
	return out
}
