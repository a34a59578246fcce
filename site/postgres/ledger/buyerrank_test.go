package ledger

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestClassify checks who is a scout at the bounds of each rule, and how the buyers of a service are divided by kind.
func TestClassify(t *testing.T) {
	t.Parallel()
	value := func(text string) money {
		m, ok := parseMoney(text)
		if !ok {
			t.Fatalf("%s is no decimal", text)
		}
		return m
	}
	b := &buyerReader{purchases: map[pair]*purchases{}, revenueReader: &revenueReader{
		operators: map[int64]int{1: 7, 2: 8}, relatives: map[relative]bool{{7, 105}: true}}}
	for payer, c := range map[int64]struct {
		recipients, n int64
		usd           string
	}{
		101: {site.ScoutRecipients, site.ScoutSettlements, "0.1"},
		102: {site.ScoutRecipients - 1, 1, "0.01"},
		103: {site.ScoutRecipients, site.ScoutSettlements + 1, "0.01"},
		104: {site.ScoutRecipients, 1, "0.1000001"},
		105: {site.ScoutRecipients, 1, "0.01"},
	} {
		for payee := range c.recipients {
			b.purchases[pair{recipientKey{payee, 0}, payer}] = &purchases{n: c.n, value: value(c.usd)}
		}
	}
	scouts, err := b.findScouts()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]int64{101, 105}, slices.Sorted(maps.Keys(scouts))); diff != "" {
		t.Errorf("scouts (-want +got):\n%s", diff)
	}
	var list []rankedBuyer
	for payer, last := range map[int64]int32{101: 9, 102: 9, 103: 5, 105: 9} {
		list = append(list, rankedBuyer{payer: payer, purchases: purchases{n: 2, value: value("1.5"), first: 5, last: last}})
	}
	got := []ServiceBuyers{{ServiceID: 1}, {ServiceID: 2}} // the account 105 is a relative of the first one alone
	b.category = map[int64]string{1: "AI", 2: "AI"}
	organic := map[string]map[int64]*purchases{}
	for i := range got {
		b.classify(&got[i], list, scouts, organic)
	}
	b.countCategories(organic)
	if diff := gocmp.Diff([]CategoryBuyers{{"", 2, 1}, {"AI", 2, 1}}, b.revenue.Categories); diff != "" {
		t.Errorf("buyers of the category (-want +got):\n%s", diff)
	}
	buyer := func(account int64, kind string, last int) site.NumberedBuyer {
		return site.NumberedBuyer{Number: account, Kind: kind, Settlements: 2, USD: "1.5", FirstDay: 5, LastDay: last}
	}
	want := []ServiceBuyers{
		{ServiceID: 1, Self: BuyerSum{1, 2, "1.5"}, Scouts: BuyerSum{1, 2, "1.5"}, Returning30d: 1,
			All: []site.NumberedBuyer{buyer(101, site.BuyerScout, 9), buyer(102, site.BuyerOrganic, 9),
				buyer(103, site.BuyerOrganic, 5), buyer(105, site.BuyerRelative, 9)}},
		{ServiceID: 2, Self: BuyerSum{USD: "0"}, Scouts: BuyerSum{2, 4, "3"}, Returning30d: 1,
			All: []site.NumberedBuyer{buyer(101, site.BuyerScout, 9), buyer(102, site.BuyerOrganic, 9),
				buyer(103, site.BuyerOrganic, 5), buyer(105, site.BuyerScout, 9)}},
	}
	for i := range got {
		slices.SortFunc(got[i].All, func(a, b site.NumberedBuyer) int { return cmp.Compare(a.Number, b.Number) })
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("buyers by kind (-want +got):\n%s", diff)
	}
}
