package main

import (
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// check is one of the 14 checks. It reports whether an endpoint or a row passes.
type check struct {
	id       string
	endpoint func(*probed) bool
	row      func(*row, int) bool // the second argument is the version of the envelope
	optional bool                 // passes without any row
}

// checks lists the checks in their published order.
var checks = []check{
	{id: "payload_captured", endpoint: payloadCaptured},
	{id: "accepts_present", endpoint: acceptsPresent},
	{id: "payto_recoverable", row: func(r *row, _ int) bool { return r.payTo != "" }},
	{id: "payto_conformant", row: payToConformant},
	{id: "payto_shape", row: payToShape},
	{id: "price_present", row: pricePresent},
	{id: "price_sane", row: priceSane},
	{id: "asset_declared", row: assetDeclared},
	{id: "network_caip2", row: networkProper},
	{id: "scheme_declared", row: schemeDeclared},
	{id: "transport_https", endpoint: transportHTTPS},
	{id: "x402_version_current", endpoint: versionCurrent},
	{id: "eip712_domain_extra", row: domainStated, optional: true},
	{id: "version_channel_coherent", endpoint: channelCoherent},
}

// judge applies the checks to the graded endpoints of a service and returns those that fail.
func judge(endpoints []*probed) (failed []string) {
	for _, c := range checks {
		pass, rows := len(endpoints) > 0, 0
		for _, e := range endpoints {
			if c.endpoint != nil && !c.endpoint(e) {
				pass = false
			}
			if e.terms.envelope == nil {
				continue
			}
			for i := range e.terms.envelope.rows {
				rows++
				if c.row != nil && !c.row(&e.terms.envelope.rows[i], e.terms.envelope.version) {
					pass = false
				}
			}
		}
		if c.row != nil && rows == 0 {
			pass = c.optional
		}
		if !pass {
			failed = append(failed, c.id)
		}
	}
	return failed
}

// graded returns the endpoints that the checks are applied to: the active ones, or all if none is active, without those
// that never yielded terms if another one did.
func graded(endpoints []*probed) []*probed {
	active := slices.DeleteFunc(slices.Clone(endpoints), func(p *probed) bool {
		return !p.published.get("is_active").bool()
	})
	if len(active) == 0 {
		active = endpoints
	}
	captured := slices.DeleteFunc(slices.Clone(active), func(p *probed) bool { return p.terms.envelope == nil })
	if len(captured) > 0 {
		return captured
	}
	return active
}

// The checks without which nobody can pay, and those whose failure costs buyers money.
var (
	fatalChecks  = []string{"payload_captured", "accepts_present", "payto_recoverable"}
	costlyChecks = []string{"eip712_domain_extra", "payto_shape", "price_sane", "transport_https"}
)

// gradeOf returns the grade of a service that fails some checks, and the check that caps it, if one does.
func gradeOf(failed []string) (letter, limit string) {
	share := 100 * (len(checks) - len(failed)) / len(checks)
	first := func(ids []string) string {
		for _, id := range failed {
			if slices.Contains(ids, id) {
				return id
			}
		}
		return ""
	}
	letter = "F"
	for _, step := range []struct {
		percent int
		letter  string
	}{{40, "D"}, {60, "C"}, {75, "B"}, {90, "A"}} {
		if share >= step.percent {
			letter = step.letter
		}
	}
	if limit = first(fatalChecks); limit != "" {
		return "F", limit
	}
	if limit = first(costlyChecks); limit != "" && letter < "C" {
		return "C", limit
	}
	return letter, ""
}

func payloadCaptured(p *probed) bool {
	e := p.terms.envelope
	return e != nil && e.channel != "html" && (hasMember(e.object, "accepts") || hasMember(e.object, "x402Version"))
}

func acceptsPresent(p *probed) bool {
	if p.terms.envelope == nil {
		return false
	}
	_, isList := p.terms.envelope.object["accepts"].([]any)
	return isList && len(p.terms.envelope.rows) > 0
}

func transportHTTPS(p *probed) bool {
	for _, address := range p.where() {
		if u, err := url.Parse(address); err != nil || !strings.EqualFold(u.Scheme, "https") {
			return false
		}
	}
	return p.graded != nil && p.graded.verified
}

func versionCurrent(p *probed) bool {
	if p.terms.envelope == nil {
		return false
	}
	number, isNumber := p.terms.envelope.object["x402Version"].(json.Number)
	return isNumber && plainNumber(number) == "2"
}

// channelCoherent checks that version 2 is in a header, version 1 in the body, and that no candidate contradicts the
// one that counts.
func channelCoherent(p *probed) bool {
	t := &p.terms
	if t.envelope == nil || t.repeated || t.unread || t.oversize || t.diverge() {
		return false
	}
	if t.envelope.version >= 2 {
		return t.envelope.channel == "header" && t.envelope.decode == "std"
	}
	headerIsCurrent := func(e envelope) bool { return e.channel == "header" && e.version >= 2 }
	return t.envelope.channel == "body" && !slices.ContainsFunc(t.others, headerIsCurrent)
}

// diverge reports whether another candidate asks for other payments. Candidates without rows contradict nothing. Within
// one version the sets of rows must be equal; between versions one set may be part of the other.
func (t *terms) diverge() bool {
	mine := t.envelope.offers()
	for _, other := range t.others {
		theirs := other.offers()
		if len(theirs) == 0 {
			continue
		}
		within, around := isSubset(theirs, mine), isSubset(mine, theirs)
		if other.version == t.envelope.version && !(within && around) || !within && !around {
			return true
		}
	}
	return false
}

// offers returns what the rows ask for, in one form for both versions.
func (e *envelope) offers() map[[5]string]bool {
	set := map[[5]string]bool{}
	for i := range e.rows {
		r := &e.rows[i]
		set[[5]string{r.scheme, r.networkKey(), r.assetNorm(), r.payToNorm(), r.amountKey()}] = true
	}
	return set
}

func isSubset[K comparable](small, large map[K]bool) bool {
	for key := range small {
		if !large[key] {
			return false
		}
	}
	return true
}

// networkKey and amountKey return the value in normal form, else as written.
func (r *row) networkKey() string {
	if r.network != "" {
		return r.network
	}
	return r.written
}

func (r *row) amountKey() string {
	if r.amount != "" {
		return r.amount
	}
	return r.price
}

func payToConformant(r *row, _ int) bool {
	text, isText := r.members["payTo"].(string)
	return isText && strings.TrimSpace(text) != ""
}

func payToShape(r *row, _ int) bool {
	return r.payTo != "" && checkAccount(r.network, r.payTo) == "" &&
		(r.payToNorm() != r.assetNorm() || namespaceOf(r.network) == "cloudflare")
}

// onCreditRail reports whether a row may come without a price.
func (r *row) onCreditRail() bool {
	return r.scheme == "batch-settlement" && r.network == "cloudflare:402"
}

func pricePresent(r *row, version int) bool {
	name := "amount"
	if version == 1 {
		name = "maxAmountRequired"
	}
	switch value := r.members[name].(type) {
	case nil:
		return r.onCreditRail()
	case json.Number:
		return true
	case string:
		return strings.TrimSpace(value) != ""
	}
	return false
}

func priceSane(r *row, _ int) bool {
	_, value := firstMember(r.members, amountNames)
	if value == nil {
		return r.onCreditRail()
	}
	text, isText := value.(string)
	if r.isIssued() {
		number, ok := new(big.Rat).SetString(issuedAmount(text))
		if !isText || !ok || number.Sign() == 0 {
			return false
		}
	} else if !isText || !matchesWhole(`[1-9][0-9]{0,38}`, text) {
		return false
	}
	dollars := r.dollars()
	return dollars == nil || dollars.Cmp(big.NewRat(1000, 1)) <= 0
}

func assetDeclared(r *row, _ int) bool {
	text, isText := r.members["asset"].(string)
	if !isText || strings.TrimSpace(text) == "" {
		return false
	}
	fault := checkAsset(r.network, text)
	return fault == "" || fault == faultChecksum
}

func networkProper(r *row, version int) bool {
	text, isText := r.members["network"].(string)
	if !isText || r.network == "" {
		return false
	}
	_, isListed := lookupNetwork(text)
	return version < 2 || text == r.network || isListed
}

func schemeDeclared(r *row, _ int) bool {
	text, isText := r.members["scheme"].(string)
	placeholder := []string{"", "unknown", "none", "null", "any"}
	return isText && !slices.Contains(placeholder, strings.ToLower(strings.TrimSpace(text)))
}

var domainSchemes = []string{"exact", "upto", "batch-settlement", "auth-capture", "aggr_deferred"}

// gatewayName is the signing domain of Circle's Gateway wallet, which is not the token's.
const gatewayName = "GatewayWalletBatched"

func domainStated(r *row, _ int) bool {
	if namespaceOf(r.network) != "eip155" || !slices.Contains(domainSchemes, r.scheme) {
		return true
	}
	if extra := r.members["extra"]; extra != nil && !isObject(extra, true) {
		return false
	}
	asset, listed := lookupAsset(r)
	method := r.text("assetTransferMethod")
	if method != "" && method != "eip3009" || method == "" && listed && asset.Permit2 {
		return true
	}
	name, version := r.text("name"), r.text("version")
	if name == gatewayName {
		return checkAsset(r.network, r.text("verifyingContract")) == ""
	}
	isOther := listed && asset.Name != "" && (name != asset.Name || version != asset.Version)
	return name != "" && version != "" && !isOther
}

func hasMember(members object, name string) bool {
	_, ok := members[name]
	return ok
}
