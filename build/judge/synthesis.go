package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/synthesis"
	"tollbook/site/x402"
)

// addSynthesis gives an assessment the hash of what a model is told of the service, and the model's answer where it was
// asked exactly that: an answer about what the service said before is no answer. shown is what its active endpoints
// have shown, already read.
func addSynthesis(f *postgres.ServiceFacts, a *site.Assessment, shown []x402.Evidence, now time.Time) {
	read := make(map[*postgres.EndpointFacts]x402.Captured, len(shown))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; len(read) < len(shown) && site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			read[e] = shown[len(read)].Captured
		}
	}
	a.InputHash = synthesis.InputOf(f, func(e *postgres.EndpointFacts) x402.Captured {
		if captured, ok := read[e]; ok {
			return captured
		}
		return synthesis.Capture(e)
	}).Hash()
	if s := f.Synthesis; s != nil && s.InputHash == a.InputHash {
		if at := site.TimeOrNull(s.AskedAt); a.UpdatedAt == nil || s.AskedAt.After(a.UpdatedAt.Time) {
			a.UpdatedAt = at
		}
		a.ModelID, a.PromptVersion, a.Synthesis = &s.ModelID, &s.PromptVersion, &s.Answer
	}
}
