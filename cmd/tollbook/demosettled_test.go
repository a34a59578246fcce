//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"tollbook/site"
)

// checkSettled checks that only sample facilitators are listed, and that they have settled the sample services'
// revenue. Unknown values must be reported, and the chain must continue.
func checkSettled(t *testing.T, base string) {
	ranked := decode[struct{ Data []site.FacilitatorListItem }](t,
		get(t, base+"/v1/facilitators?timeframe=30d&per_page=100").body).Data
	for i, f := range ranked {
		if !strings.HasPrefix(f.FacilitatorID, "sample-") || f.Verification != site.VerificationOnChain ||
			f.TxCountAll == 0 {
			t.Errorf("%s, number %d: %s, %d settlements of %s dollars", f.FacilitatorID, i+1, f.Verification,
				f.TxCountAll, f.VolumeUSDAll)
		}
	}
	if len(ranked) < 5 {
		t.Errorf("%d facilitators, want five at least", len(ranked))
	}

	traction := func(slug string) site.Traction {
		return decode[struct{ Data site.ServiceDetail }](t,
			get(t, base+"/v1/services/"+slug).body).Data.Assessment.Traction
	}
	for slug, good := range map[string]func(site.Traction) bool{
		"harborlight-search": func(x site.Traction) bool {
			return *x.TxCount30d > 500 && *x.UniqueBuyers30d > 50 && len(x.SettledVia) > 1 &&
				x.FirstSettlementAt != nil && len(x.MeasuredNetworks) == 3
		},
		"ledgerleaf-companies": func(x site.Traction) bool { return x.ConcentratedVolume && *x.UniqueBuyers30d <= 6 },
		"thimble-classifier":   func(x site.Traction) bool { return *x.UniqueBuyers30d == 1 },
	} {
		if x := traction(slug); x.Status != "measured" || x.TxCount30d == nil || x.UniqueBuyers30d == nil || !good(x) {
			t.Errorf("traction of %s: %s", slug, encoded(t, x))
		}
	}
	// It names the account of sealwax-attest, and has for more than 30 days.
	if x := traction("chapterhouse-books"); x.Status != site.TractionMeasured || !x.SharedWithStrangers {
		t.Errorf("traction of a service that names another's account: %s", encoded(t, x))
	}
	if x := traction("driftwood-treasury"); x.TxCount30d != nil && *x.TxCount30d != 0 {
		t.Errorf("traction of driftwood-treasury, which nobody can pay: %s", encoded(t, x))
	}

	coverage := func(a answer) site.CoverageReport { return decode[struct{ Data site.CoverageReport }](t, a.body).Data }
	report := coverage(get(t, base+"/v1/coverage"))
	measured := 0
	for _, n := range report.Networks {
		if !n.Measured {
			continue
		}
		measured++
		// the demo may have started before midnight
		if days := report.AsOf.Sub(n.MeasuredSince.Time).Hours() / 24; days < 89 || days > 91 {
			t.Errorf("%s is measured since %v, want the ninety days of the sample history", n.Name, n.MeasuredSince)
		}
	}
	seen := report.Networks[0]
	if measured != 4 || seen.NetworkCAIP2 != "eip155:8453" || len(seen.Tokens) != 1 ||
		seen.Tokens[0].UnattributedShare == nil ||
		*seen.Tokens[0].UnattributedShare < 0.02 || *seen.Tokens[0].UnattributedShare > 0.5 {
		t.Errorf(
			"%d networks are measured, want 4, first Base with a share of authorisations that nobody known sent: %s",
			measured, encoded(t, seen))
	}
	if c := report.CandidateSettlers; len(c) != 1 || *c[0].PaymentCount < 100 ||
		c[0].Evidence != site.EvidenceAnnouncedAndPayments || c[0].AnnouncedBy[0].FacilitatorID != "sample-turnpike" {
		t.Errorf("candidates %s, want the one account that no list names", encoded(t, c))
	}
	matrix := decode[struct{ Data site.FacilitatorMatrix }](t, get(t, base+"/v1/facilitators/matrix").body).Data
	if len(matrix.Facilitators) != 5 || len(matrix.Kinds) != 10 || len(matrix.Settled) < 4 {
		t.Errorf("matrix %s, want the kinds of 5 facilitators and what they settled", encoded(t, matrix))
	}
	if report.Volume30d.SelfPayment.TxCount == 0 || report.Volume30d.SinglePayer.TxCount == 0 {
		t.Errorf("volume %s, want some self-payment and some of a single payer", encoded(t, report.Volume30d))
	}
	until(t, base+"/v1/coverage", "later block of Base", func(a answer) bool {
		now := coverage(a).Networks[0]
		return now.HeadBlock != nil && seen.HeadBlock != nil && *now.HeadBlock > *seen.HeadBlock &&
			now.Cursor.Time.After(seen.Cursor.Time.Time)
	})
}

// encoded returns a value as JSON.
func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
