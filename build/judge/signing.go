package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// activeCaptures returns the capture of each active endpoint.
func activeCaptures(f *postgres.ServiceFacts, now time.Time) []x402.Evidence {
	var rows []x402.Evidence
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			rows = append(rows, readCapture(f, e))
		}
	}
	return rows
}

// endpointVerdict is what is known against an active endpoint alone.
type endpointVerdict struct {
	asks    bool          // its latest conclusive answer asks for payment
	price   *site.Decimal // the lowest; nil without one
	found   *finding      // against its best option, or against all; nil for nothing
	options []*finding    // against each entry of its pricing; nil for nothing
}

// cannotReceive and notPayable are codes of options.
const (
	cannotReceive = "recipient_cannot_receive" // a payment would fail because of its recipient
	notPayable    = "not_payable"              // no official client signs it, or what it signs is refused
)

// judgeEndpoints judges each active endpoint by its newest answer. captures and endpoints are those of the active ones,
// with who can pay by each option.
func judgeEndpoints(f *postgres.ServiceFacts, captures []x402.Evidence, endpoints []site.Endpoint,
	now time.Time) []endpointVerdict {
	list := make([]endpointVerdict, 0, len(captures))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			at := len(list)
			list = append(list, judgeEndpoint(e, &captures[at], &endpoints[at], f.Receptions))
		}
	}
	return list
}

// judgeEndpoint judges one endpoint. Its best option is enough, because clients choose among options.
func judgeEndpoint(e *postgres.EndpointFacts, capture *x402.Evidence, of *site.Endpoint,
	receptions map[ledger.ReceptionKey]ledger.Reception) endpointVerdict {
	v := endpointVerdict{price: of.MinPriceUSD, options: make([]*finding, len(of.Pricing))}
	named := values{"endpoint": capture.Endpoint}
	switch {
	case e.Verdict == nil:
		v.found = &finding{level: site.AdviceUnknown, reason: newReason("not_asked", named, "%s: not asked yet", capture.Endpoint)}
	case *e.Verdict == "open":
		v.found = &finding{level: site.AdviceUnknown, reason: since(newReason("nothing_sold", named,
			"%s: its latest answer was open, without asking for payment", capture.Endpoint), timeOrNull(e.LastPaidAt))}
	case *e.Verdict != "paid":
		v.found = &finding{level: site.AdviceCaution, blocks: true, reason: newReason("answer_faulty", named,
			"%s: its latest answer was %s", capture.Endpoint, *e.Verdict)}
	}
	if v.found != nil {
		for k := range v.options {
			v.options[k] = v.found
		}
		return v
	}
	v.asks = true
	rows := judgeRowsOf(e, capture, receptions)
	prices := price.Current(e.Prices)
	overX402 := len(of.X402Pricing())
	all := slices.Clone(rows)
	for k := range of.Pricing {
		switch {
		case k >= overX402:
			v.options[k] = judgeEntry(capture.Endpoint, &of.Pricing[k])
			all = append(all, v.options[k])
		case len(rows) == 0:
			v.options[k] = &finding{level: site.AdviceUnknown, reason: newReason("not_repeated", named,
				"%s: its newest answer repeats none of its payment options", capture.Endpoint)}
			all = append(all, v.options[k])
		default:
			want := price.Requirement(&prices[k])
			if row := slices.IndexFunc(capture.Captured.Envelope.Accepts, want.SameOffer); row >= 0 {
				v.options[k] = rows[row]
			} else {
				v.options[k] = &finding{level: site.AdviceUnknown, reason: newReason("not_repeated", named,
					"%s: its newest answer does not repeat this payment option", capture.Endpoint)}
			}
		}
	}
	if len(all) == 0 || len(prices) == 0 && overX402 == len(of.Pricing) && !isRefused(all) {
		v.found = &finding{level: site.AdviceUnknown, reason: newReason("price_unknown", named, "%s: no price is known",
			capture.Endpoint)}
		return v
	}
	if tried := slices.DeleteFunc(slices.Clone(all), isNotPayable); len(tried) > 0 {
		all = tried // clients pass over options that they do not know
	}
	v.found = all[best(all)]
	return v
}

func isNotPayable(f *finding) bool { return f != nil && f.reason.Code == notPayable }

// isRefused reports whether official clients sign none of the options.
func isRefused(list []*finding) bool {
	return !slices.ContainsFunc(list, func(f *finding) bool { return !isNotPayable(f) })
}

// judgeRowsOf returns what is known against each row of an endpoint's newest terms over x402, nil for nothing.
func judgeRowsOf(e *postgres.EndpointFacts, capture *x402.Evidence,
	receptions map[ledger.ReceptionKey]ledger.Reception) []*finding {
	if v := capture.Captured.Envelope; v == nil || len(v.Accepts) == 0 {
		return nil
	}
	payers := x402.PayersOf(*capture)
	var list []*finding
	for i, why := range x402.UnsignableRows(*capture) {
		if why != "" {
			list = append(list, &finding{level: site.AdviceUnknown, reason: newReason(notPayable,
				rowValues(capture, i), "Official clients cannot pay %s", why)})
			continue
		}
		list = append(list, judgeRow(e, capture, i, payers[i], receptions))
	}
	return list
}

// judgeRow returns what is known against a row that clients sign, nil for nothing.
func judgeRow(e *postgres.EndpointFacts, capture *x402.Evidence, i int, payers x402.Payers,
	receptions map[ledger.ReceptionKey]ledger.Reception) *finding {
	r := &capture.Captured.Envelope.Accepts[i]
	found := func(level, code, text string, args ...any) *finding {
		at := fmt.Sprintf("%s, row %d: ", capture.Endpoint, i+1)
		return &finding{level: level, reason: newReason(code, rowValues(capture, i), "%s%s", at, fmt.Sprintf(text, args...))}
	}
	answer := price.Reception(r, receptions)
	network, isKnown := x402.NetworkByID(r.NetworkCAIP2)
	switch {
	case answer.CanReceive != nil && !*answer.CanReceive:
		return found(site.AdviceDoNotPay, cannotReceive, "%s", site.ReceptionText(answer.Reason))
	case e.Envelope != nil && capture.Captured.Envelope.Expired(i, e.Envelope.ReceivedAt):
		return found(site.AdviceDoNotPay, "terms_expired", "the offer had expired when it was made")
	case !r.IsKnownToken():
		return found(site.AdviceUnknown, "token_unknown", "nobody knows what token %s on %s is worth",
			display.Short(r.Asset), display.Line(r.NetworkCAIP2, display.MaxCode))
	case r.Implausible() != "":
		return found(site.AdviceUnknown, "price_implausible", "%s", r.Implausible())
	case needs(capture.Captured.Envelope, i) != nil:
		c := needs(capture.Captured.Envelope, i)
		f := found(site.AdviceCaution, c.Code+"_needed", "%s%s", strings.ToLower(c.Text[:1]), c.Text[1:])
		f.blocks = true
		return f
	case payers.Clients != nil && len(payers.Clients) == 0:
		return found(site.AdviceUnknown, "client_unknown", "none of the clients that are tried pays it")
	case isKnown && !network.Mainnet:
		return found(site.AdviceCaution, "testnet", "%s is a test network, whose money is worth nothing", network.Name)
	}
	return nil
}

// rowValues returns the terms of a row, as received.
func rowValues(capture *x402.Evidence, i int) values {
	r := &capture.Captured.Envelope.Accepts[i]
	of := values{"endpoint": capture.Endpoint, "row": strconv.Itoa(i + 1)}
	for name, value := range map[string]string{"amount": r.Amount, "network": r.NetworkCAIP2, "asset": r.Asset,
		"pay_to": r.PayTo, "scheme": r.Scheme} {
		if value != "" {
			of[name] = display.Line(value, display.MaxLine)
		}
	}
	return of
}

// judgeEntry returns what is known against an option over another protocol than x402, nil for nothing.
func judgeEntry(endpoint string, p *site.PricingEntry) *finding {
	found := func(level, code, text string, args ...any) *finding {
		of := values{"endpoint": endpoint, "protocol": p.Protocol, "scheme": display.Line(p.Scheme, display.MaxLine)}
		return &finding{level: level, reason: newReason(code, of, "%s over %s: %s", endpoint, p.Protocol,
			fmt.Sprintf(text, args...))}
	}
	payable := &p.PayableBy
	account := slices.IndexFunc(payable.Conditions, func(c site.BuyerNeed) bool { return c.Code == x402.NeedAccount })
	switch {
	case payable.Clients == nil || len(*payable.Clients) == 0:
		return found(site.AdviceUnknown, "client_unknown", "no official client is known that pays it")
	case p.Testnet:
		return found(site.AdviceCaution, "testnet", "a test network, whose money is worth nothing")
	case p.PriceUSD == nil:
		return found(site.AdviceUnknown, "price_unknown", "nobody knows what it costs in dollars")
	case p.PriceCaveat != nil:
		return found(site.AdviceUnknown, "price_implausible", "%s", *p.PriceCaveat)
	case account >= 0:
		text := payable.Conditions[account].Text
		f := found(site.AdviceCaution, "account_needed", "%s%s", strings.ToLower(text[:1]), text[1:])
		f.blocks = true
		return f
	}
	return nil
}

// needs returns the condition of a row that a client cannot fulfil by itself, nil for none. A client opens a payment
// channel by itself.
func needs(e *x402.Envelope, row int) *x402.Condition {
	for _, c := range e.Conditions(row) {
		if c.Code == x402.NeedAccount || e.Accepts[row].NeedsGateway() {
			return &c
		}
	}
	return nil
}

// addVerdicts adds to active endpoints and their options whether they may be paid.
func (v *verdictInput) addVerdicts(endpoints []site.Endpoint) {
	for i := range endpoints {
		e, of := &endpoints[i], &v.endpoints[i]
		e.Verdict = v.endpoint(of.found)
		for k := range e.Pricing {
			p, verdict := &e.Pricing[k], e.Verdict
			if of.options[k] != of.found {
				verdict = v.endpoint(of.options[k])
			}
			if p.VerdictLevel = verdict.Level; p.VerdictLevel != site.AdviceGood {
				p.VerdictCode = &verdict.Reasons[0].Code
			}
		}
	}
}

// newTerms returns, for each active endpoint, what is known of its payment beyond the contract. endpoints are the active
// ones with their verdicts.
func newTerms(f *postgres.ServiceFacts, captures []x402.Evidence, endpoints []site.Endpoint, verdicts []endpointVerdict,
	now time.Time) []site.Terms {
	terms := []site.Terms{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		at := len(terms)
		found, verdict := verdicts[at].found, &endpoints[at].Verdict
		t := site.Terms{Payable: verdict.IsAdvised() && found.isPayable()}
		switch {
		case t.Payable:
		case !found.isPayable():
			t.Reason = found.reason.Text
		default:
			t.Reason = verdict.Reasons[0].Text
		}
		if e.Envelope != nil {
			t.InputSchema = e.Envelope.Exchange.InputSchema
		}
		t.Fields, t.MoreFields = requestFields(e, &captures[at], t.InputSchema)
		for _, p := range price.Current(e.Prices) {
			t.Prices = append(t.Prices, site.PricingTerms{Since: site.NewTime(p.Since), Extra: priceExtra(p),
				Name: firstName(captures[at].Captured.Envelope, p)})
		}
		terms = append(terms, t)
	}
	return terms
}

// requestFields returns the fields of an endpoint's request, and the number of those that are left out.
func requestFields(e *postgres.EndpointFacts, capture *x402.Evidence, schema string) ([]site.RequestField, int) {
	var envelope json.RawMessage
	if v := capture.Captured.Envelope; v != nil {
		envelope = v.Raw
	}
	return RequestFields(envelope, schema, e.Path)
}

// firstName returns the name of a price's network in an envelope of version 1, by which clients of that version sign. It
// returns "" if the envelope is of another version or has no row for the price.
func firstName(v *x402.Envelope, p checks.Price) string {
	if v == nil || v.Version != 1 || p.NetworkCAIP2 == nil {
		return ""
	}
	at := slices.IndexFunc(v.Accepts, func(r x402.Requirement) bool {
		return r.NetworkCAIP2 == *p.NetworkCAIP2 && r.Scheme == p.Scheme && r.Asset == p.Asset
	})
	if at < 0 {
		return ""
	}
	return v.Accepts[at].Network
}

// priceExtra returns the extra object of a price as received, "" if it is empty or no object.
func priceExtra(p checks.Price) string {
	if p.Extra == nil {
		return ""
	}
	if inside, is := strings.CutPrefix(strings.TrimSpace(*p.Extra), "{"); !is ||
		strings.HasPrefix(strings.TrimSpace(inside), "}") || !json.Valid([]byte(*p.Extra)) {
		return ""
	}
	return *p.Extra
}
