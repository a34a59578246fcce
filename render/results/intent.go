package results

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tollbook/site/display"
)

// The filters in words, with the value in place of %s.
var filterTexts = map[string]string{
	"category": "in %s", "network": "on %s", "status": "%s", "protocol": "protocol %s",
	"max_price_usd": "at most $%s", "min_uptime_30d": "uptime %s%% or more", "verified": "verified: %s",
	"payment_ready": "payment ready: %s", "max_response_ms": "response within %s ms", "min_grade": "grade %s or better",
	"grade": "grade %s", "method": "method %s", "source": "source %s", "signable": "signable: %s",
}

// describe returns a filter in words, such as "at most $0.01".
func (s *Settings) describe(name, value string) string {
	switch name + "=" + value {
	case "verified=true":
		return "verified"
	case "payment_ready=true":
		return "payment ready"
	}
	return fmt.Sprintf(filterTexts[name], s.valueText(name, value))
}

// filterNames are the names of filters in the sentence about what matches without one.
var filterNames = map[string]string{
	"max_price_usd": "price cap", "min_uptime_30d": "minimum uptime", "verified": "filter for verified services",
	"payment_ready": "filter for payment-ready services", "max_response_ms": "limit of the response time",
	"min_grade": "minimum grade", "signable": "filter for signable payments",
}

// withoutText returns the sentence about the services that match without a filter.
func withoutText(n int, name string) string {
	what := filterNames[name]
	if what == "" {
		what = name
	}
	verb := "match"
	if n == 1 {
		verb = "matches"
	}
	return display.Plural(int64(n), "service", "services") + " " + verb + " without the " + what
}

// Intent is a search in which filters replace words of the query, such as "under $0.01".
type Intent struct{ Label, Href string }

// The words that stand for filters. templates/search.js has the same expressions.
var (
	priceWords = regexp.MustCompile(`(?i)(?:^|[\s,;])(?:for\s+)?(?:under|below|less than|at most|up to|max|for)\s+` +
		`(?:\$(\d{1,9}(?:\.\d{1,9})?)|(\d{1,9}(?:\.\d{1,9})?)\s*(?:usdc?|dollars?)|(\d{1,9}\.\d{1,9}))(?:$|[\s,;.])`)
	uptimeWords = regexp.MustCompile(`(?i)(?:^|[\s,;])(?:reliable|reliably|high uptime)(?:$|[\s,;])`)
	separators  = regexp.MustCompile(`(?:^|\s)(?:and|with)\s*$|[\s,;]+$|^[\s,;]+`)
)

// reliableUptime is the minimum uptime in percent for which the word "reliable" stands.
const reliableUptime = "99"

// ReadIntent returns the search that words of a query stand for, with a zero Label if they name no filter.
func ReadIntent(s *Settings, values url.Values) Intent {
	q := display.Line(values.Get("q"), 100)
	filters := map[string]string{}
	take := func(name string, at []int, value string) {
		if at != nil && values.Get(name) == "" {
			filters[name] = value
			q = q[:at[0]] + " " + q[at[1]:]
		}
	}
	if m := priceWords.FindStringSubmatch(q); m != nil {
		take("max_price_usd", priceWords.FindStringIndex(q), m[1]+m[2]+m[3]) // one of them matches
	}
	var codes []string
	for code := range s.Networks {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(a, b string) int { // "Base Sepolia" before "Base"
		return cmp.Or(len([]rune(s.Networks[b].Name))-len([]rune(s.Networks[a].Name)), cmp.Compare(a, b))
	})
	for _, code := range codes {
		words := regexp.QuoteMeta(s.Networks[code].Name) + "|" + regexp.QuoteMeta(code)
		on := regexp.MustCompile(`(?i)(?:^|[\s,;])(?:on|via)\s+(?:` + words + `)(?:$|[\s,;])`)
		if filters["network"] == "" {
			take("network", on.FindStringIndex(q), code)
		}
	}
	take("min_uptime_30d", uptimeWords.FindStringIndex(q), reliableUptime)
	if len(filters) == 0 {
		return Intent{}
	}
	for at := separators.FindStringIndex(q); at != nil; at = separators.FindStringIndex(q) {
		q = q[:at[0]] + q[at[1]:]
	}
	q = strings.Join(strings.Fields(q), " ")
	changed := set(values, "q", q)
	changed.Del("page")
	var label []string
	if q != "" {
		label = append(label, "“"+q+"”")
	}
	for _, name := range parameters {
		if value, ok := filters[name]; ok {
			changed.Set(name, value)
			label = append(label, s.describe(name, value))
		}
	}
	return Intent{Label: strings.Join(label, ", "), Href: SearchURL(s.Search, changed)}
}
