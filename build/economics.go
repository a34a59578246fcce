package build

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// market is what the services of each category ask, to place one among the others.
type market struct {
	lowest, highest map[string][]site.Decimal // by category, ascending
}

func newMarket(services []postgres.ServiceFacts, offers []offer) *market {
	m := &market{map[string][]site.Decimal{}, map[string][]site.Decimal{}}
	for i, s := range services {
		if offers[i].min != nil {
			m.lowest[s.Category] = append(m.lowest[s.Category], *offers[i].min)
			m.highest[s.Category] = append(m.highest[s.Category], *offers[i].max)
		}
	}
	for _, by := range []map[string][]site.Decimal{m.lowest, m.highest} {
		for _, prices := range by {
			slices.SortFunc(prices, site.Decimal.Compare)
		}
	}
	return m
}

// percentile is the share, 0 to 100, of the other services whose price is lower; null when there is no other. The price
// is itself among the sorted ones.
func percentile(sorted []site.Decimal, price *site.Decimal) *float64 {
	if price == nil || len(sorted) < 2 {
		return nil
	}
	below, _ := slices.BinarySearchFunc(sorted, *price, site.Decimal.Compare)
	p := site.Round2(100 * float64(below) / float64(len(sorted)-1))
	return &p
}

// economics places a service's prices in its category. The model is flat with one price, tiered with several, per-token
// where every amount is a maximum, free where every active endpoint answers without payment, else unknown.
func (m *market) economics(f *postgres.ServiceFacts, o offer, now time.Time) site.Economics {
	e := site.Economics{
		PriceUSD: o.min, PriceAtomic: o.atomic, PriceMaxUSD: o.max, EndpointCount: len(o.endpoints), DistinctPriceCount: o.distinct,
		CategoryPercentile:    percentile(m.lowest[f.Category], o.min),
		CategoryPercentileMax: percentile(m.highest[f.Category], o.max),
		Stability:             stability(f, now),
	}
	switch {
	case o.variable:
		e.Model = "per-token"
	case o.distinct > 1:
		e.Model = "tiered"
	case o.distinct == 1:
		e.Model = "flat"
	case free(f, now):
		e.Model = "free"
	default:
		e.Model = "unknown"
	}
	return e
}

func free(f *postgres.ServiceFacts, now time.Time) bool {
	open := 0
	for _, e := range f.Endpoints {
		if !site.Active(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		if e.Verdict == nil || *e.Verdict != "open" {
			return false
		}
		open++
	}
	return open > 0
}

// stabilityDays is the span that stability looks at.
const stabilityDays = 30

// stability is the share of the last 30 UTC days on which no price of the service moved; null without prices. A price
// moves when the amount asked by one scheme, network and asset of an endpoint differs from the one before.
func stability(f *postgres.ServiceFacts, now time.Time) *float64 {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-stabilityDays)
	moved := map[time.Time]bool{}
	priced := false
	for _, e := range f.Endpoints {
		var before []postgres.Price
		for set := range priceSets(e.Prices) {
			priced = priced || set[0].Until == nil
			if !set[0].Since.Before(from) && amountsMoved(before, set) {
				moved[set[0].Since.UTC().Truncate(24*time.Hour)] = true
			}
			before = set
		}
	}
	if !priced {
		return nil
	}
	s := site.Round2(float64(stabilityDays-len(moved)) / stabilityDays)
	return &s
}

// amountsMoved compares the sets of amounts of each scheme, network and asset that both price sets have.
func amountsMoved(before, after []postgres.Price) bool {
	type way struct{ scheme, network, asset string }
	amounts := func(prices []postgres.Price) map[way][]string {
		by := map[way][]string{}
		for _, p := range prices {
			w := way{p.Scheme, p.Network, p.Asset}
			by[w] = insert(by[w], p.Amount)
		}
		return by
	}
	now := amounts(after)
	for w, was := range amounts(before) {
		if is, both := now[w]; both && !slices.Equal(was, is) {
			return true
		}
	}
	return false
}

// outlierFactor is how many times the median of its category a lowest price must be to stand out.
const outlierFactor = 50

// risk collects reasons for care; the level is the worst among them.
func risk(f *postgres.ServiceFacts, d *site.ServiceDetail, a site.Assessment, m *market, o offer, now time.Time) site.Risk {
	r := site.Risk{Level: site.RiskClean, Flags: []site.RiskFlag{}}
	flag := func(level, code, evidence string, args ...any) {
		r.Flags = append(r.Flags, site.RiskFlag{Level: level, Code: code, Evidence: fmt.Sprintf(evidence, args...)})
	}
	if len(d.PayToChanges) > 0 {
		c := d.PayToChanges[0]
		switch age := now.Sub(c.ObservedAt.Time); {
		case age < 7*24*time.Hour:
			flag(site.RiskDanger, "pay_to_changed", "%s is paid at %s since %s, before at %s", c.Endpoint, c.NewPayTo, c.ObservedAt, c.OldPayTo)
		case age < 30*24*time.Hour:
			flag(site.RiskWarning, "pay_to_changed", "%s is paid at %s since %s, before at %s", c.Endpoint, c.NewPayTo, c.ObservedAt, c.OldPayTo)
		}
	}
	for _, e := range d.Endpoints {
		if v := e.PayToDivergence; v != nil {
			flag(site.RiskWarning, "pay_to_divergence", "%s %s is paid at %s, its siblings at %s", e.Method, e.Path, strings.Join(v.Observed, ", "), v.Expected[0])
			break
		}
	}
	if o.min != nil {
		prices := m.lowest[f.Category]
		if median := prices[len(prices)/2]; len(prices) > 4 && times(*o.min, median) >= outlierFactor {
			flag(site.RiskWarning, "price_outlier", "the lowest price is $%s, the median of %s is $%s", *o.min, f.Category, median)
		}
	}
	if d.Status == site.StatusOffline {
		flag(site.RiskWarning, "probe_failing", "%d visits in a row found nothing that answers", d.ConsecutiveFailures)
	}
	if strings.HasPrefix(f.BaseURL, "http://") {
		flag(site.RiskWarning, "plain_http", "requests and payments to %s travel unencrypted", f.BaseURL)
	}
	if o.testnet {
		flag(site.RiskWarning, "testnet_only", "every price is on a test network")
	}
	if g := flagConcentrated(&a.Traction); g != nil {
		r.Flags = append(r.Flags, *g)
	}
	r.Flags = append(r.Flags, domainFlags(f, a.Domain)...)
	for _, g := range r.Flags {
		if g.Level == site.RiskDanger || r.Level == site.RiskClean {
			r.Level = g.Level
		}
	}
	return r
}

// times is a / b as a float, for a comparison that nothing of value hangs on; 0 when b is zero.
func times(a, b site.Decimal) float64 {
	x, ok := new(big.Rat).SetString(string(a))
	y, ok2 := new(big.Rat).SetString(string(b))
	if !ok || !ok2 || y.Sign() == 0 {
		return 0
	}
	q, _ := x.Quo(x, y).Float64()
	return q
}

// compliance judges by the 14 checks what each active endpoint has shown.
func compliance(f *postgres.ServiceFacts, shown []x402.Evidence, now time.Time) site.Compliance {
	var captured *time.Time
	for _, e := range f.Endpoints {
		if v := e.Envelope; v != nil && (len(shown) == 0 || site.Active(e.FirstSeenAt, e.LastPaidAt, now)) && (captured == nil || v.ReceivedAt.Before(*captured)) {
			captured = &v.ReceivedAt
		}
	}
	got := x402.Assess(judged(f, shown))
	c := site.Compliance{
		Grade: got.Grade, Passed: got.Passed, Total: got.Total, Checks: []site.ComplianceCheck{},
		Staleness: site.Staleness{
			ProbeFailing: f.ConsecutiveFailures > 0, LastSuccessAt: timeOrNull(f.LastSuccessAt), EnvelopeCapturedAt: timeOrNull(captured),
		},
	}
	for _, k := range got.Checks {
		c.Checks = append(c.Checks, site.ComplianceCheck{ID: k.ID, Label: k.Label, Pass: k.Pass})
	}
	if got.PayToSource != "" {
		c.PayToSource, c.PayToLocation = &got.PayToSource, &got.PayToLocation
	}
	return c
}
