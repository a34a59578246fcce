package facts

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// errNoDocument is returned for a document of another kind than expected at its URL.
var errNoDocument = errors.New("not the expected kind of document")

// object is a JSON object that is read leniently: a member of the wrong type does not affect the others.
type object map[string]json.RawMessage

func objectOf(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) child(name string) object { return objectOf(o[name]) }

func (o object) list(name string) []json.RawMessage { return listOf(o[name]) }

func listOf(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

// text returns the first of the named members that is a string or a number, as it is written.
func (o object) text(names ...string) string {
	for _, name := range names {
		if s := scalar(o[name]); s != "" {
			return s
		}
	}
	return ""
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return cleanText(s, 2048)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return cleanText(n.String(), 100)
	}
	return ""
}

// methods are the methods that an endpoint may be declared with.
var methods = []string{"DELETE", "GET", "PATCH", "POST", "PUT"}

// methodOf returns a method in upper case, "" for an unknown one.
func methodOf(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); slices.Contains(methods, s) {
		return s
	}
	return ""
}

// ReadOpenAPI returns the endpoints of an OpenAPI document that are paid over x402, by path and method. These are the
// operations with x-payment-info or with a 402 among their responses. It omits operations that can't be paid over x402,
// that are free, or that only ask for an identity. It replaces parameters in a path by the document's own examples if
// the document has one for each.
func ReadOpenAPI(doc []byte, address *url.URL) ([]Declared, error) {
	top := objectOf(doc)
	if top == nil || top["paths"] == nil && top["openapi"] == nil && top["swagger"] == nil {
		return nil, errNoDocument
	}
	base, ok := serverURL(top, address)
	if !ok {
		return nil, nil
	}
	paths := top.child("paths")
	var out []Declared
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := objectOf(paths[path])
		if !strings.HasPrefix(path, "/") || item == nil {
			continue
		}
		for _, method := range methods {
			op := item.child(strings.ToLower(method))
			price, paid := readPayment(op)
			if op == nil || !paid {
				continue
			}
			if len(out) == MaxEndpoints {
				return out, nil
			}
			out = append(out, Declared{
				Method: method, URL: base + fillPath(path, append(op.list("parameters"), item.list("parameters")...)),
				Description: cleanText(op.text("summary", "description"), 500), MimeType: mimeType(op),
				Origin: OriginOpenAPI, Price: price,
			})
		}
	}
	return out, nil
}

// serverURL returns the URL that paths are appended to: the first server on the document's own host, or the document's
// origin if no other public host is listed. It returns false if all servers are on other hosts.
func serverURL(top object, address *url.URL) (string, bool) {
	origin := address.Scheme + "://" + address.Host
	elsewhere := false
	for _, raw := range top.list("servers") {
		s := objectOf(raw).text("url")
		u, err := address.Parse(s)
		switch {
		case s == "" || err != nil || strings.Contains(s, "{"):
		case authority(u) == authority(address):
			return origin + strings.TrimRight(unescapeBraces(u.EscapedPath()), "/"), true
		case !isLocal(u.Hostname()):
			elsewhere = true
		}
	}
	if base := top.text("basePath"); strings.HasPrefix(base, "/") { // Swagger 2
		return origin + strings.TrimRight(base, "/"), true
	}
	return origin, !elsewhere
}

// isLocal reports whether a host has a meaning only on the author's machine or network.
func isLocal(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsUnspecified()
	}
	return host == "localhost" || !strings.Contains(host, ".")
}

// readPayment returns the price that an operation declares, and whether it is sold over x402.
func readPayment(op object) (*Price, bool) {
	_, answers402 := op.child("responses")["402"]
	raw, ok := op["x-payment-info"]
	if !ok || string(raw) == "null" || string(raw) == "false" {
		// Without a price a 402 is enough, unless the operation asks only for an identity.
		return nil, answers402 && !onlySignsIn(op)
	}
	info := objectOf(raw)
	if info == nil {
		return nil, true
	}
	p := readPrice(info)
	if len(p.Protocols) > 0 && !slices.Contains(p.Protocols, "x402") {
		return p, false
	}
	return p, !isFree(p)
}

func onlySignsIn(op object) bool {
	if op.text("x-agentcash-auth-kind") == "siwx" {
		return true
	}
	for _, raw := range op.list("security") {
		if _, ok := objectOf(raw)["siwx"]; ok {
			return true
		}
	}
	return false
}

// readPrice reads the forms of x-payment-info: a price object with a mode, the older flat form, and MPP's offers.
func readPrice(info object) *Price {
	p := &Price{Protocols: readProtocols(info["protocols"])}
	offers := info.list("offers")
	if offers == nil && info["intent"] != nil { // a single offer
		raw, err := json.Marshal(info)
		if err == nil {
			offers = []json.RawMessage{raw}
		}
	}
	if len(offers) > 0 {
		offer := objectOf(offers[0])
		p.Mode, p.Currency, p.Amount = "offer", clipAmount(offer.text("currency")), clipAmount(offer.text("amount"))
		if len(p.Protocols) == 0 {
			p.Protocols = []string{"mpp"}
		}
		return p
	}
	from := info.child("price")
	if from == nil {
		from = info
		p.Amount = clipAmount(info.text("price", "amount"))
	} else {
		p.Amount = clipAmount(from.text("amount"))
	}
	p.Mode, p.Currency = strings.ToLower(clipAmount(from.text("mode", "pricingMode"))),
		clipAmount(from.text("currency"))
	p.Min, p.Max = clipAmount(from.text("min", "minPrice")), clipAmount(from.text("max", "maxPrice"))
	if p.Mode == "" && p.Amount != "" {
		p.Mode = "fixed"
	}
	return p
}

func clipAmount(s string) string { return cleanText(s, 100) }

// readProtocols reads names of protocols: a list of names, a list of objects keyed by name, or one name.
func readProtocols(raw json.RawMessage) []string {
	var names []string
	if s := scalar(raw); s != "" {
		return []string{strings.ToLower(cleanText(s, 40))}
	}
	for _, entry := range listOf(raw) {
		if s := scalar(entry); s != "" {
			names = append(names, strings.ToLower(cleanText(s, 40)))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(objectOf(entry))) {
			names = append(names, strings.ToLower(cleanText(name, 40)))
		}
	}
	if names == nil {
		for _, name := range slices.Sorted(maps.Keys(objectOf(raw))) {
			names = append(names, strings.ToLower(cleanText(name, 40)))
		}
	}
	return names[:min(len(names), 16)]
}

// isFree reports whether a price is fixed at zero.
func isFree(p *Price) bool {
	amount := strings.TrimPrefix(p.Amount, "$")
	return p.Mode != "dynamic" && p.Max == "" && amount != "" && strings.Trim(amount, "0.") == ""
}

// fillPath replaces the parameters of a path by examples, all of them or none.
func fillPath(path string, parameters []json.RawMessage) string {
	out := path
	for _, raw := range parameters {
		p := objectOf(raw)
		if p.text("in") != "path" {
			continue
		}
		if value := example(p); value != "" {
			out = strings.ReplaceAll(out, "{"+p.text("name")+"}", url.PathEscape(value))
		}
	}
	if strings.Contains(out, "{") {
		return path
	}
	return out
}

// example returns the document's own example of a parameter, "" for none.
func example(p object) string {
	schema := p.child("schema")
	if value := p.text("example"); value != "" {
		return value
	}
	if value := schema.text("example", "default"); value != "" {
		return value
	}
	for _, name := range []string{"examples", "enum"} {
		if values := schema.list(name); len(values) > 0 {
			return scalar(values[0])
		}
	}
	examples := p.child("examples")
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		return objectOf(examples[name]).text("value")
	}
	return ""
}

// mimeType returns the type of a call's response if the document lists exactly one.
func mimeType(op object) string {
	content := op.child("responses").child("200").child("content")
	if len(content) != 1 {
		return ""
	}
	for name := range content {
		return cleanText(name, 100)
	}
	return ""
}
