package site

// Levels of Advice.
const (
	AdviceGood     = "good"
	AdviceCaution  = "caution"
	AdviceDoNotPay = "do_not_pay"
	AdviceUnknown  = "unknown" // too little is known for any other
)

// Advice says whether a service may be paid now.
type Advice struct {
	// Whether the service may be paid now.
	Level string `json:"level" enum:"AdviceLevels"`
	// One to three reasons for the level, the most important first.
	Reasons []AdviceReason `json:"reasons"`
}

// GoodUptime is the uptime of 30 days in percent below which a service is not good to pay, and nothing of it is green.
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
}
