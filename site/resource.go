package site

import (
	"cmp"
	"encoding/json"
	"slices"
)

// ServiceListItem is a row of /v1/services.
type ServiceListItem struct {
	Slug              string   `json:"slug"`
	Name              string   `json:"name"`
	Description       string   `json:"description"`
	BaseURL           string   `json:"base_url"`
	WebsiteURL        *string  `json:"website_url"`
	Category          string   `json:"category"`
	Status            string   `json:"status"`
	Verified          bool     `json:"verified"`
	EndpointCount     int      `json:"endpoint_count"`
	MinPriceUSD       *Decimal `json:"min_price_usd"`
	Networks          []string `json:"networks"` // abbreviations, or CAIP-2 ids of networks without; sorted
	Uptime24h         *float64 `json:"uptime_24h"`
	AvgResponseTimeMS *int     `json:"avg_response_time_ms"`
	LastCheckedAt     *Time    `json:"last_checked_at"`
	CreatedAt         Time     `json:"created_at"`
	RiskLevel         string   `json:"risk_level"`
	RiskReason        *string  `json:"risk_reason"`    // the most serious flag in words; null without one
	NetworksCAIP2     []string `json:"networks_caip2"` // of the same networks, in the same order; beyond the contract
	PaymentReady      bool     `json:"payment_ready"`
	Source            string   `json:"source"`
	AdviceLevel       string   `json:"advice_level"`
	AdviceReason      *string  `json:"advice_reason"` // the main reason; null if the level is good
	PausedAt          *Time    `json:"paused_at,omitempty"`
	DelistedAt        *Time    `json:"delisted_at,omitempty"`

	Assessment *CompactAssessment `json:"assessment,omitempty"` // only with include=assessment
}

// ServiceDetail is the data of /v1/services/{slug}.
type ServiceDetail struct {
	Slug                 string        `json:"slug"`
	Name                 string        `json:"name"`
	Description          string        `json:"description"`
	BaseURL              string        `json:"base_url"`
	WebsiteURL           *string       `json:"website_url"`
	Category             string        `json:"category"`
	Source               string        `json:"source"` // "submitted" or "imported:<origin>"
	Status               string        `json:"status"`
	Verified             bool          `json:"verified"`
	VerifiedUntil        *Time         `json:"verified_until"`
	PaymentReady         bool          `json:"payment_ready"`
	PaymentReadyUntil    *Time         `json:"payment_ready_until"` // null if no check ever succeeded
	LastCheckedAt        *Time         `json:"last_checked_at"`
	LastSuccessAt        *Time         `json:"last_success_at"`
	CreatedAt            Time          `json:"created_at"`
	ConsecutiveFailures  int           `json:"consecutive_failures"`
	CheckIntervalMinutes int           `json:"check_interval_minutes"`
	EndpointCount        int           `json:"endpoint_count"`
	MinPriceUSD          *Decimal      `json:"min_price_usd"`
	Uptime24h            *float64      `json:"uptime_24h"`
	Uptime               UptimeWindows `json:"uptime"`
	AvgResponseTimeMS    *int          `json:"avg_response_time_ms"`
	TotalChecks          int64         `json:"total_checks"`
	Networks             []string      `json:"networks"`
	NetworksCAIP2        []string      `json:"networks_caip2"` // of the same networks, in the same order
	Asset                *string       `json:"asset"`          // asset of the lowest price; null without prices
	Endpoints            []Endpoint    `json:"endpoints"`
	PayToChanges         []PayToChange `json:"pay_to_changes"`
	Assessment           Assessment    `json:"assessment"`
	Provenance           Provenance    `json:"provenance"`
	Rails                []Rail        `json:"rails"` // beyond the contract, as the next two
	PausedAt             *Time         `json:"paused_at,omitempty"`
	DelistedAt           *Time         `json:"delisted_at,omitempty"` // the operator retired the service
	ListedBy             []ListedBy    `json:"listed_by"`             // by public sources, by name; beyond the contract

	OperatorLinks []OperatorLink `json:"operator_links"` // to other services, at most MaxSharedWith; likewise

	// beyond the contract
	OfflineSince *Time      `json:"offline_since"` // null unless it is offline
	Incidents    []Incident `json:"incidents"`     // newest first, at most ServiceIncidents
}

// Item returns the row of the service in lists.
func (d *ServiceDetail) Item() ServiceListItem {
	item := ServiceListItem{
		Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL,
		Category: d.Category, Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount,
		MinPriceUSD: d.MinPriceUSD, Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS, LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		NetworksCAIP2: d.NetworksCAIP2, PaymentReady: d.PaymentReady, Source: d.Source,
		PausedAt: d.PausedAt, DelistedAt: d.DelistedAt,
		RiskLevel: d.Assessment.Risk.Level,
	}
	if flags := d.Assessment.Risk.Flags; item.RiskLevel != RiskClean && len(flags) > 0 {
		item.RiskReason = &flags[0].Title
	}
	advice := &d.Assessment.Advice
	item.AdviceLevel = cmp.Or(advice.Level, AdviceUnknown)
	if item.AdviceLevel != AdviceGood && len(advice.Reasons) > 0 {
		item.AdviceReason = &advice.Reasons[0].Text
	}
	return item
}

// IsAdvised reports whether pages may show how to pay the service: nothing is known by which a payment would be lost,
// and enough is known to say so.
func (d *ServiceDetail) IsAdvised() bool {
	level := d.Assessment.Advice.Level
	return level == AdviceGood || level == AdviceCaution
}

// UptimeWindows are percentages of counted checks; null if a window contains none.
type UptimeWindows struct {
	H24      *float64 `json:"24h"`
	D7       *float64 `json:"7d"`
	D30      *float64 `json:"30d"`
	D90      *float64 `json:"90d"`
	Coverage Coverage `json:"coverage"`
}

// Coverage counts the data behind each uptime window.
type Coverage struct {
	H24 CoverageWindow `json:"24h"`
	D7  CoverageWindow `json:"7d"`
	D30 CoverageWindow `json:"30d"`
	D90 CoverageWindow `json:"90d"`
}

// CoverageWindow counts the UTC days with a counted check, and the counted checks.
type CoverageWindow struct {
	DaysCovered int   `json:"daysCovered"`
	CheckCount  int64 `json:"checkCount"`
}

// Endpoint is one paid endpoint of a service.
type Endpoint struct {
	ID              string           `json:"id"`
	Method          string           `json:"method"`
	Path            string           `json:"path"`
	Description     *string          `json:"description"`
	MimeType        *string          `json:"mime_type"`
	IsActive        bool             `json:"is_active"`
	FirstSeenAt     Time             `json:"first_seen_at"`
	LastSeenAt      Time             `json:"last_seen_at"`
	VariableAmount  bool             `json:"variable_amount"`
	MinPriceUSD     *Decimal         `json:"min_price_usd"`
	Networks        []string         `json:"networks"`
	Pricing         []PricingEntry   `json:"pricing"`
	PayToDivergence *PayToDivergence `json:"pay_to_divergence"`
	Protocol        *string          `json:"protocol"` // beyond the contract: of the first price; null without one
}

// X402Pricing returns the prices over x402, which come first. A price without a protocol is of an earlier version of
// the directory, which knew x402 alone.
func (e *Endpoint) X402Pricing() []PricingEntry {
	n := slices.IndexFunc(e.Pricing, func(p PricingEntry) bool { return p.Protocol != "" && p.Protocol != "x402" })
	if n < 0 {
		n = len(e.Pricing)
	}
	return e.Pricing[:n]
}

// PricingEntry is the current price of an endpoint on one network.
type PricingEntry struct {
	Scheme            string  `json:"scheme"`
	Network           string  `json:"network"`
	NetworkCAIP2      *string `json:"network_caip2"` // null if the network is not recognised
	AssetAddress      string  `json:"asset_address"`
	AssetAddressNorm  string  `json:"asset_address_norm"`
	AssetName         string  `json:"asset_name"`
	Price             string  `json:"price"`     // atomic units
	PriceUSD          *string `json:"price_usd"` // decimal string; null for an asset without a known dollar value
	PayTo             string  `json:"pay_to"`
	MaxTimeoutSeconds *int    `json:"max_timeout_seconds"`

	// beyond the contract
	Protocol    string  `json:"protocol"`     // x402, mpp, l402 or crawler-price
	Testnet     bool    `json:"testnet"`      // tokens of a test network have no value
	PriceCaveat *string `json:"price_caveat"` // why the price is not counted in dollars; null if it is
	// what calls cost; null unless the price is a maximum
	Settled *SettledPrice `json:"settled"`
}

// SettledPrice is what calls of an endpoint cost whose price is a maximum, by the settlements to its recipient.
type SettledPrice struct {
	MedianUSD  *string `json:"median_usd"`  // decimal string, as p95_usd; null if not known
	P95USD     *string `json:"p95_usd"`     // 95 % of the settlements are not higher
	Calls      *int64  `json:"calls"`       // settlements in the window; null if they cannot be told from others
	WindowDays int     `json:"window_days"` // UTC days, including today
	Since      *string `json:"since"`       // first UTC day of the window that counts; null if calls is
	Reason     *string `json:"reason"`      // why median_usd and p95_usd are null
}

// CountedUSD returns the price in dollars, and false if figures do not count it.
func (p *PricingEntry) CountedUSD() (Decimal, bool) {
	if p.PriceUSD == nil || p.PriceCaveat != nil {
		return "", false
	}
	usd, err := ParseDecimal(*p.PriceUSD)
	return usd, err == nil
}

// Rail is how a service's offers over a protocol other than x402 meet that protocol's own specification.
type Rail struct {
	Protocol    string      `json:"protocol"` // mpp, l402 or crawler-price
	Grade       string      `json:"grade"`
	GradeReason string      `json:"grade_reason"`
	Passed      int         `json:"passed"`
	Total       int         `json:"total"`
	Checks      []RailCheck `json:"checks"`
}

// GradedRail returns the protocol by whose checks the service is graded, nil if that is x402.
func (d *ServiceDetail) GradedRail() *Rail {
	for i := range d.Rails {
		if d.Rails[i].GradeReason == d.Assessment.Compliance.GradeReason {
			return &d.Rails[i]
		}
	}
	return nil
}

// RailCheck is one requirement of a protocol's specification.
type RailCheck struct {
	ID       string  `json:"id"`
	Label    string  `json:"label"`
	Pass     bool    `json:"pass"`
	Reason   *string `json:"reason"`   // the first problem found; null if the check passes, like the next two
	Expected *string `json:"expected"` // what the check requires
	Mend     *string `json:"mend"`     // how the owner can fix it
}

// PayToDivergence reports an endpoint that pays a different recipient than the other endpoints on the same network.
type PayToDivergence struct {
	NetworkCAIP2 string   `json:"network_caip2"`
	Expected     []string `json:"expected"`
	Observed     []string `json:"observed"`
	FirstSeenAt  Time     `json:"first_seen_at"`
}

// PayToChange is one change of a recipient, from a record of type payto_changed. Lists of them are sorted from new to
// old.
type PayToChange struct {
	NetworkCAIP2 string `json:"network_caip2"`
	Endpoint     string `json:"endpoint"` // "<METHOD> <path>"
	// one is null where a recipient was added beside others, or removed while others stayed
	OldPayTo   *string `json:"old_pay_to"`
	NewPayTo   *string `json:"new_pay_to"`
	ObservedAt Time    `json:"observed_at"`
}

// UptimeDataPoint is a UTC day with at least one counted check.
type UptimeDataPoint struct {
	PeriodStart       Time    `json:"period_start"`
	PeriodEnd         Time    `json:"period_end"` // for today: the time of the last check
	UptimePercentage  float64 `json:"uptime_percentage"`
	AvgResponseTimeMS *int    `json:"avg_response_time_ms"`
	TotalChecks       int64   `json:"total_checks"`
	SuccessfulChecks  int64   `json:"successful_checks"`
}

// CheckEntry is a row of a service's check log.
type CheckEntry struct {
	ID             string  `json:"id"`
	CheckedAt      Time    `json:"checked_at"`
	IsUp           bool    `json:"is_up"`
	StatusCode     *int    `json:"status_code"`
	ResponseTimeMS *int    `json:"response_time_ms"`
	EndpointsFound int     `json:"endpoints_found"`
	ErrorMessage   *string `json:"error_message"`

	Counted         bool    `json:"counted"`          // in uptime, response times and failures
	UncountedReason *string `json:"uncounted_reason"` // null if it counts
}

// GlobalCheckEntry is a row of the log of all checks. Name and status are those of the time when it was written.
type GlobalCheckEntry struct {
	ID             string `json:"id"`
	CheckedAt      Time   `json:"checked_at"`
	IsUp           bool   `json:"is_up"`
	StatusCode     *int   `json:"status_code"`
	ResponseTimeMS *int   `json:"response_time_ms"`
	EndpointsFound int    `json:"endpoints_found"`
	ServiceSlug    string `json:"service_slug"`
	ServiceName    string `json:"service_name"`
	ServiceStatus  string `json:"service_status"`

	Counted         bool    `json:"counted"`
	UncountedReason *string `json:"uncounted_reason"`
}

// Reasons why a visit does not count, beside the classes of inconclusive responses.
const (
	NoEndpoints   = "no_endpoints" // the service has no endpoint to request
	ErasedService = "erased"       // the row of an erased service, which has no other content
)

// Types of change records.
const (
	SchemaChanged = "schema_changed"
	PriceChanged  = "price_changed"
	PayToChanged  = "payto_changed"
	SourceListed  = "listed"  // a public source lists a resource of the service
	SourceDropped = "dropped" // a public source no longer lists it
	GradeChanged  = "grade_changed"
)

// ChangeRecord is a change of a service's payment schema, prices or recipients.
type ChangeRecord struct {
	Slug        string          `json:"slug"`
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	ObservedAt  Time            `json:"observed_at"`
	Summary     json.RawMessage `json:"summary"` // a summary by Type, such as PriceSummary
	OldSnapshot []SnapshotEntry `json:"old_snapshot"`
	NewSnapshot []SnapshotEntry `json:"new_snapshot"`
}

// SchemaSummary is the summary of a schema_changed record. Its strings are lines of ten fields; see change.SchemaLine.
type SchemaSummary struct {
	SchemaAdded      []string `json:"schemaAdded"`
	SchemaRemoved    []string `json:"schemaRemoved"`
	EndpointsAdded   []string `json:"endpointsAdded"`
	EndpointsRemoved []string `json:"endpointsRemoved"`
	Omitted          *Omitted `json:"omitted,omitempty"`
}

// Omitted is what a change record leaves out because it would be too large; see change.MaxRecord. Without it the record
// is complete.
type Omitted struct {
	Differences int `json:"differences"` // of the summary's lists
	Entries     int `json:"entries"`     // ways to pay, of both snapshots; first those that did not change
}

// PriceSummary is the summary of a price_changed record.
type PriceSummary struct {
	PriceChanges []PriceChange `json:"priceChanges"`
	Omitted      *Omitted      `json:"omitted,omitempty"`
}

// PriceChange is one changed price, in atomic units.
type PriceChange struct {
	Network   string `json:"network"`
	Endpoint  string `json:"endpoint"`
	NewPrice  string `json:"newPrice"`
	OldPrice  string `json:"oldPrice"`
	AssetName string `json:"assetName"`
}

// PayToSummary is the summary of a payto_changed record. The addresses of PayToAdded and PayToRemoved are abbreviated.
type PayToSummary struct {
	PayToAdded   []string          `json:"payToAdded"`
	PayToRemoved []string          `json:"payToRemoved"`
	PayToChanges []RecipientChange `json:"payToChanges"`
	Omitted      *Omitted          `json:"omitted,omitempty"`
}

// SourceSummary is the summary of a listed or dropped record. Records of older versions are of one resource, and lack
// the counts and the lists of endpoints.
type SourceSummary struct {
	Source   string       `json:"source"`   // name of the public source
	Endpoint string       `json:"endpoint"` // "<METHOD> <path>", or the path if the source names no method
	Since    Time         `json:"since"`    // when the directory first saw the resource in the source
	Answer   SourceAnswer `json:"answer"`

	Listed           int      `json:"listed,omitempty"` // resources
	Dropped          int      `json:"dropped,omitempty"`
	ListedEndpoints  []string `json:"listed_endpoints,omitempty"` // the first ten
	DroppedEndpoints []string `json:"dropped_endpoints,omitempty"`
}

// SourceAnswer is the evidence of a source's change: the whole answer of the source, which has the resource or lacks
// it.
type SourceAnswer struct {
	ReceivedAt Time   `json:"received_at"`
	Resources  int    `json:"resources"`
	SHA256     string `json:"sha256"` // of the bytes of all its pages, in hex
}

// Abbreviate shortens an address for change records: the first six characters, an ellipsis and the last four.
func Abbreviate(address string) string {
	r := []rune(address)
	if len(r) <= 12 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}

// RecipientChange is one changed recipient. See PayToChange for a null.
type RecipientChange struct {
	Network  string  `json:"network"`
	Endpoint string  `json:"endpoint"`
	NewPayTo *string `json:"newPayTo"`
	OldPayTo *string `json:"oldPayTo"`
}

// SnapshotEntry is one payment option of a service at the time of a change.
type SnapshotEntry struct {
	Asset             string  `json:"asset"`
	Extra             *string `json:"extra"` // JSON text
	PayTo             string  `json:"payTo"` // abbreviated
	Price             string  `json:"price"`
	Scheme            string  `json:"scheme"`
	Network           string  `json:"network"` // CAIP-2
	Endpoint          string  `json:"endpoint"`
	MimeType          *string `json:"mimeType"`
	Resource          *string `json:"resource"`
	AssetName         string  `json:"assetName"`
	X402Version       int     `json:"x402Version"`
	MaxTimeoutSeconds *int    `json:"maxTimeoutSeconds"`
}
