package site

// Assessment is the builder's judgment of a service. Parts without facts are present and contain nulls.
type Assessment struct {
	UpdatedAt     *Time       `json:"updated_at"` // time of the newest fact in it
	InputHash     string      `json:"input_hash"` // SHA-256 of the canonical JSON that describes the service to a model
	ModelID       *string     `json:"model_id"`
	PromptVersion *string     `json:"prompt_version"`
	Reliability   Reliability `json:"reliability"`
	Compliance    Compliance  `json:"compliance"`
	Site          SiteFacts   `json:"site"`
	Domain        DomainFacts `json:"domain"`
	Economics     Economics   `json:"economics"`
	Risk          Risk        `json:"risk"`
	Synthesis     *Synthesis  `json:"synthesis"`
	Traction      Traction    `json:"traction"`
	Advice        Advice      `json:"advice"` // beyond the contract
}

// Reliability contains the measured uptime and response times.
type Reliability struct {
	Uptime              ReliabilityUptime `json:"uptime"`
	ResponseP95MS       *int              `json:"response_p95_ms"` // over 7 days
	AvgResponseMS       *int              `json:"avg_response_ms"` // over 24 hours
	LastCheckedAt       *Time             `json:"last_checked_at"`
	ConsecutiveFailures int               `json:"consecutive_failures"`
	TotalChecks         int64             `json:"total_checks"`
}

// ReliabilityUptime is UptimeWindows without its coverage.
type ReliabilityUptime struct {
	H24 *float64 `json:"24h"`
	D7  *float64 `json:"7d"`
	D30 *float64 `json:"30d"`
	D90 *float64 `json:"90d"`
}

// Compliance contains the 14 checks and the resulting grade.
type Compliance struct {
	Grade         string            `json:"grade"` // A, B, C, D, F or unknown
	Passed        int               `json:"passed"`
	Total         int               `json:"total"`
	Checks        []ComplianceCheck `json:"checks"`
	PayToSource   *string           `json:"pay_to_source"`
	PayToLocation *string           `json:"pay_to_location"`
	Staleness     Staleness         `json:"staleness"`
	GradeReason   string            `json:"grade_reason"` // the grade and why
}

// Grades lists the grades, the best first. The last one belongs to services without terms to grade.
var Grades = []string{"A", "B", "C", "D", "F", GradeUnknown}

// GradeUnknown is the grade of a service without a conclusive response.
const GradeUnknown = "unknown"

// ComplianceCheck is the result of one check.
type ComplianceCheck struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Pass  bool   `json:"pass"`
}

// Staleness is the age of the envelope that was graded.
type Staleness struct {
	ProbeFailing       bool  `json:"probe_failing"`
	LastSuccessAt      *Time `json:"last_success_at"`
	EnvelopeCapturedAt *Time `json:"envelope_captured_at"`
}

// SiteFacts are the documents on a service's site; null means that the site was not examined.
type SiteFacts struct {
	Homepage  *bool `json:"homepage"`
	OpenAPI   *bool `json:"openapi"`
	Pricing   *bool `json:"pricing"`
	LLMsTxt   *bool `json:"llms_txt"`
	Robots    *bool `json:"robots"`
	Terms     *bool `json:"terms"`
	CheckedAt *Time `json:"checked_at"`
}

// DomainFacts is registry data of the service's domain.
type DomainFacts struct {
	AgeDays     *int    `json:"age_days"`
	Registrar   *string `json:"registrar"`
	FreeHost    bool    `json:"free_host"`
	CreatedDate *Time   `json:"created_date"`
	CheckedAt   *Time   `json:"checked_at"`
}

// Economics compares a service's prices with those of its category.
type Economics struct {
	PriceUSD              *Decimal `json:"price_usd"` // the lowest
	PriceAtomic           *string  `json:"price_atomic"`
	Model                 string   `json:"model"` // flat, tiered, per-token, free, unknown
	CategoryPercentile    *float64 `json:"category_percentile"`
	Stability             *float64 `json:"stability"` // 0 to 1; 1 means that no price changed in 30 days
	PriceMaxUSD           *Decimal `json:"price_max_usd"`
	CategoryPercentileMax *float64 `json:"category_percentile_max"`
	EndpointCount         int      `json:"endpoint_count"`
	DistinctPriceCount    int      `json:"distinct_price_count"`

	PriceCaveat *string `json:"price_caveat"` // beyond the contract: which prices are not counted; null if all are
}

// Risk levels, from low to high.
const (
	RiskClean   = "clean"
	RiskWarning = "warning"
	RiskDanger  = "danger"
)

// Risk is the most serious level of its flags.
type Risk struct {
	Level string     `json:"level"`
	Flags []RiskFlag `json:"flags"`
}

// RiskFlag is one reason for a risk level, with the observation that it is based on.
type RiskFlag struct {
	Level    string `json:"level"`
	Code     string `json:"code"`
	Evidence string `json:"evidence"`
	Title    string `json:"title"` // the code in words
}

// Synthesis is a language model's summary of a service's own texts. It is null until the model has summarised the
// current texts.
type Synthesis struct {
	Summary        SynthesisText `json:"summary"`
	CapabilityTags SynthesisList `json:"capability_tags"`
	Category       SynthesisText `json:"category"`
	Inputs         SynthesisText `json:"inputs"`
	Outputs        SynthesisText `json:"outputs"`
	Auth           SynthesisText `json:"auth"`
}

// SynthesisText is one text that the model wrote.
type SynthesisText struct {
	Value      string  `json:"value"`
	Confidence float64 `json:"confidence"`
	Source     string  `json:"source"`
}

// SynthesisList is one list that the model wrote.
type SynthesisList struct {
	Value      []string `json:"value"`
	Confidence float64  `json:"confidence"`
	Source     string   `json:"source"`
}

// Values of Traction.Status.
const (
	TractionMeasured     = "measured"
	TractionNoPayTo      = "no-payto"
	TractionUnmeasured   = "unmeasured-network"
	TractionUnresponsive = "unresponsive"
)

// Traction contains the settlements observed on chain. Unless the status is measured, every metric is null, which does
// not mean zero.
type Traction struct {
	Status              string           `json:"status"`
	VolumeUSD30d        *Decimal         `json:"volume_usd_30d"`
	TxCount30d          *int64           `json:"tx_count_30d"`
	UniqueBuyers30d     *int64           `json:"unique_buyers_30d"`
	LastSettlementAt    *Time            `json:"last_settlement_at"`
	TopBuyerShare30d    *float64         `json:"top_buyer_share_30d"`
	Top3BuyersShare30d  *float64         `json:"top_3_buyers_share_30d"`
	ConcentratedVolume  bool             `json:"concentrated_volume"`
	Trend7dVs30d        *float64         `json:"trend_7d_vs_30d"`
	SharedPayout        bool             `json:"shared_payout"`
	SharedWith          int              `json:"shared_with"`
	MeasuredNetworks    []string         `json:"measured_networks"`
	FirstSettlementAt   *Time            `json:"first_settlement_at"`
	VolumeUSDAllTime    *Decimal         `json:"volume_usd_all_time"`
	TxCountAllTime      *int64           `json:"tx_count_all_time"`
	MedianSettlement30d *Decimal         `json:"median_settlement_usd_30d"`
	MaxSettlement30d    *Decimal         `json:"max_settlement_usd_30d"`
	SettledVia          []string         `json:"settled_via"`
	SettledViaDetail    []SettledVia     `json:"settled_via_detail"`
	SharedWithServices  []SharedWithItem `json:"shared_with_services"`
	ProQuotaShare       float64          `json:"pro_quota_share"`
	SharedWithStrangers bool             `json:"shared_with_strangers"` // beyond the contract
	Caveat              string           `json:"caveat"`
	AllTimeCaveat       string           `json:"all_time_caveat"`
}

// SettledVia is a facilitator's share of a service's last 30 days.
type SettledVia struct {
	ID           string  `json:"id"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
}

// MaxSharedWith is the maximum number of services in SharedWithServices.
const MaxSharedWith = 100

// SharedWithItem is another service that uses the same recipient address.
type SharedWithItem struct {
	Name string `json:"name"`
	Slug string `json:"slug"`
}
