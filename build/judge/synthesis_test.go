package judge

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/synthesis"
)

// TestSynthesisBelongsToInputHash checks that a model's answer is published while the hash of its input is the
// service's, and not otherwise. It must not change what was measured.
func TestSynthesisBelongsToInputHash(t *testing.T) {
	t.Parallel()
	service := func() postgres.ServiceFacts {
		return postgres.ServiceFacts{
			Service: postgres.Service{Slug: "acme", Name: "Acme", Description: "Prices", BaseURL: "https://acme.test",
				Category: "Finance", CreatedAt: now, LastCheckedAt: ago(time.Hour)},
			Endpoints: []postgres.EndpointFacts{{Endpoint: postgres.Endpoint{Method: "GET", Path: "/x",
				FirstSeenAt: now}}},
		}
	}
	assessed := func(f postgres.ServiceFacts) site.Assessment {
		return judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{f}}, now).Services[0].Detail.Assessment
	}
	plain := service()
	bare := assessed(plain)
	if bare.Synthesis != nil || bare.ModelID != nil || bare.PromptVersion != nil {
		t.Errorf("without an answer: %+v", bare)
	}
	if want := synthesis.InputOf(&plain, synthesis.Capture).Hash(); bare.InputHash != want {
		t.Errorf("input_hash %s, want that of the question, %s", bare.InputHash, want)
	}
	evidence := judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{plain}}, now).Services[0].Evidence
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(evidence.Input))); got != bare.InputHash {
		t.Errorf("the SHA-256 of the published input is %s, want input_hash, %s", got, bare.InputHash)
	}
	answer := site.Synthesis{Category: site.SynthesisText{Value: "AI", Confidence: 1, Source: "ai"},
		CapabilityTags: site.SynthesisList{Value: []string{"a"}, Source: "ai"}}
	stored := &postgres.SynthesisFacts{Question: postgres.Question{InputHash: bare.InputHash, ModelID: "stub",
		PromptVersion: "1"}, AskedAt: *ago(time.Minute), Answer: answer}

	answered := service()
	answered.Synthesis = stored
	want := bare
	want.Synthesis, want.ModelID, want.PromptVersion, want.UpdatedAt = &answer, new("stub"), new("1"),
		site.TimeOrNull(stored.AskedAt)
	if diff := cmp.Diff(want, assessed(answered)); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if d := judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{answered}},
		now).Services[0].Detail; d.Category != "Finance" {
		t.Errorf("the model's category overrides the service's: %s", d.Category)
	}
	changed := service()
	changed.Synthesis, changed.Description = stored, "Prices, and weather"
	if a := assessed(changed); a.Synthesis != nil || a.ModelID != nil || a.PromptVersion != nil ||
		a.InputHash == bare.InputHash {
		t.Errorf("after the texts changed: %+v", a)
	}
}
