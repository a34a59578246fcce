package judge

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/build/judge/directory"
	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// settledSum is the number of settlements in a timeframe, and their dollars if the token has a known value.
type settledSum struct {
	count int64
	usd   *big.Rat
}

func (s *settledSum) add(o settledSum) {
	s.count += o.count
	if o.usd != nil {
		if s.usd == nil {
			s.usd = new(big.Rat)
		}
		s.usd.Add(s.usd, o.usd)
	}
}

// maxDecimals is more decimals than any token has, so that sums of atomic units are written exactly.
const maxDecimals = 36

// decimal returns the exact dollars, "0" without settlements.
func (s *settledSum) decimal() site.Decimal {
	if s.usd == nil {
		return "0"
	}
	d, err := site.ParseDecimal(s.usd.FloatString(maxDecimals))
	if err != nil {
		return "0" // impossible: amounts are not negative
	}
	return d
}

// windows are the settlements in one token, or of a whole facilitator, by timeframe and by UTC day.
type windows struct {
	h24, d7, d30, all settledSum
	days              map[string]settledSum // by date
	first, last       time.Time             // first day, newest settlement; zero without one
}

func (w *windows) add(o windows) {
	w.h24.add(o.h24)
	w.d7.add(o.d7)
	w.d30.add(o.d30)
	w.all.add(o.all)
	for date, s := range o.days {
		w.addDay(date, s)
	}
	if o.last.After(w.last) {
		w.last = o.last
	}
	if w.first.IsZero() || !o.first.IsZero() && o.first.Before(w.first) {
		w.first = o.first
	}
}

func (w *windows) addDay(date string, s settledSum) {
	if w.days == nil {
		w.days = map[string]settledSum{}
	}
	day := w.days[date]
	day.add(s)
	w.days[date] = day
}

// sumWindows sums the settlements in one token. Times are UTC.
func sumWindows(f ledger.TokenFacts, now time.Time) windows {
	unit, valued := unitsPerUSD(f.Network, f.Token, f.Configured)
	of := func(s ledger.SettlementSum) settledSum {
		out := settledSum{count: s.Settlements}
		if amount, ok := new(big.Int).SetString(s.Amount, 10); ok && valued {
			out.usd = new(big.Rat).SetFrac(amount, unit)
		}
		return out
	}
	now = now.UTC()
	today, hour := now.Truncate(24*time.Hour), now.Truncate(time.Hour)
	var w windows
	for _, s := range f.Hours {
		if !s.Start.Before(hour.Add(-24*time.Hour)) && !s.Start.After(hour) {
			w.h24.add(of(s))
		}
	}
	for _, s := range f.Older {
		w.addDay(s.Start.UTC().Format(time.DateOnly), of(s))
	}
	for _, s := range f.Days {
		age := int(today.Sub(s.Start) / (24 * time.Hour))
		if age < 0 {
			continue
		}
		sum := of(s)
		w.addDay(s.Start.UTC().Format(time.DateOnly), sum)
		if age < site.WindowDays["30d"] {
			w.d30.add(sum)
		}
		if age < site.WindowDays["7d"] {
			w.d7.add(sum)
		}
	}
	if f.All.Settlements > 0 {
		w.all, w.first, w.last = of(f.All), f.All.Start.UTC().Truncate(24*time.Hour), f.All.LastAt
	}
	return w
}

// unitsPerUSD returns how many atomic units of a token are worth a dollar, and whether the token has a dollar value. If
// the operator has not configured the token, only USDC on main networks is worth a dollar: USDC of a test network
// cannot be redeemed.
func unitsPerUSD(network, token string, configured *ledger.Token) (*big.Int, bool) {
	if configured != nil {
		return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(configured.Decimals)), nil), configured.USD
	}
	n, isKnown := x402.NetworkByID(network)
	a, ok := x402.LookupAsset(network, token)
	if !isKnown || !n.Mainnet || !ok || !a.CountsAsUSD() {
		return nil, false
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.Decimals)), nil), true
}

// CountsAsUSD reports whether settlements in a token count as volume in dollars.
func CountsAsUSD(network, token string, configured *ledger.Token) bool {
	_, valued := unitsPerUSD(network, token, configured)
	return valued && hasValue(network)
}

// lookupAsset returns the spelling of a token's address and its symbol, from the table of assets or else from the
// operator's configuration.
func lookupAsset(network, token string, configured *ledger.Token) (tokenAddress, name string) {
	if a, ok := x402.LookupAsset(network, token); ok {
		return x402.SpellAddress(network, a.Address), a.Symbol
	}
	if configured != nil {
		return x402.SpellAddress(network, token), configured.Symbol
	}
	return x402.SpellAddress(network, token), x402.UnknownAsset
}

// isMeasured reports whether a facilitator's volume counts. It needs settlers that are known to be its own: the list of
// facilitators has accepted them, a protocol's public library writes them as marks into payments, or the operator
// vouches for them. A claim in a pull request does not count, because
// it could rank a facilitator by the settlements of another.
func isMeasured(f *ledger.FacilitatorFacts) bool {
	return len(f.Settlers) > 0 && (f.Trusted || site.ConfirmsSettlers(f.UpstreamStatus))
}

// newFacilitators judges every facilitator, with every embed, sorted by ID.
func newFacilitators(facts []ledger.FacilitatorFacts, o *directory.Observatory,
	now time.Time) []site.FacilitatorDetail {
	list := make([]site.FacilitatorDetail, len(facts))
	for i := range facts {
		list[i] = newFacilitator(&facts[i], now)
		list[i].FacilitatorURL, list[i].Supported = facts[i].FacilitatorURL, o.Supported(facts[i].ID)
	}
	slices.SortFunc(list, func(a, b site.FacilitatorDetail) int {
		return cmp.Compare(a.FacilitatorID, b.FacilitatorID)
	})
	return list
}

// newFacilitatorItem judges the row of a facilitator. It also returns the sums by main network.
func newFacilitatorItem(f *ledger.FacilitatorFacts, now time.Time) (item site.FacilitatorListItem,
	byNetwork map[string]windows) {
	item = site.FacilitatorListItem{
		FacilitatorID: f.ID, Name: f.Name, WebsiteURL: f.WebsiteURL, Verification: site.VerificationListed,
		Chains: []site.FacilitatorChain{},
	}
	if isMeasured(f) {
		item.Verification = site.VerificationOnChain
	}
	accounts := map[string]bool{}
	for _, s := range f.Settlers {
		accounts[s.Address] = true
	}
	item.SettlerCount = len(accounts)
	var whole windows
	byNetwork = map[string]windows{}
	for _, token := range listTokens(f) {
		w := sumWindows(token, now)
		if hasValue(token.Network) { // settlements on test networks are listed but not summed
			whole.add(w)
			sum := byNetwork[token.Network]
			sum.add(w)
			byNetwork[token.Network] = sum
		}
		chain := newChain(token, w, item.Verification)
		chain.Days = dailyVolume(w, now)
		item.Chains = append(item.Chains, chain)
	}
	slices.SortFunc(item.Chains, func(a, b site.FacilitatorChain) int {
		return cmp.Or(orZero(b.VolumeUSDAll).Compare(orZero(a.VolumeUSDAll)), cmp.Compare(b.TxCountAll, a.TxCountAll),
			cmp.Compare(a.NetworkCAIP2, b.NetworkCAIP2), cmp.Compare(a.TokenAddressNorm, b.TokenAddressNorm))
	})
	item.VolumeUSD24h, item.TxCount24h = whole.h24.decimal(), whole.h24.count
	item.VolumeUSD7d, item.TxCount7d = whole.d7.decimal(), whole.d7.count
	item.VolumeUSD30d, item.TxCount30d = whole.d30.decimal(), whole.d30.count
	item.VolumeUSDAll, item.TxCountAll = whole.all.decimal(), whole.all.count
	item.FirstActivityAt, item.LastActivityAt = site.TimeOrNull(whole.first), site.TimeOrNull(whole.last)
	item.Timeseries = dailyVolume(whole, now)
	return item, byNetwork
}

// orZero returns "0" for nil.
func orZero(d *site.Decimal) site.Decimal {
	if d == nil {
		return "0"
	}
	return *d
}

// listTokens returns the settlements of a facilitator that count, by token. It adds an empty one for each further token
// of its settlers: those were searched for, so their volume is zero and not unknown.
func listTokens(f *ledger.FacilitatorFacts) []ledger.TokenFacts {
	type key struct{ network, token string }
	seen := map[key]bool{}
	var tokens []ledger.TokenFacts
	if isMeasured(f) {
		for _, token := range f.Tokens {
			seen[key{token.Network, token.Token}] = true
			tokens = append(tokens, token)
		}
	}
	for _, s := range f.Settlers {
		for _, token := range s.Tokens {
			if k := (key{s.Network, token}); !seen[k] {
				seen[k] = true
				tokens = append(tokens, ledger.TokenFacts{Network: s.Network, Token: token})
			}
		}
	}
	return tokens
}

// newChain returns the row of a token on a network.
func newChain(f ledger.TokenFacts, w windows, verification string) site.FacilitatorChain {
	token, name := lookupAsset(f.Network, f.Token, f.Configured)
	row := site.FacilitatorChain{
		Network: shortNetwork(f.Network), NetworkCAIP2: f.Network,
		TokenAddress: token, TokenAddressNorm: f.Token, AssetName: name,
		TxCount24h: w.h24.count, TxCount7d: w.d7.count, TxCount30d: w.d30.count, TxCountAll: w.all.count,
		FirstActivityAt: site.TimeOrNull(w.first), LastActivityAt: site.TimeOrNull(w.last),
		Verification: verification,
	}
	if _, valued := unitsPerUSD(f.Network, f.Token, f.Configured); valued {
		row.VolumeUSD24h, row.VolumeUSD7d = new(w.h24.decimal()), new(w.d7.decimal())
		row.VolumeUSD30d, row.VolumeUSDAll = new(w.d30.decimal()), new(w.all.decimal())
	}
	return row
}

// dailyVolume returns a point for each of the last site.SeriesDays UTC days, ending today.
func dailyVolume(w windows, now time.Time) []site.VolumePoint {
	today := now.UTC().Truncate(24 * time.Hour)
	points := make([]site.VolumePoint, site.SeriesDays)
	for i := range points {
		date := today.AddDate(0, 0, i+1-site.SeriesDays).Format(time.DateOnly)
		day := w.days[date]
		points[i] = site.VolumePoint{Date: date, VolumeUSD: day.decimal(), TxCount: day.count}
	}
	return points
}
