// Package conformance owns what the methodology says about a response: its envelope, its rows, their addresses, the 14
// checks and the warnings. It must never use a figure that the snapshot derives from them, nor another package of
// Tollbook.
package conformance

import (
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// check is one of the 14 checks. It reports whether an endpoint or a row passes.
type check struct {
	ID       string
	endpoint func(*Probed) bool
	row      func(*Row, int) bool // the second argument is the version of the envelope
	optional bool                 // passes without any row
}

// Checks lists the checks in their published order.
var Checks = []check{
	{ID: "payload_captured", endpoint: payloadCaptured},
	{ID: "accepts_present", endpoint: acceptsPresent},
	{ID: "payto_recoverable", row: func(r *Row, _ int) bool { return r.PayTo != "" }},
	{ID: "payto_conformant", row: payToConformant},
	{ID: "payto_shape", row: payToShape},
	{ID: "price_present", row: pricePresent},
	{ID: "price_sane", row: priceSane},
	{ID: "asset_declared", row: assetDeclared},
	{ID: "network_caip2", row: networkProper},
	{ID: "scheme_declared", row: schemeDeclared},
	{ID: "transport_https", endpoint: transportHTTPS},
	{ID: "x402_version_current", endpoint: versionCurrent},
	{ID: "eip712_domain_extra", row: domainStated, optional: true},
	{ID: "version_channel_coherent", endpoint: channelCoherent},
}

// Judge applies the checks to the graded endpoints of a service and returns those that fail.
func Judge(endpoints []*Probed) (failed []string) {
	for _, c := range Checks {
		pass, rows := len(endpoints) > 0, 0
		for _, e := range endpoints {
			if c.endpoint != nil && !c.endpoint(e) {
				pass = false
			}
			if e.Terms.Envelope == nil {
				continue
			}
			for i := range e.Terms.Envelope.Rows {
				rows++
				if c.row != nil && !c.row(&e.Terms.Envelope.Rows[i], e.Terms.Envelope.Version) {
					pass = false
				}
			}
		}
		if c.row != nil && rows == 0 {
			pass = c.optional
		}
		if !pass {
			failed = append(failed, c.ID)
		}
	}
	return failed
}

// activeOf returns the active endpoints, or all if none is active.
func activeOf(endpoints []*Probed) []*Probed {
	active := slices.DeleteFunc(slices.Clone(endpoints), func(p *Probed) bool {
		return !p.Published.Get("is_active").Bool()
	})
	if len(active) == 0 {
		return endpoints
	}
	return active
}

// Graded returns the endpoints that the checks are applied to: the active ones, or all if none is active, without those
// that never yielded terms if another one did.
func Graded(endpoints []*Probed) []*Probed {
	active := activeOf(endpoints)
	captured := slices.DeleteFunc(slices.Clone(active), func(p *Probed) bool { return p.Terms.Envelope == nil })
	if len(captured) > 0 {
		return captured
	}
	return active
}

// letterOf returns the grade for a percentage of passed checks.
func letterOf(share int) (letter string) {
	letter = "F"
	for _, step := range []struct {
		percent int
		letter  string
	}{{40, "D"}, {60, "C"}, {75, "B"}, {90, "A"}} {
		if share >= step.percent {
			letter = step.letter
		}
	}
	return letter
}

// The checks without which nobody can pay, and those whose failure costs buyers money.
var (
	fatalChecks  = []string{"payload_captured", "accepts_present", "payto_recoverable"}
	costlyChecks = []string{"eip712_domain_extra", "payto_shape", "price_sane", "transport_https"}
)

// GradeOf returns the grade of a service that fails some checks, and the check that caps it, if one does.
func GradeOf(failed []string) (letter, limit string) {
	share := 100 * (len(Checks) - len(failed)) / len(Checks)
	first := func(ids []string) string {
		for _, id := range failed {
			if slices.Contains(ids, id) {
				return id
			}
		}
		return ""
	}
	letter = letterOf(share)
	if limit = first(fatalChecks); limit != "" {
		return "F", limit
	}
	if limit = first(costlyChecks); limit != "" && letter < "C" {
		return "C", limit
	}
	return letter, ""
}

func payloadCaptured(p *Probed) bool {
	e := p.Terms.Envelope
	return e != nil && e.Channel != "html" && (hasMember(e.object, "accepts") || hasMember(e.object, "x402Version"))
}

func acceptsPresent(p *Probed) bool {
	if p.Terms.Envelope == nil {
		return false
	}
	_, isList := p.Terms.Envelope.object["accepts"].([]any)
	return isList && len(p.Terms.Envelope.Rows) > 0
}

func transportHTTPS(p *Probed) bool {
	for _, address := range p.where() {
		if u, err := url.Parse(address); err != nil || !strings.EqualFold(u.Scheme, "https") {
			return false
		}
	}
	return p.Graded != nil && p.Graded.verified
}

func versionCurrent(p *Probed) bool {
	if p.Terms.Envelope == nil {
		return false
	}
	number, isNumber := p.Terms.Envelope.object["x402Version"].(json.Number)
	return isNumber && plainNumber(number) == "2"
}

// channelCoherent checks that version 2 is in a header, version 1 in the body, and that no candidate contradicts the
// one that counts. The result of a tool is the place of both.
func channelCoherent(p *Probed) bool {
	t := &p.Terms
	if t.Envelope == nil || t.repeated || t.unread || t.oversize || t.diverge() {
		return false
	}
	if t.Envelope.Version >= 2 {
		return t.Envelope.Channel == "header" && t.Envelope.Decode == "std" || t.Envelope.Channel == "mcp"
	}
	headerIsCurrent := func(e envelope) bool { return e.Channel == "header" && e.Version >= 2 }
	return t.Envelope.Channel == "mcp" ||
		t.Envelope.Channel == "body" && !slices.ContainsFunc(t.others, headerIsCurrent)
}

// diverge reports whether another candidate asks for other payments. Candidates without rows contradict nothing. Within
// one version the sets of rows must be equal; between versions one set may be part of the other.
func (t *terms) diverge() bool {
	mine := t.Envelope.offers()
	for _, other := range t.others {
		theirs := other.offers()
		if len(theirs) == 0 {
			continue
		}
		within, around := isSubset(theirs, mine), isSubset(mine, theirs)
		if other.Version == t.Envelope.Version && !(within && around) || !within && !around {
			return true
		}
	}
	return false
}

// offers returns what the rows ask for, in one form for both versions.
func (e *envelope) offers() map[[5]string]bool {
	set := map[[5]string]bool{}
	for i := range e.Rows {
		r := &e.Rows[i]
		set[[5]string{r.Scheme, r.networkKey(), r.AssetNorm(), r.payToNorm(), r.amountKey()}] = true
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
func (r *Row) networkKey() string {
	if r.Network != "" {
		return r.Network
	}
	return r.written
}

func (r *Row) amountKey() string {
	if r.Amount != "" {
		return r.Amount
	}
	return r.price
}

func payToConformant(r *Row, _ int) bool {
	text, isText := r.members["payTo"].(string)
	return isText && strings.TrimSpace(text) != ""
}

func payToShape(r *Row, _ int) bool {
	return r.PayTo != "" && CheckAccount(r.Network, r.PayTo) == "" &&
		(r.payToNorm() != r.AssetNorm() || NamespaceOf(r.Network) == "cloudflare")
}

// onCreditRail reports whether a row may come without a price.
func (r *Row) onCreditRail() bool {
	return r.Scheme == "batch-settlement" && r.Network == "cloudflare:402"
}

func pricePresent(r *Row, version int) bool {
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

func priceSane(r *Row, _ int) bool {
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
	dollars := r.Dollars()
	return dollars == nil || dollars.Cmp(big.NewRat(1000, 1)) <= 0
}

func assetDeclared(r *Row, _ int) bool {
	text, isText := r.members["asset"].(string)
	if !isText || strings.TrimSpace(text) == "" {
		return false
	}
	fault := checkAsset(r.Network, text)
	return fault == "" || fault == faultChecksum
}

func networkProper(r *Row, version int) bool {
	text, isText := r.members["network"].(string)
	if !isText || r.Network == "" {
		return false
	}
	_, isListed := LookupNetwork(text)
	return version < 2 || text == r.Network || isListed
}

func schemeDeclared(r *Row, _ int) bool {
	text, isText := r.members["scheme"].(string)
	placeholder := []string{"", "unknown", "none", "null", "any"}
	return isText && !slices.Contains(placeholder, strings.ToLower(strings.TrimSpace(text)))
}

var domainSchemes = []string{"exact", "upto", "batch-settlement", "auth-capture", "aggr_deferred"}

// gatewayName is the signing domain of Circle's Gateway wallet, which is not the token's.
const gatewayName = "GatewayWalletBatched"

func domainStated(r *Row, _ int) bool {
	if NamespaceOf(r.Network) != "eip155" || !slices.Contains(domainSchemes, r.Scheme) {
		return true
	}
	if extra := r.members["extra"]; extra != nil && !isObject(extra, true) {
		return false
	}
	asset, listed := LookupAsset(r)
	method := r.text("assetTransferMethod")
	if method != "" && method != "eip3009" || method == "" && listed && asset.Permit2 {
		return true
	}
	name, version := r.text("name"), r.text("version")
	if name == gatewayName {
		return checkAsset(r.Network, r.text("verifyingContract")) == ""
	}
	isOther := listed && asset.Name != "" && (name != asset.Name || version != asset.Version)
	return name != "" && version != "" && !isOther
}

func hasMember(members object, name string) bool {
	_, ok := members[name]
	return ok
}
