package render_test

import (
	"fmt"
	"time"

	"tollbook/site"
)

// volumes returns n days of volume that end today; some days have none.
func volumes(n int) []site.VolumePoint {
	var points []site.VolumePoint
	for i := n - 1; i >= 0; i-- {
		if i%9 == 4 {
			continue
		}
		points = append(points, site.VolumePoint{
			Date:      now.AddDate(0, 0, -i).Format(time.DateOnly),
			VolumeUSD: site.Decimal(fmt.Sprintf("%d.%06d", 1+i*i%37, 123456)), TxCount: int64(1 + i%5),
		})
	}
	return points
}

// facilitators returns one that settles, one with a hostile name and a large volume, and one of which nothing is known.
func facilitators() []site.FacilitatorDetail {
	chain := site.FacilitatorChain{Network: "BSE", NetworkCAIP2: base, TokenAddress: usdc, TokenAddressNorm: usdc,
		AssetName:    "USDC",
		VolumeUSD24h: ptr(site.Decimal("12.5")), VolumeUSD7d: ptr(site.Decimal("99")),
		VolumeUSD30d: ptr(site.Decimal("1234567.891011")), VolumeUSDAll: ptr(site.Decimal("9876543.21")),
		TxCount24h: 7, TxCount7d: 60, TxCount30d: 812345, TxCountAll: 9000000, LastActivityAt: ptr(ago(time.Minute)),
		Verification: site.VerificationOnChain}
	unknown := chain
	unknown.AssetName, unknown.TokenAddress = "EURC", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	unknown.VolumeUSD24h, unknown.VolumeUSD7d, unknown.VolumeUSD30d, unknown.VolumeUSDAll = nil, nil, nil, nil
	acme := site.FacilitatorDetail{
		FacilitatorListItem: site.FacilitatorListItem{
			FacilitatorID: "acme-pay", Name: "Acme Pay", WebsiteURL: "https://pay.acme.test", VolumeUSD24h: "12.5",
			VolumeUSD7d: "99", VolumeUSD30d: "1234567.891011", VolumeUSDAll: "9876543.21",
			TxCount24h: 7, TxCount7d: 60, TxCount30d: 812345, TxCountAll: 9000000,
			FirstActivityAt: ptr(ago(200 * dayTime)), LastActivityAt: ptr(ago(time.Minute)), SettlerCount: 2,
			Verification: site.VerificationOnChain,
			Timeseries:   volumes(90), Chains: []site.FacilitatorChain{chain, unknown},
		},
		Settlers: []site.FacilitatorSettler{
			{Kind: site.SettlerAccount, Network: "BSE", NetworkCAIP2: base, Address: payTo, Tokens: []string{usdc},
				Since: ptr(ago(200 * dayTime))},
			{Kind: site.SettlerAccount, Network: "SOL", NetworkCAIP2: solana, Deprecated: true,
				Address: "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5"},
		},
		Buyers: site.BuyersByChain{ByChain: []site.FacilitatorBuyers{{Network: "BSE", NetworkCAIP2: base,
			TokenAddress: usdc, AssetName: "USDC", UniqueBuyers7d: ptr(int64(3)), UniqueBuyers30d: ptr(int64(41)),
			UniqueBuyersAll: ptr(int64(90))}},
			TotalUpperBound30d: ptr(int64(41))},
		AvgSettlementUSD30d: ptr(site.Decimal("1.519758")), Trend7dVsPrev7d: ptr(1.25),
		ServiceCount: 2, Services: []site.FacilitatorService{{Slug: "acme", Name: "Acme Quotes", VolumeUSD30d: "1234.5",
			TxCount30d: 6000}},
	}
	loud := acme
	loud.FacilitatorID, loud.Name, loud.WebsiteURL = "loud.rs", hostile, "javascript:alert(1)"
	loud.VolumeUSD30d, loud.VolumeUSDAll = "123456789012.345678", "0.000001"
	listed := site.FacilitatorDetail{FacilitatorListItem: site.FacilitatorListItem{FacilitatorID: "quiet",
		Name: "Quiet", WebsiteURL: "https://quiet.test", VolumeUSD24h: "0", VolumeUSD7d: "0", VolumeUSD30d: "0",
		VolumeUSDAll: "0", Verification: site.VerificationListed}}
	return []site.FacilitatorDetail{acme, loud, listed}
}

// coverage returns a report with a value in every field.
func coverage() site.CoverageReport {
	return site.CoverageReport{
		AsOf: site.NewTime(now),
		Networks: []site.NetworkCoverage{
			{Network: "BSE", NetworkCAIP2: base, Name: "Base", IsMainnet: ptr(true), ServiceCount: 41, Measured: true,
				MeasuredSince: ptr(ago(85 * dayTime)), Timeseries: volumes(85),
				Cursor: &site.ChainCursor{Block: ptr(int64(23456789)), Time: ptr(ago(time.Minute)),
					AgeSeconds: ptr(int64(60))}, HeadBlock: ptr(int64(23456799)), HeadPolledAt: ptr(ago(time.Second)),
				ComparedNodes: ptr(1),
				Filling:       ptr(int64(0)),
				Tokens: []site.TokenCoverage{{TokenAddress: usdc, AssetName: "USDC", Authorizations30d: 1234567,
					Attributed30d: 1111111, Unattributed30d: 123456, UnattributedShare: ptr(.1)}}},
			{Network: "SOL", NetworkCAIP2: solana, Name: "Solana", IsMainnet: ptr(true), ServiceCount: 12,
				Cursor: &site.ChainCursor{}, Filling: ptr(int64(4))},
			{Network: "eip155:99999", NetworkCAIP2: "eip155:99999", Name: "eip155:99999", ServiceCount: 1},
			{Network: "eip155:84532", NetworkCAIP2: "eip155:84532", Name: "Base Sepolia", IsMainnet: ptr(false),
				ServiceCount: 1},
		},
		CandidateSettlers: []site.CandidateSettler{{Network: "BSE", NetworkCAIP2: base, Address: payTo,
			TokenAddress: ptr(usdc), AssetName: ptr("USDC"), PaymentCount: ptr(int64(1234)),
			VolumeUSD: ptr(site.Decimal("12.34")), RecipientCount: ptr(int64(7)), FirstDay: ptr("2026-11-01"),
			LastDay: ptr("2026-11-20"), Evidence: site.EvidencePayments}},
		Volume30d: site.VolumeQuality{Raw: site.VolumeSum{VolumeUSD: "1234567.891011", TxCount: 812345},
			SelfPayment: site.VolumeSum{VolumeUSD: "1000", TxCount: 10},
			SinglePayer: site.VolumeSum{VolumeUSD: "234567.891011", TxCount: 12345},
			Without:     site.VolumeSum{VolumeUSD: "999000", TxCount: 799990}, Rule: "How."},
		Operators: site.OperatorReport{ServiceCount: 53, OperatorCount: 51, Rule: "Why.",
			Groups: []site.OperatorGroup{{ServiceCount: 3,
				Services: []site.SharedWithItem{{Name: "Acme Quotes", Slug: "acme"}, {Name: hostile, Slug: "nasty"},
					{Name: "Quote Ledger", Slug: "plain-00"}},
				Recipients: []site.SharedRecipient{{NetworkCAIP2: base, PayTo: payTo, ServiceCount: 3}}}},
			LinkCount: 2, Links: []site.OperatorLink{
				{By: site.LinkedByRecipient, Value: payTo, Networks: ptr("eip155:*"), ServiceCount: 3},
				{By: site.LinkedByDomain, Value: "acme.com", ServiceCount: 2, Services: []site.SharedWithItem{
					{Name: "Acme Quotes", Slug: "acme"}, {Name: hostile, Slug: "nasty"}}}}},
		Voids: []site.Void{{From: ago(30 * time.Hour), To: ago(26 * time.Hour), VoidedAt: ago(time.Hour),
			Reason: "Our line was down: " + hostile, CheckCount: 4103, ServiceCount: 41}},
	}
}
