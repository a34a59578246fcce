package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/synthesis"
	"tollbook/site/x402"
)

// addSynthesis adds the hash of the model's input to an assessment. It adds the model's answer if that belongs to the
// same hash: an answer about former texts is outdated. captures are those of the active endpoints.
func addSynthesis(f *postgres.ServiceFacts, a *site.Assessment, captures []x402.Evidence, now time.Time) {
	read := make(map[*postgres.EndpointFacts]x402.Captured, len(captures))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; len(read) < len(captures) && site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			read[e] = captures[len(read)].Captured
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
