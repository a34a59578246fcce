package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestCompare checks the findings for each difference between what a directory observed and what a user was told or a
// URL asks for.
func TestCompare(t *testing.T) {
	t.Parallel()
	const base, solana, usdc = "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "0xAbC"
	first, changed := site.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), site.NewTime(moment)
	way := func(network, amount, usd, payTo string) option {
		o := option{Method: "GET", Scheme: "exact", Network: network, Asset: usdc, AssetName: "USDC", Amount: amount,
			PayTo: payTo}
		if usd != "" {
			o.PriceUSD = &usd
		}
		return o
	}
	record := &record{
		AddressLookup: site.AddressLookup{Service: site.LookupService{Slug: "acme", Risk: site.RiskClean},
			Payable: true},
		options: []option{way(base, "10000", "0.01", "0xAAA"), way(solana, "20000", "0.02", "Bbb"),
			way(solana, "5", "", "Bbb")},
		first:   &first,
		history: []site.PayToChange{{OldPayTo: new("0xOLD"), ObservedAt: changed}},
	}
	up := way(base, "10000", "0.01", "0xaaa")
	up.Scheme, up.upTo = "upto", true
	lost := way(base, "10000", "0.01", "0x0")
	lost.lost, lost.Unusable = true, new("burn address")
	unusable := way(base, "x", "", "0xAAA")
	unusable.Unusable = new("no price")
	for _, tt := range []struct {
		name    string
		claim   claim
		answer  []option // nil if the URL was not asked
		verdict string
		want    []string // result, subject, and the beginning of the text
	}{
		{name: "nothing", verdict: verdictListed},
		{name: "network and price", claim: claim{Network: solana, Price: "0.02"}, verdict: resultSame,
			want: []string{"same network Solana", "same price $0.02"}},
		{name: "price of another network", claim: claim{Network: base, Price: "0.02"}, verdict: resultDiffers,
			want: []string{"same network Base", "differs price $0.02 is not the price that was observed: $0.01"}},
		{name: "price of another recipient", claim: claim{PayTo: "bbb", Price: "0.01"}, verdict: resultDiffers,
			want: []string{"same recipient Bbb",
				"differs price $0.01 is not the price that was observed: $0.02, 5 atomic units"}},
		{name: "recipient of another network", claim: claim{Network: base, PayTo: "Bbb"}, verdict: resultDiffers,
			want: []string{"same network Base", "differs recipient Bbb differs from every one observed since " +
				"2 Jan 2026, 03:04 UTC: 0xAAA"}},
		{name: "another recipient, the same price", claim: claim{Network: base, PayTo: "Bbb", Price: "0.01"}, verdict: resultDiffers,
			want: []string{"same network Base", "differs recipient Bbb differs from every one observed since " +
				"2 Jan 2026, 03:04 UTC: 0xAAA", "same price $0.01"}},
		{name: "an old recipient", claim: claim{PayTo: "0xold"}, verdict: resultDiffers,
			want: []string{"differs recipient 0xold was a recipient until 20 Nov 2026, 12:30 UTC, and is none now: " +
				"0xAAA, Bbb"}},
		{name: "the same now", answer: []option{way(base, "10000", "0.01", "0xaaa")}, verdict: resultSame,
			want: []string{"same option asked now: $0.01 in USDC on Base to 0xaaa"}},
		{name: "dearer now", answer: []option{way(base, "10001", "0.010001", "0xAAA")}, verdict: resultDiffers,
			want: []string{"differs price asked now: $0.010001 in USDC on Base to 0xAAA; the observed price is " +
				"$0.01 in USDC"}},
		{name: "another recipient now", answer: []option{way(base, "10000", "0.01", "0xEVIL")}, verdict: resultDiffers,
			want: []string{"differs recipient asked now: 0xEVIL differs from every one observed since " +
				"2 Jan 2026, 03:04 UTC: 0xAAA, Bbb"}},
		{name: "the recipient of another network now", answer: []option{way(base, "10000", "0.01", "Bbb")},
			verdict: resultDiffers, want: []string{"differs recipient asked now: Bbb differs from every one observed " +
				"since 2 Jan 2026, 03:04 UTC: 0xAAA"}},
		{name: "another scheme now", answer: []option{up}, verdict: resultDiffers,
			want: []string{
				"differs option asked now: up to $0.01 in USDC on Base to 0xaaa: this option was not observed"}},
		{name: "another network now", answer: []option{way("eip155:137", "10000", "0.01", "0xAAA")},
			verdict: resultDiffers,
			want:    []string{"differs option asked now: $0.01 in USDC on Polygon to 0xAAA: this"}},
		{name: "lost now", answer: []option{lost}, verdict: resultDanger,
			want: []string{"danger recipient asked now: $0.01 in USDC on Base to 0x0: burn address", "unknown answer"}},
		{name: "unusable now", answer: []option{unusable}, verdict: resultUnknown,
			want: []string{
				"note option asked now: x atomic units in USDC on Base to 0xAAA: it can't be paid, no price",
				"unknown answer asked now, the URL names no option that can be paid"}},
		{name: "nothing now", answer: []option{}, verdict: resultUnknown,
			want: []string{"unknown answer asked now, the URL names no payment terms: answers 200"}},
		{name: "one network of two now", claim: claim{Network: base}, verdict: resultSame,
			answer: []option{way(base, "10000", "0.01", "0xaaa"), way(solana, "1", "1", "EVIL")},
			want:   []string{"same network Base", "same option asked now: $0.01 in USDC on Base to 0xaaa"}},
		{name: "not that network now", claim: claim{Network: base}, verdict: resultDiffers,
			answer: []option{way(solana, "20000", "0.02", "Bbb")},
			want: []string{"same network Base",
				"differs network asked now, the URL does not accept Base but Solana"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var a *directoryAnswer
			if tt.answer != nil {
				a = &directoryAnswer{Reason: "answers 200", Options: tt.answer}
			}
			list := compare(record, tt.claim, a)
			var got []string
			for i, f := range list {
				text := f.Result + " " + f.About + " " + f.Text
				if i < len(tt.want) && strings.HasPrefix(text, tt.want[i]) {
					text = tt.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if verdict := verdictOf(list, record); verdict != tt.verdict {
				t.Errorf("the verdict is %s, want %s", verdict, tt.verdict)
			}
		})
	}
}
