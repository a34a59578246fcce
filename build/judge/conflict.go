package judge

import (
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// conflict is a conflict of terms with the endpoint that has it.
type conflict struct {
	endpoint string // such as "GET /x"
	rail.Conflict
}

// findConflicts returns the conflicts of an endpoint: within its newest response, and between the responses to agents
// and to browsers.
func findConflicts(e *postgres.EndpointFacts, capture *x402.Evidence) (list []conflict) {
	var offers []rail.Offer
	for _, o := range readOffers(capture.Endpoint, e) {
		offers = append(offers, o.Offer)
	}
	for _, c := range rail.Conflicts(capture.Captured, offers) {
		list = append(list, conflict{capture.Endpoint, c})
	}
	for _, c := range rail.CompareReaders(checks.ReadersOf(e.Readers)) {
		list = append(list, conflict{capture.Endpoint, c})
	}
	return list
}

// publishConflicts returns the published form of conflicts.
func publishConflicts(list []conflict) []site.TermsConflict {
	out := []site.TermsConflict{}
	for _, c := range list {
		out = append(out, PublishConflict(c.Conflict))
	}
	return out
}

// PublishConflict returns the published form of a conflict.
func PublishConflict(c rail.Conflict) site.TermsConflict {
	return site.TermsConflict{Of: c.Of, Text: invisible.Replace(c.String()),
		Sides: []site.ConflictSide{newConflictSide(c.Here), newConflictSide(c.There)}}
}

func newConflictSide(a rail.Asked) site.ConflictSide {
	s := site.ConflictSide{Place: a.Place, Protocol: a.Protocol, Scheme: invisible.Replace(a.Scheme),
		Network: invisible.Replace(a.Network), AssetAddress: invisible.Replace(x402.SpellAddress(a.NetworkCAIP2, a.Asset)),
		AssetName: invisible.Replace(a.Value().AssetName), Price: a.Amount,
		PayTo: invisible.Replace(x402.SpellAddress(a.NetworkCAIP2, a.PayTo))}
	if a.NetworkCAIP2 != "" {
		s.Network = a.NetworkCAIP2
	}
	if usd := a.Value().PriceUSD; usd != "" {
		s.PriceUSD = &usd
	}
	return s
}

// flagConflict flags two terms for one request. The evidence names the first conflict.
func flagConflict(list []conflict) *site.RiskFlag {
	if len(list) == 0 {
		return nil
	}
	return newFlag(site.RiskDanger, "terms_conflict", "%s: %s", list[0].endpoint, invisible.Replace(list[0].String()))
}
