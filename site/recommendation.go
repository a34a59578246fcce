package site

// Values of the parameter prefer of /v1/best.
const (
	PreferBalanced = "balanced"
	PreferCheapest = "cheapest"
	PreferFastest  = "fastest"
	PreferReliable = "most_reliable"
)

// Preferences lists them, the default first.
var Preferences = []string{PreferBalanced, PreferCheapest, PreferFastest, PreferReliable}

// Recommendation is a row of /v1/best: a service, the endpoint to use, and why.
type Recommendation struct {
	Slug     string              `json:"slug"`
	Name     string              `json:"name"`
	Endpoint RecommendedEndpoint `json:"endpoint"`
	PriceUSD *string             `json:"price_usd"` // decimal string, of the endpoint on Network; null if not known
	Network  string              `json:"network"`   // abbreviation
	Score    float64             `json:"score"`     // 0 to 100, one decimal
	Terms    RankingTerms        `json:"terms"`
	// one sentence of measured figures; it contains no text of the service
	Why string `json:"why"`
}

// RecommendedEndpoint is the endpoint that matches the request best.
type RecommendedEndpoint struct {
	Method      string  `json:"method"`
	Path        string  `json:"path"`
	URL         string  `json:"url"`
	Description *string `json:"description"`
}

// RankingTerms are the parts of a score, each from 0 to 100 with one decimal.
type RankingTerms struct {
	Relevance   float64 `json:"relevance"`
	Reliability float64 `json:"reliability"`
	Compliance  float64 `json:"compliance"`
	Price       float64 `json:"price"`
	Traction    float64 `json:"traction"`
	Recency     float64 `json:"recency"`
}

// RankingMeta is the meta of /v1/best.
type RankingMeta struct {
	RankingVersion string         `json:"ranking_version"`
	Prefer         string         `json:"prefer"` // the effective value
	Weights        RankingWeights `json:"weights"`
	ReadAs         []Reading      `json:"read_as"`          // how the words of q were read
	Candidates     int            `json:"candidates"`       // services that match and are not excluded by their facts
	MedianPriceUSD *string        `json:"median_price_usd"` // of the candidates' lowest prices; null without one
	ExcludedCount  int            `json:"excluded_count"`
	Excluded       []Exclusion    `json:"excluded"` // the first MaxExcluded
}

// RankingWeights are the weights of the measured terms in percent, and the share of the response time in reliability.
type RankingWeights struct {
	Reliability int `json:"reliability"`
	Compliance  int `json:"compliance"`
	Price       int `json:"price"`
	Traction    int `json:"traction"`
	Recency     int `json:"recency"`
	SpeedShare  int `json:"speed_share"`
}

// MaxExcluded is the maximum number of exclusions that /v1/best lists.
const MaxExcluded = 20

// Exclusion is a service that matches a request but is not recommended.
type Exclusion struct {
	Slug   string `json:"slug"`
	Code   string `json:"code"`
	Reason string `json:"reason"` // in words; it contains no text of the service
}

// Codes of exclusions.
const (
	ExcludedDanger     = "danger"
	ExcludedOffline    = "offline"
	ExcludedStale      = "stale"
	ExcludedUnpayable  = "unpayable"
	ExcludedUnverified = "unverified"
	ExcludedUnpriced   = "no_price"
	ExcludedPrice      = "too_expensive"
	ExcludedNetwork    = "other_network"
	ExcludedMethod     = "other_method"
)

// ExclusionCodes lists them.
var ExclusionCodes = []string{ExcludedDanger, ExcludedOffline, ExcludedStale, ExcludedUnpayable, ExcludedUnverified,
	ExcludedUnpriced, ExcludedPrice, ExcludedNetwork, ExcludedMethod}
