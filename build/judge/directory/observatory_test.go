package directory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
)

const (
	base    = "eip155:8453"
	polygon = "eip155:137"
	sepolia = "eip155:84532"
	usdc    = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	one     = "0x1111111111111111111111111111111111111111"
	two     = "0x2222222222222222222222222222222222222222"
	three   = "0x3333333333333333333333333333333333333333"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func kind(network, asset string, last time.Time) polls.Kind {
	return polls.Kind{Version: 2, Scheme: "exact", Network: network, Asset: asset, First: last, Last: last}
}

func signer(networks, account string, last time.Time) polls.Signer {
	return polls.Signer{Networks: networks, Address: account, Origin: "signers", First: last, Last: last}
}

// answering returns a facilitator that answered an hour ago.
func answering(id string, kinds []polls.Kind, signers ...polls.Signer) polls.FacilitatorFacts {
	return polls.FacilitatorFacts{FacilitatorID: id, URL: "https://" + id + ".test", AskedAt: now,
		Outcome: polls.Answered, Code: new(200), AnsweredAt: new(now.Add(-time.Hour)), Extensions: []string{"bazaar"},
		Kinds: kinds, Signers: signers}
}

var hourAgo = now.Add(-time.Hour)

// lists are two facilitators; the account one is acme's on Base.
func lists() []ledger.Facilitator {
	return []ledger.Facilitator{{ID: "acme", Settlers: []ledger.Settler{{Network: base, Address: one}}}, {ID: "liar"}}
}

func TestSupported(t *testing.T) {
	f := answering("acme", []polls.Kind{kind(base, usdc, hourAgo), kind(polygon, "", hourAgo.Add(-time.Hour))},
		signer("eip155:*", one, hourAgo), signer("eip155:*", two, hourAgo.Add(-time.Hour)))
	day := now.Truncate(24 * time.Hour)
	f.Days = []polls.Day{
		{Day: day.AddDate(0, 0, -1), Document: "supported", Outcome: polls.Unreachable, Polls: 1, Seconds: 3000},
		{Day: day, Document: "health", Outcome: polls.Absent, Polls: 9, Seconds: 9000, Latencies: []int32{5}},
		{Day: day, Document: "supported", Outcome: polls.Answered, Polls: 9, Seconds: 9000,
			Latencies: []int32{90, 10, 20, 30, 40, 50, 60, 70, 80}},
		{Day: day, Document: "supported", Outcome: polls.Refused, Polls: 1, Seconds: 900},
		{Day: day, Document: "supported", Outcome: polls.Status, Polls: 1, Seconds: 3000, Latencies: []int32{1}},
	}
	got := NewObservatory(&polls.Facts{Facilitators: []polls.FacilitatorFacts{f}}, lists(), nil, now).Supported("acme")
	token := "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	want := &site.FacilitatorSupported{
		State: "answered", StatusCode: new(200), AskedAt: site.NewTime(now), AnsweredAt: new(site.NewTime(hourAgo)),
		Uptime30d: new(60.0), PollCount30d: 11, MedianLatencyMS30d: new(50), P95LatencyMS30d: new(90),
		Days: []site.SupportedDay{{Date: "2026-11-19", PollCount: 1, Uptime: new(0.0)},
			{Date: "2026-11-20", PollCount: 10, Uptime: new(75.0), MedianLatencyMS: new(50)}},
		Extensions: []string{"bazaar"},
		Kinds: []site.SupportedKind{{X402Version: 2, Scheme: "exact", Network: "BSE", NetworkCAIP2: base,
			TokenAddress: &token, AssetName: new("USDC"), Since: site.NewTime(hourAgo)}},
		Signers: []site.SupportedSigner{
			{Networks: "eip155:*", Address: one, Origin: "signers", Since: site.NewTime(hourAgo),
				LastSeenAt: site.NewTime(hourAgo), Current: true, Listing: site.SignerSettler, ClaimedBy: []string{}},
			{Networks: "eip155:*", Address: two, Origin: "signers", Since: site.NewTime(hourAgo.Add(-time.Hour)),
				LastSeenAt: site.NewTime(hourAgo.Add(-time.Hour)), Listing: site.SignerUnlisted, ClaimedBy: []string{}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("supported (-want +got):\n%s", diff)
	}
	o := NewObservatory(&polls.Facts{Facilitators: []polls.FacilitatorFacts{f}}, lists(), nil, now.AddDate(0, 0, 7))
	if s := o.Supported("acme"); len(s.Kinds)+len(s.Extensions) > 0 || s.Signers[0].Current {
		t.Errorf("an answer of a week ago is believed: %+v", s)
	}
	if o.Supported("liar") != nil {
		t.Error("a facilitator that was never asked has an answer")
	}
}

// TestCandidates checks the ladder, and that no facilitator gets an account that a list names.
func TestCandidates(t *testing.T) {
	plain := answering("plain", []polls.Kind{kind(base, "", hourAgo)}, signer(base, three, hourAgo))
	plain.URL = "http://plain.test"
	facts := polls.Facts{
		Facilitators: []polls.FacilitatorFacts{
			answering("acme", []polls.Kind{kind(base, "", hourAgo), kind(sepolia, "", hourAgo)},
				signer("eip155:*", one, hourAgo), signer("eip155:*", two, hourAgo),
				signer("eip155:*", three, now.AddDate(0, 0, -31))),
			answering("liar", []polls.Kind{kind(polygon, "", hourAgo)}, signer("eip155:8453", one, hourAgo),
				signer("eip155:*", two, hourAgo), signer("eip155:99999", three, hourAgo)),
			plain,
		},
		Payments: []polls.Payments{{Network: polygon, Sender: two, Token: usdc, Payments: 7, Recipients: 2}},
	}
	type row struct {
		Network, Address, Evidence string
		By                         []string
	}
	var got []row
	o := NewObservatory(&facts, lists(), nil, now)
	for _, c := range o.Candidates() {
		r := row{c.Network, c.Address, c.Evidence(), nil}
		for _, a := range c.Announcements {
			r.By = append(r.By, a.FacilitatorID)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff([]row{
		{polygon, two, site.EvidenceAnnouncedAndPayments, []string{"acme", "liar"}},
		{base, two, site.EvidenceAnnounced, []string{"acme"}},
		{base, three, evidenceWithoutTLS, []string{"plain"}},
	}, got); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	listing, by := o.listing("liar", signer("eip155:*", one, hourAgo))
	if listing != site.SignerClaimed || !cmp.Equal(by, []string{"acme"}) {
		t.Errorf("the account of acme that a liar announces is %s by %v", listing, by)
	}
}

func TestMatrix(t *testing.T) {
	facts := polls.Facts{Facilitators: []polls.FacilitatorFacts{
		answering("acme", []polls.Kind{kind(base, usdc, hourAgo), kind(base, "", hourAgo),
			kind("Moonbase", "", hourAgo)}),
		answering("bolt", []polls.Kind{{Version: 1, Scheme: "exact", Network: base, Asset: usdc, Last: hourAgo}},
			signer(base, one, hourAgo), signer("eip155:*", one, hourAgo)),
	}}
	o := NewObservatory(&facts, lists(), nil, now)
	list := []site.FacilitatorDetail{{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "acme",
		Chains: []site.FacilitatorChain{{Network: "BSE", NetworkCAIP2: base, TokenAddress: usdc, TokenAddressNorm: usdc,
			AssetName: "USDC", TxCount30d: 4, Verification: site.VerificationOnChain},
			{NetworkCAIP2: polygon, TxCount30d: 9, Verification: site.VerificationListed}}}},
		{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "bolt"}},
		{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "never"}}}
	for i := range list {
		list[i].Supported = o.Supported(list[i].FacilitatorID)
	}
	m := o.Matrix(list)
	token := "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	want := site.FacilitatorMatrix{AsOf: site.NewTime(now),
		Facilitators: []site.MatrixFacilitator{
			{FacilitatorID: "acme", State: "answered", AnsweredAt: new(site.NewTime(hourAgo)), KindCount: 3},
			{FacilitatorID: "bolt", State: "answered", AnsweredAt: new(site.NewTime(hourAgo)), KindCount: 1,
				SignerCount: 1}},
		Kinds: []site.MatrixKind{
			{Network: "Moonbase", NetworkCAIP2: "Moonbase", NetworkName: "Moonbase", Scheme: "exact",
				X402Versions: []int{2}, Facilitators: []string{"acme"}},
			{Network: "BSE", NetworkCAIP2: base, NetworkName: "Base", IsMainnet: new(true), Scheme: "exact",
				X402Versions: []int{2}, Facilitators: []string{"acme"}},
			{Network: "BSE", NetworkCAIP2: base, NetworkName: "Base", IsMainnet: new(true), Scheme: "exact",
				TokenAddress: &token, AssetName: new("USDC"), X402Versions: []int{1, 2},
				Facilitators: []string{"acme", "bolt"}}},
		Settled: []site.MatrixToken{{Network: "BSE", NetworkCAIP2: base, NetworkName: "Base", TokenAddress: usdc,
			AssetName: "USDC", TxCount30d: 4, Facilitators: []string{"acme"}}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("matrix (-want +got):\n%s", diff)
	}
	empty := NewObservatory(&polls.Facts{}, lists(), nil, now).Matrix(nil)
	if empty.Facilitators == nil || empty.Kinds == nil || empty.Settled == nil || len(empty.Kinds) > 0 {
		t.Errorf("the matrix of nothing is %+v, want empty lists", empty)
	}
}
