package ledger

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// rankedBuyer is a buyer of a service.
type rankedBuyer struct {
	payer   int64
	address string
	purchases
}

// rank sorts the month's buyers of each service by amount, then address. It reads addresses only of buyers that may be
// among the first: all that share the last rank, because the address decides.
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
	addresses := map[int64]string{}
	for service, list := range lists {
		slices.SortFunc(list, func(a, b rankedBuyer) int { return b.value.compare(a.value) })
		s := b.service(service)
		s.Buyers30d = int64(len(list))
		for i := range min(largestBuyers, len(list)) {
			s.TopUSD = append(s.TopUSD, list[i].value.String())
		}
		for len(list) > maxBuyers && list[len(list)-1].value.compare(list[maxBuyers-1].value) < 0 {
			list = list[:len(list)-1]
		}
		for i := range list {
			addresses[list[i].payer] = ""
		}
		lists[service] = list
	}
	if err := b.readAddresses(ctx, addresses); err != nil {
		return err
	}
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
