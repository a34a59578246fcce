package routes

import (
	"net/url"
	"regexp"
	"strings"

	"tollbook/site"
)

// Phrase is an expression for words of a query that stand for a filter or an order. Go and JavaScript read it alike,
// ignoring case. Words of a query are separated by single spaces.
type Phrase struct {
	// Name of the parameter of /v1/search.
	Name string `json:"name"`
	// Expression that a query is matched with. %s stands for the spellings of the parameter's values.
	Expression string `json:"expression"`
	// Value of the parameter; the group that matched if absent.
	Value string `json:"value,omitempty"`
	// Places by which the point of a number is shifted to the right.
	Shift int `json:"shift,omitempty"`
	// Whether the value is in capitals.
	Upper bool `json:"upper,omitempty"`
	// Whether the case of letters counts.
	Exact bool `json:"exact,omitempty"`
	// Whether the words may also describe what a service does. They are then a filter only if no service that matches
	// the rest of the query has them.
	Weak bool `json:"weak,omitempty"`
}

// Parts of expressions. A phrase is between spaces, commas or the ends of the query.
const (
	begins = `(?:^|[ ,;(])`
	ends   = `(?:$|[ ,;.!?)])`
	atMost = `(?:for +)?(?:under|undr|below|bellow|less than|cheaper than|lower than|no more than|` +
		`not more than|at most|up to|max\.?|maximum|within|<=?|≤) *`
	amount  = `(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})`
	perCall = `(?: *(?:per|a|an|each|/) *(?:call|request|query|use|page|image|message))?`
	with    = `(?:with +(?:an? +)?)?`
	atLeast = `(?:(?:at least|of|over|above|more than|better than|min\.?|minimum|>=?|≥) *)*`
	thatIs  = `(?:(?:that|which) +(?:is|are) +)?(?:currently +)?`
	answers = `(?:(?:that|which) +)?(?:(?:answers?|responds?|replies|response time|latency) +)?(?:in +)?`
	over    = `(?:on|via|over|with|using|through|by|accepts?|accepting|takes?|speaks?|pay(?:able|` +
		`ing)? (?:on|via|with|over)) +`
)

// Phrases are the phrases of queries, in the order in which they are looked for.
var Phrases = []Phrase{
	{Name: "max_response_ms",
		Expression: begins + answers + `(?:` + atMost + `|faster than +)(\d{1,6}) *(?:ms|milliseconds?)` + ends},
	{Name: "max_response_ms", Shift: 3,
		Expression: begins + answers + `(?:` + atMost +
			`|faster than +)(\d{1,3}(?:\.\d{1,3})?) *(?:s|secs?|seconds?)` + ends},
	{Name: "max_response_ms", Value: "1000", Expression: begins + answers + atMost + `(?:a|one) +second` + ends},
	{Name: "max_price_usd", Value: "0.01",
		Expression: begins + atMost + `(?:a|one) +(?:us +)?(?:cent|penny)` + perCall + ends},
	{Name: "max_price_usd", Value: "1",
		Expression: begins + atMost + `(?:a|one) +(?:us +)?(?:dollar|buck)` + perCall + ends},
	{Name: "max_price_usd", Shift: -2,
		Expression: begins + `(?:` + atMost + `|for +)` + amount + ` *(?:us +)?(?:cents?|ct|¢)` + perCall + ends},
	{Name: "max_price_usd", Expression: begins + `(?:` + atMost + `|for +)(?:\$ *` + amount + `|` + amount +
		` *(?:\$|usdc?|dollars?|bucks)|(\d{0,9}\.\d{1,9}))` + perCall + ends},
	{Name: "max_price_usd", Value: "0", Weak: true, Expression: begins + `free(?: +of +charge)?` + ends},
	{Name: "min_uptime_30d",
		Expression: begins + with + atLeast + `(100|\d{1,2}(?:\.\d{1,3})?) *% +(?:uptime|availability)` + ends},
	{Name: "min_uptime_30d",
		Expression: begins + with + `(?:uptime|availability) *` + atLeast + `(100|\d{1,2}(?:\.\d{1,3})?) *%?` + ends},
	{Name: "min_uptime_30d", Value: "99",
		Expression: begins + `(?:most +|very +)?(?:reliable|reliably|dependable|stable|` +
			with + `high +uptime)` + ends},
	{Name: "sort", Value: "price",
		Expression: begins + `(?:the +)?(?:cheapest|cheap|inexpensive|affordable|low[- ]cost|lowest +price|` +
			`low +price)` + ends},
	{Name: "sort", Value: "speed",
		Expression: begins + `(?:the +)?(?:fastest|quickest|` + with + `low[- ]latency)` + ends},
	{Name: "sort", Value: "speed", Weak: true, Expression: begins + `(?:fast|quick)` + ends},
	{Name: "sort", Value: "organic_buyers",
		Expression: begins + `(?:the +)?(?:most +popular|most +used|popular)` + ends},
	{Name: "sort", Value: "best", Weak: true, Expression: begins + `(?:the +)?(?:best|recommended)` + ends},
	{Name: "verdict", Value: "good", Expression: begins + thatIs + `(?:safe|good) +to +pay` + ends},
	{Name: "verdict", Value: "do_not_pay", Expression: begins + `do +not +pay` + ends},
	{Name: "verdict", Value: "good", Weak: true, Expression: begins + `(?:safe|trusted|trustworthy)` + ends},
	{Name: "min_grade", Upper: true,
		Expression: begins + with + `grade +([a-f]) +(?:or|and) +(?:better|higher|above|up)` + ends},
	{Name: "grade", Upper: true, Expression: begins + with + `grade +([a-f])` + ends},
	{Name: "payment_ready", Value: "true", Expression: begins + thatIs + `payment[- ]ready` + ends},
	{Name: "verified", Value: "true", Weak: true, Expression: begins + thatIs + `verified` + ends},
	{Name: "status",
		Expression: begins + `(?:that|which) +(?:is|are) +(?:currently +)?(online|offline|degraded)` + ends},
	{Name: "status", Value: "online",
		Expression: begins + thatIs + `(?:up +and +running|working +now|up +now|online +now)` + ends},
	{Name: "status", Weak: true, Expression: begins + `(?:currently +)?(online|offline|degraded)` + ends},
	{Name: "method", Upper: true,
		Expression: begins + over + `(get|post|put|patch|delete)(?: +(?:requests?|method))?` + ends},
	{Name: "method", Exact: true,
		Expression: begins + `(GET|POST|PUT|PATCH|DELETE)(?: +(?:endpoints?|requests?|method|only))?` + ends},
	{Name: "protocol", Value: "x402-v1", Expression: begins + `(?:` + over + `)?x402[- ]?v(?:ersion +)?1` + ends},
	{Name: "protocol", Value: "x402-v2", Expression: begins + `(?:` + over + `)?x402[- ]?v(?:ersion +)?2` + ends},
	{Name: "protocol", Value: "l402",
		Expression: begins + over + `(?:l402|lsat|(?:bitcoin +)?lightning(?: +network)?)` + ends},
	{Name: "protocol", Expression: begins + over + `(x402|mpp)` + ends},
	{Name: "protocol", Value: "crawler-price",
		Expression: begins + `(?:` + over + `)?(?:crawler[- ]price|pay[- ]per[- ]crawl)` + ends},
	{Name: "protocol", Value: "l402", Weak: true, Expression: begins + `(?:l402|lsat|lightning(?: +network)?)` + ends},
	{Name: "protocol", Weak: true, Expression: begins + `(x402|mpp)` + ends},
	{Name: "network", Expression: `^(%s)(?: +(?:network|chain|mainnet|services?|apis?))?$`},
	{Name: "network", Expression: begins + over + `(?:the +)?(%s)(?: +(?:network|chain|mainnet))?` + ends},
	{Name: "network", Weak: true, Expression: begins + `(%s)(?: +(?:network|chain|mainnet))?` + ends},
	{Name: "category", Expression: begins + `(?:in +)?(?:the +)?category +(%s)` + ends},
	{Name: "category", Expression: begins + `(?:in +)?(?:the +)?(%s) +category` + ends},
}

// MinWeak is the number of letters from which a network's name alone, without a word such as "on", is a filter.
const MinWeak = 5

// PhraseWords are words of the phrases that are read in place of words that differ in one letter. Names of networks in
// the directory are, too.
var PhraseWords = strings.Fields("affordable below cents cheap cheapest degraded dollars fastest inexpensive lightning " +
	"offline online popular reliable trusted under uptime verified")

// Connectors matches what joins words that were taken out of a query with the others.
const Connectors = `(?:^| )(?:and|with|but|or|that|which|are|is|at|for|in|,|;)$|^(?:and|with|but|or|` +
	`that|which|,|;)(?: |$)|[ ,;]+$|^[ ,;]+`

// Fillers matches a query that asks for any service.
const Fillers = `^(?:(?:all|any|every|the|list|show|me|of|paid|services?|apis?|endpoints?|providers?) *)+$`

// TypedAmount matches what people type as a price: $0.01, .01, 0.01 USDC, 0.5 cents. Its groups are the number and, for
// cents, the unit.
const TypedAmount = `^ *(?:us)?\$? *(\d{0,16}(?:\.\d{0,16})?) *(?:(cents?|ct|¢)|\$|usdc?|dollars?)? *$`

var typedAmount = regexp.MustCompile("(?i)" + TypedAmount)

// Typed returns the value of a decimal that a text in a field means; the text itself if it is no amount.
func (p *Param) Typed(text string) string {
	m := typedAmount.FindStringSubmatch(text)
	if p.Kind != KindDecimal || m == nil || strings.Trim(m[1], ".") == "" {
		return text
	}
	places := 0
	if m[2] != "" {
		places = -2
	}
	d, err := site.ParseDecimal(ShiftPoint(m[1], places))
	if err != nil {
		return text
	}
	return string(d)
}

// TypedQuery returns a query string with the values of filters that texts in fields mean.
func TypedQuery(rawQuery string) string {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return rawQuery
	}
	changed := false
	for i := range Filters {
		p := &Filters[i]
		for k, v := range values[p.Name] {
			if typed := p.Typed(v); typed != v {
				values[p.Name][k], changed = typed, true
			}
		}
	}
	if !changed {
		return rawQuery
	}
	return values.Encode()
}

// ShiftPoint moves the decimal point of a number by so many places to the right, or to the left.
func ShiftPoint(number string, places int) string {
	whole, fraction, _ := strings.Cut(number, ".")
	for ; places < 0; places++ {
		whole = "0" + whole
		fraction = whole[len(whole)-1:] + fraction
		whole = whole[:len(whole)-1]
	}
	for ; places > 0; places-- {
		fraction += "0"
		whole, fraction = whole+fraction[:1], fraction[1:]
	}
	return "0" + whole + "." + fraction
}
