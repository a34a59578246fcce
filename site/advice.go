package site

// Levels of Advice.
const (
	AdviceGood     = "good"
	AdviceCaution  = "caution"
	AdviceDoNotPay = "do_not_pay"
	AdviceUnknown  = "unknown" // too little is known for any other
)

// Advice answers whether the service may be paid now.
type Advice struct {
	Level   string         `json:"level"`
	Reasons []AdviceReason `json:"reasons"` // one to MaxAdviceReasons, the most important first
}

// GoodUptime is the uptime of 30 days in percent below which a service is not good to pay, and nothing of it is green.
const GoodUptime = 95

// MaxAdviceReasons is the maximum number of reasons of an Advice.
const MaxAdviceReasons = 3

// AdviceReason is one reason for a level. The reasons for AdviceGood include facts that count neither for nor against.
type AdviceReason struct {
	Code string `json:"code"`
	Text string `json:"text"` // the code with the service's figures, in words
}
