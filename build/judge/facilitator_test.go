package judge

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

const (
	baseUSDC = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	baseEURC = "0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42"
	bnb      = "eip155:56"
	bnbUSDC  = "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d" // 18 decimals
	sepolia  = "eip155:84532"
	testUSDC = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
)

func newFacilitatorFacts(status string, tokens ...ledger.TokenFacts) ledger.FacilitatorFacts {
	return ledger.FacilitatorFacts{
		Facilitator: ledger.Facilitator{
			ID: "acme", Name: "Acme", WebsiteURL: "https://acme.test", UpstreamStatus: status,
			Settlers: []ledger.Settler{
				{Network: base, Address: "0xa1", Tokens: []string{baseUSDC}},
				{Network: bnb, Address: "0xa1", Tokens: []string{bnbUSDC}}, // the same account
				{Network: base, Address: "0xa2", Tokens: []string{baseUSDC}},
			},
		},
		Tokens: tokens,
	}
}

func settled(start time.Time, n int64, amount string) ledger.SettlementSum {
	return ledger.SettlementSum{Start: start, Settlements: n, Amount: amount, LastAt: start.Add(time.Minute)}
}

func TestFacilitatorWindows(t *testing.T) {
	t.Parallel()
	hour, today := now.Truncate(time.Hour), now.Truncate(24*time.Hour)
	dollars := ledger.TokenFacts{
		Network: base, Token: baseUSDC,
		Hours: []ledger.SettlementSum{
			settled(hour.Add(-25*time.Hour), 9, "9000000"), // closed 25 hours ago
			settled(hour.Add(-24*time.Hour), 1, "1"),
			settled(hour, 2, "20"),
			settled(hour.Add(time.Hour), 9, "9000000"), // not yet
		},
		Days: []ledger.SettlementSum{
			settled(today.AddDate(0, 0, -90), 9, "9000000"), // too old for the series
			settled(today.AddDate(0, 0, -89), 1, "300000"),
			settled(today.AddDate(0, 0, -30), 1, "40000"),
			settled(today.AddDate(0, 0, -29), 1, "5000"),
			settled(today.AddDate(0, 0, -7), 1, "600"),
			settled(today.AddDate(0, 0, -6), 1, "70"),
			settled(today, 2, "8"),
		},
		All: settled(today, 99, "1000345678000000"),
	}
	wei := ledger.TokenFacts{Network: bnb, Token: bnbUSDC, Hours: []ledger.SettlementSum{settled(hour, 1, "1")},
		Days: []ledger.SettlementSum{settled(today, 1, "1")}, All: settled(today.AddDate(0, 0, -1), 1, "1")}
	euro := ledger.TokenFacts{Network: base, Token: baseEURC,
		Days: []ledger.SettlementSum{settled(today, 5, "5000000")},
		All:  settled(today.AddDate(0, 0, -1), 5, "5000000")}
	test := ledger.TokenFacts{Network: sepolia, Token: testUSDC,
		Days: []ledger.SettlementSum{settled(today, 7, "7000000")},
		All:  settled(today.AddDate(0, 0, -1), 7, "7000000")}
	f := newFacilitatorFacts("merged", dollars, wei, euro, test)
	got, _ := newFacilitatorItem(&f, now)
	series := got.Timeseries
	got.Timeseries = nil
	last7 := map[string]int64{} // settlements of the last 7 days, by token
	for i := range got.Chains {
		c := &got.Chains[i]
		if len(c.Days) != site.SeriesDays {
			t.Fatalf("%d days of %s, want %d", len(c.Days), c.TokenAddress, site.SeriesDays)
		}
		for _, p := range c.Days[site.SeriesDays-7:] {
			last7[c.TokenAddressNorm] += p.TxCount
		}
		c.Days = nil
	}
	if diff := cmp.Diff(map[string]int64{baseUSDC: 3, bnbUSDC: 1, testUSDC: 7, baseEURC: 5}, last7); diff != "" {
		t.Errorf("settlements of 7 days by token (-want +got):\n%s", diff)
	}
	first := site.NewTime(today.AddDate(0, 0, -1))
	last, before := site.NewTime(today.Add(time.Minute)), site.NewTime(today.AddDate(0, 0, -1).Add(time.Minute))
	d := func(s site.Decimal) *site.Decimal { return &s }
	want := site.FacilitatorListItem{
		FacilitatorID: "acme", Name: "Acme", WebsiteURL: "https://acme.test",
		VolumeUSD24h: "0.000021000000000001", VolumeUSD7d: "0.000078000000000001", VolumeUSD30d: "0.005678000000000001",
		VolumeUSDAll: "1000345678.000000000000000001",
		TxCount24h:   4, TxCount7d: 9, TxCount30d: 11, TxCountAll: 105, // all but the testnet's
		FirstActivityAt: &first, LastActivityAt: &last, SettlerCount: 2, Verification: site.VerificationOnChain,
		Chains: []site.FacilitatorChain{
			{
				Network: "BSE", NetworkCAIP2: base, TokenAddress: usdc, TokenAddressNorm: baseUSDC, AssetName: "USDC",
				VolumeUSD24h: d("0.000021"), VolumeUSD7d: d("0.000078"), VolumeUSD30d: d("0.005678"),
				VolumeUSDAll: d("1000345678"),
				TxCount24h:   3, TxCount7d: 3, TxCount30d: 5, TxCountAll: 99, LastActivityAt: &last,
				Verification: site.VerificationOnChain, FirstActivityAt: new(site.NewTime(today)),
			},
			{
				Network: "BNB", NetworkCAIP2: bnb, TokenAddress: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
				TokenAddressNorm: bnbUSDC, AssetName: "USDC",
				VolumeUSD24h: d("0.000000000000000001"), VolumeUSD7d: d("0.000000000000000001"),
				VolumeUSD30d: d("0.000000000000000001"), VolumeUSDAll: d("0.000000000000000001"),
				TxCount24h: 1, TxCount7d: 1, TxCount30d: 1, TxCountAll: 1, LastActivityAt: &before,
				Verification: site.VerificationOnChain, FirstActivityAt: &first,
			},
			{
				Network: "BST", NetworkCAIP2: sepolia, TokenAddress: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
				TokenAddressNorm: testUSDC, AssetName: "USDC",
				TxCount7d: 7, TxCount30d: 7, TxCountAll: 7, LastActivityAt: &before,
				Verification: site.VerificationOnChain, FirstActivityAt: &first,
			},
			{
				Network: "BSE", NetworkCAIP2: base, TokenAddress: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
				TokenAddressNorm: baseEURC, AssetName: "EURC",
				TxCount7d: 5, TxCount30d: 5, TxCountAll: 5, LastActivityAt: &before,
				Verification: site.VerificationOnChain, FirstActivityAt: &first,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facilitator (-want +got):\n%s", diff)
	}
	wantDays := map[string]site.VolumePoint{}
	for _, p := range []site.VolumePoint{
		{Date: "2026-08-23", VolumeUSD: "0.3", TxCount: 1}, {Date: "2026-10-21", VolumeUSD: "0.04", TxCount: 1},
		{Date: "2026-10-22", VolumeUSD: "0.005", TxCount: 1},
		{Date: "2026-11-13", VolumeUSD: "0.0006", TxCount: 1}, {Date: "2026-11-14", VolumeUSD: "0.00007", TxCount: 1},
		{Date: "2026-11-20", VolumeUSD: "0.000008000000000001", TxCount: 8},
	} {
		wantDays[p.Date] = p
	}
	if len(series) != 90 || series[0].Date != "2026-08-23" || series[89].Date != "2026-11-20" {
		t.Fatalf("series of %d days: %v", len(series), series)
	}
	for i, p := range series {
		want, ok := wantDays[p.Date]
		if !ok {
			want = site.VolumePoint{Date: p.Date, VolumeUSD: "0"}
		}
		if p != want || i > 0 && series[i-1].Date >= p.Date {
			t.Errorf("day %d: %+v, want %+v", i, p, want)
		}
	}
}

// TestVerification checks that settlements by settlers without proof of ownership count nowhere.
func TestVerification(t *testing.T) {
	t.Parallel()
	token := ledger.TokenFacts{Network: base, Token: baseUSDC,
		Days: []ledger.SettlementSum{settled(now.Truncate(24*time.Hour), 1, "1000000")},
		All:  settled(now.Truncate(24*time.Hour), 1, "1000000")}
	for _, c := range []struct {
		status            string
		trusted, settlers bool
		want              string
		volume            site.Decimal
	}{
		{"merged", false, true, site.VerificationOnChain, "1"},
		{"merged_after_snapshot", false, true, site.VerificationOnChain, "1"},
		{"merged", false, false, site.VerificationListed, "0"},
		{"pull_request", false, true, site.VerificationListed, "0"},
		{"pull_request", true, true, site.VerificationOnChain, "1"},
		{"ecosystem_page_only", true, false, site.VerificationListed, "0"},
		{"unmerged", false, true, site.VerificationListed, "0"},
	} {
		f := newFacilitatorFacts(c.status, token)
		f.Trusted = c.trusted
		if !c.settlers {
			f.Settlers = nil
		}
		got, _ := newFacilitatorItem(&f, now)
		if got.Verification != c.want || got.VolumeUSDAll != c.volume ||
			(got.LastActivityAt == nil) != (c.volume == "0") || got.Timeseries[89].VolumeUSD != c.volume {
			t.Errorf("%+v: %s, %s, last %v", c, got.Verification, got.VolumeUSDAll, got.LastActivityAt)
		}
		if got.Chains == nil {
			t.Errorf("%+v: chains are null", c)
		}
	}
}

// TestWindowsAreSums compares the windows of random settlements with sums of single settlements.
func TestWindowsAreSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := now.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "now"))).Truncate(time.Millisecond)
		networks := []struct {
			network, token string
			unit           *big.Int
		}{{base, baseUSDC, big.NewInt(1e6)}, {bnb, bnbUSDC, big.NewInt(1e18)}}
		type payment struct {
			at     time.Time
			amount *big.Int
		}
		var tokens []ledger.TokenFacts
		want := map[string]*big.Rat{}
		count := map[string]int64{}
		hour, today := at.Truncate(time.Hour), at.Truncate(24*time.Hour)
		for _, n := range networks {
			var all []payment
			for range rapid.IntRange(0, 30).Draw(t, "n") {
				p := payment{
					at.Add(-time.Duration(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "age"))).
						Truncate(time.Second),
					big.NewInt(rapid.Int64Range(0, 1<<62).Draw(t, "amount")),
				}
				if rapid.Bool().Draw(t, "recent") {
					p.at = at.Add(-time.Duration(rapid.Int64Range(0, int64(26*time.Hour)).Draw(t, "recent age"))).
						Truncate(time.Second)
				}
				all = append(all, p)
				usd := new(big.Rat).SetFrac(p.amount, n.unit)
				tell := func(window string) {
					if want[window] == nil {
						want[window] = new(big.Rat)
					}
					want[window].Add(want[window], usd)
					count[window]++
				}
				tell("all")
				if !p.at.Before(hour.Add(-24 * time.Hour)) {
					tell("24h")
				}
				if !p.at.Before(today.AddDate(0, 0, -6)) {
					tell("7d")
				}
				if !p.at.Before(today.AddDate(0, 0, -29)) {
					tell("30d")
				}
				if !p.at.Before(today.AddDate(0, 0, -89)) {
					tell(p.at.Format(time.DateOnly))
				}
			}
			rolled := func(period time.Duration) (sums []ledger.SettlementSum) {
				by := map[time.Time][]payment{}
				for _, p := range all {
					by[p.at.Truncate(period)] = append(by[p.at.Truncate(period)], p)
				}
				for start, list := range by {
					sum := ledger.SettlementSum{Start: start, Settlements: int64(len(list))}
					total := new(big.Int)
					for _, p := range list {
						total.Add(total, p.amount)
						if p.at.After(sum.LastAt) {
							sum.LastAt = p.at
						}
					}
					sum.Amount = total.String()
					sums = append(sums, sum)
				}
				slices.SortFunc(sums, func(a, b ledger.SettlementSum) int { return a.Start.Compare(b.Start) })
				return sums
			}
			token := ledger.TokenFacts{Network: n.network, Token: n.token, Hours: rolled(time.Hour),
				Days: rolled(24 * time.Hour)}
			if whole := rolled(100 * 365 * 24 * time.Hour); len(whole) > 0 {
				token.All = whole[0]
			}
			tokens = append(tokens, token)
		}
		f := newFacilitatorFacts("merged", tokens...)
		got, _ := newFacilitatorItem(&f, at)
		lines := map[string]string{
			"24h": fmt.Sprint(got.VolumeUSD24h, " ", got.TxCount24h),
			"7d":  fmt.Sprint(got.VolumeUSD7d, " ", got.TxCount7d),
			"30d": fmt.Sprint(got.VolumeUSD30d, " ", got.TxCount30d),
			"all": fmt.Sprint(got.VolumeUSDAll, " ", got.TxCountAll),
		}
		for _, p := range got.Timeseries {
			if p.TxCount > 0 {
				lines[p.Date] = fmt.Sprint(p.VolumeUSD, " ", p.TxCount)
			}
		}
		wanted := map[string]string{"24h": "0 0", "7d": "0 0", "30d": "0 0", "all": "0 0"}
		for window, usd := range want {
			exact, err := site.ParseDecimal(usd.FloatString(18))
			if err != nil {
				t.Fatal(err)
			}
			wanted[window] = fmt.Sprint(exact, " ", count[window])
		}
		if diff := cmp.Diff(wanted, lines); diff != "" {
			t.Fatalf("windows at %v (-want +got):\n%s", at, diff)
		}
	})
}

// TestUnitsPerUSD checks which tokens are worth a dollar: those that the operator configures, and otherwise USDC that
// can be redeemed.
func TestUnitsPerUSD(t *testing.T) {
	t.Parallel()
	const sepoliaUSDC = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
	own := func(decimals int, usd bool) *ledger.Token {
		return &ledger.Token{Symbol: "OWN", Decimals: decimals, USD: usd}
	}
	for _, c := range []struct {
		name, network, token string
		configured           *ledger.Token
		unit, asset          string // unit is "" of no value
	}{
		{"USDC", "eip155:8453", baseUSDC, nil, "1000000", "USDC"},
		{"USDC of 18 decimals", "eip155:56", "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", nil, "1000000000000000000",
			"USDC"},
		{"USDC of a testnet", "eip155:84532", sepoliaUSDC, nil, "", "USDC"},
		{"the same, if the operator says so", "eip155:84532", sepoliaUSDC, own(6, true), "1000000", "USDC"},
		{"USDC that the operator does not count", "eip155:8453", baseUSDC, own(6, false), "", "USDC"},
		{"an unknown token", "eip155:8453", "0x01", nil, "", "UNKNOWN"},
		{"a token of the operator", "eip155:8453", "0x01", own(2, true), "100", "OWN"},
		{"one without value", "eip155:31337", "0x01", own(2, false), "", "OWN"},
		{"one without decimals", "eip155:31337", "0x01", own(0, true), "1", "OWN"},
	} {
		unit, valued := unitsPerUSD(c.network, c.token, c.configured)
		if valued != (c.unit != "") || valued && unit.String() != c.unit {
			t.Errorf("%s: a dollar is %v, %v; want %q", c.name, unit, valued, c.unit)
		}
		if _, asset := lookupAsset(c.network, c.token, c.configured); asset != c.asset {
			t.Errorf("%s is called %s, want %s", c.name, asset, c.asset)
		}
	}
}

// TestFacilitatorDays checks that the series of all time contains days before the last 90, by network and together, and
// no day of a test network.
func TestFacilitatorDays(t *testing.T) {
	t.Parallel()
	today := now.Truncate(24 * time.Hour)
	old := today.AddDate(0, 0, -200)
	f := newFacilitatorFacts("merged",
		ledger.TokenFacts{Network: base, Token: baseUSDC, Older: []ledger.SettlementSum{settled(old, 2, "3000000")},
			Days: []ledger.SettlementSum{settled(today, 1, "1000000")}, All: settled(old, 3, "4000000")},
		ledger.TokenFacts{Network: bnb, Token: bnbUSDC, Days: []ledger.SettlementSum{settled(today, 1, "1")},
			All: settled(today, 1, "1")},
		ledger.TokenFacts{Network: sepolia, Token: testUSDC, Days: []ledger.SettlementSum{settled(today, 7, "7")},
			All: settled(today, 7, "7")})
	d := newFacilitator(&f, now)
	point := func(day time.Time, network, short string, usd site.Decimal, n int64) site.FacilitatorPoint {
		p := site.FacilitatorPoint{Date: day.Format(time.DateOnly), VolumeUSD: usd, TxCount: n}
		if network != "" {
			p.Network, p.NetworkCAIP2 = &short, &network
		}
		return p
	}
	const both = "1.000000000000000001"
	want := [][]site.FacilitatorPoint{
		{point(old, "", "", "3", 2), point(today, "", "", both, 2)},
		{point(old, base, "BSE", "3", 2), point(today, bnb, "BNB", "0.000000000000000001", 1),
			point(today, base, "BSE", "1", 1)},
		{point(today, "", "", both, 2)},
	}
	got := [][]site.FacilitatorPoint{d.SeriesOf(site.TimeframeAll, site.SeriesTotal),
		d.SeriesOf(site.TimeframeAll, site.SeriesChain), d.Series}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestSettlerLastSeen checks that only accounts of measured facilitators say when they settled last, each on its own
// network.
func TestSettlerLastSeen(t *testing.T) {
	t.Parallel()
	at := now.Add(-time.Hour)
	for status, want := range map[string]map[string]site.Time{
		"merged": {base + " 0xa1": site.NewTime(at)}, "proposed": {},
	} {
		f := newFacilitatorFacts(status)
		f.LastAt = map[[2]string]time.Time{{base, "0xa1"}: at, {sepolia, "0xa1"}: now}
		got := map[string]site.Time{}
		for _, s := range newFacilitator(&f, now).Settlers {
			if s.LastSeenAt != nil {
				got[s.NetworkCAIP2+" "+s.Address] = *s.LastSeenAt
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}
