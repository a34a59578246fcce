package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object. Numbers in it are json.Number.
type object = map[string]any

// envelope contains the payment terms of one response and where in it they were found.
type envelope struct {
	Channel, Decode string
	Version         int
	object          object // nil if the rows were found without an envelope around them
	Rows            []Row
}

// terms are the result of reading one response.
type terms struct {
	Envelope  *envelope // the one that counts, nil without one
	others    []envelope
	repeated  bool // PAYMENT-REQUIRED occurs more than once
	unread    bool // PAYMENT-REQUIRED is present and no value of it can be read
	oversize  bool // a header with terms is too long
	Protocols []string
}

// The names of headers and of members of a body in which services put their terms, in the order in which they count.
var (
	termHeaders = []string{"Payment-Required", "X-Payment-Required", "X-Payment-Requirements", "Payment-Requirements"}
	termMembers = []string{"paymentRequired", "payment_required", "PaymentRequired", "paymentRequirements",
		"payment_requirements", "PaymentRequirements", "x402", "data", "error"}
)

// The limits of what is read: bytes of a header, values of a header, rows of accepts.
const maxHeader, maxValues, maxRows = 128 << 10, 8, 64

// ReadTerms finds the payment terms of a response.
func ReadTerms(a *answer) terms {
	var t terms
	t.Protocols = otherProtocols(a)
	if isToolAnswer(a) {
		t.Envelope = readTool(a)
		return t
	}
	candidates := append(t.readHeaders(a), readBody(a)...)
	best := -1
	for i := range candidates {
		if best < 0 || candidates[i].rank() < candidates[best].rank() {
			best = i
		}
	}
	if a.Status != 402 && a.Status != 412 {
		best = -1
	}
	for i := range candidates {
		if i == best {
			t.Envelope = &candidates[i]
		} else {
			t.others = append(t.others, candidates[i])
		}
	}
	return t
}

// rank orders candidates. One with rows comes before one without.
func (e *envelope) rank() int {
	current := "v1"
	if e.Version >= 2 {
		current = "v2"
	}
	place := slices.Index([]string{"v2 header", "v2 alias", "v2 body", "v2 nested", "v1 body", "v1 nested", "v1 header",
		"v1 alias"}, current+" "+e.Channel)
	if place < 0 {
		place = 8 // a page
	}
	if len(e.Rows) == 0 {
		place += 100
	}
	return place
}

func (t *terms) readHeaders(a *answer) []envelope {
	var all []envelope
	for i, name := range termHeaders {
		channel := "header"
		if i > 0 {
			channel = "alias"
		}
		values := a.header(name)
		var list []envelope
		try := func(value string) {
			if len(value) > maxHeader {
				t.oversize = true
				return
			}
			text, decode, ok := decodeValue(value)
			if !ok {
				return
			}
			e, ok := readEnvelope(text, channel, decode)
			same := func(old envelope) bool { return old.Decode == decode && sameJSON(old.object, e.object) }
			if ok && !slices.ContainsFunc(list, same) {
				list = append(list, e)
			}
		}
		for _, value := range values[:min(len(values), maxValues)] {
			try(value)
		}
		repeated := len(values) > 1
		switch {
		case len(list) > 0:
		case repeated:
			try(strings.Join(values[:min(len(values), maxValues)], ","))
		case len(values) == 1 && strings.Contains(values[0], ","):
			parts := strings.Split(values[0], ",")
			for _, part := range parts[:min(len(parts), maxValues)] {
				try(part)
			}
			repeated = len(list) > 0
		}
		if channel == "header" {
			t.repeated = repeated
			t.unread = len(values) > 0 && len(list) == 0
		}
		all = append(all, list...)
	}
	return all
}

// decodeValue decodes the value of a header into JSON. The steps are named as in captured.decode.
func decodeValue(value string) (text, decode string, ok bool) {
	var steps []string
	for round := range 3 {
		if trimmed := removeBlanks(value); trimmed != value {
			value, steps = trimmed, append(steps, "trimmed")
		}
		if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			var unquoted string
			if json.Unmarshal([]byte(value), &unquoted) != nil || !strings.Contains(value, `\`) {
				unquoted = value[1 : n-1]
			}
			value, steps = unquoted, append(steps, "quoted")
		}
		value = strings.TrimPrefix(value, "\ufeff")
		if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			if round == 0 {
				steps = append(steps, "raw")
			}
			return value, strings.Join(steps, "+"), json.Valid([]byte(value))
		}
		next, step := undoEncoding(value)
		if step == "" || round == 2 {
			return "", "", false
		}
		value, steps = next, append(steps, step)
	}
	return "", "", false
}

func removeBlanks(text string) string {
	text = strings.TrimSpace(text)
	if start := strings.TrimPrefix(text, "\ufeff"); start != "" && strings.ContainsAny(start[:1], `{["`) {
		return text
	}
	return strings.Join(strings.Fields(text), "")
}

// undoEncoding removes one layer of base64 or percent-encoding.
func undoEncoding(text string) (decoded, step string) {
	variants := []struct {
		name     string
		encoding *base64.Encoding
	}{
		{"std", base64.StdEncoding}, {"std-unpadded", base64.RawStdEncoding},
		{"url", base64.URLEncoding}, {"url-unpadded", base64.RawURLEncoding},
	}
	for _, v := range variants {
		if out, err := v.encoding.DecodeString(text); err == nil && isPlausible(string(out)) {
			return string(out), v.name
		}
	}
	if out, err := url.PathUnescape(text); err == nil && out != text {
		return out, "percent"
	}
	return "", ""
}

// isPlausible reports whether decoded bytes are JSON or printable, and so possibly another layer.
func isPlausible(text string) bool {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return true
	}
	unprintable := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\r\n\t", r) || r > '~' }
	return text != "" && strings.IndexFunc(text, unprintable) < 0
}

// readBody returns the candidates of a body: the body itself, else members of it, else the script of a paywall page.
func readBody(a *answer) []envelope {
	body := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(a.body), []byte("\ufeff")))
	text, decode, ok := string(body), "json", json.Valid(body)
	if ok && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || !ok && !strings.HasPrefix(text, "<") {
		text, decode, ok = decodeValue(text)
	}
	if !ok {
		return readPage(a.body)
	}
	if e, ok := readEnvelope(text, "body", decode); ok {
		return []envelope{e}
	}
	members, _ := parse(text).(object)
	names := slices.Clone(termMembers)
	if a.mediaType() == "application/problem+json" {
		for name := range members {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names[len(termMembers):])
	}
	var list []envelope
	for _, name := range names {
		list = append(list, readNested(members[name], decode)...)
	}
	if result, ok := members["result"].(object); ok {
		list = append(list, readNested(result["structuredContent"], decode)...)
	}
	return list
}

func readNested(value any, decode string) []envelope {
	text, isText := value.(string)
	if isText {
		decode += "+text"
	} else if value != nil {
		text = string(marshal(value))
	}
	if e, ok := readEnvelope(text, "nested", decode); ok {
		return []envelope{e}
	}
	return nil
}

// readPage returns the terms in the script of a paywall page: the value of window.x402 or of one of its members.
func readPage(body []byte) []envelope {
	_, script, _ := strings.Cut(string(body), "window.x402")
	script, assigned := strings.CutPrefix(strings.TrimSpace(script), "=")
	if !assigned {
		return nil
	}
	for _, member := range []string{"", "paymentRequired", "paymentRequirements"} {
		_, rest, _ := strings.Cut(script, member)
		if member != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "\"' \t\r\n"), ":"); !ok {
				continue
			}
		}
		var value json.RawMessage
		if json.NewDecoder(strings.NewReader(rest)).Decode(&value) != nil {
			continue
		}
		if e, ok := readEnvelope(string(value), "html", "json"); ok {
			return []envelope{e}
		}
	}
	return nil
}

// readEnvelope reads one candidate: an object with accepts or x402Version, or rows without it.
func readEnvelope(text, channel, decode string) (envelope, bool) {
	e := envelope{Channel: channel, Decode: decode}
	var rows []any
	switch value := parse(text).(type) {
	case []any:
		if len(value) == 0 || !isRequirement(value[0]) {
			return e, false
		}
		rows = value
	case object:
		_, hasAccepts := value["accepts"]
		_, hasVersion := value["x402Version"]
		if !hasAccepts && !hasVersion {
			if !isRequirement(value) {
				return e, false
			}
			rows = []any{value}
			e.object = value
			break
		}
		e.object = value
		switch accepts := value["accepts"].(type) {
		case []any:
			rows = accepts
		case object:
			rows = []any{accepts}
		}
	default:
		return e, false
	}
	rows = rows[:min(len(rows), maxRows)]
	e.Version = readVersion(e.object, rows, channel)
	for _, value := range rows {
		if members, ok := value.(object); ok {
			e.Rows = append(e.Rows, readRow(members, e.object))
		}
	}
	return e, true
}

// isRequirement reports whether a value has the members of a row of accepts.
func isRequirement(value any) bool {
	members, _ := value.(object)
	_, hasScheme := members["scheme"]
	_, hasNetwork := members["network"]
	_, price := firstMember(members, amountNames)
	_, recipient := firstMember(members, payToNames)
	return hasScheme && hasNetwork && (price != nil || recipient != nil)
}

// readVersion returns x402Version, a number or text from 1 to 99, else the version that the form suggests.
func readVersion(members object, rows []any, channel string) int {
	var text string
	switch value := members["x402Version"].(type) {
	case string:
		text = value
	case json.Number:
		text = plainNumber(value)
	}
	if version, err := strconv.Atoi(text); err == nil && version >= 1 && version <= 99 {
		return version
	}
	if channel == "header" || channel == "alias" {
		return 2
	}
	for _, value := range rows {
		members, _ := value.(object)
		_, hasAmount := members["amount"]
		if network, _ := members["network"].(string); hasAmount || matchesWhole(caip2Form, network) {
			return 2
		}
	}
	return 1
}

// otherProtocols returns the other payment protocols of which a response shows signs, sorted.
func otherProtocols(a *answer) []string {
	names := []string{}
	for _, value := range a.header("Www-Authenticate") {
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' }) {
			switch strings.ToLower(word) {
			case "payment":
				names = append(names, "mpp")
			case "l402", "lsat":
				names = append(names, "l402")
			}
		}
	}
	if len(a.header("Crawler-Price")) > 0 {
		names = append(names, "crawler-price")
	}
	if a.mediaType() == "application/problem+json" &&
		bytes.Contains(a.body, []byte("paymentauth.org/problems/")) {
		names = append(names, "mpp")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// parse returns the value of JSON text, nil if it is invalid.
func parse(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil
	}
	return value
}

func marshal(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // cannot fail: the value came from JSON
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func sameJSON(a, b any) bool { return bytes.Equal(marshal(a), marshal(b)) }
