package price

import (
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/x402"
)

// observation returns when and where a visit found the lowest price of a span.
func (s *span) observation() site.PriceObservation {
	network := ""
	if s.of.NetworkCAIP2 != nil {
		network = *s.of.NetworkCAIP2
	}
	return site.PriceObservation{EndpointID: s.of.EndpointID.String(), Network: network,
		AssetAddress: x402.SpellAddress(network, s.of.Asset), PriceUSD: s.lowest, RecordedAt: site.NewTime(s.since)}
}

// describe sets the lowest price of a point to that of a span, on the point's day.
func (s *span) describe(p *site.PricePoint, day time.Time) {
	o := s.observation()
	if s.since.Before(day) {
		o.RecordedAt = site.NewTime(day)
	}
	p.MinPriceUSD, p.PriceUSD = &s.lowest, &s.lowest
	p.EndpointID, p.Network, p.AssetAddress, p.RecordedAt = &o.EndpointID, &o.Network, &o.AssetAddress, &o.RecordedAt
}

// addObservations adds each counted price to the last point up to the day on which a visit found it.
func (h *History) addObservations(points []site.PricePoint) {
	for i := range points {
		points[i].Observations = []site.PriceObservation{}
	}
	spans := slices.Clone(h.spans)
	slices.SortStableFunc(spans, func(a, b span) int { return a.since.Compare(b.since) })
	at := 0
	for i := range spans {
		day := spans[i].since.UTC().Format(time.DateOnly)
		for at+1 < len(points) && points[at+1].Date <= day {
			at++
		}
		points[at].Observations = append(points[at].Observations, spans[i].observation())
	}
}
