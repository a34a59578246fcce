package render_test

import (
	"testing"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

// TestServiceSynthesis checks that text of a model is marked as such, with the name of the model and its confidence,
// and is escaped.
func TestServiceSynthesis(t *testing.T) {
	t.Parallel()
	l := acme()
	e := newRenderer(t, world())
	expect(t, servicePage(e, l), NotIn(".synthesis"))
	text := func(value string, confidence float64) site.SynthesisText {
		return site.SynthesisText{Value: value, Confidence: confidence, Source: "ai"}
	}
	a := &l.Detail.Assessment
	a.ModelID, a.PromptVersion = ptr("model-7"), ptr("1")
	a.Synthesis = &site.Synthesis{
		Summary: text("Sells quotes.", .87), Category: text("Finance", 1), Inputs: text(hostile, .5),
		Outputs: text("A quote.", 0), Auth: text("none", .995),
		CapabilityTags: site.SynthesisList{Value: []string{"quotes", "share-prices"}, Confidence: .3, Source: "ai"},
	}
	expect(t, servicePage(e, l),
		In(".synthesis", HasText("Written by a language model, model-7, from the service's own words. Nobody has "+
			"reviewed it."),
			In("dd", HasText("Sells quotes."), HasText("87%")), In(".tag", IsText("quotes")), HasText("0%"),
			HasText("99.5%"),
			NotIn("script"), NotIn("img"), NoText("\u202e")))
}
