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

// Recommendation is a service that suits a request, the endpoint to use, and why.
//
// It is a row of /v1/best.
type Recommendation struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// As [ServiceListItem.Name].
	Name string `json:"name"`
	// Endpoint that matches the request best. Recommendations never name another one instead.
	Endpoint RecommendedEndpoint `json:"endpoint"`
	// Price of the endpoint on the network in US dollars, as a decimal string; null if not known.
	PriceUSD *string `json:"price_usd"`
	// What a buyer needs before they can pay this price; null if the price is all.
	PriceCondition *string `json:"price_condition"`
	// As [Pick.Network].
	Network string `json:"network"`
	// How well the service suits the request, from measured figures; the methodology page has the formula.
	Score float64 `json:"score" max:"100"` // 0 to 100, one decimal
	// Parts of the score.
	Terms RankingTerms `json:"terms"`
	// Figures behind the score in a sentence, which contains no text of the service.
	Why string `json:"why"`
}

// RecommendedEndpoint is the endpoint that matches a request best.
type RecommendedEndpoint struct {
	// As [Endpoint.Method].
	Method string `json:"method"`
	// As [Endpoint.Path].
	Path string `json:"path"`
	// URL of the endpoint.
	URL string `json:"url" format:"uri"`
	// As [ServiceListItem.Description].
	Description *string `json:"description"`
}

// RankingTerms is the parts of a score, which the methodology page defines.
//
// Each is from 0 to 100 with one decimal.
type RankingTerms struct {
	// How well the service's texts match q; no text has more than 100. 100 without q.
	Relevance float64 `json:"relevance" max:"100"`
	// Uptime and response time.
	Reliability float64 `json:"reliability" max:"100"`
	// What the grade is worth.
	Compliance float64 `json:"compliance" max:"100"`
	// Price compared with the median of the candidates, which has 50.
	Price float64 `json:"price" max:"100"`
	// Organic buyers and volume of 30 days, whichever is worth less.
	Traction float64 `json:"traction" max:"100"`
	// How lately the service answered with usable payment terms.
	Recency float64 `json:"recency" max:"100"`
}

// RankingMeta says how services were ranked, and which were excluded.
//
// It is the meta of /v1/best.
type RankingMeta struct {
	// Version of the formula; it changes with each rule that can change an order.
	RankingVersion string `json:"ranking_version"`
	// What the weights prefer.
	Prefer string `json:"prefer" enum:"Preferences"` // the effective value
	// Weights of the measured terms in percent.
	Weights RankingWeights `json:"weights"`
	// How each word or phrase of the query was read.
	ReadAs []Reading `json:"read_as"`
	// Number of services that match and are not excluded by their facts.
	Candidates int `json:"candidates"`
	// Median price of the candidates' operators, each at its dearest endpoint, in US dollars, as a decimal string; null
	// without one.
	MedianPriceUSD *string `json:"median_price_usd"`
	// Number of services that match but are excluded.
	ExcludedCount int `json:"excluded_count"`
	// Services that match but are excluded, the most relevant first.
	Excluded []Exclusion `json:"excluded"`
	// As [ServicesMeta.UnknownValues].
	UnknownValues []UnknownValue `json:"unknown_values,omitempty"`
}

// RankingWeights is the weights of a preference.
//
// They are the weights of the measured terms in percent, and the share of the response time in reliability.
type RankingWeights struct {
	// Weight of reliability in percent.
	Reliability int `json:"reliability"`
	// Weight of compliance in percent.
	Compliance int `json:"compliance"`
	// Weight of the price in percent.
	Price int `json:"price"`
	// Weight of traction in percent.
	Traction int `json:"traction"`
	// Weight of recency in percent.
	Recency int `json:"recency"`
	// Share of the response time in reliability in percent.
	SpeedShare int `json:"speed_share"`
}

// MaxExcluded is the maximum number of exclusions that /v1/best lists.
const MaxExcluded = 20

// Exclusion is a service that matches a request but is not recommended.
type Exclusion struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// Code of the reason.
	Code string `json:"code" enum:"ExclusionCodes"`
	// Why the service is excluded; it contains no text of the service.
	Reason string `json:"reason"`
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
