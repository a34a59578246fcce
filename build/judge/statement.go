package judge

import (
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// StatementQuery returns the recipients whose statements the facts of the ith service must have: those whose rows its
// own file has.
func (d *Directory) StatementQuery(i int) (list []ledger.StatementRecipient) {
	for _, c := range d.revenue.ownership.claims[i] {
		owners := d.revenue.ownership.owners[c.recipient]
		if len(owners) == 0 || owners[0].service != i {
			continue
		}
		since := forever
		for _, o := range owners {
			since = min(since, o.since)
		}
		list = append(list, ledger.StatementRecipient{Network: c.network, Address: c.payTo, Since: dayOfNumber(since)})
	}
	return list
}

// settlements returns the recipients of the ith service with the rows of its statements. Only owners of a recipient
// have it: services that do not respond have none.
func (t *revenueIndex) settlements(i int) site.Settlements {
	f := &t.services[i]
	out := site.Settlements{Slug: f.Slug, Recipients: []site.SettledRecipient{}}
	for _, c := range t.ownership.claims[i] {
		owners, hasRows := t.ownership.owners[c.recipient], false
		for k, own := range owners {
			if own.service != i {
				continue
			}
			r := site.SettledRecipient{NetworkCAIP2: c.network, PayTo: c.payTo, Since: t.dates.date(own.since),
				Until: dateOrNull(dayOfNumber(own.until)), Shares: listShares(owners, k),
				RowsIn: t.services[owners[0].service].Slug, Tokens: []site.SettledToken{}}
			for n := range f.Statements {
				if s := &f.Statements[n]; !hasRows && s.Network == c.network && s.Address == c.payTo {
					r.FirstSettlementAt, r.RowsFrom = site.TimeOrNull(s.FirstAt), dateOrNull(s.RowsFrom)
					r.Tokens = t.settledTokens(s)
				}
			}
			hasRows = true // a recipient that belongs to the service for several runs of days has its rows once
			out.Recipients = append(out.Recipients, r)
		}
	}
	return out
}

// listShares returns how a recipient's volume was divided while the kth of its owners had it, as splitPeriods divides
// it: a share ends on the day before its owners change.
func listShares(owners []owner, k int) []site.RecipientShare {
	own := owners[k]
	var shares []site.RecipientShare
	changes := listChanges(owners)
	for n, day := range changes {
		if !own.includes(day) {
			continue
		}
		share := site.RecipientShare{}
		for i, o := range owners {
			if o.includes(day) {
				share.ServiceCount++
				if i < k {
					share.Place++
				}
			}
		}
		if n+1 < len(changes) {
			share.Until = dateOrNull(dayOfNumber(changes[n+1] - 1))
		}
		shares = append(shares, share)
	}
	return shares
}

// settledTokens returns the rows of a statement in published form.
func (t *revenueIndex) settledTokens(s *ledger.Statement) []site.SettledToken {
	list := make([]site.SettledToken, len(s.Tokens))
	for i, from := range s.Tokens {
		to := site.SettledToken{FacilitatorID: from.Facilitator, TokenAddressNorm: from.Token,
			Decimals: t.decimals[[2]string{s.Network, from.Token}],
			Days:     make([]site.SettledDay, len(from.Days)), Payers: make([]site.SettledPayer, len(from.Payers)),
			Amounts: make([]site.SettledAmount, len(from.Amounts))}
		for n, d := range from.Days {
			to.Days[n] = site.SettledDay{Date: t.date(d.Day), TxCount: d.Settlements, Amount: d.Amount,
				LastAt: site.NewTime(d.LastAt)}
		}
		for n, p := range from.Payers {
			to.Payers[n] = site.SettledPayer{Date: t.date(p.Day), Payer: p.Payer, TxCount: p.Settlements,
				Amount: p.Amount}
		}
		for n, a := range from.Amounts {
			to.Amounts[n] = site.SettledAmount{Date: t.date(a.Day), Amount: a.Amount, TxCount: a.Settlements}
		}
		list[i] = to
	}
	return list
}

func (t *revenueIndex) date(day time.Time) string { return t.dates.date(dayNumber(day)) }

// countDecimals returns the decimals of the tokens that count, by network and token.
func countDecimals(counted []ledger.CountedToken) map[[2]string]int {
	decimals := map[[2]string]int{}
	for _, c := range counted {
		_, fraction, _ := strings.Cut(c.Unit, ".")
		decimals[[2]string{c.Network, c.Token}] = len(fraction)
	}
	return decimals
}

// dateOrNull returns a UTC day in published form, nil for the zero time.
func dateOrNull(day time.Time) *string {
	if day.IsZero() {
		return nil
	}
	return new(day.UTC().Format(time.DateOnly))
}
