package html

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"tollbook/site"
)

// moment is the time of the snapshot.
var moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// record is what both sides read of a service: the resources of its page.
type record struct {
	Detail   site.ServiceDetail     `json:"detail"`
	Evidence site.Evidence          `json:"evidence"`
	Uptime   []site.UptimeDataPoint `json:"uptime"`
	Checks   []site.CheckEntry      `json:"checks"`
	Kept     int64                  `json:"kept"`
	Changes  []change               `json:"changes"`
	Prices   []site.PricePoint      `json:"prices"`
	Volume   []site.VolumePoint     `json:"volume"`
	Networks []string               `json:"networks"` // names of networks, for hugo's taxonomy
	Computed computed               `json:"computed"`
}

// computed contains values that our pages compute and the peer receives: names of networks, programs, sentences and
// scales.
type computed struct {
	Chips     []chip   `json:"chips"`
	First     chip     `json:"first"` // chip of the first price
	Endpoints []shown  `json:"endpoints"`
	Beside    []link   `json:"beside"`
	Prices    string   `json:"prices"` // the sentences above charts
	Uptime    string   `json:"uptime"`
	Settled   string   `json:"settled"`
	Charts    []string `json:"charts"` // markup of prices, uptime, response time, volume
	Linked    string   `json:"linked"` // the page's JSON-LD
}

type (
	chip struct {
		Code  string `json:"code"`
		Label string `json:"label"`
		Title string `json:"title"`
	}
	shown struct {
		On  []chip `json:"on"`
		Pay string `json:"pay"`
	}
	link struct {
		Name string `json:"name"`
		Href string `json:"href"`
	}
)

// change is a change of prices, with the prices in dollars for the peer.
type change struct {
	site.ChangeRecord
	Summary struct {
		PriceChanges []priceChange `json:"priceChanges"`
	} `json:"summary"`
}

type priceChange struct {
	site.PriceChange
	OldUSD string `json:"old_usd"`
	NewUSD string `json:"new_usd"`
}

var networks = []site.Network{
	{ID: "eip155:8453", CAIP2: "eip155:8453", CAIP2ID: "eip155:8453", Name: "Base", Abbreviation: "BSE",
		ChainType: "evm", IsMainnet: true},
	{ID: "eip155:137", CAIP2: "eip155:137", CAIP2ID: "eip155:137", Name: "Polygon", Abbreviation: "POL",
		ChainType: "evm", IsMainnet: true},
	{ID: "eip155:42161", CAIP2: "eip155:42161", CAIP2ID: "eip155:42161", Name: "Arbitrum One", Abbreviation: "ARB",
		ChainType: "evm", IsMainnet: true},
	{ID: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", CAIP2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
		CAIP2ID: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Name: "Solana", Abbreviation: "SOL", ChainType: "solana",
		IsMainnet: true},
}

var assets = []string{"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
	"0xaf88d065e77c8cC2239327C5EDb3A432268e5831", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"}

func at(before time.Duration) site.Time { return site.NewTime(moment.Add(-before)) }

const day = 24 * time.Hour

// service creates the ith service, always the same.
func service(i int) *record {
	slug := fmt.Sprintf("service-%05d", i)
	// Thousandths of a dollar without a final zero: both sides write such prices in the same way.
	atomic := func(n int) int { return 1000 * (10*n + 1 + n%9) }
	dollars := func(units int) string {
		return strconv.FormatFloat(float64(units)/1e6, 'f', -1, 64)
	}
	lowest, response := atomic(i%97), 80+i%400
	r := &record{Kept: 2880}
	d := &r.Detail
	*d = site.ServiceDetail{
		Slug: slug, Name: fmt.Sprintf("Quote Ledger %d", i),
		Description: "What a request to this service returns, in a sentence that is long enough to fill a line or " +
			"two of the list.",
		BaseURL: "https://" + slug + ".example.com", WebsiteURL: new("https://" + slug + ".example.com/about"),
		Category: site.Categories[i%len(site.Categories)], Source: "submitted",
		Status: site.StatusOnline, Verified: i%3 == 0, PaymentReady: true,
		LastCheckedAt: new(at(time.Duration(i%900) * time.Second)),
		LastSuccessAt: new(at(time.Duration(i%900) * time.Second)),
		CreatedAt:     at(120*day + time.Duration(i)*time.Minute), CheckIntervalMinutes: 15, EndpointCount: 2 + i%5,
		MinPriceUSD: new(site.Decimal(dollars(lowest))), AvgResponseTimeMS: new(response),
		TotalChecks: int64(9000 + i%999), Asset: new("USDC"), PayToChanges: []site.PayToChange{},
		Provenance: site.Provenance{License: "CC-BY-4.0", AttributionRequired: true,
			Attribution: "Tollbook, https://tollbook.example", CiteAs: "https://tollbook.example/services/" + slug,
			Source: "submitted"},
	}
	if i%11 == 0 {
		d.Status = site.StatusDegraded
	}
	for n := range 1 + i%3 {
		network := &networks[(i+n)%len(networks)]
		d.Networks, d.NetworksCAIP2 = append(d.Networks, network.Abbreviation), append(d.NetworksCAIP2, network.ID)
		r.Networks = append(r.Networks, network.Name)
	}
	for n := range d.EndpointCount {
		units := atomic(i%97 + n)
		e := site.Endpoint{ID: fmt.Sprint(n), Method: "GET", Path: fmt.Sprintf("/v1/tool-%d", n),
			Description: new("One of the things that this service does for its price."),
			MimeType:    new("application/json"), IsActive: true,
			FirstSeenAt: d.CreatedAt, LastSeenAt: *d.LastCheckedAt, MinPriceUSD: new(site.Decimal(dollars(units))),
			Networks: d.Networks}
		for p, id := range d.NetworksCAIP2 {
			e.Pricing = append(e.Pricing, site.PricingEntry{Scheme: "exact", Network: id, NetworkCAIP2: new(id),
				AssetAddress: assets[(i+p)%len(assets)], AssetName: "USDC", Price: fmt.Sprint(units),
				PriceUSD: new(dollars(units)), PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"})
		}
		d.Endpoints = append(d.Endpoints, e)
	}
	r.history(i, response)
	r.assess(i, lowest, atomic(i%97+d.EndpointCount-1), response)
	return r
}

// history adds ninety days of checks and settlements, the newest checks, and changes of prices.
func (r *record) history(i, response int) {
	d := &r.Detail
	today := moment.Truncate(day)
	for n := range 90 {
		start := today.AddDate(0, 0, n-89)
		failed := (i + n) % 4
		share := float64(96-failed) / 96
		r.Uptime = append(r.Uptime, site.UptimeDataPoint{PeriodStart: site.NewTime(start),
			PeriodEnd: site.NewTime(start.Add(day)), UptimePercentage: site.Round2(100 * share),
			AvgResponseTimeMS: new(response + (i*n)%300), TotalChecks: 96, SuccessfulChecks: int64(96 - failed)})
		if (i+n)%2 == 0 {
			cents := 1001 + (i*31+n*977)%9000
			r.Volume = append(r.Volume, site.VolumePoint{Date: start.Format(time.DateOnly),
				VolumeUSD: site.Decimal(fmt.Sprintf("%d.%02d", cents/100, 11+cents%9)),
				TxCount:   int64(2 + (i+n)%90)})
		}
	}
	uptime := new(r.Uptime[89].UptimePercentage)
	d.Uptime24h = uptime
	d.Uptime = site.UptimeWindows{H24: uptime, D7: new(99.12), D30: new(98.45), D90: new(97.99),
		Coverage: site.Coverage{H24: site.CoverageWindow{DaysCovered: 2, CheckCount: 96},
			D7:  site.CoverageWindow{DaysCovered: 7, CheckCount: 672},
			D30: site.CoverageWindow{DaysCovered: 30, CheckCount: 2880},
			D90: site.CoverageWindow{DaysCovered: 90, CheckCount: 8640}}}
	for n := range 20 {
		c := site.CheckEntry{ID: fmt.Sprint(n), CheckedAt: at(time.Duration(15*n) * time.Minute), IsUp: true,
			StatusCode: new(402), ResponseTimeMS: new(response + 7*n), EndpointsFound: d.EndpointCount, Counted: true}
		if (i+n)%13 == 0 {
			c = site.CheckEntry{ID: c.ID, CheckedAt: c.CheckedAt, Counted: true,
				ErrorMessage: new("connection refused by " + d.Slug + ".example.com:443")}
		}
		r.Checks = append(r.Checks, c)
	}
	for n := range 4 {
		newest := d.Endpoints[0].Pricing[0]
		c := change{ChangeRecord: site.ChangeRecord{Slug: d.Slug, Name: d.Name, Type: site.PriceChanged,
			ObservedAt: at(time.Duration(3+20*n) * day)}}
		units, _ := strconv.Atoi(newest.Price)
		older, newer := units-70*(n+1), units-70*n
		c.Summary.PriceChanges = []priceChange{{site.PriceChange{Network: newest.Network, Endpoint: "GET /v1/tool-0",
			OldPrice: fmt.Sprint(older), NewPrice: fmt.Sprint(newer), AssetName: "USDC"},
			strconv.FormatFloat(float64(older)/1e6, 'f', -1, 64), strconv.FormatFloat(float64(newer)/1e6, 'f', -1, 64)}}
		r.Changes = append(r.Changes, c)
	}
	for n := range 4 {
		r.Prices = append(r.Prices, site.PricePoint{Date: today.AddDate(0, 0, -100+30*n).Format(time.DateOnly),
			MinPriceUSD: d.MinPriceUSD, MaxPriceUSD: d.Endpoints[d.EndpointCount-1].MinPriceUSD, Changes: n})
	}
}

// assess adds the judgments of a service.
func (r *record) assess(i, lowest, highest, response int) {
	d := &r.Detail
	a := &d.Assessment
	a.UpdatedAt = d.LastCheckedAt
	a.Reliability = site.Reliability{ResponseP95MS: new(3 * response), AvgResponseMS: new(response),
		LastCheckedAt: d.LastCheckedAt, TotalChecks: d.TotalChecks}
	a.Compliance = site.Compliance{Grade: "B", Passed: 12, Total: 14,
		Staleness: site.Staleness{EnvelopeCapturedAt: d.LastCheckedAt, LastSuccessAt: d.LastSuccessAt}}
	for n := range 14 {
		c := site.ComplianceCheck{ID: fmt.Sprintf("check_%d", n),
			Label: fmt.Sprintf("Rule %d of fourteen holds for the newest answer", n+1), Pass: n%7 != i%7}
		a.Compliance.Checks = append(a.Compliance.Checks, c)
		e := site.EvidenceCheck{ID: c.ID, Pass: c.Pass}
		if !c.Pass {
			e.Reason, e.Mend = new(fmt.Sprintf("GET /v1/tool-%d, row 1: what is there", n)),
				new("Write it as the rule says.")
		}
		r.Evidence.Checks = append(r.Evidence.Checks, e)
	}
	a.Risk = site.Risk{Level: site.RiskClean}
	if i%5 == 0 {
		a.Risk = site.Risk{Level: site.RiskWarning,
			Flags: []site.RiskFlag{{Level: site.RiskWarning, Code: "price_outlier",
				Evidence: "dearer than 19 of 20 of its category"}}}
	}
	low, high := site.Decimal(strconv.FormatFloat(float64(lowest)/1e6, 'f', -1, 64)),
		site.Decimal(strconv.FormatFloat(float64(highest)/1e6, 'f', -1, 64))
	a.Economics = site.Economics{PriceUSD: &low, PriceMaxUSD: &high, Model: "tiered",
		CategoryPercentile: new(float64(i % 100)), Stability: new(.75), EndpointCount: d.EndpointCount,
		DistinctPriceCount: d.EndpointCount}
	a.Domain = site.DomainFacts{AgeDays: new(400 + i%999), Registrar: new("Example Registrar, Inc."),
		CreatedDate: new(at(time.Duration(400+i%999) * day)), CheckedAt: new(at(3 * day))}
	a.Site = site.SiteFacts{Homepage: new(true), OpenAPI: new(i%2 == 0), Pricing: new(true), LLMsTxt: new(i%3 == 0),
		Robots: new(true), Terms: new(false), CheckedAt: new(at(day))}
	a.Traction = site.Traction{Status: site.TractionMeasured, VolumeUSD30d: new(site.Decimal("512.37")),
		TxCount30d: new(int64(1234 + i%999)), UniqueBuyers30d: new(int64(41 + i%50)), LastSettlementAt: d.LastCheckedAt,
		FirstSettlementAt: new(at(88 * day)),
		TopBuyerShare30d:  new(.5), Top3BuyersShare30d: new(.75), Trend7dVs30d: new(1.02),
		MeasuredNetworks: d.NetworksCAIP2, VolumeUSDAllTime: new(site.Decimal("812.34")),
		TxCountAllTime: new(int64(4567)), MedianSettlement30d: &low, MaxSettlement30d: &high,
		SettledVia: []string{"first", "second"},
		SettledViaDetail: []site.SettledVia{{ID: "first", VolumeUSD30d: "500.11", TxCount30d: 900},
			{ID: "second", VolumeUSD30d: "12.26", TxCount30d: 34}},
		ProQuotaShare: 1, Caveat: "A floor: settlements by others are not seen.",
		AllTimeCaveat: "Since the first day that was read."}
}

// item returns the service's row in lists.
func item(d *site.ServiceDetail) site.ServiceListItem {
	return site.ServiceListItem{Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL,
		WebsiteURL: d.WebsiteURL, Category: d.Category, Status: d.Status, Verified: d.Verified,
		EndpointCount: d.EndpointCount,
		MinPriceUSD:   d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS, LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		NetworksCAIP2: d.NetworksCAIP2, PaymentReady: d.PaymentReady, Source: d.Source}
}

// Files of the facts in a folder: rows of lists, and the records as one list with one record a line.
func itemsFile(dir string) string   { return filepath.Join(dir, "items.json") }
func recordsFile(dir string) string { return filepath.Join(dir, "assets", "records.json") }
