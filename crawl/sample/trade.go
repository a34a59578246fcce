package sample

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tollbook/site/x402"
)

// Trade is a function of time like everything else here: who bought what in some hour follows from the start of the
// world and that hour alone. So the past that is written down once and the chain that is read later tell one story.

const (
	// pace is how much faster trade goes on after the start, so that somebody who looks on sees it go on: an hour
	// brings what a day brought before. laterPace is that from the second day on, so that a demo which was left for
	// weeks has caught up soon.
	pace, laterPace = 24, 6

	agents     = 1400            // that buy anything at all
	strangers  = 14.0            // payments a day to sellers that nobody listed, through the settler that nobody listed
	quickBatch = 3 * time.Minute // within which a settler waits for more payments to settle in one transaction
)

// payment is what one buyer paid for one call.
type payment struct {
	at time.Time
	// its scheme says how: upto goes through a contract that buyers gave leave to, the others by authorisation
	rail    rail
	by      *facilitator
	settler string // account that sends it, in normal form like those below
	payer   string
	payee   string
	token   string
	amount  string
	listed  bool   // the payee is a service of the cast
	branch  branch // of the chain that has it
}

// shop is a service as one that sells.
type shop struct {
	past *past
	asks map[*x402.Envelope][]offer // of envelopes that look gives again and again
}

// offer is one way to pay for a call.
type offer struct {
	rail   rail
	token  string
	payee  string
	amount string
}

// settled is what is settled, by network: USDC where the world has facilitators.
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

// rate is how many payments a day the service takes around t.
func (s *shop) rate(t time.Time) float64 {
	sales := s.past.s.Sales
	if sales == nil { // the long tail: some grow, some shrink
		base := 0.4 + float64(s.past.s.seed>>16%100)/50
		sales = &[2]float64{base, base * (0.5 + float64(s.past.s.seed>>24%100)/60)}
	}
	ago := min(max(s.past.start.Sub(t).Hours()/24/historyDays, 0), 1)
	rate := sales[0]*ago + sales[1]*(1-ago)
	if d := t.Weekday(); d == time.Saturday || d == time.Sunday {
		rate *= 0.6
	}
	return rate * (1 - 0.4*math.Cos(2*math.Pi*(float64(t.Hour())-3)/24)) // agents sleep less than people, but they do
}

// sell draws what the service sells in [from, to), at so many times the rate.
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

// sale draws one payment at t; false when nobody could pay then.
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
	o := offers[int(float64(len(offers))*way*way)] // the first way to pay is the most used
	p := payment{at: t, rail: o.rail, token: o.token, payee: o.payee, amount: o.amount, listed: true}
	if o.rail.scheme == "upto" {
		p.amount = partly(o.amount, 10+part)
	}
	if p.by = l.drawFacilitator(of.seed, o.rail, t, by); p.by == nil {
		return payment{}, false
	}
	p.settler = p.by.settler(o.rail, t, s.past.start, account)
	p.payer = s.buyer(o, who)
	return p, true
}

// offers are the ways to pay that a buyer finds at t, at an endpoint drawn by a number in [0, 1). Nobody buys while the
// service is in trouble.
func (s *shop) offers(t time.Time, which float64) []offer {
	behaviour, state := s.past.at(t)
	for _, x := range s.past.incidents {
		if x.kind != "sluggish" && !t.Before(x.from) && t.Before(x.to) {
			return nil
		}
	}
	endpoints := s.past.states[state].endpoints
	f := s.past.look(behaviour, state, int(float64(len(endpoints))*which*which), t) // the first is the most wanted
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

// payable reads a requirement as one who would pay it; false where it can't be paid, or where nobody settles.
func payable(want x402.Requirement) (offer, bool) {
	r, ok := settled()[want.NetworkCAIP2]
	if !ok || !want.Usable() || want.AssetName != "USDC" || x402.CheckAddress(want.NetworkCAIP2, want.PayTo) != nil {
		return offer{}, false
	}
	if r.scheme = want.Scheme; r.scheme != "exact" && r.scheme != "upto" || strings.Trim(want.PayToNorm, "0x") == "" ||
		want.Amount == "0" {
		return offer{}, false
	}
	return offer{rail: r, token: want.AssetNorm, payee: want.PayToNorm, amount: want.Amount}, true
}

// partly is so many hundredths of an amount, 1 at least.
func partly(amount string, hundredths int64) string {
	n, err := strconv.ParseInt(amount, 10, 64)
	if err != nil {
		return amount // beyond what any price of the cast is
	}
	return strconv.FormatInt(max(1, n*hundredths/100), 10)
}

// buyer is who pays, drawn by a number in [0, 1): few buy much, most now and then.
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

// buyer is the address of a service's nth buyer: one of the world's agents, who buy at several services.
func (r rail) buyer(seed uint64, n int) string {
	h := fnv.New64a()
	h.Write(strconv.AppendInt(strconv.AppendUint(nil, seed, 16), int64(n), 10))
	return r.normal("agent/" + strconv.FormatUint(h.Sum64()%agents, 10))
}

// drawFacilitator is who settles for a service on r at t: mostly one that it has chosen, sometimes another; nil when
// nobody does.
func (l *Ledger) drawFacilitator(seed uint64, r rail, t time.Time, by float64) *facilitator {
	var there []*facilitator
	var total float64
	for _, f := range facilitators() {
		if f.settles(r, t, l.start) {
			there, total = append(there, f), total+f.Weight
		}
	}
	at := float64(seed>>8%1000) / 1000 * total // its own choice
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

// strange draws payments between people that this directory knows nothing of.
func (l *Ledger) strange(from, to time.Time, times float64) []payment {
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

// trade is everything that was paid in [from, to), oldest first, at so many times the rate.
func (l *Ledger) trade(from, to time.Time, times float64) []payment {
	var list []payment
	for _, s := range l.shops {
		list = append(list, s.sell(l, from, to, times)...)
	}
	list = append(list, l.strange(from, to, times)...)
	slices.SortStableFunc(list, func(a, b payment) int { return a.at.Compare(b.at) })
	return list
}

// poisson draws how often what happens so often on average does.
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		n++
	}
	return n
}
