package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ServiceListItem is a service in a list.
//
// It is a row of /v1/services.
type ServiceListItem struct {
	// Name of the service in URLs: a-z, 0-9 and hyphens.
	Slug string `json:"slug"`
	// Name, as the service gives it.
	Name string `json:"name"`
	// Description, as the service gives it.
	Description string `json:"description"`
	// Base URL of the service.
	BaseURL string `json:"base_url" format:"uri"`
	// Public website of the service.
	WebsiteURL *string `json:"website_url" format:"uri"`
	// Category, such as AI, Data, Compute, Content or Finance.
	Category string `json:"category"`
	// Status after the latest checks.
	Status string `json:"status" enum:"Statuses"`
	// Whether the owner has proved control of the service, or the operator of this directory vouches for it.
	Verified bool `json:"verified"`
	// Number of active endpoints.
	EndpointCount int `json:"endpoint_count"`
	// Lowest counted price of one request, in US dollars; null without one.
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// What a buyer needs before a payment of the lowest price, in words; null if nothing. A price that needs nothing
	// goes before each that does.
	PriceCondition *string `json:"price_condition"`
	// Networks on which the service accepts payment: abbreviations, or CAIP-2 ids of networks without one, in the order
	// of their bytes.
	Networks []string `json:"networks"`
	// Uptime of the last 24 full UTC hours: percentage of the known time in which the service was up; null if nothing is
	// known.
	Uptime24h *float64 `json:"uptime_24h" max:"100"`
	// Mean time until the response headers arrive, without opening the connection, over the last 24 hours, in milliseconds.
	AvgResponseTimeMS *int `json:"avg_response_time_ms"`
	// Time of the last check, also of one that does not count.
	LastCheckedAt *Time `json:"last_checked_at"`
	// When the service was listed.
	CreatedAt Time `json:"created_at"`
	// Risk level of the service; from low to high: clean, warning, danger.
	RiskLevel string `json:"risk_level" enum:"RiskLevels"`
	// Title of the most serious risk flag; null if the level is clean.
	RiskReason *string `json:"risk_reason"`
	// CAIP-2 ids of the same networks, in the same order.
	NetworksCAIP2 []string `json:"networks_caip2"`
	// Whether a check received a usable payment request in the last 7 days, and the advice is good or caution.
	PaymentReady bool `json:"payment_ready"`
	// Origin of the listing: submitted, or imported:<origin>.
	Source string `json:"source"`
	// Whether the service may be paid now.
	AdviceLevel string `json:"advice_level" enum:"AdviceLevels"`
	// Main reason for advice_level, in words; null if the level is good.
	AdviceReason *string `json:"advice_reason"`
	// Since when the operator of this directory has the service not checked; absent if it is.
	PausedAt *Time `json:"paused_at,omitempty"`
	// When the operator of this directory retired the service; absent if it is listed.
	DelistedAt *Time `json:"delisted_at,omitempty"`
	// Since when every counted check of a service that is gone has failed, for at least 60 UTC days; absent for any
	// other. Lists and counts leave out services that are gone, unless include contains gone.
	GoneSince *Time `json:"gone_since,omitempty"`

	// The compact assessment; only with include=assessment.
	Assessment *CompactAssessment `json:"assessment,omitempty"`
}

// ServiceDetail is a service with endpoints, prices, uptime and assessment.
//
// It is the data of /v1/services/{slug}.
type ServiceDetail struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [ServiceListItem.Description].
	Description string `json:"description"`
	BaseURL     string `json:"base_url"`
	// As [ServiceListItem.WebsiteURL].
	WebsiteURL *string `json:"website_url"`
	// As [ServiceListItem.Category].
	Category string `json:"category"`
	// As [ServiceListItem.Source].
	Source string `json:"source"`
	// As [ServiceListItem.Status].
	Status   string `json:"status"`
	Verified bool   `json:"verified"`
	// When the proof ends: 7 days after the token was last seen, or when it was missing.
	VerifiedUntil *Time `json:"verified_until"`
	PaymentReady  bool  `json:"payment_ready"`
	// Time of the last successful check plus 7 days, also if payment_ready is false for another reason; null if no
	// check ever succeeded.
	PaymentReadyUntil *Time `json:"payment_ready_until"`
	// As [ServiceListItem.LastCheckedAt].
	LastCheckedAt *Time `json:"last_checked_at"`
	// Time of the last check that received a usable payment request.
	LastSuccessAt *Time `json:"last_success_at"`
	CreatedAt     Time  `json:"created_at"`
	// Number of consecutive checks that ended offline.
	ConsecutiveFailures int `json:"consecutive_failures"`
	// Minutes between two checks.
	CheckIntervalMinutes int `json:"check_interval_minutes"`
	// As [ServiceListItem.EndpointCount].
	EndpointCount int `json:"endpoint_count"`
	// As [ServiceListItem.MinPriceUSD].
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// As [ServiceListItem.Uptime24h].
	Uptime24h *float64 `json:"uptime_24h"`
	// Percentage of counted checks that were up, by window.
	Uptime UptimeWindows `json:"uptime"`
	// As [ServiceListItem.AvgResponseTimeMS].
	AvgResponseTimeMS *int `json:"avg_response_time_ms"`
	// Number of checks ever, counted or not.
	TotalChecks int64 `json:"total_checks"`
	// As [ServiceListItem.Networks].
	Networks      []string `json:"networks"`
	NetworksCAIP2 []string `json:"networks_caip2"`
	// Asset of the lowest price, such as USDC.
	Asset *string `json:"asset"`
	// As [ServiceListItem.PriceCondition].
	PriceCondition *string `json:"price_condition"`
	// Active endpoints with their current prices.
	Endpoints []Endpoint `json:"endpoints"`
	// Recipient changes in the payto_changed records of the last 90 days, newest first; changes within an hour are
	// merged.
	PayToChanges []PayToChange `json:"pay_to_changes"`
	// Assessment of the service: reliability, compliance, risk and traction.
	Assessment Assessment `json:"assessment"`
	// Where the record or the response comes from and how to cite it.
	Provenance Provenance `json:"provenance"`
	// Payment protocols other than x402 over which the service makes offers, with the checks of their own
	// specifications.
	Rails      []Rail `json:"rails"` // beyond the contract, as the next two
	PausedAt   *Time  `json:"paused_at,omitempty"`
	DelistedAt *Time  `json:"delisted_at,omitempty"`
	GoneSince  *Time  `json:"gone_since,omitempty"`
	// Services that are online or degraded and name an account that this service named last, by name; absent unless
	// the service is gone.
	LiveServices []SharedWithItem `json:"live_services,omitempty"`
	// What each place found last; absent unless several check the service.
	Places []PlaceState `json:"places,omitempty"`
	// Public sources that list the service or did, by name.
	ListedBy []ListedBy `json:"listed_by"`

	// Evidence that the service and others have one operator, at most 100 links.
	OperatorLinks []OperatorLink `json:"operator_links"`

	// beyond the contract

	// When the checks began to fail of a service that is offline; null for another status.
	OfflineSince *Time `json:"offline_since"`
	// The newest incidents of the last 90 UTC days, newest first, at most 20.
	Incidents []Incident `json:"incidents"`
	// For its owner: what makes the service harder to find, to read or to pay.
	Hints []Hint `json:"hints"`
	// For each public source that is read: whether it lists the service, and why not all of it; by name. The catalogues of
	// CDP and x402scan are there too, read or not, if an endpoint breaks one of their rules.
	Catalogues []CatalogueListing `json:"catalogues"`
}

// Item returns the row of the service in lists.
func (d *ServiceDetail) Item() ServiceListItem {
	item := ServiceListItem{
		Slug: d.Slug, Name: d.Name, Description: d.Description, BaseURL: d.BaseURL, WebsiteURL: d.WebsiteURL,
		Category: d.Category, Status: d.Status, Verified: d.Verified, EndpointCount: d.EndpointCount,
		MinPriceUSD: d.MinPriceUSD, PriceCondition: d.PriceCondition, Networks: d.Networks, Uptime24h: d.Uptime24h,
		AvgResponseTimeMS: d.AvgResponseTimeMS, LastCheckedAt: d.LastCheckedAt, CreatedAt: d.CreatedAt,
		NetworksCAIP2: d.NetworksCAIP2, PaymentReady: d.PaymentReady, Source: d.Source,
		PausedAt: d.PausedAt, DelistedAt: d.DelistedAt, GoneSince: d.GoneSince,
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

// IsAdvised reports whether pages may show how to pay the service, by its advice.
func (d *ServiceDetail) IsAdvised() bool { return d.Assessment.Advice.IsAdvised() }

// UptimeWindows: percentage of the known time in which the service was up, by window; null if nothing is known.
//
// The state that a counted check found is known until the next one, but no longer than twice the planned interval (at
// least an hour). All windows end with the last full UTC hour.
type UptimeWindows struct {
	// The last 24 full UTC hours.
	H24 *float64 `json:"24h" max:"100"`
	// 7 UTC days, the last of which is today up to the last full hour.
	D7 *float64 `json:"7d" max:"100"`
	// 30 UTC days, the last of which is today up to the last full hour.
	D30 *float64 `json:"30d" max:"100"`
	// 90 UTC days, the last of which is today up to the last full hour.
	D90 *float64 `json:"90d" max:"100"`
	// How much data is behind each window.
	Coverage Coverage `json:"coverage"`
}

// Coverage says how much data is behind each uptime window.
type Coverage struct {
	// Data behind the 24-hour window.
	H24 CoverageWindow `json:"24h"`
	// Data behind the 7-day window.
	D7 CoverageWindow `json:"7d"`
	// Data behind the 30-day window.
	D30 CoverageWindow `json:"30d"`
	// Data behind the 90-day window.
	D90 CoverageWindow `json:"90d"`
}

// CoverageWindow says how much data is behind one uptime window.
//
// It counts the UTC days with a counted check, the counted checks, and the time in which the state was known.
type CoverageWindow struct {
	// Number of UTC days with a counted check.
	DaysCovered int `json:"daysCovered"`
	// Number of counted checks.
	CheckCount int64 `json:"checkCount"`
	// Milliseconds in which it was known whether the service was up.
	KnownMS int64 `json:"knownMs"`
	// Milliseconds of these in which the service was up. Uptime is 100 × upMs / knownMs.
	UpMS int64 `json:"upMs"`
	// Percentage of the window that is known.
	KnownPercent float64 `json:"knownPercent" max:"100"`
}

// Endpoint is one paid endpoint of a service.
type Endpoint struct {
	// Id of the endpoint.
	ID string `json:"id" format:"uuid"`
	// HTTP method, such as GET.
	Method string `json:"method"`
	// Path on the service.
	Path string `json:"path"`
	// As [ServiceListItem.Description].
	Description *string `json:"description"`
	// Media type of the response, as the endpoint declares it.
	MimeType *string `json:"mime_type"`
	// Whether it asked for payment, or was first seen, in the last 14 days. One that only a public source names is not
	// active before it asked for payment.
	IsActive bool `json:"is_active"`
	// When the endpoint was first seen.
	FirstSeenAt Time `json:"first_seen_at"`
	// When the endpoint was last seen.
	LastSeenAt Time `json:"last_seen_at"`
	// Whether the amount can be lower than the price, or can change from request to request.
	VariableAmount bool `json:"variable_amount"`
	// As [ServiceListItem.MinPriceUSD].
	MinPriceUSD *Decimal `json:"min_price_usd"`
	// As [ServiceListItem.PriceCondition].
	PriceCondition *string `json:"price_condition"`
	// As [ServiceListItem.Networks].
	Networks []string `json:"networks"`
	// One entry for each payment option.
	Pricing []PricingEntry `json:"pricing"`
	// Set if the endpoint pays a different recipient than the other endpoints of the service.
	PayToDivergence *PayToDivergence `json:"pay_to_divergence"`
	// Payment protocol of the first price, x402 before others; null without a price.
	Protocol *string `json:"protocol" enum:"PriceProtocols"`
	// Whether the newest conclusive answer, and so the terms, were given to a signed request (Web Bot Auth).
	AnsweredSigned bool `json:"answered_signed"`
	// Whether it may be paid, and why.
	Verdict Advice `json:"verdict"`
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

// PricingEntry is the current price of an endpoint for one payment option.
type PricingEntry struct {
	// Payment scheme, such as exact; over mpp the method and intent, such as tempo/charge.
	Scheme string `json:"scheme"`
	// Network: the CAIP-2 id if the network is recognised, otherwise as the service writes it.
	Network string `json:"network"`
	// CAIP-2 id; null if the network is not recognised.
	NetworkCAIP2 *string `json:"network_caip2"`
	// Address of the token; on EVM networks with its EIP-55 checksum.
	AssetAddress string `json:"asset_address"`
	// The same address in normal form: lower case if it is hexadecimal.
	AssetAddressNorm string `json:"asset_address_norm"`
	// Name of the token, such as USDC; UNKNOWN if the token is not recognised.
	AssetName string `json:"asset_name"`
	// Price in atomic units of the asset, as a decimal string; millisatoshis over l402, the value over crawler-price.
	Price string `json:"price"`
	// Price in US dollars; null on test networks and if the asset has no known value.
	PriceUSD *string `json:"price_usd"`
	// Address of the recipient; on EVM networks with its EIP-55 checksum.
	PayTo string `json:"pay_to"`
	// Number of seconds for which a payment is valid.
	MaxTimeoutSeconds *int `json:"max_timeout_seconds"`

	// beyond the contract

	// Payment protocol of the price.
	Protocol string `json:"protocol" enum:"PriceProtocols"` // x402, mpp, l402 or crawler-price
	// Whether it is a test network, whose tokens have no value.
	Testnet bool `json:"testnet"`
	// Why the price is not counted in dollars: a test network, no known value, an amount of 0, too high, or a recipient
	// that cannot receive it; null if it is counted.
	PriceCaveat *string `json:"price_caveat"`
	// What calls cost; null unless the price is a maximum.
	Settled *SettledPrice `json:"settled"`
	// Who can pay by this option, and what a buyer needs first.
	PayableBy PayableBy `json:"payable_by"`
	// Whether the recipient can receive the asset, as nodes of the network answered in the last three days; null where
	// nobody asked, or nodes disagree. If false, each payment fails.
	RecipientCanReceive *bool `json:"recipient_can_receive"`
	// Why the recipient cannot receive the asset; null unless that is so.
	RecipientReason *string `json:"recipient_reason" enum:"ReceptionReasons"`
	// As [Advice.Level].
	VerdictLevel string `json:"verdict_level"`
	// Code of the main reason; null if good.
	VerdictCode *string `json:"verdict_code"`
}

// PayableBy says who can pay by an option, and what a buyer needs first. It is no judgment of the service.
type PayableBy struct {
	// Packages of the clients that pay by this option, by the table of clients that are run; empty if none of these
	// does, null if it is not known.
	Clients *[]string `json:"clients"`
	// Whether a page in a browser can pay, as the endpoint answers to requests of a browser; null if it is not known.
	Browser *bool `json:"browser"`
	// Whether a wallet that is a contract can pay (EIP-1271, EIP-6492); null if it is not known.
	SmartWallets *bool `json:"smart_wallets"`
	// What a buyer needs first; empty if the price is all.
	Conditions []BuyerNeed `json:"conditions"`
}

// BuyerNeed is what a buyer needs before a payment by an option.
type BuyerNeed struct {
	// Code of the need.
	Code string `json:"code" enum:"BuyerNeeds"` // of BuyerNeeds
	// The need in words.
	Text string `json:"text"`
}

// Words says in one sentence which clients and wallets can pay, "" if nothing is known.
func (p *PayableBy) Words() string {
	var parts []string
	switch {
	case p.Clients != nil && len(*p.Clients) > 0:
		parts = append(parts, "Paid by "+strings.Join(*p.Clients, ", "))
	case p.Clients != nil:
		parts = append(parts, "Paid by none of the clients that are tried")
	}
	switch {
	case p.SmartWallets == nil:
	case *p.SmartWallets:
		parts = append(parts, "smart-contract wallets can pay")
	default:
		parts = append(parts, "smart-contract wallets cannot pay")
	}
	if p.Browser != nil && !*p.Browser {
		parts = append(parts, "pages in browsers cannot pay")
	}
	return strings.Join(parts, "; ")
}

// IsConditional reports whether a buyer needs more than the price.
func (p *PayableBy) IsConditional() bool { return len(p.Conditions) > 0 }

// PriceCondition returns the first condition in words, nil if the price is all.
func (p *PayableBy) PriceCondition() *string {
	if len(p.Conditions) == 0 {
		return nil
	}
	return &p.Conditions[0].Text
}

// SettledPrice says what calls cost whose price is a maximum, by the settlements to its recipient. A null is unknown,
// and the reason says why.
type SettledPrice struct {
	// Half of the settlements are not higher, in US dollars; null below 20 settlements, and if they cannot be told from
	// others.
	MedianUSD *string `json:"median_usd"` // decimal string, as p95_usd; null if not known
	// 95 % of the settlements are not higher, in US dollars; null as median_usd.
	P95USD *string `json:"p95_usd"`
	// Settlements since that day, one for each call; null if they cannot be told from others.
	Calls *int64 `json:"calls"`
	// UTC days of the window, including today.
	WindowDays int `json:"window_days"`
	// First UTC day of the window on which the recipient was paid for this price alone.
	Since *string `json:"since" format:"date"`
	// Why the median is null; null if it is known.
	Reason *string `json:"reason"` // why median_usd and p95_usd are null
}

// CountedUSD returns the price in dollars, and false if figures do not count it.
func (p *PricingEntry) CountedUSD() (Decimal, bool) {
	if p.PriceUSD == nil || p.PriceCaveat != nil {
		return "", false
	}
	usd, err := ParseDecimal(*p.PriceUSD)
	return usd, err == nil
}

// Rail says how offers over a protocol other than x402 meet its specification.
type Rail struct {
	// Payment protocol.
	Protocol string `json:"protocol" enum:"RailProtocols"` // mpp, l402 or crawler-price
	// Grade by the checks of the protocol.
	Grade string `json:"grade" enum:"RailGrades"`
	// The grade and its reason.
	GradeReason string `json:"grade_reason"`
	// Number of checks that pass.
	Passed int `json:"passed"`
	// Number of checks.
	Total int `json:"total"`
	// The checks in the order of the methodology.
	Checks []RailCheck `json:"checks"`
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

// RailCheck is the result of one check of a protocol other than x402.
//
// It is one requirement of a protocol's specification.
type RailCheck struct {
	// Id of the check.
	ID string `json:"id"`
	// Name of the check.
	Label string `json:"label"`
	// Whether every offer passes.
	Pass bool `json:"pass"`
	// The first problem found; null if the check passes.
	Reason *string `json:"reason"`
	// What the check requires; null if it passes.
	Expected *string `json:"expected"`
	// How the owner can fix the problem; null if the check passes.
	Mend *string `json:"mend"`
}

// PayToDivergence is an endpoint that pays a different recipient than the service's other endpoints on the same
// network.
type PayToDivergence struct {
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Recipients of the other endpoints.
	Expected []string `json:"expected"`
	// Recipients of this endpoint.
	Observed    []string `json:"observed"`
	FirstSeenAt Time     `json:"first_seen_at"`
}

// PayToChange is one change of a payment recipient.
//
// It is one change of a recipient, from a record of type payto_changed. Lists of them are sorted from new to old.
type PayToChange struct {
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Method and path, such as "GET /quote".
	Endpoint string `json:"endpoint"`
	// Recipient before the change; null if the new one was added beside others.
	OldPayTo *string `json:"old_pay_to"`
	// Recipient after the change; null if the old one was removed and others stay.
	NewPayTo *string `json:"new_pay_to"`
	// When the change was observed.
	ObservedAt Time `json:"observed_at"`
}

// IsReplacement reports whether one recipient took the place of another.
func (c PayToChange) IsReplacement() bool { return c.OldPayTo != nil && c.NewPayTo != nil }

// UptimeDataPoint is the uptime of a service on a UTC day.
type UptimeDataPoint struct {
	// Start of the UTC day.
	PeriodStart Time `json:"period_start"`
	// End of the UTC day; for today, the last full hour.
	PeriodEnd Time `json:"period_end"`
	// Percentage of the day's known time in which the service was up.
	UptimePercentage float64 `json:"uptime_percentage" max:"100"`
	// Mean time until the response headers arrived on that day, without opening the connection, in milliseconds.
	AvgResponseTimeMS *int `json:"avg_response_time_ms"`
	// Number of counted checks on that day.
	TotalChecks int64 `json:"total_checks"`
	// Number of counted checks that were up.
	SuccessfulChecks int64 `json:"successful_checks"`
	// Milliseconds of the day in which it was known whether the service was up.
	KnownMS int64 `json:"known_ms"`
	// Milliseconds of these in which the service was up.
	UpMS int64 `json:"up_ms"`
}

// PlaceState is what a place found in its last conclusive check of a service.
type PlaceState struct {
	// Name of the place; empty if it has none.
	Vantage string `json:"vantage"`
	// As [CheckEntry.CheckedAt].
	CheckedAt Time `json:"checked_at"`
	IsUp      bool `json:"is_up"`
	// As [CheckEntry.ErrorMessage].
	ErrorMessage *string `json:"error_message"`
}

// DownFrom says from how many places the service is down, as in "down from 1 of 3 places"; "" if it is from none.
func (d ServiceDetail) DownFrom() string {
	down := 0
	for _, p := range d.Places {
		if !p.IsUp {
			down++
		}
	}
	if down == 0 {
		return ""
	}
	return fmt.Sprintf("down from %d of %d places", down, len(d.Places))
}

// CheckEntry is one check of a service: requests to its endpoints, without payment.
//
// It is a row of a service's check log.
type CheckEntry struct {
	// Id of the check.
	ID string `json:"id" format:"uuid"`
	// When the check ended.
	CheckedAt Time `json:"checked_at"`
	// Whether the service responded: any status but offline. False also for a check that does not count.
	IsUp bool `json:"is_up"`
	// HTTP status of the first paid response, or of the first response if none was paid; null if there was none.
	StatusCode *int `json:"status_code"`
	// Median time until the response headers arrived, without opening the connection, in milliseconds.
	ResponseTimeMS *int `json:"response_time_ms"`
	// Number of endpoints that requested payment in this check.
	EndpointsFound int `json:"endpoints_found"`
	// What went wrong; null if nothing did.
	ErrorMessage *string `json:"error_message"`

	// Whether some response was conclusive, so that the check counts in uptime, response times and failures.
	Counted bool `json:"counted"`
	// Why the check does not count: the class of its first response, or that there was none; null if it counts.
	UncountedReason *string `json:"uncounted_reason" enum:"UncountedReasons"`
	// Place of the check; absent if it has no name.
	Vantage string `json:"vantage,omitempty"`
}

// GlobalCheckEntry is one check and its service, as they were when the check was recorded.
//
// It is a row of the log of all checks. Name and status are those of the time when it was written.
type GlobalCheckEntry struct {
	// As [CheckEntry.ID].
	ID string `json:"id"`
	// As [CheckEntry.CheckedAt].
	CheckedAt Time `json:"checked_at"`
	IsUp      bool `json:"is_up"`
	// As [CheckEntry.StatusCode].
	StatusCode *int `json:"status_code"`
	// As [CheckEntry.ResponseTimeMS].
	ResponseTimeMS *int `json:"response_time_ms"`
	// As [CheckEntry.EndpointsFound].
	EndpointsFound int `json:"endpoints_found"`
	// Slug of the service.
	ServiceSlug string `json:"service_slug"`
	// Name of the service at that time, as the service gave it.
	ServiceName string `json:"service_name"`
	// Status of the service after this check.
	ServiceStatus string `json:"service_status" enum:"Statuses"`

	Counted         bool    `json:"counted"`
	UncountedReason *string `json:"uncounted_reason"`
	// As [CheckEntry.Vantage].
	Vantage string `json:"vantage,omitempty"`
}

// Reasons why a visit does not count, beside the classes of inconclusive responses.
const (
	NoEndpoints   = "no_endpoints" // the service has no endpoint to request
	OtherPlaces   = "other_places" // other places did not find what this one found
	ErasedService = "erased"       // the row of an erased service, which has no other content
	VoidCheck     = "void"         // the operator took it out of the judgments, because the directory was at fault
)

// Types of change records.
const (
	SchemaChanged  = "schema_changed"
	PriceChanged   = "price_changed"
	PayToChanged   = "payto_changed"
	SourceListed   = "listed"  // a public source lists a resource of the service
	SourceDropped  = "dropped" // a public source no longer lists it
	GradeChanged   = "grade_changed"
	VerdictChanged = "verdict_changed"
)

// ChangeRecord is a change of a service's payment schema, prices, recipients, grade, verdict or sources.
type ChangeRecord struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// Kind of change.
	Type       string `json:"type" enum:"ChangeTypes"`
	ObservedAt Time   `json:"observed_at"`
	// What changed; its form depends on the type.
	Summary json.RawMessage `json:"summary" anyOf:"ChangeSummaries"`
	// Payment options before the change.
	OldSnapshot []SnapshotEntry `json:"old_snapshot"`
	// Payment options after the change.
	NewSnapshot []SnapshotEntry `json:"new_snapshot"`
}

// ChangeSummaries are the types of ChangeRecord.Summary.
var ChangeSummaries = []any{SchemaSummary{}, PriceSummary{}, PayToSummary{}, SourceSummary{}, GradeSummary{}, VerdictSummary{}}

// SchemaSummary: payment options that were added and removed.
//
// It is the summary of a schema_changed record. Its strings are lines of ten fields; see change.SchemaLine.
type SchemaSummary struct {
	// Lines added: method, path, scheme, network, asset, asset name, version, an empty field, timeout and extra, with a
	// space between them. Inside a field a space is written %20, inside extra, which is JSON text, \u0020.
	SchemaAdded []string `json:"schemaAdded"`
	// Lines removed, in the form of schemaAdded.
	SchemaRemoved []string `json:"schemaRemoved"`
	// Endpoints added, such as "GET /quote".
	EndpointsAdded []string `json:"endpointsAdded"`
	// Endpoints removed.
	EndpointsRemoved []string `json:"endpointsRemoved"`
	// What a record of more than 64 KiB leaves out; absent from a complete record. The snapshots of such a record
	// contain only payment options that differ.
	Omitted *Omitted `json:"omitted,omitempty"`
}

// Omitted says what a change record leaves out because it would be too large.
//
// Without it the record is complete.
type Omitted struct {
	// Number of differences that the lists of the summary leave out.
	Differences int `json:"differences"`
	// Number of payment options that the two snapshots leave out.
	Entries int `json:"entries"` // ways to pay, of both snapshots; first those that did not change
}

// PriceSummary: prices that changed.
//
// It is the summary of a price_changed record.
type PriceSummary struct {
	// Each price that changed.
	PriceChanges []PriceChange `json:"priceChanges"`
	Omitted      *Omitted      `json:"omitted,omitempty"`
}

// PriceChange is one price that changed.
//
// It is one changed price, in atomic units.
type PriceChange struct {
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// As [PayToChange.Endpoint].
	Endpoint string `json:"endpoint"`
	// New price in atomic units.
	NewPrice string `json:"newPrice"`
	// Old price in atomic units.
	OldPrice string `json:"oldPrice"`
	// Name of the token; UNKNOWN if the token is not recognised.
	AssetName string `json:"assetName"`
}

// PayToSummary: recipients that were added and removed.
//
// It is the summary of a payto_changed record. The addresses of PayToAdded and PayToRemoved are abbreviated.
type PayToSummary struct {
	// Recipients added, abbreviated.
	PayToAdded []string `json:"payToAdded"`
	// Recipients removed, abbreviated.
	PayToRemoved []string `json:"payToRemoved"`
	// Each endpoint and network whose recipient changed.
	PayToChanges []RecipientChange `json:"payToChanges"`
	Omitted      *Omitted          `json:"omitted,omitempty"`
}

// SourceSummary: resources of a service that one answer of a public source added or lacks.
//
// It is the summary of a listed or dropped record. Records of older versions are of one resource, and lack the counts
// and the lists of endpoints.
type SourceSummary struct {
	// Name of the source in /v1/sources.
	Source string `json:"source"`
	// Method and path of the first resource of the record's type, or its path if the source names no method.
	Endpoint string `json:"endpoint"`
	// When this directory first saw the resource in the source.
	Since Time `json:"since"`
	// The whole answer of the source, which has the resource or lacks it.
	Answer SourceAnswer `json:"answer"`

	// Resources that the source began to list; left out by old records.
	Listed int `json:"listed,omitempty"`
	// Resources that the source dropped; left out by old records.
	Dropped int `json:"dropped,omitempty"`
	// The first ten of those that it began to list, like endpoint.
	ListedEndpoints []string `json:"listed_endpoints,omitempty"`
	// The first ten of those that it dropped, like endpoint.
	DroppedEndpoints []string `json:"dropped_endpoints,omitempty"`
}

// SourceAnswer is a whole answer of a public source.
//
// It is the evidence of a source's change: the whole answer of the source, which has the resource or lacks it.
type SourceAnswer struct {
	// When the answer was received.
	ReceivedAt Time `json:"received_at"`
	// Different resources in it.
	Resources int `json:"resources"`
	// SHA-256 of the bytes of all its pages, in hex.
	SHA256 string `json:"sha256"`
}

// Abbreviate shortens an address for change records: the first six characters, an ellipsis and the last four.
func Abbreviate(address string) string {
	r := []rune(address)
	if len(r) <= 12 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}

// RecipientChange is one changed recipient of an endpoint on a network.
//
// It is one changed recipient. See PayToChange for a null.
type RecipientChange struct {
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// As [PayToChange.Endpoint].
	Endpoint string `json:"endpoint"`
	// New recipient; null if the old one was removed and others stay.
	NewPayTo *string `json:"newPayTo"`
	// Old recipient; null if the new one was added beside others.
	OldPayTo *string `json:"oldPayTo"`
}

// SnapshotEntry is one payment option of a service at the time of a change.
type SnapshotEntry struct {
	// Address of the token; on EVM networks with its EIP-55 checksum.
	Asset string `json:"asset"`
	// Extra data of the payment option, as JSON text.
	Extra *string `json:"extra"`
	// Recipient, abbreviated.
	PayTo string `json:"payTo"`
	// As [PricingEntry.Price].
	Price  string `json:"price"`
	Scheme string `json:"scheme"`
	// As [PricingEntry.Network].
	Network string `json:"network"`
	// As [PayToChange.Endpoint].
	Endpoint string `json:"endpoint"`
	// Media type of the response, as the endpoint declares it.
	MimeType *string `json:"mimeType"`
	// URL that is paid for, as the endpoint declares it.
	Resource  *string `json:"resource"`
	AssetName string  `json:"assetName"`
	// Version of x402; 0 for other protocols.
	X402Version int `json:"x402Version"`
	// Number of seconds for which a payment is valid.
	MaxTimeoutSeconds *int `json:"maxTimeoutSeconds"`
}
