package judge

import (
	"encoding/json"
	"fmt"
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

// payment says whether an active endpoint can be paid, as its newest terms show.
type payment struct {
	unsignable string   // why standard clients sign no payment, or one that is refused; "" if they sign one
	fault      *Payment // why nobody should be sent there; nil if nothing is known against it
}

// judgePayments judges each active endpoint. captures are those of the active endpoints.
func judgePayments(f *postgres.ServiceFacts, captures []x402.Evidence, now time.Time) []payment {
	list := make([]payment, 0, len(captures))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			list = append(list, judgePayment(e, &captures[len(list)], f.Receptions))
		}
	}
	return list
}

// judgePayment judges one endpoint by its rows that clients sign. One such row against which nothing is known is
// enough, because clients choose among rows.
func judgePayment(e *postgres.EndpointFacts, capture *x402.Evidence,
	receptions map[ledger.ReceptionKey]ledger.Reception) payment {
	switch {
	case e.Verdict == nil:
		return payment{unsignable: capture.Endpoint + ": not asked yet"}
	case *e.Verdict != "paid":
		return payment{unsignable: capture.Endpoint + ": its latest answer was " + *e.Verdict}
	}
	text := capture.Endpoint + ": no price is known"
	unpriced := payment{text, &Payment{Code: "price_unknown", Text: text, IsUnknown: true}}
	if v := capture.Captured.Envelope; v == nil || len(v.Accepts) == 0 {
		return unpriced
	}
	var first payment // of a row that no client signs, if none does
	var fault *Payment
	isSigned := false
	for i, reason := range x402.UnsignableRows(*capture) {
		if reason != "" {
			if first.unsignable == "" {
				first = payment{reason, &Payment{Code: "not_payable", Text: "Standard clients cannot pay " + reason}}
			}
			continue
		}
		if len(price.Current(e.Prices)) == 0 {
			return unpriced
		}
		isSigned = true
		found := faultOfRow(e, capture, i, receptions)
		if found == nil {
			return payment{}
		}
		if fault == nil || fault.Code == cannotReceive { // only if all rows are so does each payment fail
			fault = found
		}
	}
	if !isSigned {
		return first
	}
	return payment{fault: fault}
}

// faultOfRow returns why a row that clients sign is no payment to recommend, nil if nothing is known against it.
func faultOfRow(e *postgres.EndpointFacts, capture *x402.Evidence, i int,
	receptions map[ledger.ReceptionKey]ledger.Reception) *Payment {
	r := &capture.Captured.Envelope.Accepts[i]
	at := fmt.Sprintf("%s, row %d: ", capture.Endpoint, i+1)
	answer := price.Reception(r, receptions)
	switch {
	case answer.CanReceive != nil && !*answer.CanReceive:
		return &Payment{Code: cannotReceive, Text: at + site.ReceptionText(answer.Reason)}
	case !r.IsKnownToken():
		return &Payment{Code: "token_unknown", IsUnknown: true, Text: at + fmt.Sprintf(
			"nobody knows what token %s on %s is worth", display.Short(r.Asset), display.Line(r.NetworkCAIP2, display.MaxCode))}
	case r.Implausible() != "":
		return &Payment{Code: "price_implausible", Text: at + r.Implausible()}
	case needs(capture.Captured.Envelope, i) != nil:
		c := needs(capture.Captured.Envelope, i)
		return &Payment{Code: c.Code + "_needed", Text: at + strings.ToLower(c.Text[:1]) + c.Text[1:]}
	case e.Envelope != nil && capture.Captured.Envelope.Expired(i, e.Envelope.ReceivedAt):
		return &Payment{Code: "offer_expired", IsUnknown: true, Text: at + "the offer had expired when it was made"}
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

// newTerms returns, for each active endpoint, what is known of its payment beyond the contract. isAdvised says that
// nothing about the service as a whole speaks against paying it.
func newTerms(f *postgres.ServiceFacts, captures []x402.Evidence, payments []payment, isAdvised bool,
	now time.Time) []site.Terms {
	terms := []site.Terms{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		of := &payments[len(terms)]
		t := site.Terms{Reason: of.unsignable}
		t.Signable = t.Reason == ""
		if e.Envelope != nil {
			t.InputSchema = e.Envelope.Exchange.InputSchema
		}
		t.Fields, t.MoreFields = requestFields(e, &captures[len(terms)], t.InputSchema)
		unpayable, _ := judgeRows(&captures[len(terms)])
		t.Payable = isAdvised && t.Signable && of.fault == nil && len(unpayable) == 0
		for _, p := range price.Current(e.Prices) {
			t.Prices = append(t.Prices, site.PricingTerms{Since: site.NewTime(p.Since), Extra: priceExtra(p)})
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

// listFaults returns what is known against each endpoint whose newest answer asks for payment.
func listFaults(payments []payment) []Payment {
	var list []Payment
	for _, p := range payments {
		switch {
		case p.fault != nil:
			list = append(list, *p.fault)
		case p.unsignable == "":
			list = append(list, Payment{})
		}
	}
	return list
}
