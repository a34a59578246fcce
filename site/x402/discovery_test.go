package x402

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage {
		if s == "" {
			return nil
		}
		return json.RawMessage(s)
	}
	for _, test := range []struct {
		name, member string // a member of the envelope, or of its row when it is outputSchema
		want         *Discovery
		defects      string
	}{
		{"none", `"error":"x"`, nil, ""},
		{"example", `"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"get",` +
			`"queryParams":{"city":"Oslo"}}},"routeTemplate":"/users/:id"}}`,
			&Discovery{Method: "GET", QueryParams: raw(`{"city":"Oslo"}`), RouteTemplate: "/users/:id"}, ""},
		{"body", `"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"POST","bodyType":"json",` +
			`"body":{"q":"x"}}}}}`,
			&Discovery{Method: "POST", Body: raw(`{"q":"x"}`)}, ""},
		{"schema only", `"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"POST"}},` +
			`"schema":{"properties":{"input":{"properties":{"body":{"type":"object","required":["q","n","mode"],` +
			`"properties":{"q":{"type":"string"},"n":{"type":"integer"},"mode":{"enum":["fast"]},` +
			`"o":{"type":"string"}}}}}}}}}`,
			&Discovery{Method: "POST", Body: raw(`{"q":"sample","n":0,"mode":"fast"}`)}, ""},
		{"MCP", `"extensions":{"bazaar":{"info":{"input":{"type":"mcp","toolName":"quote","inputSchema":{}}}}}`,
			&Discovery{MCP: true}, ""},
		{"bad template", `"extensions":{"bazaar":{"info":{"input":{"method":"GET"}},"routeTemplate":"/a/%2e%2e/b"}}`,
			&Discovery{Method: "GET"}, "route_template_invalid"},
		{"template with a host", `"extensions":{"bazaar":{"info":{"input":{"method":"GET"}},"routeTemplate":"/` +
			`https:%2f%2facme"}}`, &Discovery{Method: "GET"}, "route_template_invalid"},
		{"unreadable", `"extensions":{"bazaar":[]}`, nil, "discovery_invalid"},
		{"invented method", `"extensions":{"bazaar":{"info":{"input":{"method":"PAY"}}}}`, &Discovery{}, ""},
		{"version 1", `"outputSchema":{"input":{"type":"http","method":"post","bodyFields":{"q":{"type":"string",` +
			`"required":true},"n":"number","o":{"type":"string","required":false},"fixed":"Oslo"}}}`,
			&Discovery{Method: "POST", Body: raw(`{"q":"sample","n":0,"fixed":"Oslo"}`)}, "output_schema_in_v2"},
		{"version 1, null", `"outputSchema":null`, nil, ""},
	} {
		member, row := test.member, ""
		if strings.HasPrefix(member, `"outputSchema"`) {
			member, row = `"error":"x"`, ","+member
		}
		text := `{"x402Version":2,"resource":{"url":"u"},` + member +
			`,"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"` + usdcOnBase +
			`","payTo":"` + acmePayTo + `","maxTimeoutSeconds":60` + row + `}]}`
		c := Capture(Answer{Status: 402, Header: header(headerName, stdBase64([]byte(text)))})
		if c.Envelope == nil {
			t.Fatalf("%s: nothing captured", test.name)
		}
		if diff := cmp.Diff(test.want, c.Envelope.Discovery); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		var codes []string
		for _, d := range c.Defects {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != test.defects {
			t.Errorf("%s: defects %q, want %q", test.name, got, test.defects)
		}
	}
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"plain", "plain"},
		{"a\x00b\x1b[31mc", "ab[31mc"},
		{" two\r\n\twords ", "two words"},
		{"pay \u202eoot\u202c", "pay oot"},
		{"A\u200bc\u2066m\ufeffe", "Acme"},
		{"&lt;b&gt; &amp;amp;", "<b> &amp;"},
		{"cafÃ©", "café"},
		{"Ã is a letter", "Ã is a letter"},
		{"bad\xff", "bad\ufffd"},
		{"👩\u200d💻", "👩\u200d💻"},
		{"USD₮0", "USD₮0"},
	} {
		if got := cleanText(test.text); got != test.want {
			t.Errorf("cleanText(%q) = %q, want %q", test.text, got, test.want)
		}
	}
	if got := clip(strings.Repeat("é", 600), 500); len([]rune(got)) != 500 || !strings.HasSuffix(got, "…") {
		t.Errorf("clip left %d characters", len([]rune(got)))
	}
	if got := clip(strings.Repeat("é", 500), 500); got != strings.Repeat("é", 500) {
		t.Error("clip shortens what is short enough")
	}
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	c := Capture(Answer{Status: 402, Header: map[string][]string{
		"Www-Authenticate": {`Payment id="a", method="tempo", request="!"`, `LSAT macaroon="m", x402 realm="r"`},
		"Crawler-Price":    {"USD 0.01"},
	}})
	if diff := cmp.Diff([]string{"crawler-price", "l402", "mpp"}, c.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	if !hasDefect(c, authenticateX402) || c.Platform || c.Envelope != nil {
		t.Errorf("captured %+v", c)
	}
}
