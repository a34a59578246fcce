package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// rankedBuyer is a buyer of a service.
type rankedBuyer struct {
	payer   int64
	address string
	purchases
}

// rank sorts the month's buyers of each service by amount, then address, and numbers all of them.
func (b *buyerReader) rank(ctx context.Context) error {
	lists := map[int64][]rankedBuyer{}
	recipients := map[int64]int{} // of each service; with several, a buyer may be in the list more than once
	for _, shares := range b.services {
		for _, s := range shares {
			recipients[s.service]++
		}
	}
	for k, p := range b.purchases {
		for _, s := range b.services[k.recipientKey] {
			if b.isWhole(s) {
				lists[s.service] = append(lists[s.service], rankedBuyer{payer: k.payer, purchases: *p})
			}
		}
	}
	for k, p := range b.partial {
		lists[k.service] = append(lists[k.service], rankedBuyer{payer: k.payer, purchases: *p})
	}
	for service, n := range recipients {
		if n > 1 && len(lists[service]) > 0 {
			lists[service] = mergeBuyers(lists[service])
		}
	}
	scouts, err := b.findScouts()
	if err != nil {
		return err
	}
	addresses := map[int64]string{}
	organic := map[string]map[int64]*purchases{} // by category and payer
	for service, list := range lists {
		slices.SortFunc(list, func(a, b rankedBuyer) int { return b.value.compare(a.value) })
		s := b.service(service)
		s.Buyers30d = int64(len(list))
		b.classify(s, list, scouts, organic)
		for i := range min(largestBuyers, len(list)) {
			s.TopUSD = append(s.TopUSD, list[i].value.String())
		}
		for i := range s.All {
			addresses[s.All[i].Number] = ""
		}
		for len(list) > maxBuyers && list[len(list)-1].value.compare(list[maxBuyers-1].value) < 0 {
			list = list[:len(list)-1]
		}
		lists[service] = list
	}
	b.countCategories(organic)
	if err := b.readAddresses(ctx, addresses); err != nil {
		return err
	}
	b.numberBuyers(addresses)
	for service, list := range lists {
		for i := range list {
			list[i].address = addresses[list[i].payer]
		}
		slices.SortFunc(list, func(a, b rankedBuyer) int {
			return cmp.Or(b.value.compare(a.value), cmp.Compare(a.address, b.address))
		})
		s := b.service(service)
		s.TopBuyers = make([]BuyerFacts, min(len(list), maxBuyers))
		for i := range s.TopBuyers {
			p := &list[i]
			s.TopBuyers[i] = BuyerFacts{p.address, b.names(p.networks), p.n, p.value.String(), dayTime(p.first),
				dayTime(p.last)}
		}
	}
	return nil
}

// findScouts returns the payers of the month that are scouts, as site.ScoutRecipients defines them. It counts what they
// paid to all payees, also those that no service lists.
func (b *buyerReader) findScouts() (map[int64]bool, error) {
	type paid struct {
		recipients, n int64
		value         money
	}
	limit, ok := parseMoney(site.ScoutUSD)
	if !ok {
		return nil, fmt.Errorf("%s is no decimal", site.ScoutUSD)
	}
	payers := map[int64]*paid{}
	for k, p := range b.purchases {
		of := payers[k.payer]
		if of == nil {
			of = &paid{}
			payers[k.payer] = of
		}
		of.recipients++
		of.n += p.n
		of.value = of.value.plus(p.value)
	}
	scouts := map[int64]bool{}
	for payer, of := range payers {
		if of.recipients >= site.ScoutRecipients && of.n <= site.ScoutSettlements*of.recipients &&
			of.value.compare(scaled(limit, uint64(of.recipients))) <= 0 {
			scouts[payer] = true
		}
	}
	return scouts, nil
}

// classify sums the buyers of a service by kind: relatives, scouts, and of all others those that came back. It adds the
// others to those of the service's category. Until numberBuyers, the number of a buyer is that of its account.
func (b *buyerReader) classify(s *ServiceBuyers, list []rankedBuyer, scouts map[int64]bool,
	organic map[string]map[int64]*purchases) {
	var self, byScouts money
	category := b.category[s.ServiceID]
	of := organic[category]
	if of == nil && category != "" {
		of = map[int64]*purchases{}
		organic[category] = of
	}
	for i := range list {
		p := &list[i]
		buyer := site.NumberedBuyer{Number: p.payer, Kind: site.BuyerOrganic, Settlements: p.n,
			USD: site.Decimal(p.value.String()), FirstDay: int(p.first), LastDay: int(p.last)}
		switch {
		case b.relatives[relative{b.operators[s.ServiceID], p.payer}]:
			buyer.Kind = site.BuyerRelative
			self = self.plus(p.value)
			s.Self.Buyers++
			s.Self.Settlements += p.n
		case scouts[p.payer]:
			buyer.Kind = site.BuyerScout
			byScouts = byScouts.plus(p.value)
			s.Scouts.Buyers++
			s.Scouts.Settlements += p.n
		default:
			if p.first < p.last {
				s.Returning30d++
			}
			if category != "" {
				sumOf(of, p.payer).add(p.n, p.value, p.first, p.last, p.networks)
			}
		}
		s.All = append(s.All, buyer)
	}
	s.Self.USD, s.Scouts.USD = self.String(), byScouts.String()
}

// numberBuyers numbers all buyers in the order of their addresses, which the database does not decide.
func (t *revenueReader) numberBuyers(addresses map[int64]string) {
	order := slices.SortedFunc(maps.Keys(addresses), func(a, b int64) int {
		return cmp.Compare(addresses[a], addresses[b])
	})
	numbers := make(map[int64]int64, len(order))
	for i, account := range order {
		numbers[account] = int64(i + 1)
	}
	for _, s := range t.services {
		for i := range s.All {
			s.All[i].Number = numbers[s.All[i].Number]
		}
		slices.SortFunc(s.All, func(a, b site.NumberedBuyer) int { return cmp.Compare(a.Number, b.Number) })
	}
}

// countCategories counts the buyers of each category, and of all together.
func (b *buyerReader) countCategories(organic map[string]map[int64]*purchases) {
	all := map[int64]*purchases{}
	for _, buyers := range organic {
		for payer, p := range buyers {
			sumOf(all, payer).add(p.n, p.value, p.first, p.last, p.networks)
		}
	}
	organic[""] = all
	for category, buyers := range organic {
		of := CategoryBuyers{Category: category, Buyers: int64(len(buyers))}
		for _, p := range buyers {
			if p.first < p.last {
				of.Returning30d++
			}
		}
		if of.Buyers > 0 {
			b.revenue.Categories = append(b.revenue.Categories, of)
		}
	}
	slices.SortFunc(b.revenue.Categories, func(a, b CategoryBuyers) int { return cmp.Compare(a.Category, b.Category) })
}

// mergeBuyers adds up the entries of each buyer.
func mergeBuyers(list []rankedBuyer) []rankedBuyer {
	slices.SortFunc(list, func(a, b rankedBuyer) int { return cmp.Compare(a.payer, b.payer) })
	merged := list[:0]
	for _, p := range list {
		if n := len(merged); n > 0 && merged[n-1].payer == p.payer {
			merged[n-1].add(p.n, p.value, p.first, p.last, p.networks)
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// names returns the networks of a set of indexes. Equal sets share a list.
func (t *revenueReader) names(networks uint64) []string {
	if list, ok := t.networkLists[networks]; ok {
		return list
	}
	var list []string
	for n, name := range t.networks {
		if networks&(1<<n) != 0 {
			list = append(list, name)
		}
	}
	t.networkLists[networks] = list
	return list
}

// readAddresses reads the addresses of accounts, sorted by number, in chunks.
func (t *revenueReader) readAddresses(ctx context.Context, into map[int64]string) error {
	ids := make([]int64, 0, len(into))
	for id := range into {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, 20_000) {
		rows, err := t.tx.Query(ctx, `SELECT id, address FROM accounts WHERE id = ANY($1)`, part)
		if err != nil {
			return err
		}
		var id int64
		var address string
		if _, err := pgx.ForEachRow(rows, []any{&id, &address}, func() error {
			into[id] = address
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
