package x402

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestDecodeValue(t *testing.T) {
	t.Parallel()
	const text = `{"x402Version":2,"error":"ÿÿ>>??~~"}` // its base64 has + and / and padding
	std := base64.StdEncoding.EncodeToString([]byte(text))
	if !strings.ContainsAny(std, "+/") || !strings.HasSuffix(std, "=") {
		t.Fatalf("%s shows too little of its alphabet", std)
	}
	for _, test := range []struct {
		name, value, variant string
		leniency             []string
	}{
		{"standard", std, "std", nil},
		{"unpadded", strings.TrimRight(std, "="), "std-unpadded", []string{base64Unpadded}},
		{"for URLs", base64.URLEncoding.EncodeToString([]byte(text)), "url", []string{base64URL}},
		{"for URLs, unpadded", base64.RawURLEncoding.EncodeToString([]byte(text)), "url-unpadded", []string{base64URL}},
		{"plain", text, "raw", []string{rawJSON}},
		{"quoted", `"` + std + `"`, "quoted+std", []string{valueQuoted}},
		{"single quotes", `'` + std + `'`, "quoted+std", []string{valueQuoted}},
		{"JSON string", `"{\"x402Version\":2,\"error\":\"ÿÿ>>??~~\"}"`, "quoted+raw", []string{valueQuoted, rawJSON}},
		{"blank before", " " + std, "trimmed+std", []string{valueSpaced}},
		{"line breaks", std[:20] + "\n " + std[20:], "trimmed+std", []string{valueSpaced}},
		{"twice", base64.StdEncoding.EncodeToString([]byte(std)), "std+std", []string{valueEncoded}},
		{"percent over base64", url.QueryEscape(std), "percent+std", []string{valueEncoded}},
		{"percent over JSON", url.PathEscape(text), "percent", []string{valueEncoded}},
		{"byte order mark", base64.StdEncoding.EncodeToString([]byte("\ufeff" + text)), "std", []string{byteOrderMark}},
	} {
		got, ok := decodeValue(test.value)
		if !ok || string(got.text) != text || got.variant != test.variant ||
			!slices.Equal(got.leniency, test.leniency) {
			t.Errorf("%s: %v, %q by %s with %v, want %s with %v", test.name, ok, got.text, got.variant, got.leniency,
				test.variant, test.leniency)
		}
	}
}

func TestDecodeValueRefuses(t *testing.T) {
	t.Parallel()
	thrice := base64.StdEncoding.EncodeToString([]byte(
		base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(`{"accepts":[]}`))))))
	for _, value := range []string{"", " ", `"`, `""`, "hello", "abcd", "{", "{}}", "AAAA", "%zz", thrice,
		strings.Repeat("[", 1<<16),
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)))} {
		if got, ok := decodeValue(value); ok {
			t.Errorf("decodeValue(%.60q) = %.60q by %s", value, got.text, got.variant)
		}
	}
}

func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	c := Capture(Answer{Status: 402,
		Header: header(headerName, stdBase64([]byte("{\"x402Version\":2,\"error\":\"caf\xe9\",\"accepts\":[]}")))})
	if c.Envelope == nil || c.Envelope.Error != "caf\ufffd" || !hasDefect(c, invalidUTF8) {
		t.Errorf("captured %+v with %v", c.Envelope, c.Defects)
	}
	if !json.Valid(c.Envelope.Raw) {
		t.Error("what was received is no JSON any more")
	}
}

// TestRepeatedHeader checks the ways in which a header can occur more than once.
func TestRepeatedHeader(t *testing.T) {
	t.Parallel()
	text := `{"x402Version":2,"error":"a,b","accepts":[]}`
	std := stdBase64([]byte(text))
	half := strings.Index(text, ",")
	for _, test := range []struct {
		name     string
		values   []string
		read     bool
		repeated bool
	}{
		{"once", []string{std}, true, false},
		{"twice the same", []string{std, std}, true, true},
		{"joined on the way", []string{std + ", " + std}, true, true},
		{"joined with something else", []string{"x," + std}, true, true},
		{"plain JSON split at a comma", []string{text[:half], text[half+1:]}, true, true},
		{"nothing to read", []string{"x,y"}, false, false},
	} {
		c := Capture(Answer{Status: 402, Header: http.Header{"Payment-Required": test.values}})
		if (c.Envelope != nil) != test.read || hasDefect(c, headerRepeated) != test.repeated ||
			hasDefect(c, headerUndecodable) == test.read {
			t.Errorf("%s: read %v with %v", test.name, c.Envelope != nil, c.Defects)
		}
	}
}

func hasDefect(c Captured, code string) bool {
	return slices.ContainsFunc(c.Defects, func(d Defect) bool { return d.Code == code })
}

// TestHeaderNamesOfAnyCase checks that the case of a header's name does not matter. Two cases of one name are a
// repeated header, and the first in order counts.
func TestHeaderNamesOfAnyCase(t *testing.T) {
	t.Parallel()
	value := func(amount string) string {
		text, err := json.Marshal(envelopeWith(2, rowWith(map[string]any{"amount": amount})))
		if err != nil {
			t.Fatal(err)
		}
		return stdBase64(text)
	}
	for _, test := range []struct {
		header   http.Header
		amount   string
		repeated bool
	}{
		{http.Header{"Payment-Required": {value("1")}}, "1", false},
		{http.Header{"payment-required": {value("2")}}, "2", false},
		{http.Header{"payment-required": {value("3")}, "PAYMENT-REQUIRED": {value("4")}, "content-type": {"text/html"}},
			"4", true},
	} {
		c := Capture(Answer{Status: 402, Header: test.header})
		if c.Envelope == nil || len(c.Envelope.Accepts) != 1 || c.Envelope.Accepts[0].Amount != test.amount {
			t.Errorf("%v: %+v, want the amount %s", test.header, c.Envelope, test.amount)
		}
		if got := hasDefect(c, headerRepeated); got != test.repeated {
			t.Errorf("%v: repeated is %v, want %v", test.header, got, test.repeated)
		}
	}
}
