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

// errNoDocument is a document that is not what it should be.
var errNoDocument = errors.New("is not the document that its address promises")

// object is a JSON object read leniently: a member of the wrong kind spoils nothing but itself.
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

// text is a member that is a string or, as amounts often are, a number, as written.
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
		return plain(s, 2048)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return plain(n.String(), 100)
	}
	return ""
}

// methods are those that an endpoint may be declared with.
var methods = []string{"DELETE", "GET", "PATCH", "POST", "PUT"}

// methodOf is a method in upper case, "" for what is none.
func methodOf(s string) string {
	if s = strings.ToUpper(strings.TrimSpace(s)); slices.Contains(methods, s) {
		return s
	}
	return ""
}

// ReadOpenAPI reads the endpoints that an OpenAPI document declares to be paid over x402, by path and method: those
// with x-payment-info or a 402 among their responses. One that can only be paid otherwise, costs nothing, or only asks
// who calls, is left out. A parameter in the path is filled in with the document's own example where it has one for
// each.
func ReadOpenAPI(doc []byte, address *url.URL) ([]Declared, error) {
	top := objectOf(doc)
	if top == nil || top["paths"] == nil && top["openapi"] == nil && top["swagger"] == nil {
		return nil, errNoDocument
	}
	base, ok := server(top, address)
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
			price, paid := payment(op)
			if op == nil || !paid {
				continue
			}
			if len(out) == MaxEndpoints {
				return out, nil
			}
			out = append(out, Declared{
				Method: method, URL: base + filled(path, append(op.list("parameters"), item.list("parameters")...)),
				Description: plain(op.text("summary", "description"), 500), MimeType: mimeType(op),
				Origin: OriginOpenAPI, Price: price,
			})
		}
	}
	return out, nil
}

// server is the address that paths are put behind: the first server on the document's own host, or the document's
// origin where no other public host is named. It answers false when every server is somewhere else.
func server(top object, address *url.URL) (string, bool) {
	origin := address.Scheme + "://" + address.Host
	elsewhere := false
	for _, raw := range top.list("servers") {
		s := objectOf(raw).text("url")
		u, err := address.Parse(s)
		switch {
		case s == "" || err != nil || strings.Contains(s, "{"):
		case authority(u) == authority(address):
			return origin + strings.TrimRight(unescapeBraces(u.EscapedPath()), "/"), true
		case !local(u.Hostname()):
			elsewhere = true
		}
	}
	if base := top.text("basePath"); strings.HasPrefix(base, "/") { // Swagger 2
		return origin + strings.TrimRight(base, "/"), true
	}
	return origin, !elsewhere
}

// local holds for hosts that only the document's author can have meant.
func local(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsUnspecified()
	}
	return host == "localhost" || !strings.Contains(host, ".")
}

// payment says what an operation declares of its price, and whether it is sold over x402 at all.
func payment(op object) (*Price, bool) {
	_, answers402 := op.child("responses")["402"]
	raw, ok := op["x-payment-info"]
	if !ok || string(raw) == "null" || string(raw) == "false" {
		// Without a word of the price a 402 is enough, unless only an identity is asked for.
		return nil, answers402 && !onlySignsIn(op)
	}
	info := objectOf(raw)
	if info == nil {
		return nil, true
	}
	p := priceOf(info)
	if len(p.Protocols) > 0 && !slices.Contains(p.Protocols, "x402") {
		return p, false
	}
	return p, !free(p)
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

// priceOf reads the forms of x-payment-info: a price object with a mode, the flat one of before, and MPP's offers.
func priceOf(info object) *Price {
	p := &Price{Protocols: protocols(info["protocols"])}
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

func clipAmount(s string) string { return plain(s, 100) }

// protocols are names, or objects keyed by name; or one name.
func protocols(raw json.RawMessage) []string {
	var names []string
	if s := scalar(raw); s != "" {
		return []string{strings.ToLower(plain(s, 40))}
	}
	for _, entry := range listOf(raw) {
		if s := scalar(entry); s != "" {
			names = append(names, strings.ToLower(plain(s, 40)))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(objectOf(entry))) {
			names = append(names, strings.ToLower(plain(name, 40)))
		}
	}
	if names == nil {
		for _, name := range slices.Sorted(maps.Keys(objectOf(raw))) {
			names = append(names, strings.ToLower(plain(name, 40)))
		}
	}
	return names[:min(len(names), 16)]
}

// free holds for a fixed price of nothing.
func free(p *Price) bool {
	amount := strings.TrimPrefix(p.Amount, "$")
	return p.Mode != "dynamic" && p.Max == "" && amount != "" && strings.Trim(amount, "0.") == ""
}

// filled puts examples in the place of a path's parameters, all of them or none.
func filled(path string, parameters []json.RawMessage) string {
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

// example is a value that the document itself gives for a parameter.
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

// mimeType is what a call brings, when the document names one type.
func mimeType(op object) string {
	content := op.child("responses").child("200").child("content")
	if len(content) != 1 {
		return ""
	}
	for name := range content {
		return plain(name, 100)
	}
	return ""
}
