// Package lint turns the result of one probe into a report for the owner of a service: the failed checks, what
// was found and expected, and how to fix them. It must never send a request.
package lint

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tollbook/build/judge"
	"tollbook/build/judge/price"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/hint"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Report is the result of a lint and the form of its JSON: fields are added, never renamed.
type Report struct {
	URL       string                 `json:"url"`     // as in the command line
	Verdict   string                 `json:"verdict"` // paid, broken, open, inconclusive, failed, refused
	Class     string                 `json:"class"`   // finer than the verdict
	Reason    string                 `json:"reason"`
	Method    *string                `json:"method"` // of the response; null if no request was sent
	Status    *int                   `json:"status"` // null without an answer
	FinalURL  string                 `json:"final_url"`
	Redirects []string               `json:"redirects"`
	Grade     string                 `json:"grade"`  // "unknown" when there was nothing to check
	Passed    *int                   `json:"passed"` // null when there was nothing to check
	Total     int                    `json:"total"`
	Asks      []Ask                  `json:"asks"`
	Checks    []site.EvidenceCheck   `json:"checks"` // all 14 or, when there was nothing to check, none
	Warnings  []site.EvidenceWarning `json:"warnings"`
	Defects   []site.EvidenceDefect  `json:"defects"`
	Protocols []string               `json:"protocols"` // other payment protocols that the answer hints at
	// the grade and why; null when there was nothing to check
	GradeReason *string `json:"grade_reason"`
	// protocols other than x402 over which the response makes offers, with the checks of each. If there are no terms of
	// x402, the grade is the best of theirs.
	Rails []site.Rail `json:"rails"`
	// contradictions in what one request is to cost, and to whom
	Conflicts []site.TermsConflict `json:"conflicts"`
	Tools     []Tool               `json:"tools"` // of an MCP server; none for any other URL
	Calls     []Call               `json:"calls"` // the requests that were sent, in order
	Hints     []site.Hint          `json:"hints"` // what some buyers stumble over; they never affect a grade
	// whether a page of any site can pay in a browser; null if unknown
	Browser       *bool   `json:"browser"`
	BrowserReason *string `json:"browser_reason"` // why it cannot, or why that is unknown
	// public catalogues whose documented rules the answers break; whether they list the URL is not asked
	Catalogues []Catalogue `json:"catalogues"`
}

// Catalogue is a public catalogue whose rules a URL breaks.
type Catalogue struct {
	Source string               `json:"source"`
	Rules  []site.CatalogueRule `json:"rules"`
}

// Call is one request of a lint.
type Call struct {
	Method string  `json:"method"`
	URL    string  `json:"url"`
	Body   *string `json:"body"`   // null without one
	Sample bool    `json:"sample"` // contains the example of input that the endpoint declares
	Status *int    `json:"status"` // null without an answer
	Class  string  `json:"class"`
}

func newCalls(list []probe.Call) []Call {
	out := []Call{}
	for _, c := range list {
		call := Call{Method: c.Method, URL: invisible.Replace(c.URL), Sample: c.Sample, Class: c.Class}
		if c.Body != nil {
			call.Body = new(invisible.Replace(invisible.Clip(string(c.Body), maxCallBody)))
		}
		if c.Status != 0 {
			call.Status = &c.Status
		}
		out = append(out, call)
	}
	return out
}

// maxCallBody is the longest body of a request that is shown, in bytes.
const maxCallBody = 2000

// String returns a request with its answer: `POST {"q":"x"} answers 402`.
func (c Call) String() string {
	text := c.Method
	if c.Body != nil {
		text += " " + *c.Body
	}
	if u, err := url.Parse(c.URL); err == nil && u.RawQuery != "" {
		text += " ?" + u.RawQuery
	}
	if c.Sample {
		text += " (the endpoint's own example)"
	}
	if c.Status == nil {
		return text + ": no answer"
	}
	return fmt.Sprintf("%s answers %d", text, *c.Status)
}

// Path returns the requests that led to the 402 if it was not the first one that was tried.
func (r Report) Path() []Call {
	if len(r.Calls) < 2 || r.Passed == nil {
		return nil
	}
	return r.Calls
}

// Ask is one way to pay, in the order of accepts.
type Ask struct {
	Protocol          string  `json:"protocol"`
	Scheme            string  `json:"scheme"`
	Network           string  `json:"network"`       // as received
	NetworkCAIP2      *string `json:"network_caip2"` // null when it does not resolve
	NetworkName       *string `json:"network_name"`  // null when it is in no table
	Asset             string  `json:"asset"`
	AssetName         string  `json:"asset_name"` // UNKNOWN when it is in no table
	Amount            string  `json:"amount"`     // as received
	Variable          bool    `json:"variable"`   // the amount is a maximum
	PriceUSD          *string `json:"price_usd"`  // null for an asset without a known dollar value
	PayTo             string  `json:"pay_to"`
	MaxTimeoutSeconds *int    `json:"max_timeout_seconds"`
	Usable            bool    `json:"usable"`          // it can be paid
	UnusableReason    *string `json:"unusable_reason"` // null for a usable one

	UnsignableReason *string        `json:"unsignable_reason"` // why standard clients do not pay it; null if one does
	PayableBy        site.PayableBy `json:"payable_by"`
}

// New returns the report on a URL. headFree means that HEAD is served without payment while GET is paid.
func New(address string, r probe.Result, headFree bool) Report {
	out := Report{
		URL: address, Verdict: string(r.Verdict), Class: r.Class, Reason: r.Reason, FinalURL: r.FinalURL,
		Redirects: r.Redirects,
		Grade:     "unknown", Total: len(x402.Rules()), Asks: []Ask{}, Rails: []site.Rail{}, Tools: []Tool{},
		Conflicts: []site.TermsConflict{},
		Calls:     newCalls(r.Calls), Hints: []site.Hint{}, Catalogues: []Catalogue{},
		Checks:   []site.EvidenceCheck{},
		Warnings: []site.EvidenceWarning{},
		Defects:  judge.ExplainDefects(r.Captured.Defects), Protocols: r.Captured.Protocols,
	}
	if out.Redirects == nil {
		out.Redirects = []string{}
	}
	if out.Protocols == nil {
		out.Protocols = []string{}
	}
	if r.Method != "" {
		out.Method = &r.Method
	}
	if r.Status != 0 {
		out.Status = &r.Status
	}
	if !isJudged(r.Verdict) {
		return out
	}
	if e := r.Captured.Envelope; e != nil {
		evidence := x402.Evidence{Endpoint: r.Method + " " + pathOf(address), Captured: r.Captured}
		payers, reasons := x402.PayersOf(evidence), x402.UnsignableRows(evidence)
		for i, row := range e.Accepts {
			ask := newAsk(row)
			if i < len(payers) {
				ask.PayableBy = price.NewPayableBy(payers[i])
				if _, reason, isKnown := strings.Cut(reasons[i], ": "); isKnown {
					ask.UnsignableReason = &reason
				}
			}
			out.Asks = append(out.Asks, ask)
		}
	}
	var offers []rail.Listed
	for _, o := range r.Offers {
		out.Asks = append(out.Asks, newOffer(o))
		offers = append(offers, rail.Listed{Endpoint: endpointName(r, address), Offer: o})
	}
	for _, c := range slices.Concat(rail.Conflicts(r.Captured, r.Offers), r.Conflicts) {
		out.Conflicts = append(out.Conflicts, judge.PublishConflict(c))
	}
	verdicts := rail.AssessAll(offers)
	out.Rails = judge.PublishOffers(verdicts)
	got := assess(address, r, headFree)
	out.Grade, out.Passed, out.Total, out.GradeReason = got.Grade, &got.Passed, got.Total, &got.GradeReason
	out.Checks, out.Warnings = judge.ExplainChecks(got.Checks, r.Captured.Envelope != nil),
		judge.ExplainWarnings(append(got.Warnings, rail.Warnings(offers)...))
	if len(verdicts) > 0 && r.Captured.Envelope == nil {
		best := rail.Best(verdicts)
		out.Grade, out.GradeReason = best.Grade, &best.Reason
	}
	return out
}

// AddHints adds the hints about the URL. b is what it answered to a browser, nil if it was not asked.
func (r *Report) AddHints(result probe.Result, b *hint.Browser) {
	f := result.Facts(endpointName(result, r.URL), r.URL)
	if f.Browser = b; b != nil && b.Bare != nil {
		f.Bare = &hint.Try{Text: b.BareText, Status: b.Bare.Status}
	}
	r.Hints = hint.Judge([]hint.Facts{f})
	for _, name := range hint.Catalogues() {
		// that a list is about another protocol is no fault of the URL
		if rules := hint.BrokenRules(name, &f); len(rules) > 0 && !strings.HasPrefix(rules[0].Code, "no_") {
			r.Catalogues = append(r.Catalogues, Catalogue{name, rules})
		}
	}
	can, why := hint.CanBrowserPay(&f)
	r.Browser = can
	for i := range r.Asks {
		if r.Asks[i].Protocol == rail.X402 {
			r.Asks[i].PayableBy.Browser = can
		}
	}
	if why != "" {
		r.BrowserReason = &why
	}
}

// endpointName returns the name of a URL as an endpoint.
func endpointName(r probe.Result, address string) string { return r.Method + " " + pathOf(address) }

// newOffer returns an offer over another protocol than x402.
func newOffer(o rail.Offer) Ask {
	v := o.Value()
	a := Ask{
		Protocol: o.Protocol, Scheme: o.Scheme, Network: o.Network, Asset: o.Asset, AssetName: v.AssetName,
		Amount: o.Amount, Variable: o.Variable, PayTo: o.PayTo, MaxTimeoutSeconds: o.MaxTimeoutSeconds,
		Usable: o.Usable(), PayableBy: price.NewPayableBy(o.Payers()),
	}
	if o.NetworkCAIP2 != "" {
		a.NetworkCAIP2 = &o.NetworkCAIP2
		if n, ok := x402.NetworkByID(o.NetworkCAIP2); ok {
			a.NetworkName = &n.Name
		}
	}
	if v.PriceUSD != "" {
		a.PriceUSD = &v.PriceUSD
	}
	if fault := o.Fault(); fault != "" {
		a.UnusableReason = &fault
	}
	return a
}

func newAsk(r x402.Requirement) Ask {
	a := Ask{
		Protocol: rail.X402, Scheme: r.Scheme, Network: r.Network, Asset: r.Asset, AssetName: r.AssetName,
		Amount:   r.AmountRaw,
		Variable: r.Variable(),
		PayTo:    r.PayTo, MaxTimeoutSeconds: r.MaxTimeoutSeconds, Usable: r.Usable(),
	}
	if r.NetworkCAIP2 != "" {
		a.NetworkCAIP2 = &r.NetworkCAIP2
	}
	n, ok := x402.NetworkByID(r.NetworkCAIP2)
	if ok {
		a.NetworkName = &n.Name
	}
	if usd, priced := r.PriceUSD(); priced && (!ok || n.Mainnet) { // tokens of test networks have no value
		a.PriceUSD = &usd
	}
	if reason := r.Unusable(); reason != "" {
		a.UnusableReason = &reason
	}
	return a
}

// pathOf returns the path of a URL, which names an endpoint.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.EscapedPath()
}

// graded returns the protocol by whose checks the URL is graded, nil if that is x402.
func (r Report) graded() *site.Rail {
	for i := range r.Rails {
		if r.GradeReason != nil && r.Rails[i].GradeReason == *r.GradeReason {
			return &r.Rails[i]
		}
	}
	return nil
}

// Counts returns the number of checks behind the grade that pass, and of all of them.
func (r Report) Counts() (passed, total int) {
	if of := r.graded(); of != nil {
		return of.Passed, of.Total
	}
	if r.Passed != nil {
		passed = *r.Passed
	}
	return passed, r.Total
}

// Failed returns the checks behind the grade that fail.
func (r Report) Failed() (list []site.EvidenceCheck) {
	if of := r.graded(); of != nil {
		for _, c := range of.Checks {
			if !c.Pass {
				list = append(list, site.EvidenceCheck(c))
			}
		}
		return list
	}
	for _, c := range r.Checks {
		if !c.Pass {
			list = append(list, c)
		}
	}
	return list
}

// Text returns the report as sentences and indented lines.
func (r Report) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", r.URL)
	if len(r.Tools) > 0 {
		return b.String() + r.toolsText()
	}
	if n := len(r.Redirects); n > 0 {
		line("  redirects to %s", r.FinalURL)
	}
	method := ""
	if r.Method != nil {
		method = *r.Method + ": "
	}
	if r.Passed == nil {
		line("%s%s. Nothing to check.", method, r.Reason)
		if r.Verdict == string(probe.Refused) && strings.HasPrefix(r.URL, "http") {
			line("To check a URL on your own private network, use --crawl-allow-private HOST[:PORT].")
		}
	} else {
		passed, total := r.Counts()
		line("%s%s. %d of %d checks pass.", method, r.Reason, passed, total)
		line("Grade %s.", *r.GradeReason)
	}
	for i, c := range r.Path() {
		if i == 0 {
			line("\nWhich request reached the 402")
		}
		line("  %s", c)
	}
	for i, a := range r.Asks {
		if i == 0 {
			line("\nPrices")
		}
		line("  %s", a)
	}
	for i, c := range r.Conflicts {
		if i == 0 {
			line("\nDanger: a buyer may pay the wrong terms")
		}
		line("  %s", c.Text)
	}
	var withoutTerms []string // checks that fail only because the response has no payment terms
	for i, c := range r.Failed() {
		if i == 0 {
			line("\nFailed checks")
		}
		if c.Mend == nil {
			withoutTerms = append(withoutTerms, c.ID)
			continue
		}
		line("  %s (%s)", c.Label, c.ID)
		line("    found     %s", *c.Reason)
		line("    expected  %s", *c.Expected)
		line("    fix       %s", *c.Mend)
	}
	for i, of := range r.Rails {
		if r.graded() == &r.Rails[i] {
			continue // its checks are above
		}
		line("\nChecks of %s: grade %s", of.Protocol, of.GradeReason)
		for _, c := range of.Checks {
			if !c.Pass {
				line("  %s (%s)", c.Label, c.ID)
				line("    found     %s", *c.Reason)
				line("    expected  %s", *c.Expected)
				line("    fix       %s", *c.Mend)
			}
		}
	}
	if len(withoutTerms) > 0 {
		line("  failed because the response has no payment terms: %s", strings.Join(withoutTerms, ", "))
	}
	for i, w := range r.Warnings {
		if i == 0 {
			line("\nWarnings, which do not affect the grade")
		}
		line("  %s%s (%s%s)", w.Meaning, foundIn(w.Detail), w.Code, row(w.Row))
	}
	for i, d := range r.Defects {
		if i == 0 {
			line("\nDeviations that Tollbook accepts and a strict client may refuse")
		}
		line("  %s%s (%s%s)", d.Meaning, foundIn(d.Detail), d.Code, row(d.Row))
	}
	for i, h := range r.Hints {
		if i == 0 {
			line("\nHints, which do not affect the grade")
		}
		line("  %s (%s)", h.Label, h.Code)
		line("    why       %s", h.Meaning)
		for _, e := range h.Endpoints {
			if e.Detail != nil {
				line("    found     %s", *e.Detail)
			}
		}
		line("    fix       %s", h.Fix)
		for _, s := range h.Snippets {
			line("    %s", s.Stack)
			for text := range strings.SplitSeq(strings.TrimSuffix(s.Text, "\n"), "\n") {
				line("        %s", text)
			}
		}
	}
	for i, g := range r.BrokenRules() {
		if i == 0 {
			line("\nCatalogues that will not list it")
		}
		line("  %s: %s%s", g.Catalogues(), g.Rule.Meaning, foundIn(g.Rule.Detail))
		line("    see       %s", g.Rule.Document)
	}
	if r.Verdict == string(probe.Paid) && r.Class != probe.ClassPaidOther && len(r.Protocols) > 0 {
		line("\nIt also supports %s.", strings.Join(r.Protocols, ", "))
	}
	return b.String()
}

// brokenRule is a rule that several catalogues have.
type brokenRule struct {
	Rule    site.CatalogueRule
	sources []string
}

// Catalogues returns the names of the catalogues.
func (b brokenRule) Catalogues() string { return strings.Join(b.sources, ", ") }

// BrokenRules returns the rules of catalogues that the URL breaks, each once.
func (r Report) BrokenRules() (list []brokenRule) {
	for _, c := range r.Catalogues {
		for _, rule := range c.Rules {
			at := slices.IndexFunc(list, func(g brokenRule) bool {
				return g.Rule.Code == rule.Code && g.Rule.Document == rule.Document
			})
			if at < 0 {
				at, list = len(list), append(list, brokenRule{Rule: rule})
			}
			list[at].sources = append(list[at].sources, c.Source)
		}
	}
	return list
}

// foundIn returns the text in which a warning or defect was found, "" without one.
func foundIn(detail *string) string {
	if detail == nil {
		return ""
	}
	return " Found: " + *detail
}

// row returns the number of a row of accepts, counted from 1 as in the reasons of checks.
func row(index *int) string {
	if index == nil {
		return ""
	}
	return fmt.Sprintf(", row %d", *index+1)
}

// Price returns what one request costs: "$0.01 in USDC", "up to 1 in atomic units of 0x…".
func (a Ask) Price() string {
	price := "an unknown amount"
	switch {
	case a.PriceUSD != nil:
		price = "$" + *a.PriceUSD + " in " + a.AssetName
	case a.Amount != "":
		price = a.Amount + " in atomic units of " + a.Asset
	}
	if a.Variable {
		price = "up to " + price
	}
	return price
}

// Line returns a way to pay on one line: "$0.01 in USDC on Base (eip155:8453) by exact, to 0x…".
func (a Ask) Line() string {
	on := a.Network
	if a.NetworkName != nil {
		on = *a.NetworkName + " (" + *a.NetworkCAIP2 + ")"
	}
	text := fmt.Sprintf("%s on %s by %s, to %s", a.Price(), on, orNone(a.Scheme), orNone(a.PayTo))
	if a.Protocol != rail.X402 {
		text += ", over " + a.Protocol
	}
	return text
}

// String returns a way to pay as lines of the text.
func (a Ask) String() string {
	text := a.Line()
	if a.PriceUSD != nil {
		text += fmt.Sprintf("\n    %s in atomic units of %s", a.Amount, a.Asset)
	}
	if a.UnusableReason != nil {
		return text + "\n    can't be paid: " + *a.UnusableReason
	}
	for _, need := range a.PayableBy.Conditions {
		text += "\n    " + need.Text
	}
	if a.UnsignableReason != nil {
		return text + "\n    Standard clients do not pay it: " + *a.UnsignableReason
	}
	if words := a.PayableBy.Words(); words != "" {
		text += "\n    " + words
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// isJudged reports whether a response is a 402 of the service itself. The checks apply to nothing else.
func isJudged(v probe.Verdict) bool { return v == probe.Paid || v == probe.Broken }

// assess applies the 14 checks to the result of a probe.
func assess(address string, r probe.Result, headFree bool) x402.Compliance {
	return x402.Assess([]x402.Evidence{{
		Endpoint: endpointName(r, address), URL: address, Hops: r.Redirects, TLSVerified: r.TLSVerified,
		HeadFree: headFree,
		Captured: r.Captured,
	}})
}
