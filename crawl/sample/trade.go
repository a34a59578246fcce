package sample

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"tollbook/site/x402"
)

// Trade is a function of time too: the payments of an hour follow from the start of the world and that hour alone. So
// the past that is written at once agrees with the chain that is read later.

const (
	// pace multiplies the rate of trade on the day after the start, so that a viewer sees payments. An hour brings as
	// many as a day did before. laterPace applies from the second day on, so that a demo that ran for weeks has few to
	// catch up.
	pace, laterPace = 24, 6

	agents     = 1400            // number of buyers
	strangers  = 14.0            // payments a day to unlisted sellers, through the unlisted facilitator
	quickBatch = 3 * time.Minute // longest wait of a settler for more payments in one transaction
)

// payment is one buyer's payment for one call.
type payment struct {
	at time.Time
	// The scheme decides the way: upto and batch-settlement use contracts, exact an authorisation.
	rail    rail
	by      *facilitator
	settler string // account that sends it; addresses are in normal form
	payer   string
	payee   string
	token   string
	amount  string
	listed  bool   // the payee is a service of the cast
	branch  branch // on which branch of the chain it is
}

// shop is a service as a seller.
type shop struct {
	past *past
	asks map[*x402.Envelope][]offer // offers of each envelope, since look returns the same ones
}

// offer is one way to pay for a call.
type offer struct {
	rail   rail
	token  string
	payee  string
	amount string
}

// settled maps networks to the token that is settled there: USDC where the world has facilitators.
var settled = sync.OnceValue(func() map[string]rail {
	on := map[string]rail{}
	for _, f := range facilitators() {
		for _, r := range f.rails {
			on[r.network.ID] = r
		}
	}
	return on
})

func newShop(s *service, start time.Time) *shop {
	return &shop{past: newPast(s, start), asks: map[*x402.Envelope][]offer{}}
}

// rate returns the service's payments a day around t.
func (s *shop) rate(t time.Time) float64 {
	sales := s.past.s.Sales
	if sales == nil { // a long tail: some grow, some shrink
		base := 0.4 + float64(s.past.s.seed>>16%100)/50
		sales = &[2]float64{base, base * (0.5 + float64(s.past.s.seed>>24%100)/60)}
	}
	ago := min(max(s.past.start.Sub(t).Hours()/24/historyDays, 0), 1)
	rate := sales[0]*ago + sales[1]*(1-ago)
	if d := t.Weekday(); d == time.Saturday || d == time.Sunday {
		rate *= 0.6
	}
	return rate * (1 - 0.4*math.Cos(2*math.Pi*(float64(t.Hour())-3)/24)) // trade is lower at night
}

// sell returns the service's payments in [from, to), at a multiple of its rate.
func (s *shop) sell(l *Ledger, from, to time.Time, times float64) []payment {
	of := s.past.s
	r := rand.New(rand.NewPCG(of.seed, uint64(from.UnixNano())))
	var list []payment
	for range poisson(r, s.rate(from)*times*to.Sub(from).Hours()/24) {
		t := from.Add(1 + time.Duration(r.Int64N(int64(to.Sub(from)))))
		if p, ok := s.sale(l, r, t); ok {
			list = append(list, p)
		}
	}
	return list
}

// sale returns a random payment at t; false if the service can't be paid then.
func (s *shop) sale(l *Ledger, r *rand.Rand, t time.Time) (payment, bool) {
	of := s.past.s
	which, way, who, by, account, part := r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.IntN(1<<16),
		r.Int64N(91)
	if t.Before(of.created(s.past.start)) {
		return payment{}, false
	}
	offers := s.offers(t, which)
	if len(offers) == 0 {
		return payment{}, false
	}
	o := offers[int(float64(len(offers))*way*way)] // the first way to pay is used most
	p := payment{at: t, rail: o.rail, token: o.token, payee: o.payee, amount: o.amount, listed: true}
	p.payer = s.buyer(o, who)
	switch o.rail.scheme {
	case "upto":
		p.amount = fraction(o.amount, 10+part)
	case "batch-settlement": // for many calls
		p.amount, p.payer = fraction(o.amount, 100*(10+part)), escrow
	}
	if p.by = l.drawFacilitator(of.seed, o.rail, t, by); p.by == nil {
		return payment{}, false
	}
	p.settler = p.by.settler(o.rail, t, s.past.start, account)
	return p, true
}

// offers returns the ways to pay at t, at an endpoint chosen by a number in [0, 1). A service in trouble has none.
func (s *shop) offers(t time.Time, which float64) []offer {
	behaviour, state := s.past.at(t)
	for _, x := range s.past.incidents {
		if x.kind != "sluggish" && !t.Before(x.from) && t.Before(x.to) {
			return nil
		}
	}
	endpoints := s.past.states[state].endpoints
	f := s.past.look(behaviour, state, int(float64(len(endpoints))*which*which), t) // the first is bought most
	if f.verdict != paid {
		return nil
	}
	if offers, ok := s.asks[f.envelope]; ok {
		return offers
	}
	var offers []offer
	for _, want := range f.envelope.Accepts {
		if o, ok := payable(want); ok {
			offers = append(offers, o)
		}
	}
	if !behaviours[behaviour].varies {
		s.asks[f.envelope] = offers
	}
	return offers
}

// payable converts a requirement to an offer; false if it can't be paid or no facilitator settles it.
func payable(want x402.Requirement) (offer, bool) {
	r, ok := settled()[want.NetworkCAIP2]
	if !ok || !want.Usable() || want.AssetName != "USDC" || methods[want.Scheme] == "" || want.Amount == "0" {
		return offer{}, false
	}
	r.scheme = want.Scheme
	return offer{rail: r, token: want.AssetNorm, payee: want.PayToNorm, amount: want.Amount}, true
}

// fraction returns some hundredths of an amount, at least 1.
func fraction(amount string, hundredths int64) string {
	n, err := strconv.ParseInt(amount, 10, 64)
	if err != nil {
		return amount // no price of the cast is that large
	}
	return strconv.FormatInt(max(1, n*hundredths/100), 10)
}

// buyer returns the buyer chosen by a number in [0, 1): few buy often, most rarely.
func (s *shop) buyer(o offer, who float64) string {
	of := s.past.s
	if who < of.Own {
		return o.payee
	}
	if who = (who - of.Own) / (1 - of.Own); who < of.Loyal {
		who = 0
	} else {
		who = (who - of.Loyal) / (1 - of.Loyal)
	}
	buyers := of.Buyers
	if buyers == 0 {
		buyers = 4 + int(12*s.rate(s.past.today))
	}
	return o.rail.buyer(of.seed, int(float64(buyers)*math.Pow(who, 2.2)))
}

// buyer returns the address of a service's nth buyer, one of the world's agents, who buy from several services.
func (r rail) buyer(seed uint64, n int) string {
	h := fnv.New64a()
	h.Write(strconv.AppendInt(strconv.AppendUint(nil, seed, 16), int64(n), 10))
	return r.normal("agent/" + strconv.FormatUint(h.Sum64()%agents, 10))
}

// drawFacilitator returns the facilitator that settles for a service on r at t: mostly its usual one, sometimes
// another; nil for none.
func (l *Ledger) drawFacilitator(seed uint64, r rail, t time.Time, by float64) *facilitator {
	var there []*facilitator
	var total float64
	for _, f := range facilitators() {
		if f.settles(r, t, l.start) {
			there, total = append(there, f), total+f.Weight
		}
	}
	at := float64(seed>>8%1000) / 1000 * total // the service's usual one
	if by < 0.2 {
		at = by * 5 * total
	}
	for _, f := range there {
		if at -= f.Weight; at < 0 {
			return f
		}
	}
	return nil
}

// strangerTrade returns payments between accounts that the directory does not list.
func (l *Ledger) strangerTrade(from, to time.Time, times float64) []payment {
	r := rand.New(rand.NewPCG(31, uint64(from.UnixNano())))
	var list []payment
	for range poisson(r, strangers*times*to.Sub(from).Hours()/24) {
		at := from.Add(1 + time.Duration(r.Int64N(int64(to.Sub(from)))))
		seller, buyer, cents := r.IntN(40), r.IntN(agents), 1+r.Int64N(20)
		for _, f := range facilitators() {
			if !f.Unlisted {
				continue
			}
			on := f.rails[0]
			list = append(list, payment{
				at: at, rail: on, by: f, settler: on.normal(f.account(0, true)),
				token: x402.NormalizeAddress(on.network.ID, on.asset.Address),
				payer: on.normal("agent/" + strconv.Itoa(buyer)), payee: on.normal("stranger/" + strconv.Itoa(seller)),
				amount: strconv.FormatInt(cents*1000, 10),
			})
		}
	}
	return list
}

// trade returns all payments in [from, to), oldest first, at a multiple of the rate.
func (l *Ledger) trade(from, to time.Time, times float64) []payment {
	var list []payment
	for _, s := range l.shops {
		list = append(list, s.sell(l, from, to, times)...)
	}
	list = append(list, l.strangerTrade(from, to, times)...)
	slices.SortStableFunc(list, func(a, b payment) int { return a.at.Compare(b.at) })
	return list
}

// poisson returns a random number of events with the given mean.
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		n++
	}
	return n
}
