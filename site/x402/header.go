package x402

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"tollbook/site/jsontext"
)

// headerName is the header with the envelope of version 2.
const headerName = "PAYMENT-REQUIRED"

// headerNames lists headerName and other names that services use, in order of preference. headerKeys lists them in the
// form of net/http.
var (
	headerNames = []string{headerName, "X-PAYMENT-REQUIRED", "X-PAYMENT-REQUIREMENTS", "PAYMENT-REQUIREMENTS"}
	headerKeys  = []string{"Payment-Required", "X-Payment-Required", "X-Payment-Requirements", "Payment-Requirements"}
)

// maxHeaderValues is the largest number of values of one header that are tried.
const maxHeaderValues = 8

// canonicalHeader returns headers with their names in canonical form. If a name occurs in several cases, its values are
// in a fixed order.
func canonicalHeader(h http.Header) http.Header {
	same := true
	for name := range h {
		same = same && http.CanonicalHeaderKey(name) == name
	}
	if same {
		return h
	}
	out := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		out[key] = append(out[key], h[name]...)
	}
	return out
}

// decoded is JSON text from a header or body, with the steps of its decoding.
type decoded struct {
	text     json.RawMessage
	variant  string   // steps joined by "+": "std", "url-unpadded", "quoted+std", "raw", ...
	leniency []string // defect codes
}

// step is one round of decoding.
type step struct {
	name string // part of the variant
	code string // the defect, "" for the form that the protocol asks for
	do   func(string) (string, bool)
}

// base64Steps lists the four variants of base64 in the order in which they are tried. Text that needs no padding counts
// as padded, and text without + / - _ as standard.
var base64Steps = []step{
	{"std", "", decodeBase64(base64.StdEncoding)},
	{"std-unpadded", base64Unpadded, decodeBase64(base64.RawStdEncoding)},
	{"url", base64URL, decodeBase64(base64.URLEncoding)},
	{"url-unpadded", base64URL, decodeBase64(base64.RawURLEncoding)},
}

func decodeBase64(e *base64.Encoding) func(string) (string, bool) {
	return func(s string) (string, bool) {
		out, err := e.DecodeString(s)
		return string(out), err == nil
	}
}

// decodeValue decodes a header value into JSON text of an object or a list. It removes spaces, quotation marks, one or
// two rounds of base64 in any alphabet, percent-encoding and a byte order mark. ok is false if the result is not JSON.
func decodeValue(value string) (d decoded, ok bool) {
	var steps []string
	note := func(name, code string) {
		if name != "" {
			steps = append(steps, name)
		}
		if code != "" && !slices.Contains(d.leniency, code) {
			d.leniency = append(d.leniency, code)
		}
	}
	for round := 0; round < 3; round++ {
		if s := removeBlanks(value); s != value {
			value = s
			note("trimmed", valueSpaced)
		}
		if s, quoted := removeQuotes(value); quoted {
			value = s
			note("quoted", valueQuoted)
		}
		if s, marked := strings.CutPrefix(value, jsontext.ByteOrderMark); marked {
			value = s
			note("", byteOrderMark)
		}
		if looksLikeJSON(value) {
			if round == 0 {
				note("raw", rawJSON)
			}
			return finish(d, value, steps)
		}
		if round == 2 {
			break
		}
		next, name, code, decodes := undo(value)
		if !decodes {
			break
		}
		if round > 0 {
			code = valueEncoded
		}
		note(name, code)
		value = next
	}
	return decoded{}, false
}

func finish(d decoded, value string, steps []string) (decoded, bool) {
	text := json.RawMessage(value)
	if depth(text) > maxDepth || !json.Valid(text) {
		return decoded{}, false
	}
	if !utf8.ValidString(value) {
		d.leniency = append(d.leniency, invalidUTF8)
	}
	d.text = text
	d.variant = strings.Join(steps, "+")
	return d, true
}

// undo removes one layer of encoding.
func undo(value string) (next, name, code string, ok bool) {
	for _, s := range base64Steps {
		if out, ok := s.do(value); ok && plausible(out) {
			return out, s.name, s.code, true
		}
	}
	if strings.Contains(value, "%") {
		if out, err := url.PathUnescape(value); err == nil && out != value {
			return out, "percent", valueEncoded, true
		}
	}
	return "", "", "", false
}

// plausible reports whether decoded bytes can be JSON or another layer of encoding. It rejects the result of a wrong
// alphabet, and of a word that happens to be valid base64.
func plausible(s string) bool {
	s = strings.TrimPrefix(s, jsontext.ByteOrderMark)
	if strings.TrimSpace(s) == "" {
		return false
	}
	return looksLikeJSON(strings.TrimSpace(s)) ||
		strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > '~' }) < 0
}

func looksLikeJSON(s string) bool {
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")
}

// removeBlanks trims a value and, unless the value is JSON, removes line breaks and spaces from it.
func removeBlanks(s string) string {
	s = strings.TrimSpace(s)
	if looksLikeJSON(strings.TrimPrefix(s, jsontext.ByteOrderMark)) || strings.HasPrefix(s, `"`) {
		return s
	}
	return strings.Join(strings.Fields(s), "")
}

// removeQuotes removes a pair of quotation marks, and unescapes a JSON string.
func removeQuotes(s string) (string, bool) {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s, false
	}
	if s[0] == '"' && strings.Contains(s, `\`) && json.Valid([]byte(s)) {
		return unquote([]byte(s)), true
	}
	return s[1 : len(s)-1], true
}

// decodeBody reads a body as JSON: directly, or from inside a JSON string or base64.
func decodeBody(body []byte) (d decoded, ok bool) {
	text := bytes.TrimSpace(body)
	if cut, marked := bytes.CutPrefix(text, []byte(jsontext.ByteOrderMark)); marked {
		text = bytes.TrimSpace(cut)
		d.leniency = append(d.leniency, byteOrderMark)
	}
	switch {
	case len(text) == 0 || text[0] == '<':
		return decoded{}, false
	case text[0] == '{' || text[0] == '[':
		if depth(text) > maxDepth || !json.Valid(text) {
			return decoded{}, false
		}
		if !utf8.Valid(text) {
			d.leniency = append(d.leniency, invalidUTF8)
		}
		d.text, d.variant = json.RawMessage(text), "json"
		return d, true
	case len(text) > MaxHeader:
		return decoded{}, false
	}
	d, ok = decodeValue(string(text))
	d.leniency = append([]string{bodyEncoded}, d.leniency...)
	return d, ok
}
