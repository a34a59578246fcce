package x402

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Warning is a remark that counts in no check.
type Warning struct {
	Code     string `json:"code"`
	Endpoint string `json:"endpoint,omitempty"` // "" when it is about the whole service
	Row      *int   `json:"row,omitempty"`      // index in accepts, nil when it is about the whole endpoint
	Detail   string `json:"detail,omitempty"`
}

// WarningCode is one kind of warning and its meaning.
type WarningCode struct{ Code, Meaning string }

// The codes. They are stored and published: never rename one.
const (
	bazaarInvalid          = "bazaar_invalid"
	checksumBad            = "checksum_bad"
	discoveryUnreadV1      = "discovery_in_v1"
	headFree               = "head_free"
	headersLarge           = "header_large"
	priceAboveOpenAPI      = "price_above_openapi"
	priceScale             = "price_scale"
	ResourceElsewhere      = "resource_elsewhere"
	resourcePlain          = "resource_plain_http"
	resourceURLMismatch    = "resource_url_mismatch"
	schemaInvalid          = "schema_invalid"
	svmChannelIncomplete   = "svm_channel_incomplete"
	svmFeePayerMissing     = "svm_feepayer_missing"
	testnetOnly            = "testnet_only"
	timeoutOutOfRange      = "timeout_out_of_range"
	uptoFacilitatorMissing = "upto_facilitator_missing"
	xrplIssuerMissing      = "xrpl_issuer_missing"
)

var warningCodes = []WarningCode{
	{bazaarInvalid, "The bazaar extension does not say how to call the resource."},
	{checksumBad, "The checksum of an address does not match, which may be a typing error."},
	{discoveryUnreadV1, "A version 1 row has the bazaar extension, where catalogues read outputSchema alone."},
	{headFree, "HEAD requests are answered without payment."},
	{headersLarge, "All response headers together have more than 16 KiB, which Node.js clients refuse by default."},
	{priceAboveOpenAPI, "The price is higher than in the OpenAPI document."},
	{priceScale, "The amount was probably written for a token with other decimals."},
	{ResourceElsewhere, "The envelope names a resource on another registrable domain."},
	{resourcePlain, "The envelope names the resource by http, while it was requested by https."},
	{resourceURLMismatch, "The envelope names a different URL than the one requested."},
	{schemaInvalid, "A strict client refuses the terms, which break a rule of the official schema."},
	{svmChannelIncomplete, "A row of batch-settlement on Solana lacks a member of extra that its specification requires."},
	{svmFeePayerMissing, "A Solana row lacks extra.feePayer, without which no client can build the payment."},
	{testnetOnly, "Every row asks for payment on a test network."},
	{timeoutOutOfRange, "maxTimeoutSeconds is below 5 seconds or above an hour."},
	{uptoFacilitatorMissing, "An upto row lacks extra.facilitatorAddress, which clients need."},
	{xrplIssuerMissing, "A currency of the XRP Ledger lacks extra.issuer, without which no client can pay in it."},
}

// WarningCodes returns every code with its meaning, in the order of the codes.
func WarningCodes() []WarningCode { return slices.Clone(warningCodes) }

// warnings collects the warnings of all endpoints, in the order of code, endpoint and row.
func warnings(list []exhibit) []Warning {
	out := []Warning{}
	for k := range list {
		e := &list[k]
		out = append(out, endpointWarnings(e)...)
		for i := range e.rows {
			for _, w := range rowWarnings(&e.rows[i], e.DeclaredUSD) {
				w.Endpoint, w.Row = e.Endpoint, &i
				out = append(out, w)
			}
		}
	}
	if onlyTestnets(list) {
		out = append(out, Warning{Code: testnetOnly})
	}
	slices.SortStableFunc(out, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(rowOf(a), rowOf(b)))
	})
	return out
}

func rowOf(w Warning) int {
	if w.Row == nil {
		return -1
	}
	return *w.Row
}

func endpointWarnings(e *exhibit) []Warning {
	var out []Warning
	add := func(code, detail string) {
		out = append(out, Warning{Code: code, Endpoint: e.Endpoint, Detail: clip(cleanText(detail), 200)})
	}
	if e.HeadFree {
		add(headFree, "")
	}
	if !e.captured() {
		return out
	}
	if resource := e.Captured.Envelope.Resource.URL; resource != "" && !sameResource(resource, e.lastURL()) {
		switch {
		case otherDomain(resource, e.lastURL()):
			add(ResourceElsewhere, resource)
		case sameResource("https"+strings.TrimPrefix(resource, "http"), e.lastURL()):
			add(resourcePlain, resource)
		default:
			add(resourceURLMismatch, resource)
		}
	}
	for _, w := range schemaWarnings(e.Captured.Envelope) {
		w.Endpoint = e.Endpoint
		out = append(out, w)
	}
	for _, d := range e.Captured.Defects {
		switch d.Code {
		case discoveryUnread, routeTemplateBad:
			add(bazaarInvalid, d.Detail)
		case headerLarge:
			add(headersLarge, d.Detail)
		}
	}
	return out
}

// lastURL returns the URL of the response, after redirects.
func (e *exhibit) lastURL() string {
	if n := len(e.Hops); n > 0 {
		return e.Hops[n-1]
	}
	return e.URL
}

// sameResource reports whether two URLs have the same scheme, host and path. It ignores queries, which differ between
// calls. Relative URLs compare by path alone. mcp://tool/NAME, as x402 over MCP names a tool, is that tool of any
// server.
func sameResource(a, b string) bool {
	x, err1 := url.Parse(a)
	y, err2 := url.Parse(b)
	if err1 != nil || err2 != nil {
		return false
	}
	if x.Scheme == "mcp" && y.Fragment != "" {
		return x.Host == "tool" && x.Path == "/"+y.Fragment
	}
	samePath := strings.TrimSuffix(x.EscapedPath(), "/") == strings.TrimSuffix(y.EscapedPath(), "/")
	if x.Host == "" && x.Scheme == "" {
		return samePath
	}
	return samePath && strings.EqualFold(x.Host, y.Host) && strings.EqualFold(x.Scheme, y.Scheme)
}

// otherDomain reports whether a URL has a host below another registrable domain than the host of a second URL.
func otherDomain(resource, requested string) bool {
	x, err1 := url.Parse(resource)
	y, err2 := url.Parse(requested)
	return err1 == nil && err2 == nil && x.Hostname() != "" && OnOtherDomain(x.Hostname(), y.Hostname())
}

// OnOtherDomain reports whether a host is below another registrable domain than a second host. A host without one, such
// as localhost, is no other site.
func OnOtherDomain(host, of string) bool {
	host, of = strings.ToLower(host), strings.ToLower(of)
	other, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil || host == of || net.ParseIP(host) != nil {
		return false
	}
	own, err := publicsuffix.EffectiveTLDPlusOne(of)
	return err != nil || own != other
}

// rowWarnings compares prices with the one in the OpenAPI document, if there is one.
func rowWarnings(r *exhibitRow, declaredUSD string) []Warning {
	var out []Warning
	add := func(code, detail string) {
		out = append(out, Warning{Code: code, Detail: clip(cleanText(detail), 200)})
	}
	extra := r.extra
	if r.Scheme == "exact" && AddressNamespace(r.NetworkCAIP2) == "solana" && extra.text("feePayer") == "" {
		add(svmFeePayerMissing, "")
	}
	if r.Scheme == "upto" && AddressNamespace(r.NetworkCAIP2) == "eip155" && extra.text("facilitatorAddress") == "" {
		add(uptoFacilitatorMissing, "")
	}
	if fault := schemeExtra(r); fault != "" && r.Scheme == "batch-settlement" {
		add(svmChannelIncomplete, fault)
	}
	if r.issuedCurrency() && r.issuer() == "" {
		add(xrplIssuerMissing, "")
	}
	if meant := r.meantPrice(); meant != "" && r.scaleFault() != "" {
		add(priceScale, r.scaleFault())
	}
	if r.version == 1 && !absent(r.members.child("extensions").get("bazaar")) && absent(r.members.get("outputSchema")) {
		add(discoveryUnreadV1, "")
	}
	if t := r.MaxTimeoutSeconds; t != nil && (*t < 5 || *t > 3600) && r.Scheme != "batch-settlement" &&
		extra.text("name") != gatewayName {
		add(timeoutOutOfRange, fmt.Sprint(*t))
	}
	if declared := declaredAmount(declaredUSD); declared != "" && !r.Variable() {
		if price, ok := r.PriceUSD(); ok && !lessOrEqual(price, declared) {
			add(priceAboveOpenAPI, "$"+price+" instead of $"+declaredUSD)
		}
	}
	if isChecksum(r.payToErr) {
		add(checksumBad, "payTo "+r.PayTo)
	}
	if isChecksum(r.assetErr) {
		add(checksumBad, "asset "+r.Asset)
	}
	return out
}

// declaredAmount reads a price in a document, decimal dollars with or without the sign. It returns "" for other text.
func declaredAmount(text string) string {
	return decimalAmount(strings.TrimPrefix(strings.TrimSpace(text), "$"))
}

func isChecksum(err error) bool { return errors.Is(err, errChecksum) }

// onlyTestnets reports whether there are rows and the table lists all their networks as test networks.
func onlyTestnets(list []exhibit) bool {
	any := false
	for _, e := range list {
		for _, r := range e.rows {
			if n, ok := NetworkByID(r.NetworkCAIP2); !ok || n.Mainnet {
				return false
			}
			any = true
		}
	}
	return any
}
