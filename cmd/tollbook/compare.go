package main

import (
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/listing"
	"tollbook/site/x402"
)

// option is one way to pay, as observed by the directory or asked for now. It is part of the JSON of check.
type option struct {
	Method    string  `json:"method"`
	Scheme    string  `json:"scheme"`
	Network   string  `json:"network"` // CAIP-2, or as received if it is not recognised
	Asset     string  `json:"asset"`
	AssetName string  `json:"asset_name"`
	Amount    string  `json:"amount"`    // atomic units
	PriceUSD  *string `json:"price_usd"` // null for a token without a record dollar value
	PayTo     string  `json:"pay_to"`
	Unusable  *string `json:"unusable_reason"` // why it can't be paid; null if it can

	lost  bool       // a payment would be lost
	upTo  bool       // the amount is a maximum
	since *site.Time // since when it has been offered unchanged; nil if that is not record
}

// claim is what the user was told. A zero member is not compared.
type claim struct {
	PayTo   string
	Network string // CAIP-2
	Price   site.Decimal
}

// Results of a finding, and verdicts.
const (
	resultSame    = "same"
	resultDiffers = "differs"
	resultDanger  = "danger"
	resultUnknown = "unknown"
	resultCaution = "caution" // changes no verdict
	resultNote    = "note"    // changes no verdict
	verdictListed = "listed"  // nothing was compared
)

// Subjects of findings.
const (
	aboutListing   = "listing"
	aboutRisk      = "risk"
	aboutNetwork   = "network"
	aboutRecipient = "recipient"
	aboutPrice     = "price"
	aboutOption    = "option"
	aboutAnswer    = "answer"
)

// finding is one thing that was compared or is record.
type finding struct {
	About  string `json:"about"`
	Result string `json:"result"`
	Text   string `json:"text"`
}

// findings collects them.
type findings []finding

func (f *findings) add(about, result, format string, args ...any) {
	*f = append(*f, finding{about, result, plainText(fmt.Sprintf(format, args...))})
}

// compare compares a claim and what a URL asks for with what the directory observed. record is nil for a URL that is
// not listed, and answer is nil if the URL was not asked.
func compare(record *record, c claim, answer *directoryAnswer) []finding {
	list := findings{}
	if record == nil {
		list.add(aboutListing, resultUnknown,
			"the directory does not list this URL: it knows no recipient and no price")
	} else {
		list.addKnown(record)
		list.addClaim(record, c)
	}
	if answer != nil {
		list.addAnswer(record, c, answer)
	}
	return list
}

// addKnown adds what the directory knows without the terms: the danger, the advice, and whether clients can pay.
func (f *findings) addKnown(record *record) {
	if record.Service.Risk == site.RiskDanger {
		f.add(aboutRisk, resultDanger, "the risk of %s is danger%s", own(record.Service.Slug),
			dangerText(record.service))
	}
	if s := record.service; s != nil {
		advice := &s.Assessment.Advice
		text := display.AdviceLevel(advice.Level) + ": " + display.Reasons(advice)
		switch {
		case advice.Level == site.AdviceDoNotPay && record.Service.Risk != site.RiskDanger:
			f.add(aboutRisk, resultDanger, "%s", text)
		case advice.Level == site.AdviceCaution:
			f.add(aboutRisk, resultCaution, "%s", text)
		case !s.IsAdvised() && record.Service.Risk != site.RiskDanger:
			f.add(aboutRisk, resultUnknown, "%s", text)
		}
	}
	if record.Verdict == site.AdviceDoNotPay && record.Service.Advice != site.AdviceDoNotPay && record.Reason != nil {
		f.add(aboutOption, resultDanger, "%s: %s", display.AdviceLevel(record.Verdict), own(*record.Reason))
	} else if !record.Payable && (record.service == nil || record.service.IsAdvised()) { // else the advice says why
		reason := "the directory does not say why"
		if record.Reason != nil {
			reason = own(*record.Reason)
		}
		f.add(aboutOption, resultUnknown, "it is not payable: %s", reason)
	}
	for _, text := range record.needs {
		f.add(aboutOption, resultNote, "%s", text)
	}
	if len(record.AlsoListed) > 0 {
		f.add(aboutListing, resultNote, "other services list this URL, too: %s",
			own(strings.Join(record.AlsoListed, ", ")))
	}
}

// dangerText returns the evidence of a danger.
func dangerText(s *site.ServiceDetail) string {
	if s == nil || len(s.Assessment.Risk.Flags) == 0 {
		return ""
	}
	f := &s.Assessment.Risk.Flags[0]
	return ": " + display.Line(f.Title, display.MaxName) + ". " + own(f.Evidence)
}

// addClaim compares what the user was told: first the network, then the recipients on it, then
// their prices, or all prices on it if the recipient is another one.
func (f *findings) addClaim(record *record, c claim) {
	rows := record.options
	if c.Network != "" {
		on := keep(rows, func(o option) bool { return o.Network == c.Network })
		if len(on) == 0 {
			f.add(aboutNetwork, resultDiffers, "%s was not observed: payment was asked for on %s",
				networkName(c.Network),
				namesOf(rows, func(o option) string { return networkName(o.Network) }))
			return
		}
		f.add(aboutNetwork, resultSame, "%s", networkName(c.Network))
		rows = on
	}
	if c.PayTo != "" {
		to := keep(rows, func(o option) bool { return isSameAddress(o.PayTo, c.PayTo) })
		if len(to) == 0 {
			f.add(aboutRecipient, resultDiffers, "%s", record.differs(c.PayTo, rows))
		} else {
			f.add(aboutRecipient, resultSame, "%s%s", own(to[0].PayTo), sinceText(to[0].since))
			rows = to
		}
	}
	if c.Price != "" {
		f.addPrice(rows, c.Price)
	}
}

// addPrice compares a price in dollars with those of options.
func (f *findings) addPrice(rows []option, price site.Decimal) {
	prices := namesOf(rows, func(o option) string { return o.dollars() })
	claimed := price.Rational()
	for _, o := range rows {
		if o.PriceUSD == nil {
			continue
		}
		if usd, err := site.ParseDecimal(*o.PriceUSD); err == nil && usd.Rational().Cmp(claimed) == 0 {
			f.add(aboutPrice, resultSame, "%s%s", display.Dollars(price), sinceText(o.since))
			return
		}
	}
	hint := ""
	if i := slices.IndexFunc(rows, func(o option) bool { return o.Amount == string(price) }); i >= 0 {
		hint = "; " + string(price) + " is the amount in atomic units, write it in dollars"
	}
	f.add(aboutPrice, resultDiffers, "%s is not the price that was observed: %s%s", display.Dollars(price), prices,
		hint)
}

// addAnswer compares what the URL asks for now.
func (f *findings) addAnswer(record *record, c claim, a *directoryAnswer) {
	if len(a.Options) == 0 {
		f.add(aboutAnswer, resultUnknown, "asked now, the URL names no payment terms: %s", a.Reason)
		return
	}
	rows := a.Options
	if c.Network != "" {
		if rows = keep(rows, func(o option) bool { return o.Network == c.Network }); len(rows) == 0 {
			f.add(aboutNetwork, resultDiffers, "asked now, the URL does not accept %s but %s", networkName(c.Network),
				namesOf(a.Options, func(o option) string { return networkName(o.Network) }))
			return
		}
	}
	for _, o := range rows {
		f.addLive(record, o)
	}
	if !slices.ContainsFunc(rows, func(o option) bool { return o.Unusable == nil }) {
		f.add(aboutAnswer, resultUnknown, "asked now, the URL names no option that can be paid")
	}
	if c.PayTo != "" && !slices.ContainsFunc(rows, func(o option) bool { return isSameAddress(o.PayTo, c.PayTo) }) {
		f.add(aboutRecipient, resultDiffers, "asked now, the URL names another recipient than %s", own(c.PayTo))
	}
}

// addLive compares one option of an answer with those observed.
func (f *findings) addLive(record *record, o option) {
	switch {
	case o.lost:
		f.add(aboutRecipient, resultDanger, "asked now: %s: %s", o, own(*o.Unusable))
		return
	case o.Unusable != nil:
		f.add(aboutOption, resultNote, "asked now: %s: it can't be paid, %s", o, own(*o.Unusable))
		return
	case record == nil:
		f.add(aboutOption, resultNote, "asked now: %s", o)
		return
	}
	same := keep(record.options, func(k option) bool {
		return k.Network == o.Network && isSameAddress(k.Asset, o.Asset) && k.Scheme == o.Scheme
	})
	to := keep(same, func(k option) bool { return isSameAddress(k.PayTo, o.PayTo) })
	price := slices.IndexFunc(to, func(k option) bool { return k.Amount == o.Amount })
	switch {
	case !slices.ContainsFunc(record.options, func(k option) bool { return isSameAddress(k.PayTo, o.PayTo) }):
		f.add(aboutRecipient, resultDiffers, "asked now: %s", record.differs(o.PayTo, record.options))
	case len(same) == 0:
		f.add(aboutOption, resultDiffers, "asked now: %s: this option was not observed", o)
	case len(to) == 0:
		f.add(aboutRecipient, resultDiffers, "asked now: %s", record.differs(o.PayTo, same))
	case price >= 0:
		f.add(aboutOption, resultSame, "asked now: %s%s", o, sinceText(to[price].since))
	default:
		f.add(aboutPrice, resultDiffers, "asked now: %s; the observed price is %s", o,
			namesOf(to, func(k option) string { return k.price() }))
	}
}

// differs returns that a recipient is none of those observed, and when it was one.
func (o *record) differs(payTo string, rows []option) string {
	text := fmt.Sprintf("%s differs from every one observed%s", own(payTo), sinceFirst(o.first))
	for _, c := range o.history {
		if c.OldPayTo != nil && isSameAddress(*c.OldPayTo, payTo) {
			text = fmt.Sprintf("%s was a recipient until %s, and is none now", own(payTo), timeText(&c.ObservedAt))
			break
		}
	}
	if len(rows) == 0 {
		return text
	}
	return text + ": " + namesOf(rows, func(k option) string { return own(k.PayTo) })
}

// verdictOf returns the verdict of a check: the most serious result.
func verdictOf(list []finding, record *record) string {
	for _, result := range []string{resultDanger, resultDiffers, resultUnknown, resultSame} {
		if slices.ContainsFunc(list, func(f finding) bool { return f.Result == result }) {
			return result
		}
	}
	if record == nil {
		return resultUnknown
	}
	return verdictListed
}

// String returns an option in a line: "$0.01 in USDC on Base to 0x…".
func (o option) String() string {
	return fmt.Sprintf("%s on %s to %s", o.price(), networkName(o.Network), own(o.PayTo))
}

// price returns the price with the token.
func (o option) price() string {
	text := o.dollars()
	if o.upTo {
		text = "up to " + text
	}
	return text + " in " + display.Asset(o.AssetName)
}

// dollars returns the price in dollars, or in atomic units without a record dollar value.
func (o option) dollars() string {
	if o.PriceUSD != nil {
		if usd, err := site.ParseDecimal(*o.PriceUSD); err == nil {
			return display.Dollars(usd)
		}
	}
	return display.Line(o.Amount, display.MaxName) + " atomic units"
}

// maxNames is the maximum number of names in a list.
const maxNames = 5

// namesOf returns the different names of options, separated by commas; "nothing" without one.
func namesOf(rows []option, name func(option) string) string {
	var list []string
	for _, o := range rows {
		if n := name(o); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	if len(list) > maxNames {
		list = append(list[:maxNames], fmt.Sprintf("%d more", len(list)-maxNames))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func keep(rows []option, passes func(option) bool) (list []option) {
	for _, o := range rows {
		if passes(o) {
			list = append(list, o)
		}
	}
	return list
}

// isSameAddress compares addresses as look-ups of recipients do, which ignore case.
func isSameAddress(a, b string) bool {
	return site.NormalRecipient("", a) == site.NormalRecipient("", b)
}

// isAt reports whether the path of a service leads to a URL in normal form.
func isAt(normal, base, path string) bool {
	got, err := listing.NormalURL(display.EndpointURL(base, path))
	return err == nil && got == normal
}

// networkName returns the name of a network for people, with its abbreviation.
func networkName(caip2 string) string {
	if n, ok := x402.NetworkByID(caip2); ok {
		return n.Name
	}
	return own(caip2)
}

func sinceText(t *site.Time) string {
	if t == nil {
		return ""
	}
	return ", unchanged since " + timeText(t)
}

func sinceFirst(t *site.Time) string {
	if t == nil {
		return ""
	}
	return " since " + timeText(t)
}
