package search

import "tollbook/site"

// formula contains the numbers of the formula, for a program in another language.
type formula struct {
	Version   string                         `json:"version"`
	Weights   map[string]site.RankingWeights `json:"weights"`
	GradeTerm map[string]int                 `json:"grade_term"`
	GradeCap  map[string]int                 `json:"grade_cap"`
	RiskCap   map[string]int                 `json:"risk_cap"`

	Full          int `json:"full"`
	UptimeZero    int `json:"uptime_zero"`
	UptimeDoubt   int `json:"uptime_doubt"`
	SpeedHalf     int `json:"speed_half"`
	BuyersFull    int `json:"buyers_full"`
	DollarsFull   int `json:"dollars_full"`
	RecencyWindow int `json:"recency_window"`
	GeneralMatch  int `json:"general_match"`
	NanoDollars   int `json:"nano_dollars"`
	MaxDollars    int `json:"max_dollars"`

	LeastPlausibleUSD string `json:"least_plausible_usd"`

	CompleteMatch int      `json:"complete_match"`
	FactColumns   []string `json:"fact_columns"`
	StaleAfterMS  int64    `json:"stale_after_ms"`
	EndpointCodes []string `json:"endpoint_codes"`
	MaxRead       int      `json:"max_read"`
	MaxExcluded   int      `json:"max_excluded"`
}

// newFormula returns the numbers of the formula.
func newFormula() formula {
	f := formula{
		Version: rankingVersion, Weights: weightsOf, GradeTerm: gradeTerm, GradeCap: gradeCap, RiskCap: riskCap,
		Full: full, UptimeZero: uptimeZero, UptimeDoubt: uptimeDoubt, SpeedHalf: speedHalf, BuyersFull: buyersFull,
		DollarsFull: dollarsFull, RecencyWindow: recencyWindow, GeneralMatch: generalMatch, NanoDollars: nanoDollars,
		MaxDollars: maxDollars, LeastPlausibleUSD: string(site.LeastPlausibleUSD), CompleteMatch: completeMatch,
		StaleAfterMS: staleAfter.Milliseconds(), EndpointCodes: endpointCodes, MaxRead: maxRead,
		MaxExcluded: site.MaxExcluded,
	}
	for _, column := range factColumns {
		f.FactColumns = append(f.FactColumns, column.name)
	}
	return f
}
