package site

// Assessment is what the builder judges of a service. A part without facts is present, with nulls.
type Assessment struct {
	UpdatedAt     *Time       `json:"updated_at"` // time of the newest fact in it
	InputHash     string      `json:"input_hash"` // sha256 of what a model is told of the service, in canonical JSON
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
}

// Reliability repeats the measured uptime beside response times.
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

// Compliance is the 14 checks and the grade they give.
type Compliance struct {
	Grade         string            `json:"grade"` // A, B, C, D, F or unknown
	Passed        int               `json:"passed"`
	Total         int               `json:"total"`
	Checks        []ComplianceCheck `json:"checks"`
	PayToSource   *string           `json:"pay_to_source"`
	PayToLocation *string           `json:"pay_to_location"`
	Staleness     Staleness         `json:"staleness"`
}

// ComplianceCheck is one rule's verdict.
type ComplianceCheck struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Pass  bool   `json:"pass"`
}

// Staleness says how old the envelope is that the checks judged.
type Staleness struct {
	ProbeFailing       bool  `json:"probe_failing"`
	LastSuccessAt      *Time `json:"last_success_at"`
	EnvelopeCapturedAt *Time `json:"envelope_captured_at"`
}

// SiteFacts tell which documents a service's site has; null is not looked at.
type SiteFacts struct {
	Homepage  *bool `json:"homepage"`
	OpenAPI   *bool `json:"openapi"`
	Pricing   *bool `json:"pricing"`
	LLMsTxt   *bool `json:"llms_txt"`
	Robots    *bool `json:"robots"`
	Terms     *bool `json:"terms"`
	CheckedAt *Time `json:"checked_at"`
}

// DomainFacts come from the registry of the service's domain.
type DomainFacts struct {
	AgeDays     *int    `json:"age_days"`
	Registrar   *string `json:"registrar"`
	FreeHost    bool    `json:"free_host"`
	CreatedDate *Time   `json:"created_date"`
	CheckedAt   *Time   `json:"checked_at"`
}

// Economics places a service's prices among those of its category.
type Economics struct {
	PriceUSD              *Decimal `json:"price_usd"` // the lowest
	PriceAtomic           *string  `json:"price_atomic"`
	Model                 string   `json:"model"` // flat, tiered, per-token, free, unknown
	CategoryPercentile    *float64 `json:"category_percentile"`
	Stability             *float64 `json:"stability"` // 0..1; 1 is a price that did not move in 30 days
	PriceMaxUSD           *Decimal `json:"price_max_usd"`
	CategoryPercentileMax *float64 `json:"category_percentile_max"`
	EndpointCount         int      `json:"endpoint_count"`
	DistinctPriceCount    int      `json:"distinct_price_count"`
}

// Risk levels, mildest first.
const (
	RiskClean   = "clean"
	RiskWarning = "warning"
	RiskDanger  = "danger"
)

// Risk is the worst level among its flags.
type Risk struct {
	Level string     `json:"level"`
	Flags []RiskFlag `json:"flags"`
}

// RiskFlag is one reason for care, with what it was seen in.
type RiskFlag struct {
	Level    string `json:"level"`
	Code     string `json:"code"`
	Evidence string `json:"evidence"`
}

// Synthesis is what a language model made of a service's own words; null until it was asked about those of now.
type Synthesis struct {
	Summary        SynthesisText `json:"summary"`
	CapabilityTags SynthesisList `json:"capability_tags"`
	Category       SynthesisText `json:"category"`
	Inputs         SynthesisText `json:"inputs"`
	Outputs        SynthesisText `json:"outputs"`
	Auth           SynthesisText `json:"auth"`
}

// SynthesisText is one answer of the model.
type SynthesisText struct {
	Value      string  `json:"value"`
	Confidence float64 `json:"confidence"`
	Source     string  `json:"source"`
}

// SynthesisList is one answer of the model that is a list.
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

// Traction is what settlement on chain shows. Unless measured, every metric is null: null is not zero.
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
	Caveat              string           `json:"caveat"`
	AllTimeCaveat       string           `json:"all_time_caveat"`
}

// SettledVia is a facilitator's part in a service's 30 days.
type SettledVia struct {
	ID           string  `json:"id"`
	VolumeUSD30d Decimal `json:"volume_usd_30d"`
	TxCount30d   int64   `json:"tx_count_30d"`
}

// MaxSharedWith is how many of the services that share a recipient a service names.
const MaxSharedWith = 100

// SharedWithItem names another service paid at the same address.
type SharedWithItem struct {
	Name string `json:"name"`
	Slug string `json:"slug"`
}
