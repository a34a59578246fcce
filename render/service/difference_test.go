package service

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestChangeTitle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind    string
		summary any
		title   string
		lines   []differenceLine
	}{
		{site.GradeChanged, site.GradeSummary{OldGrade: "C", NewGrade: "A", Reason: "A: 13 of 14 checks pass",
			ChecksPassed: []site.FailedCheck{{ID: "accepts_present", Reason: "accepts is an object"}},
			ChecksFailed: []site.FailedCheck{{ID: "scheme_declared"}, {ID: "later_check"}}}, "grade C → A",
			[]differenceLine{{"grade", "C", "A"},
				{"Payment options listed", "accepts is an object", "accepts is a list of at least one object"},
				{"Scheme named", "Every row names its scheme", "fails"}, {"later_check", "passes", "fails"}}},
		{site.GradeChanged, site.GradeSummary{OldGrade: "A", NewGrade: "B", Reason: "B: no digest\u202e"},
			"grade A → B", []differenceLine{{"grade", "A", "B"}, {New: "B: no digest"}}},
		{site.GradeChanged, 7, "grade changed", nil},
		{site.VerdictChanged, site.VerdictSummary{OldVerdict: site.AdviceGood, NewVerdict: site.AdviceDoNotPay,
			Reasons: []site.AdviceReason{{Text: "Offline since\u202e 20 Nov 2026."}, {Text: "New domain."}}},
			"verdict Safe to pay → Do not pay", []differenceLine{{"verdict", "Safe to pay", "Do not pay"},
				{New: "Offline since 20 Nov 2026."}, {New: "New domain."}}},
		{site.VerdictChanged, 7, "grade changed", nil},
		{site.SourceListed, site.SourceSummary{Source: "index", Endpoint: "GET /x"}, "a source lists an endpoint",
			[]differenceLine{{What: "GET /x", New: "listed by index"}}},
		{site.SourceDropped, site.SourceSummary{Source: "index", Endpoint: "GET /x"}, "a source dropped an endpoint",
			[]differenceLine{{What: "GET /x", Old: "listed by index"}}},
		{site.SourceListed, site.SourceSummary{Source: "index", Endpoint: "GET /a", Listed: 12, Dropped: 1,
			ListedEndpoints: []string{"GET /a", "GET /b"}, DroppedEndpoints: []string{"GET /x"}},
			"a source lists 12 endpoints", []differenceLine{{What: "GET /a", New: "listed by index"},
				{What: "GET /b", New: "listed by index"}, {What: "10 more", New: "listed by index"},
				{What: "GET /x", Old: "listed by index"}}},
		{site.SourceDropped, site.SourceSummary{Source: "index", Endpoint: "GET /x", Dropped: 2,
			DroppedEndpoints: []string{"GET /x", "GET /y"}}, "a source dropped 2 endpoints",
			[]differenceLine{{What: "GET /x", Old: "listed by index"}, {What: "GET /y", Old: "listed by index"}}},
		{site.PriceChanged, site.PriceSummary{}, "grade changed", nil},
	} {
		summary, err := json.Marshal(test.summary)
		if err != nil {
			t.Fatal(err)
		}
		r := &site.ChangeRecord{Type: test.kind, Summary: summary}
		if got := ChangeTitle(r, "Grade"); got != test.title {
			t.Errorf("title of %s: %q, want %q", summary, got, test.title)
		}
		if diff := cmp.Diff(test.lines, differenceLines(r)); diff != "" {
			t.Errorf("lines of %s (-want +got):\n%s", summary, diff)
		}
	}
}
