package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/jsontext"
)

// yamlHead matches the beginning of an OpenAPI document in YAML.
var yamlHead = regexp.MustCompile(`(?m)^["']?(?:openapi|swagger)["']?[ \t]*:`)

// readOpenAPITop returns the members of an OpenAPI document in JSON or YAML.
func readOpenAPITop(doc []byte) (object, error) {
	top, err := readTop(doc)
	text := bytes.TrimSpace(bytes.TrimPrefix(doc, []byte(jsontext.ByteOrderMark)))
	if err == nil || len(text) == 0 || strings.ContainsRune("{[<", rune(text[0])) || !yamlHead.Match(text) {
		return top, err
	}
	if text, err = jsontext.FromYAML(text); err != nil {
		return object{}, fmt.Errorf("%w: %w", errNoDocument, err)
	}
	return readTop(text)
}

// ReadOpenAPI returns the operations of an OpenAPI document (2.0, 3.0 or 3.1; JSON or YAML) that are paid, by path and
// method: those with x-payment-info or with a 402 among their responses. It omits operations that are free, that only
// ask for an identity, or that are paid over protocols that Tollbook does not read.
//
// It reads what a request needs, and nothing else: servers with their variables, at the operation, the path or the top,
// the nearest first; parameters of the path, which are replaced by the document's own examples if it has one for each;
// references within the document. A mistake elsewhere, such as a summary that is a list, costs nothing. The time is
// bounded: references are followed maxHops times, and through maxScanned bytes in all.
//
// A library is not used. getkin/kin-openapi rejects a document for one wrong member or one reference to a file, and
// takes minutes for 7 MB of nested schemas.
func ReadOpenAPI(doc []byte, address *url.URL, base string) (Reading, error) {
	top, err := readOpenAPITop(doc)
	if err != nil {
		return Reading{}, err
	}
	if !top.Has("paths") && !top.Has("openapi") && !top.Has("swagger") {
		return Reading{}, fmt.Errorf("%w: it has no paths", errNoDocument)
	}
	r := newReader(base)
	d := openAPI{address: address, base: r.base, top: top, indexes: map[string]map[string]json.RawMessage{},
		scannable: maxScanned}
	paths := top.child("paths")
	byPath := make(map[string]json.RawMessage, len(paths.Object))
	for _, m := range paths.Object {
		byPath[m.Key] = m.Value
	}
	for _, path := range paths.keys() {
		if strings.HasPrefix(path, "/") {
			d.readPath(r, path, byPath[path])
		}
	}
	r.skipCut(top.Get("paths"))
	return r.result(), nil
}

// openAPI is an OpenAPI document.
type openAPI struct {
	address *url.URL // of the document
	base    *url.URL // of the service
	top     object

	indexes   map[string]map[string]json.RawMessage // members of objects that references lead through, by JSON pointer
	scannable int                                   // bytes that may still be read for indexes
}

// Limits of references and servers.
const (
	maxHops    = 16       // from a reference to what it refers to
	maxScanned = 64 << 20 // bytes that are read to follow references
	maxServers = 50       // of a list, and URLs of a server with variables
)

// readPath reads the operations of a path.
func (d *openAPI) readPath(r *reader, path string, raw json.RawMessage) {
	item := d.merge(raw)
	for _, method := range methods {
		op := item.child(strings.ToLower(method))
		if op.isAbsent() {
			continue
		}
		price, reason := d.readPayment(op, item)
		server := ""
		if reason == "" {
			var own bool
			if server, own = d.server(op, item); !own {
				reason = site.SkippedElsewhere
			}
		}
		switch {
		case reason != "":
			r.skip(reason)
		case r.isFull():
			r.skip(site.SkippedOverLimit)
		default:
			r.add(Declared{
				Method: method, URL: server + d.fillPath(path, append(op.list("parameters"), item.list("parameters")...)),
				Description: cleanText(op.text("summary", "description"), 500), MimeType: d.mimeType(op),
				Origin: OriginOpenAPI, Price: price,
			})
		}
	}
}

// merge returns an object with what its reference refers to. Its own members count more.
func (d *openAPI) merge(raw json.RawMessage) object {
	o := objectOf(raw)
	if !o.Has("$ref") {
		return o
	}
	return object{slices.Concat(d.object(raw).Object, o.Object)}
}

// object returns the object that a value is, or that its reference refers to. A reference that leads to another
// document, in a circle or nowhere refers to an empty object.
func (d *openAPI) object(raw json.RawMessage) object {
	for range maxHops {
		o := objectOf(raw)
		ref := jsontext.Scalar(o.Get("$ref"))
		if ref == "" {
			return o
		}
		raw = d.lookUp(ref)
	}
	return object{}
}

// lookUp returns the value at a JSON pointer (RFC 6901) of a reference "#/…", nil for none.
func (d *openAPI) lookUp(ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok || len(pointer) > maxPath {
		return nil
	}
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	var value json.RawMessage
	at := ""
	for i, part := range strings.Split(pointer, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if i == 0 {
			value = d.top.Get(part)
		} else {
			value = d.index(at, value)[part]
		}
		if value == nil {
			return nil
		}
		at += "/" + part
	}
	return value
}

// index returns the members of an object or the elements of an array at a JSON pointer.
func (d *openAPI) index(at string, value json.RawMessage) map[string]json.RawMessage {
	if known, ok := d.indexes[at]; ok {
		return known
	}
	index := map[string]json.RawMessage{}
	if d.scannable -= len(value); d.scannable > 0 {
		for _, m := range objectOf(value).Object {
			index[m.Key] = m.Value
		}
		for i, element := range first(jsontext.List(value), maxMembers) {
			index[strconv.Itoa(i)] = element
		}
	}
	d.indexes[at] = index
	return index
}

// server returns the URL that the path of an operation is appended to: that of the nearest list of servers. own is
// false if all its servers are on other hosts.
func (d *openAPI) server(op, item object) (base string, own bool) {
	for _, level := range []object{op, item} {
		if list := level.list("servers"); len(list) > 0 {
			return d.chooseServer(list)
		}
	}
	base, own = d.chooseServer(d.top.list("servers"))
	if !d.top.Has("swagger") {
		return base, own
	}
	// Swagger 2
	if host := strings.ToLower(d.top.text("host")); host != "" {
		u := &url.URL{Host: host}
		own = authority(u) == authority(d.address) || isLocal(u.Hostname())
	}
	if path := d.top.text("basePath"); strings.HasPrefix(path, "/") {
		base = origin(d.address) + strings.TrimRight(path, "/")
	}
	return base, own
}

// chooseServer returns the first server on the document's own host or on that of the service. It returns the document's
// origin if no other public host is listed.
func (d *openAPI) chooseServer(list []json.RawMessage) (base string, own bool) {
	elsewhere := false
	for _, raw := range first(list, maxServers) {
		for _, address := range serverURLs(objectOf(raw)) {
			u, err := d.address.Parse(address)
			switch {
			case err != nil || u.User != nil:
			case u.Scheme != "http" && u.Scheme != "https":
			case authority(u) == authority(d.address):
				return origin(d.address) + strings.TrimRight(unescapeBraces(u.EscapedPath()), "/"), true
			case authority(u) == authority(d.base):
				return origin(d.base) + strings.TrimRight(unescapeBraces(u.EscapedPath()), "/"), true
			case !isLocal(u.Hostname()):
				elsewhere = true
			}
		}
	}
	return origin(d.address), !elsewhere
}

// serverURLs returns the URLs of a server: with the default of each variable, then with each other value that one
// variable may have. A URL with a variable without a value is none.
func serverURLs(server object) (urls []string) {
	template := server.text("url")
	if !strings.Contains(template, "{") {
		if template != "" {
			urls = append(urls, template)
		}
		return urls
	}
	variables := server.child("variables")
	value := map[string]string{}
	for _, m := range first(variables.Object, maxServers) {
		v := objectOf(m.Value)
		if value[m.Key] = v.text("default"); value[m.Key] == "" {
			value[m.Key] = firstScalar(v.list("enum"))
		}
	}
	add := func(name, as string) {
		var pairs []string
		for key, s := range value {
			if key == name {
				s = as
			}
			if s != "" {
				pairs = append(pairs, "{"+key+"}", s)
			}
		}
		address := strings.NewReplacer(pairs...).Replace(template)
		if !strings.Contains(address, "{") && len(urls) < maxServers && !slices.Contains(urls, address) {
			urls = append(urls, address)
		}
	}
	add("", "")
	for _, m := range first(variables.Object, maxServers) {
		for _, raw := range first(objectOf(m.Value).list("enum"), maxServers) {
			add(m.Key, scalar(raw))
		}
	}
	return urls
}

// origin returns the scheme, host and port of a document's URL.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// isLocal reports whether a host has a meaning only on the author's machine or network.
func isLocal(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsUnspecified() || a.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal")
}

// readPayment returns the price that an operation or else its path declares, nil for none, or the reason to skip the
// operation.
func (d *openAPI) readPayment(op, item object) (price *Price, skip string) {
	raw := op.Get("x-payment-info")
	if !op.Has("x-payment-info") {
		raw = item.Get("x-payment-info")
	}
	if jsontext.IsAbsent(raw) || jsontext.Kind(raw) == 'f' {
		switch {
		case !op.child("responses").Has("402"):
			return nil, site.SkippedFree
		case d.onlySignsIn(op):
			return nil, site.SkippedSignIn
		}
		return nil, ""
	}
	info := d.merge(raw)
	if info.isAbsent() {
		if text := scalar(raw); isZero(text) {
			return nil, site.SkippedFree
		}
		return nil, ""
	}
	price = readPrice(info)
	switch {
	case price.isFree():
		return nil, site.SkippedFree
	case !isPayable(price.Protocols):
		return nil, site.SkippedProtocol
	}
	return price, ""
}

// onlySignsIn reports whether an operation answers 402 to ask for an identity and not for money: each of its ways to be
// authorised is a signature of a wallet.
func (d *openAPI) onlySignsIn(op object) bool {
	if strings.EqualFold(op.text("x-agentcash-auth-kind"), "siwx") ||
		strings.EqualFold(op.child("x-agentcash-auth").text("mode", "kind"), "siwx") {
		return true
	}
	requirements := op.list("security")
	if !op.Has("security") {
		requirements = d.top.list("security")
	}
	for _, raw := range requirements {
		signs := false
		for _, m := range first(objectOf(raw).Object, maxServers) {
			scheme := d.object(d.lookUp("#/components/securitySchemes/" + escapePointer(m.Key)))
			text := strings.ToLower(m.Key + " " + scheme.text("name") + " " + scheme.text("scheme") + " " +
				scheme.text("description"))
			if containsAny(text, "x402", "mpp", "l402", "lsat", "payment") {
				return false
			}
			signs = signs || containsAny(text, "siwx", "siwe", "sign-in-with", "sign in with")
		}
		if !signs {
			return false
		}
	}
	return len(requirements) > 0
}

// escapePointer writes a key as a part of a reference.
func escapePointer(key string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// fillPath replaces the parameters of a path by examples, all of them or none. The first parameter of a name counts.
func (d *openAPI) fillPath(path string, parameters []json.RawMessage) string {
	if !strings.Contains(path, "{") {
		return path
	}
	out := path
	for _, raw := range first(parameters, maxOperationParameters) {
		p := d.object(raw)
		if p.text("in") != "path" {
			continue
		}
		if value := d.example(p); value != "" {
			out = strings.ReplaceAll(out, "{"+p.text("name")+"}", url.PathEscape(value))
		}
	}
	if strings.Contains(out, "{") || len(out) > maxPath {
		return path
	}
	return out
}

// maxOperationParameters is the most parameters of an operation that are read.
const maxOperationParameters = 200

// example returns the document's own example of a parameter, "" for none.
func (d *openAPI) example(p object) string {
	of := []object{p, d.object(p.Get("schema"))}
	for _, m := range first(p.child("content").Object, 1) {
		media := objectOf(m.Value)
		of = append(of, media, d.object(media.Get("schema")))
	}
	for _, o := range of {
		for _, name := range []string{"example", "const", "default"} {
			if value := exampleText(o.Get(name)); value != "" {
				return value
			}
		}
		examples := o.child("examples") // of a parameter; those of a schema are a list
		for _, name := range first(examples.keys(), maxServers) {
			if value := exampleText(d.object(examples.Get(name)).Get("value")); value != "" {
				return value
			}
		}
		for _, name := range []string{"examples", "enum"} {
			if value := firstScalar(o.list(name)); value != "" {
				return value
			}
		}
	}
	return ""
}

// firstScalar returns the first element of a list, "" if that is no text, number or truth value.
func firstScalar(list []json.RawMessage) string {
	if len(list) == 0 {
		return ""
	}
	return exampleText(list[0])
}

// exampleText returns a text, a number or a truth value as it is part of a path, "" for anything else.
func exampleText(raw json.RawMessage) string {
	switch jsontext.Kind(raw) {
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return scalar(raw)
}

// mimeType returns the type of a call's response if the document lists exactly one.
func (d *openAPI) mimeType(op object) string {
	content := d.object(op.child("responses").Get("200")).child("content")
	if len(content.Object) != 1 {
		return ""
	}
	return cleanText(content.Object[0].Key, 100)
}
