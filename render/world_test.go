package render_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tollbook/site"
)

// now is the time of the snapshots of these tests.
var now = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func ago(d time.Duration) site.Time { return site.NewTime(now.Add(-d)) }

const (
	base    = "eip155:8453"
	solana  = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	usdc    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	payTo   = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	dayTime = 24 * time.Hour
)

// hostile is text that a stranger may write in any field.
var hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'` + strings.Repeat("W", 500) +
	"\u202eevil\u2066 \u05e9\u05dc\u05d5\u05dd 👩🏽‍💻\u0000\u0007 a\u0301\u0301\u0301\u0301\u0301\u0301"

// world returns a small directory: a service with all facts, a hostile one, one without checks, and ordinary ones.
func world() *site.Snapshot {
	s := &site.Snapshot{Now: site.NewTime(now), Next: site.NewTime(now.Add(5 * time.Minute))}
	s.Networks = []site.Network{
		{ID: base, CAIP2: base, CAIP2ID: base, Name: "Base", Abbreviation: "BSE", ChainType: "evm", IsMainnet: true,
			ServiceCount: 41},
		{ID: solana, CAIP2: solana, CAIP2ID: solana, Name: "Solana", Abbreviation: "SOL", ChainType: "solana",
			IsMainnet: true, ServiceCount: 12},
		{ID: "eip155:137", CAIP2: "eip155:137", CAIP2ID: "eip155:137", Name: "Polygon", Abbreviation: "POL",
			ChainType: "evm", IsMainnet: true, ServiceCount: 3},
	}
	s.Tags = []site.Tag{{Tag: "Data", ServiceCount: 21, Prices: &site.CategoryPrices{ServiceCount: 9, MedianUSD: "0.01",
		Classes: []site.PriceClass{{BelowUSD: new(site.Decimal("0.0001")), ServiceCount: 4},
			{FromUSD: new(site.Decimal("0.0001")), ServiceCount: 5}}}}, {Tag: "AI", ServiceCount: 14},
		{Tag: "Finance", ServiceCount: 6}, {Tag: "Other", ServiceCount: 1}}
	s.Services = []site.Listing{acme(), unchecked(), nasty()}
	names := []string{"Quote Ledger", "Weather at a Point", "Chain Trace", "Paper Search", "Sentiment Desk",
		"Route Planner", "OCR by the Page", "Company Register"}
	states := []string{"online", "online", "online", "degraded", "online", "offline", "online", "online"}
	for i := range 50 {
		s.Services = append(s.Services, plain(fmt.Sprintf("plain-%02d", i), names[i%len(names)], states[i%len(states)],
			i))
	}
	for i := range s.Services {
		d := &s.Services[i].Detail
		s.Status.Total++
		switch d.Status {
		case site.StatusOnline:
			s.Status.Online++
		case site.StatusDegraded:
			s.Status.Degraded++
		case site.StatusOffline:
			s.Status.Offline++
		default:
			s.Status.Unknown++
		}
		s.Status.Services = append(s.Status.Services, site.StatusService{Slug: d.Slug, Name: d.Name, Status: d.Status,
			LastCheckedAt: d.LastCheckedAt, ConsecutiveFailures: d.ConsecutiveFailures, Uptime24h: d.Uptime24h,
			AvgResponseTimeMS: d.AvgResponseTimeMS})
		for _, c := range s.Services[i].Checks.Newest[:min(1, len(s.Services[i].Checks.Newest))] {
			s.Checks.Newest = append(s.Checks.Newest, site.GlobalCheckEntry{ID: c.ID, CheckedAt: c.CheckedAt,
				IsUp: c.IsUp, StatusCode: c.StatusCode,
				ResponseTimeMS: c.ResponseTimeMS, ServiceSlug: d.Slug, ServiceName: d.Name, ServiceStatus: d.Status})
		}
	}
	s.Facilitators, s.Coverage = facilitators(), coverage()
	s.Stats = site.AggregateStats{TotalServices: len(s.Services), TotalEndpoints: 1234, TotalNetworks: 3,
		AvgUptime24h: ptr(98.7), ChecksPerHour: 214.4,
		Pricing: site.StatsPricing{MedianPriceUSD: ptr(site.Decimal("0.01"))}}
	return s
}

// acme returns a service with all facts.
func acme() site.Listing {
	d := site.ServiceDetail{
		Slug: "acme", Name: "Acme Quotes",
		Description: "Prices of stocks, currencies and metals, by the quote, with a minute's delay.",
		BaseURL:     "https://api.acme.test", WebsiteURL: ptr("https://acme.test/about"), Category: "Finance",
		Source: "submitted",
		Status: site.StatusOnline, Verified: true, PaymentReady: true, LastCheckedAt: ptr(ago(4 * time.Minute)),
		LastSuccessAt: ptr(ago(4 * time.Minute)),
		CreatedAt:     ago(200 * dayTime), CheckIntervalMinutes: 15, EndpointCount: 3,
		MinPriceUSD: ptr(site.Decimal("0.0025")),
		Uptime24h:   ptr(100.0), AvgResponseTimeMS: ptr(703), TotalChecks: 8121, Networks: []string{"BSE", "SOL"},
		Asset: ptr("USDC"),
		Uptime: site.UptimeWindows{H24: ptr(100.0), D7: ptr(99.95), D30: ptr(99.4), D90: nil, Coverage: site.Coverage{
			H24: site.CoverageWindow{DaysCovered: 2, CheckCount: 96},
			D7:  site.CoverageWindow{DaysCovered: 7, CheckCount: 672},
			D30: site.CoverageWindow{DaysCovered: 29, CheckCount: 2711}}},
		Endpoints: []site.Endpoint{
			{ID: "1", Method: "GET", Path: "/quote", Description: ptr("A quote for one symbol."),
				MimeType: ptr("application/json"), IsActive: true,
				FirstSeenAt: ago(200 * dayTime), LastSeenAt: ago(4 * time.Minute),
				MinPriceUSD: ptr(site.Decimal("0.0025")), Networks: []string{"BSE", "SOL"},
				Pricing: []site.PricingEntry{
					{Scheme: "exact", Network: base, NetworkCAIP2: ptr(base), AssetAddress: usdc, AssetName: "USDC",
						Price: "2500", PriceUSD: ptr("0.0025"), PayTo: payTo},
					{Scheme: "exact", Network: solana, NetworkCAIP2: ptr(solana),
						AssetAddress: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", AssetName: "USDC", Price: "2500",
						PriceUSD: ptr("0.0025"), PayTo: "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5"},
				}},
			{ID: "2", Method: "POST", Path: "/history/{symbol}", IsActive: true, FirstSeenAt: ago(40 * dayTime),
				LastSeenAt:     ago(4 * time.Minute),
				VariableAmount: true, MinPriceUSD: ptr(site.Decimal("1000000")), Networks: []string{"BSE"},
				Pricing: []site.PricingEntry{
					{Scheme: "upto", Network: base, NetworkCAIP2: ptr(base), AssetAddress: usdc, AssetName: "USDC",
						Price: "1000000000000", PriceUSD: ptr("1000000"), PayTo: payTo},
					{Scheme: "exact", Network: "xrpl:0", NetworkCAIP2: nil, AssetAddress: "XRP", AssetName: "UNKNOWN",
						Price: "15000", PriceUSD: nil, PayTo: "rDsbeomae4FXwgQTJp9Rs64Qg9vDiTCdBv"},
				}},
			{ID: "3", Method: "GET", Path: "/ping", IsActive: true, FirstSeenAt: ago(dayTime),
				LastSeenAt: ago(dayTime)},
		},
		PayToChanges: []site.PayToChange{{NetworkCAIP2: base, Endpoint: "GET /quote",
			OldPayTo: ptr("0x1111111111111111111111111111111111111111"), NewPayTo: ptr(payTo),
			ObservedAt: ago(60 * dayTime)}},
		Provenance: site.Provenance{License: "CC-BY-4.0", AttributionRequired: true,
			Attribution: "Tollbook, https://tollbook.example",
			CiteAs:      "https://tollbook.example/services/acme", Source: "submitted"},
	}
	d.Assessment.Reliability = site.Reliability{ResponseP95MS: ptr(1370), AvgResponseMS: ptr(703)}
	d.Assessment.Compliance = site.Compliance{Grade: "A", Passed: 13, Total: 14, GradeReason: "A: 13 of 14 checks pass",
		Staleness: site.Staleness{EnvelopeCapturedAt: ptr(ago(4 * time.Minute))},
		Checks: []site.ComplianceCheck{{ID: "payload_captured", Label: "The answer holds a payment envelope",
			Pass: true},
			{ID: "price_sane", Label: "Prices are plausible", Pass: false},
			{ID: "transport_https", Label: "It is reached over HTTPS", Pass: true}}}
	d.Assessment.Risk = site.Risk{Level: site.RiskWarning, Flags: []site.RiskFlag{
		{Level: site.RiskWarning, Code: "pay_to_changed", Title: "Recipient changed",
			Evidence: "the recipient on Base moved 60 days ago"},
		{Level: site.RiskWarning, Code: "plain_http", Title: "Not encrypted",
			Evidence: "an endpoint answers over http"}}}
	d.Assessment.Advice = site.Advice{Level: site.AdviceCaution, Reasons: []site.AdviceReason{
		{Code: "pay_to_changed", Text: "Recipient changed"}, {Code: "plain_http", Text: "Not encrypted"}}}
	d.Assessment.Traction = site.Traction{
		Status: site.TractionMeasured, VolumeUSD30d: ptr(site.Decimal("1234.567891")), TxCount30d: ptr(int64(6012)),
		UniqueBuyers30d: ptr(int64(41)), OrganicVolumeUSD30d: ptr(site.Decimal("1200.5")),
		OrganicTxCount30d: ptr(int64(5800)), OrganicBuyers30d: ptr(int64(38)), ReturningBuyers30d: ptr(int64(21)),
		OneTimeBuyers30d: ptr(int64(17)), ScoutBuyers30d: ptr(int64(2)), SelfBuyers30d: ptr(int64(1)),
		LastSettlementAt: ptr(ago(time.Minute)), FirstSettlementAt: ptr(ago(80 * dayTime)), TopBuyerShare30d: ptr(.5),
		Top3BuyersShare30d: ptr(.9321), ConcentratedVolume: true,
		Trend7dVs30d: ptr(1.2345), SharedPayout: true, SharedWith: 1, MeasuredNetworks: []string{base},
		VolumeUSDAllTime: ptr(site.Decimal("1500")), TxCountAllTime: ptr(int64(7000)),
		MedianSettlement30d: ptr(site.Decimal("0.0025")), MaxSettlement30d: ptr(site.Decimal("12")),
		SettledVia: []string{"acme-pay", "gone"},
		SettledViaDetail: []site.SettledVia{{ID: "acme-pay", VolumeUSD30d: "1234.5", TxCount30d: 6000},
			{ID: "gone", VolumeUSD30d: "0.067891", TxCount30d: 12}},
		SharedWithServices: []site.SharedWithItem{{Name: "Quote Ledger", Slug: "plain-00"}}, ProQuotaShare: .5,
		Caveat: "A floor.", AllTimeCaveat: "Since then.",
	}
	l := site.Listing{Item: itemOf(&d), ListingDetail: &site.ListingDetail{Detail: d,
		ServiceFiles: &site.ServiceFiles{Uptime: history(3), Volume: volumes(80), Prices: prices(), Scores: scores()}}}
	l.Terms = []site.Terms{{Payable: true}, {Payable: true}, {Payable: true}}
	l.Evidence = site.Evidence{
		Checks: []site.EvidenceCheck{{ID: "payload_captured", Pass: true},
			{ID: "price_sane", Reason: ptr("GET /quote, row 1: amount \"0.01\" is no whole number"),
				Expected: ptr("Digits."), Mend: ptr("Write digits.")}},
		Warnings: []site.EvidenceWarning{{Code: "testnet_only", Meaning: "Every row asks for test money."},
			{Code: "checksum_bad", Meaning: "An address has a bad checksum.", Endpoint: ptr("GET /quote"), Row: ptr(0),
				Detail: ptr("payTo 0x1")}},
		Endpoints: []site.EndpointEvidence{{Method: "GET", Path: "/quote"},
			{Method: "POST", Path: "/of/{symbol}", Unprobeable: true,
				Inconclusive: &site.EvidenceSilence{Class: "needs_input",
					Reason: "the address has a placeholder, {symbol}"}}},
		SiteAnswers: []site.EvidenceSiteAnswer{
			{Document: "terms", URL: "https://api.acme.example/terms", Reason: "not found"},
			{Document: "openapi", URL: "https://api.acme.example/openapi.json", Declared: ptr(3),
				Skipped: []site.EvidenceSkipped{{Reason: "free", Meaning: "free, or without a word of payment", Count: 1204},
					{Reason: "elsewhere", Meaning: "on another host", Count: 1}}},
			{Document: "manifest", URL: "https://api.acme.example/.well-known/x402",
				Problem: ptr("larger than 8 MiB; nothing of it is read")}},
	}
	l.Changes = []site.ChangeRecord{
		record(&d, site.PriceChanged, 3*time.Hour, site.PriceSummary{PriceChanges: []site.PriceChange{
			{Network: base, Endpoint: "GET /quote", OldPrice: "2000", NewPrice: "2500", AssetName: "USDC"},
			{Network: "xrpl:0", Endpoint: "POST /history/{symbol}", OldPrice: "20000", NewPrice: "15000",
				AssetName: "UNKNOWN"}}}),
		record(&d, site.PayToChanged, 60*dayTime, site.PayToSummary{PayToAdded: []string{"0x2096…287C"},
			PayToRemoved: []string{"0x1111…1111"}, PayToChanges: []site.RecipientChange{{Network: base,
				Endpoint: "GET /quote", OldPayTo: ptr("0x1111111111111111111111111111111111111111"),
				NewPayTo: ptr(payTo)}}}),
		record(&d, site.SchemaChanged, 61*dayTime, site.SchemaSummary{
			SchemaAdded: []string{"POST /history/{symbol} upto eip155:8453 " + usdc +
				` USDC 2  60 {"name":"USD Coin"}`},
			EndpointsAdded: []string{"POST /history/{symbol}"}, EndpointsRemoved: []string{"GET /old"}}),
	}
	for i := range 20 {
		c := site.CheckEntry{ID: fmt.Sprint(i), CheckedAt: ago(time.Duration(4+15*i) * time.Minute), IsUp: i != 7,
			StatusCode: ptr(402), ResponseTimeMS: ptr(650 + 13*i), EndpointsFound: 3, Counted: i != 8}
		if i == 7 {
			c.StatusCode, c.ResponseTimeMS, c.EndpointsFound, c.ErrorMessage = nil, nil, 0,
				ptr("connection refused by api.acme.test:443")
		}
		l.Checks.Newest = append(l.Checks.Newest, c)
	}
	l.Checks.Index = site.LogIndex{First: 5300, Next: 8121}
	l.Trend = site.TrendOf(&d.Assessment.Traction)
	return l
}

// history returns 90 days with a gap of three days, a bad day, and two partial ones.
func history(seed int) []site.UptimeDataPoint {
	today := now.Truncate(dayTime)
	var points []site.UptimeDataPoint
	for i := 89; i >= 0; i-- {
		if i >= 40 && i < 43 {
			continue
		}
		ok := int64(96)
		switch (i + seed) % 31 {
		case 5:
			ok = 95
		case 11:
			ok = 60
		}
		start := today.Add(-time.Duration(i) * dayTime)
		points = append(points, site.UptimeDataPoint{PeriodStart: site.NewTime(start),
			PeriodEnd:        site.NewTime(start.Add(dayTime)),
			UptimePercentage: site.Round2(float64(ok) / 96 * 100), AvgResponseTimeMS: ptr(500 + (i*37+seed*11)%400),
			TotalChecks: 96, SuccessfulChecks: ok, KnownMS: 96 * 900_000, UpMS: ok * 900_000})
	}
	return points
}

// unchecked returns a service that was listed a moment ago.
func unchecked() site.Listing {
	d := site.ServiceDetail{Slug: "fresh", Name: "Fresh Listing", BaseURL: "https://fresh.test", Category: "Other",
		Status:    site.StatusUnknown,
		CreatedAt: ago(time.Minute), CheckIntervalMinutes: 15, Source: "submitted"}
	d.Assessment.Compliance = site.Compliance{Grade: "unknown", Total: 14}
	return site.Listing{Item: itemOf(&d), ListingDetail: &site.ListingDetail{Detail: d,
		ServiceFiles: &site.ServiceFiles{}}}
}

// nasty returns a service with hostile text in every field.
func nasty() site.Listing {
	d := site.ServiceDetail{
		Slug: "nasty", Name: hostile, Description: hostile, BaseURL: "javascript:alert(1)",
		WebsiteURL: ptr("javascript:alert(document.domain)"),
		Category:   "Data", Status: site.StatusDegraded, CreatedAt: ago(time.Hour),
		LastCheckedAt: ptr(ago(time.Minute)), MinPriceUSD: ptr(site.Decimal("0.0000001")),
		Networks: []string{"BSE"}, Asset: ptr(hostile), EndpointCount: 1, ConsecutiveFailures: 1,
		Endpoints: []site.Endpoint{{ID: "1", Method: hostile, Path: hostile, Description: &hostile, MimeType: &hostile,
			MinPriceUSD: ptr(site.Decimal("0.0000001")),
			Pricing: []site.PricingEntry{{Scheme: hostile, Network: hostile, AssetAddress: hostile,
				AssetName: hostile, Price: hostile, PriceUSD: &hostile, PayTo: hostile}}}},
		PayToChanges: []site.PayToChange{{NetworkCAIP2: hostile, Endpoint: hostile, OldPayTo: &hostile,
			NewPayTo: &hostile, ObservedAt: ago(time.Hour)}},
		Provenance: site.Provenance{License: "CC-BY-4.0", CiteAs: "javascript:alert(1)", Source: hostile,
			Attribution: hostile},
	}
	d.Assessment.Risk = site.Risk{Level: site.RiskDanger,
		Flags: []site.RiskFlag{{Level: "danger", Code: "price_outlier", Title: hostile, Evidence: hostile}}}
	d.Assessment.Compliance = site.Compliance{Grade: "F", GradeReason: "F: " + hostile, Total: 14,
		Checks: []site.ComplianceCheck{{ID: "price_sane", Label: hostile}}}
	l := site.Listing{Item: itemOf(&d), ListingDetail: &site.ListingDetail{Detail: d,
		ServiceFiles: &site.ServiceFiles{}}}
	l.Evidence = site.Evidence{
		Checks:   []site.EvidenceCheck{{ID: "price_sane", Reason: &hostile, Mend: &hostile}},
		Warnings: []site.EvidenceWarning{{Code: hostile, Meaning: hostile, Endpoint: &hostile, Detail: &hostile}},
		Endpoints: []site.EndpointEvidence{{Method: hostile, Path: hostile, Unprobeable: true,
			Inconclusive: &site.EvidenceSilence{Class: "needs_input", Reason: hostile}}},
		SiteAnswers: []site.EvidenceSiteAnswer{{Document: hostile, URL: hostile, Problem: &hostile}},
	}
	l.Changes = []site.ChangeRecord{
		record(&d, site.PriceChanged, time.Hour,
			site.PriceSummary{PriceChanges: []site.PriceChange{{Network: hostile, Endpoint: hostile, OldPrice: hostile,
				NewPrice: hostile, AssetName: hostile}}}),
		record(&d, site.SchemaChanged, 2*time.Hour, site.SchemaSummary{SchemaAdded: []string{hostile},
			EndpointsRemoved: []string{hostile}}),
		{Slug: "nasty", Name: hostile, Type: hostile, ObservedAt: ago(3 * time.Hour), Summary: json.RawMessage(`[`)},
	}
	l.Checks.Newest = []site.CheckEntry{{ID: "1", CheckedAt: ago(time.Minute), ErrorMessage: &hostile}}
	return l
}

func plain(slug, name, status string, i int) site.Listing {
	prices := []site.Decimal{"0.01", "0.001", "0.25", "1.5", "0.0000001", "12000"}
	d := site.ServiceDetail{Slug: slug, Name: name,
		Description: "What a request to this service gives, said in a sentence that is long enough to fill a line " +
			"or two of the list.",
		BaseURL: "https://" + slug + ".sample.test", Category: site.Categories[i%len(site.Categories)],
		Status: status, CreatedAt: ago(time.Duration(i+2) * dayTime),
		LastCheckedAt: ptr(ago(time.Duration(i) * time.Minute)), EndpointCount: 1 + i%4,
		MinPriceUSD: ptr(prices[i%len(prices)]), Uptime24h: ptr(99.95 - float64(i%7)),
		AvgResponseTimeMS: ptr(120 + 91*i), Networks: []string{"BSE", "SOL", "POL"}[:1+i%3], CheckIntervalMinutes: 15}
	if status == site.StatusOffline {
		d.Uptime24h, d.AvgResponseTimeMS, d.ConsecutiveFailures = ptr(0.0), nil, 96
	}
	l := site.Listing{Item: itemOf(&d), Uptime30d: d.Uptime24h, ListingDetail: &site.ListingDetail{Detail: d,
		ServiceFiles: &site.ServiceFiles{Uptime: history(i)}}}
	l.Checks.Newest = []site.CheckEntry{{ID: slug, CheckedAt: ago(time.Duration(i) * time.Minute),
		IsUp: status != site.StatusOffline, StatusCode: ptr(402), ResponseTimeMS: d.AvgResponseTimeMS}}
	return l
}

func itemOf(d *site.ServiceDetail) site.ServiceListItem {
	return site.ServiceListItem{Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL,
		WebsiteURL: d.WebsiteURL, Category: d.Category,
		Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount, MinPriceUSD: d.MinPriceUSD,
		Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS, LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		NetworksCAIP2: d.NetworksCAIP2, PaymentReady: d.PaymentReady, Source: d.Source,
		RiskLevel: d.Assessment.Risk.Level, RiskReason: riskReason(d),
		AdviceLevel: cmp.Or(d.Assessment.Advice.Level, site.AdviceUnknown), AdviceReason: riskReason(d)}
}

// riskReason returns the title of the first flag, nil without flags.
func riskReason(d *site.ServiceDetail) *string {
	if len(d.Assessment.Risk.Flags) == 0 {
		return nil
	}
	return &d.Assessment.Risk.Flags[0].Title
}

func record(d *site.ServiceDetail, kind string, before time.Duration, summary any) site.ChangeRecord {
	b, err := json.Marshal(summary)
	if err != nil {
		panic(err)
	}
	return site.ChangeRecord{Slug: d.Slug, Name: d.Name, Type: kind, ObservedAt: ago(before), Summary: b}
}

// manyEndpoints returns acme with a thousand endpoints.
func manyEndpoints() site.Listing {
	l := acme()
	model := l.Detail.Endpoints[0]
	l.Detail.Slug, l.Detail.Endpoints, l.Detail.EndpointCount = "thousand", nil, 1000
	for i := range 1000 {
		e := model
		e.ID, e.Path = fmt.Sprint(i), fmt.Sprintf("/quote/%d", i)
		l.Detail.Endpoints, l.Terms = append(l.Detail.Endpoints, e), append(l.Terms, site.Terms{Payable: true})
	}
	return l
}

// scores returns two days of a month.
func scores() []site.ScorePoint {
	return []site.ScorePoint{{Date: "2026-11-03", UptimePercentage: 0}, {Date: "2026-11-04", UptimePercentage: 100}}
}

// prices returns a price that rose.
func prices() []site.PricePoint {
	low, high := site.Decimal("0.001"), site.Decimal("0.0025")
	return []site.PricePoint{{Date: "2026-06-03", MinPriceUSD: &low, MaxPriceUSD: &low},
		{Date: "2026-11-02", MinPriceUSD: &low, MaxPriceUSD: &high, Changes: 1}}
}
