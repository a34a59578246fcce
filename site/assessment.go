package site

// Assessment: assessment of a service. Parts without facts are present and contain nulls.
type Assessment struct {
	// Time of the newest fact in the assessment.
	UpdatedAt *Time `json:"updated_at"`
	// SHA-256 of the canonical JSON that describes the service to a language model; changes when the service's own
	// texts change.
	InputHash string `json:"input_hash"`
	// Language model that wrote synthesis; null if there is no synthesis.
	ModelID *string `json:"model_id"`
	// Version of the prompt that the model received; null if there is no synthesis.
	PromptVersion *string `json:"prompt_version"`
	// Uptime and response times.
	Reliability Reliability `json:"reliability"`
	// Conformance checks and their grade.
	Compliance Compliance `json:"compliance"`
	// Documents found on the service's site.
	Site SiteFacts `json:"site"`
	// Facts about the service's domain.
	Domain DomainFacts `json:"domain"`
	// Prices of the service compared with its category.
	Economics Economics `json:"economics"`
	// Risk level and its reasons.
	Risk Risk `json:"risk"`
	// A language model's summary of the service's current texts; null if there is no model, or if it has not summarised
	// these texts yet.
	Synthesis *Synthesis `json:"synthesis"`
	// Settlements observed on chain.
	Traction Traction `json:"traction"`
	// Whether the service may be paid now, and why.
	Advice Advice `json:"advice"` // beyond the contract
}

// Reliability: uptime and response times.
type Reliability struct {
	// As [ServiceDetail.Uptime].
	Uptime ReliabilityUptime `json:"uptime"`
	// 95th percentile of the response times of the last 7 days, in milliseconds.
	ResponseP95MS *int `json:"response_p95_ms"`
	// Mean response time of the last 24 hours, in milliseconds.
	AvgResponseMS *int `json:"avg_response_ms"`
	// As [ServiceListItem.LastCheckedAt].
	LastCheckedAt       *Time `json:"last_checked_at"`
	ConsecutiveFailures int   `json:"consecutive_failures"`
	// As [ServiceDetail.TotalChecks].
	TotalChecks int64 `json:"total_checks"`
}

// ReliabilityUptime: percentage of counted checks that were up, by window.
//
// It is UptimeWindows without its coverage.
type ReliabilityUptime struct {
	// As [UptimeWindows.H24].
	H24 *float64 `json:"24h"`
	// As [UptimeWindows.D7].
	D7 *float64 `json:"7d"`
	// As [UptimeWindows.D30].
	D30 *float64 `json:"30d"`
	// As [UptimeWindows.D90].
	D90 *float64 `json:"90d"`
}

// Compliance is the 14 conformance checks and the resulting grade.
type Compliance struct {
	// Grade by the share of checks that pass.
	Grade  string `json:"grade" enum:"Grades"` // A, B, C, D, F or unknown
	Passed int    `json:"passed"`
	// As [StatusSummary.Total].
	Total int `json:"total"`
	// Result of each check.
	Checks []ComplianceCheck `json:"checks"`
	// Key in the response that contained the recipient.
	PayToSource *string `json:"pay_to_source"`
	// Where in the response that key was: accept or element.
	PayToLocation *string `json:"pay_to_location"`
	// Age of the response that was graded.
	Staleness Staleness `json:"staleness"`
	// The grade and why: the first failure that limits the grade, or else how many checks pass.
	GradeReason string `json:"grade_reason"`
}

// Grades lists the grades, the best first. The last one belongs to services without terms to grade.
var Grades = []string{"A", "B", "C", "D", "F", GradeUnknown}

// GradeUnknown is the grade of a service without a conclusive response.
const GradeUnknown = "unknown"

// ComplianceCheck is the result of one check.
type ComplianceCheck struct {
	// As [RailCheck.ID].
	ID string `json:"id"`
	// What the check requires.
	Label string `json:"label"`
	// Whether the check passes.
	Pass bool `json:"pass"`
}

// Staleness: age of the response that was graded.
type Staleness struct {
	// Whether the last conclusive check failed; the risk flag of this name needs three in a row.
	ProbeFailing bool `json:"probe_failing"`
	// As [ServiceDetail.LastSuccessAt].
	LastSuccessAt *Time `json:"last_success_at"`
	// When the graded response was received.
	EnvelopeCapturedAt *Time `json:"envelope_captured_at"`
}

// SiteFacts: documents on the service's site; null means that the site was not examined.
type SiteFacts struct {
	// Whether the site has a home page.
	Homepage *bool `json:"homepage"`
	// Whether the site has an OpenAPI document.
	OpenAPI *bool `json:"openapi"`
	// Whether the site has a pricing page.
	Pricing *bool `json:"pricing"`
	// Whether the site has an llms.txt.
	LLMsTxt *bool `json:"llms_txt"`
	// Whether the site has a robots.txt.
	Robots *bool `json:"robots"`
	// Whether the site has terms of use.
	Terms *bool `json:"terms"`
	// When the site was fetched.
	CheckedAt *Time `json:"checked_at"`
}

// DomainFacts: registry data of the service's domain.
type DomainFacts struct {
	// Days since the domain was registered.
	AgeDays *int `json:"age_days"`
	// Registrar of the domain.
	Registrar *string `json:"registrar"`
	// Whether the service runs on a free host or behind a tunnel.
	FreeHost bool `json:"free_host"`
	// When the domain was registered.
	CreatedDate *Time `json:"created_date"`
	// When the domain registry was queried.
	CheckedAt *Time `json:"checked_at"`
}

// Economics: prices of the service compared with its category.
type Economics struct {
	// Lowest counted price in US dollars.
	PriceUSD *Decimal `json:"price_usd"`
	// As [ServiceListItem.PriceCondition].
	PriceCondition *string `json:"price_condition"`
	// The same price in atomic units of its asset; if no price counts, the price of the first row.
	PriceAtomic *string `json:"price_atomic"`
	// How the service charges.
	Model string `json:"model" enum:"PriceModels"` // flat, tiered, per-token, free, unknown
	// Percentile of its lowest price in its category: 0 is the cheapest, 100 the most expensive.
	CategoryPercentile *float64 `json:"category_percentile" max:"100"`
	// Price stability from 0 to 1; 1 means that no price changed in 30 days.
	Stability *float64 `json:"stability" max:"1"`
	// Highest counted price in US dollars.
	PriceMaxUSD *Decimal `json:"price_max_usd"`
	// Percentile of its highest price in its category.
	CategoryPercentileMax *float64 `json:"category_percentile_max" max:"100"`
	// As [ServiceListItem.EndpointCount].
	EndpointCount int `json:"endpoint_count"`
	// Number of different prices.
	DistinctPriceCount int `json:"distinct_price_count"`

	// How many prices of active endpoints are not counted in dollars, and why; null if all are.
	PriceCaveat *string `json:"price_caveat"`
	// Number of other operators with a price in its category; null if category_percentile is.
	CategoryOthers *int `json:"category_others"`
	// Number of those that ask for more.
	CategoryDearer *int `json:"category_dearer"`
}

// Risk levels, from low to high.
const (
	RiskClean   = "clean"
	RiskWarning = "warning"
	RiskDanger  = "danger"
)

// Risk is the risk level, which is the most serious level of its flags.
type Risk struct {
	// Risk level; from low to high: clean, warning, danger.
	Level string `json:"level" enum:"RiskLevels"`
	// Reasons for the level, the most serious first.
	Flags []RiskFlag `json:"flags"`
}

// RiskFlag is one reason for the risk level.
//
// It contains the observation that it is based on.
type RiskFlag struct {
	// As [Risk.Level].
	Level string `json:"level"`
	// Code of the reason.
	Code string `json:"code"`
	// The observation that the flag is based on.
	Evidence string `json:"evidence"`
	// The code in words.
	Title string `json:"title"`
}

// Synthesis is a language model's summary of the service's own texts.
//
// It is null until the model has summarised the current texts.
type Synthesis struct {
	// Summary of what the service does.
	Summary SynthesisText `json:"summary"`
	// Capabilities, as tags.
	CapabilityTags SynthesisList `json:"capability_tags"`
	// Category that the model suggests.
	Category SynthesisText `json:"category"`
	// What the service takes as input.
	Inputs SynthesisText `json:"inputs"`
	// What the service returns.
	Outputs SynthesisText `json:"outputs"`
	// Authentication that the service requires in addition to payment.
	Auth SynthesisText `json:"auth"`
}

// SynthesisText is one text that the model wrote.
type SynthesisText struct {
	// What the model wrote.
	Value string `json:"value"`
	// How confident the model is, from 0 to 1.
	Confidence float64 `json:"confidence" max:"1"`
	// Origin of the value; ai if a model wrote it.
	Source string `json:"source"`
}

// SynthesisList is one list that the model wrote.
type SynthesisList struct {
	// As [SynthesisText.Value].
	Value      []string `json:"value"`
	Confidence float64  `json:"confidence"`
	// As [SynthesisText.Source].
	Source string `json:"source"`
}

// Values of Traction.Status.
const (
	TractionMeasured     = "measured"
	TractionNoPayTo      = "no-payto"
	TractionUnmeasured   = "unmeasured-network"
	TractionUnresponsive = "unresponsive"
)

// Traction: settlements observed on chain. Unless the status is measured, every metric is null, which does not mean
// zero. Volumes are lower bounds.
type Traction struct {
	// Whether settlements could be measured, or why not.
	Status string `json:"status" enum:"TractionStatuses"`
	// Volume settled in 30 days, in US dollars.
	VolumeUSD30d *Decimal `json:"volume_usd_30d"`
	// Number of settlements in 30 days.
	TxCount30d *int64 `json:"tx_count_30d"`
	// As [Pick.UniqueBuyers30d].
	UniqueBuyers30d *int64 `json:"unique_buyers_30d"`
	// Volume that neither relatives, which are recipients of the operator, nor scouts paid, who pay many a little.
	OrganicVolumeUSD30d *Decimal `json:"organic_volume_usd_30d"` // beyond the contract
	// Number of these settlements.
	OrganicTxCount30d *int64 `json:"organic_tx_count_30d"` // beyond the contract
	// Number of buyers that are neither relatives nor scouts; null if unique_buyers_30d is.
	OrganicBuyers30d *int64 `json:"organic_buyers_30d"` // beyond the contract
	// Number of organic buyers that paid on two or more UTC days of 30.
	ReturningBuyers30d *int64 `json:"returning_buyers_30d"` // beyond the contract
	// Number of organic buyers that paid on one UTC day of 30.
	OneTimeBuyers30d *int64 `json:"one_time_buyers_30d"` // beyond the contract
	// Number of buyers that are scouts.
	ScoutBuyers30d *int64 `json:"scout_buyers_30d"` // beyond the contract
	// Number of buyers that are relatives, the service itself included.
	SelfBuyers30d *int64 `json:"self_buyers_30d"` // beyond the contract
	// Time of the newest settlement.
	LastSettlementAt *Time `json:"last_settlement_at"`
	// Share of the 30-day volume that the largest payer paid.
	TopBuyerShare30d *float64 `json:"top_buyer_share_30d" max:"1"`
	// Share of the 30-day volume that the three largest payers paid.
	Top3BuyersShare30d *float64 `json:"top_3_buyers_share_30d" max:"1"`
	// Whether three payers account for nearly all of the volume.
	ConcentratedVolume bool `json:"concentrated_volume"`
	// Average daily volume of 7 UTC days divided by that of 30, without today, not divided among services that share a
	// recipient; null without volume in 30 days, and until the first settlement and the measuring are 30 days old.
	Trend7dVs30d *float64 `json:"trend_7d_vs_30d"`
	// Whether other services use the same recipient address.
	SharedPayout bool `json:"shared_payout"`
	// Number of other services that use it.
	SharedWith int `json:"shared_with"`
	// CAIP-2 ids of the networks whose settlements are counted.
	MeasuredNetworks []string `json:"measured_networks"`
	// Time of the oldest settlement observed.
	FirstSettlementAt *Time `json:"first_settlement_at"`
	// Volume settled since measurement began, in US dollars.
	VolumeUSDAllTime *Decimal `json:"volume_usd_all_time"`
	// Number of settlements since measurement began.
	TxCountAllTime *int64 `json:"tx_count_all_time"`
	// Median settlement in 30 days, without redemptions, in US dollars.
	MedianSettlement30d *Decimal `json:"median_settlement_usd_30d"`
	// Largest settlement in 30 days, without redemptions, in US dollars.
	MaxSettlement30d *Decimal `json:"max_settlement_usd_30d"`
	// Ids of the facilitators that settled.
	SettledVia []string `json:"settled_via"`
	// Volume and settlements of each facilitator.
	SettledViaDetail []SettledVia `json:"settled_via_detail"`
	// Services that share the address; the first hundred by slug.
	SharedWithServices []SharedWithItem `json:"shared_with_services"`
	// Share of the address's volume that is counted for this service: 1 / (shared_with + 1).
	ProQuotaShare float64 `json:"pro_quota_share" max:"1"`
	// Whether part of the figures of 30 days is of recipients that services of other operators name, too.
	SharedWithStrangers bool `json:"shared_with_strangers"` // beyond the contract
	// Alone has the sums and buyers of the part of 30 days that is shared with no other operator; nil without such a
	// part, and unless SharedWithStrangers.
	Alone *Traction `json:"-"`
	// What the figures leave out.
	Caveat string `json:"caveat"`
	// What the all-time figures leave out.
	AllTimeCaveat string `json:"all_time_caveat"`
}

// Merit returns the figures that speak for a service: those of the days on which it shared its recipients with no other
// operator. It returns nil if there are none, because nobody knows whose sales shared ones are.
func (t *Traction) Merit() *Traction {
	if t.SharedWithStrangers {
		return t.Alone
	}
	return t
}

// A scout is an account that paid at least ScoutRecipients recipients in 30 days, on average at most ScoutSettlements
// settlements and ScoutUSD dollars to each.
const (
	ScoutRecipients  = 20
	ScoutSettlements = 2
	ScoutUSD         = "0.1"
)

// Kinds of buyers. Nobody knows the payer of a redemption of batch settlement, so it counts as organic volume.
const (
	BuyerOrganic  = "organic"
	BuyerScout    = "scout"
	BuyerRelative = "relative"
	BuyerUnknown  = "unknown"
)

// NumberedBuyer is what one buyer paid the recipients of a service in 30 UTC days.
type NumberedBuyer struct {
	Number            int64 // place of its address among those of all buyers of all services, from 1; 0 if it is unknown
	Kind              string
	Settlements       int64
	USD               Decimal
	FirstDay, LastDay int // UTC days since 1970; 0 for an unknown buyer
}

// SettledVia is a facilitator's share of a service's last 30 days.
type SettledVia struct {
	// Id of the facilitator.
	ID string `json:"id"`
	// As [Traction.VolumeUSD30d].
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	// As [Traction.TxCount30d].
	TxCount30d int64 `json:"tx_count_30d"`
}

// MaxSharedWith is the maximum number of services in SharedWithServices.
const MaxSharedWith = 100

// SharedWithItem: another service that uses the same recipient address.
type SharedWithItem struct {
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
}
