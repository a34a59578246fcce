package vocabulary

import "tollbook/site"

// rankingFields describes the fields of recommendations and of what they compare. Its keys are those of serviceFields.
var rankingFields = map[string]Field{
	"compliance_passed":                 {About: "Number of conformance checks that pass"},
	"compliance_grade":                  {About: "Grade by the share of checks that pass", Values: site.Grades},
	"compliance_failed_checks":          {About: "Ids of the conformance checks that fail"},
	"compliance_total":                  {About: "Number of conformance checks"},
	"CompactAssessment.price_usd":       {About: "Lowest counted price in US dollars; null without one"},
	"CompactAssessment.endpoint_count":  {About: "Number of active endpoints with a counted price"},
	"CompactAssessment.traction":        {About: "Settlements measured on chain"},
	"CompactAssessment.capability_tags": {About: "Capability tags that a model wrote; null without a summary"},
	"CompactAssessment.summary":         {About: "Summary that a model wrote; null without one"},
	"CompactAssessment.signable": {
		About: "Whether a standard client could sign a payment for at least one endpoint; null if it is not known",
	},
	"CompactAssessment.prices_usd": {
		About: "The lowest counted price in US dollars by network, as decimal strings",
	},
	"reliability_uptime_30d": {About: "Percentage of the checks of 30 days that were up", Max: 100},
	"CompactAssessment.protocols": {
		About: "Payment protocols that the graded responses of active endpoints show: x402 and the version of its " +
			"terms, and signs of others",
	},
	"CompactAssessment.methods": {About: "HTTP methods of the active endpoints"},
	"CompactTraction.status":    tractionStatus,
	"Recommendation.endpoint": {
		About: "Endpoint that matches the request best. Recommendations never name another one instead",
	},
	"Recommendation.price_usd": {
		About: "Price of the endpoint on the network in US dollars, as a decimal string; null if not known",
	},
	"Recommendation.network": {About: "Abbreviation of the network of the price"},
	"Tag.cheapest": {
		About: "Service with the lowest price, of those that /v1/best recommends and the advice calls good, or null",
	},
	"Tag.most_used": {About: "The one of them with the most buyers in 30 days; null if no buyer of them is known"},
	"Tag.prices": {
		About: "Distribution of the lowest prices of the category's services, which category_percentile compares; " +
			"null without a price",
	},
	"CategoryPrices.service_count": {About: "Number of services with such a price"},
	"CategoryPrices.median_usd": {
		About: "Price in the middle in US dollars; of an even number of prices the upper of the two",
	},
	"CategoryPrices.classes": {
		About: "Adjoining ranges of prices, from that of the lowest price to that of the highest",
	},
	"PriceClass.from_usd":      {About: "Lowest price of the class in US dollars; null if it has no lower bound"},
	"PriceClass.below_usd":     {About: "Prices of the class are below this one; null if it has no upper bound"},
	"PriceClass.service_count": {About: "Number of services whose lowest price is in the class"},

	"Pick.price_usd": {About: "Lowest price in US dollars of an endpoint that can be paid; null if not known"},
	"Pick.network":   {About: "Abbreviation of the network of the price"},
	"score": {
		About: "How well the service suits the request, from measured figures; the methodology page has the formula",
		Max:   100,
	},
	"Recommendation.terms": {About: "Parts of the score"},
	"why":                  {About: "Figures behind the score in a sentence, which contains no text of the service"},
	"RecommendedEndpoint.url": {
		About: "URL of the endpoint", Format: "uri",
	},
	"RankingTerms.relevance": {
		About: "How well the service's texts match q; no text has more than 100. 100 without q", Max: 100,
	},
	"RankingTerms.reliability": {About: "Uptime and response time", Max: 100},
	"RankingTerms.compliance":  {About: "What the grade is worth", Max: 100},
	"RankingTerms.price":       {About: "Price compared with the median of the candidates, which has 50", Max: 100},
	"RankingTerms.traction": {
		About: "Buyers and volume of 30 days, whichever is worth less", Max: 100,
	},
	"RankingTerms.recency": {About: "How lately the service answered with usable payment terms", Max: 100},
	"ranking_version":      {About: "Version of the formula; it changes with each rule that can change an order"},
	"prefer":               {About: "What the weights prefer", Values: site.Preferences},
	"RankingMeta.weights":  {About: "Weights of the measured terms in percent"},
	"candidates":           {About: "Number of services that match and are not excluded by their facts"},
	"RankingMeta.median_price_usd": {
		About: "Median of the candidates' lowest prices in US dollars, as a decimal string; null without prices",
	},
	"excluded_count": {About: "Number of services that match but are excluded"},
	"excluded":       {About: "Services that match but are excluded, the most relevant first"},
	"RankingWeights.reliability": {
		About: "Weight of reliability in percent", Max: 100,
	},
	"RankingWeights.compliance": {About: "Weight of compliance in percent", Max: 100},
	"RankingWeights.price":      {About: "Weight of the price in percent", Max: 100},
	"RankingWeights.traction":   {About: "Weight of traction in percent", Max: 100},
	"RankingWeights.recency":    {About: "Weight of recency in percent", Max: 100},
	"speed_share":               {About: "Share of the response time in reliability in percent", Max: 100},
	"Exclusion.code":            {About: "Code of the reason", Values: site.ExclusionCodes},
	"Exclusion.reason":          {About: "Why the service is excluded; it contains no text of the service"},
}
