package site

import "slices"

// Levels of Advice.
const (
	AdviceGood     = "good"
	AdviceCaution  = "caution"
	AdviceDoNotPay = "do_not_pay"
	AdviceUnknown  = "unknown" // too little is known for any other
)

// Advice says whether a service or an endpoint may be paid now.
//
// A service's advice is the verdict on what it sells. The verdict on an endpoint has the same form.
type Advice struct {
	// Whether it may be paid.
	Level string `json:"level" enum:"AdviceLevels"`
	// One to three reasons for the level, the most important first.
	Reasons []AdviceReason `json:"reasons"`
}

// AdviceLevels lists the levels, the best first.
var AdviceLevels = []string{AdviceGood, AdviceCaution, AdviceUnknown, AdviceDoNotPay}

// IsWorse reports whether a level is worse than another one.
func IsWorse(level, than string) bool {
	return slices.Index(AdviceLevels, level) > slices.Index(AdviceLevels, than)
}

// IsAdvised reports whether clients may be shown how to pay: nothing is known by which a payment would be lost, and
// enough is known to say so.
func (a *Advice) IsAdvised() bool { return IsAdvised(a.Level) }

// IsAdvised reports the same for a level.
func IsAdvised(level string) bool { return level == AdviceGood || level == AdviceCaution }

// GoodUptime is the uptime of 30 days in percent below which a service is not safe to pay, and nothing of it is green.
const GoodUptime = 95

// MaxAdviceReasons is the maximum number of reasons of an Advice.
const MaxAdviceReasons = 3

// AdviceReason is one reason for the level of an advice.
//
// It is one reason for a level. The reasons for AdviceGood include facts that count neither for nor against.
type AdviceReason struct {
	// Code of the reason: a risk flag's, or one of the methodology's table.
	Code string `json:"code"`
	// The reason in words, with the service's figures.
	Text string `json:"text"`
	// Exact figures and names behind the text.
	Values map[string]string `json:"values"`
	// When the fact began.
	Since *Time `json:"since"`
	// Path of what shows the fact.
	Link string `json:"link"`
}
