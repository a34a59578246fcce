package sample

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/x402"
)

// seen is the part of an answer that a verdict depends on.
type seen struct {
	Status    int
	Version   int          // of the chosen envelope, 0 for none
	Channel   x402.Channel // of it
	Decode    string
	Rows      int // requirements
	Usable    int // of them
	Divergent bool
	Others    int // further envelopes
	Defects   []string
	Protocols []string
	Platform  bool
}

func capture(status int, header http.Header, body []byte, url string) seen {
	c := x402.Capture(x402.Answer{Status: status, Header: header, Body: body, URL: url})
	got := seen{Status: status, Divergent: c.Divergent, Others: len(c.Others), Protocols: c.Protocols,
		Platform: c.Platform}
	for _, d := range c.Defects {
		got.Defects = append(got.Defects, d.Code)
	}
	got.Defects = slices.Compact(slices.Sorted(slices.Values(got.Defects)))
	if c.Envelope == nil {
		return got
	}
	got.Version, got.Channel, got.Decode, got.Rows = c.Envelope.Version, c.Envelope.Channel, c.Envelope.Decode,
		len(c.Envelope.Accepts)
	for _, r := range c.Envelope.Accepts {
		if r.Usable() {
			got.Usable++
		}
	}
	return got
}

// standardHeader returns what a reader sees of a valid answer with a number of ways to pay, and its defects.
func standardHeader(rows int, defects ...string) seen {
	return seen{Status: 402, Version: 2, Channel: x402.ChannelHeader, Decode: "std", Rows: rows, Usable: rows,
		Defects: defects}
}

// wantSeen returns what a reader sees of a behaviour, for an endpoint with a number of ways to pay. It returns false
// for behaviours without an answer.
func wantSeen(behaviour string, rails int) (seen, bool) {
	good := standardHeader(rails)
	encoded := func(decode, defect string) seen {
		s := standardHeader(rails, defect)
		s.Decode = decode
		return s
	}
	with := func(s seen, change func(*seen)) seen { change(&s); return s }
	want, ok := map[string]seen{
		"v2": good, "raiser": good, "mover": good, "browser-differs": good, "needs-body": good,
		"slow": good, "flapping": good,
		"wrong-domain":          good,
		"zero-recipient":        with(good, func(s *seen) { s.Usable = 0 }),
		"wrong-chain-recipient": with(good, func(s *seen) { s.Usable-- }), // the first row

		"v1":       {Status: 402, Version: 1, Channel: x402.ChannelBody, Decode: "json", Rows: rails, Usable: rails},
		"mirror":   with(good, func(s *seen) { s.Others = 1 }),
		"dual":     with(good, func(s *seen) { s.Others = 1 }),
		"with-mpp": with(good, func(s *seen) { s.Protocols = []string{"mpp"} }),

		"url-safe": encoded("url", "base64_url"),
		"unpadded": encoded("std-unpadded", "base64_unpadded"),
		"raw":      encoded("raw", "raw_json"),
		"body-only": {Status: 402, Version: 2, Channel: x402.ChannelBody, Decode: "json", Rows: rails,
			Usable: rails, Defects: []string{"v2_outside_header"}},
		"body-differs": with(standardHeader(rails, "channels_diverge"), func(s *seen) {
			s.Divergent, s.Others = true, 1
		}),
		"network-names":   standardHeader(rails, "amount_key", "network_nickname"),
		"version-text":    standardHeader(rails, "version_text"),
		"numeric-amount":  standardHeader(rails, "amount_number"),
		"accepts-object":  standardHeader(rails, "accepts_object"),
		"recipient-alias": standardHeader(rails, "payto_key"),
		"ticker-asset":    with(standardHeader(rails, "asset_ticker"), func(s *seen) { s.Usable = 0 }),

		"decimal-amount": with(standardHeader(rails, "amount_not_integer"), func(s *seen) { s.Usable = 0 }),
		"truncated":      {Status: 402, Defects: []string{"header_undecodable"}},
		"html": {Status: 402, Version: 1, Channel: x402.ChannelHTML, Decode: "json", Rows: rails,
			Usable: rails, Defects: []string{"body_html"}},
		"mpp":          {Status: 402, Protocols: []string{"mpp"}},
		"mcp":          {Status: 200, Version: 2, Channel: x402.ChannelMCP, Decode: "json", Rows: rails, Usable: rails},
		"l402":         {Status: 402, Protocols: []string{"l402"}},
		"disabled":     {Status: 402, Platform: true},
		"free":         {Status: 200},
		"server-error": {Status: 500},
		"gone":         {Status: 404},
		"rate-limited": {Status: 429},
		"challenge":    {Status: 403},
	}[behaviour]
	return want, ok
}

// TestAnswerIsPure requests everything of each service twice.
func TestAnswerIsPure(t *testing.T) {
	t.Parallel()
	for _, s := range cast() {
		for _, e := range s.endpoints {
			r := request{method: e.method, host: s.Slug + "." + Domain, path: e.path, body: []byte("{}")}
			if diff := cmp.Diff(answer(r, start), answer(r, start), cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("%s %s: two different answers:\n%s", s.Slug, e.key(), diff)
			}
		}
	}
}

// TestValidServicesHaveNoDefects reads the answers of all services with a valid version 2 behaviour as a strict client.
func TestValidServicesHaveNoDefects(t *testing.T) {
	t.Parallel()
	for _, s := range cast() {
		if s.Behaviour != "v2" {
			continue
		}
		for _, e := range s.endpoints {
			a := s.answer("v2", request{method: e.method, host: s.Slug + "." + Domain, path: e.path}, start)
			if diff := cmp.Diff(standardHeader(len(e.rails)),
				capture(a.status, a.header, a.body, s.baseURL()+e.path)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", s.Slug, e.key(), diff)
			}
			c := x402.Capture(x402.Answer{Status: a.status, Header: a.header, Body: a.body})
			if c.Envelope.Discovery == nil || c.Envelope.Discovery.Method != e.method {
				t.Errorf("%s %s does not describe its input", s.Slug, e.key())
			}
			if got := c.Envelope.Resource.URL; got != s.baseURL()+e.path {
				t.Errorf("%s %s names the resource %s", s.Slug, e.key(), got)
			}
			for _, r := range c.Envelope.Accepts {
				if r.AssetName == x402.UnknownAsset || r.Network != r.NetworkCAIP2 || r.PayTo == "" {
					t.Errorf("%s %s: a row of %s, %s, paid to %q", s.Slug, e.key(), r.AssetName, r.Network, r.PayTo)
				}
				if err := x402.CheckAddress(r.NetworkCAIP2, r.PayTo); err != nil {
					t.Errorf("%s %s: %v", s.Slug, e.key(), err)
				}
			}
		}
	}
}

func TestEncodingsDiffer(t *testing.T) {
	t.Parallel()
	values := map[string]string{}
	c := scene{s: bySlug("harborlight-search"), e: bySlug("harborlight-search").endpoints[0], now: start}
	for _, name := range []string{"v2", "url-safe", "unpadded", "raw"} {
		value := behaviours[name].paid(c).header.Get("Payment-Required")
		if other := values[value]; other != "" {
			t.Errorf("%s and %s are equal", name, other)
		}
		values[value] = name
	}
}

func TestBehavioursThatFollowTheClock(t *testing.T) {
	t.Parallel()
	first := func(behaviour string, at time.Time) x402.Requirement {
		t.Helper()
		for _, s := range cast() {
			if s.Behaviour == behaviour {
				a := s.answer(behaviour, request{method: s.endpoints[0].method, path: s.endpoints[0].path}, at)
				return x402.Capture(x402.Answer{Status: a.status, Header: a.header, Body: a.body}).Envelope.Accepts[0]
			}
		}
		t.Fatalf("no service behaves as %s", behaviour)
		return x402.Requirement{}
	}
	now := start.Truncate(movePeriod)
	if a, b := first("raiser", now), first("raiser", now.Add(raisePeriod)); a.Amount == b.Amount || a.PayTo != b.PayTo {
		t.Errorf("the raiser asked %s to %s, then %s to %s", a.Amount, a.PayTo, b.Amount, b.PayTo)
	}
	if a, b := first("mover", now), first("mover", now.Add(movePeriod)); a.PayTo == b.PayTo || a.Amount != b.Amount {
		t.Errorf("the mover asked %s to %s, then %s to %s", a.Amount, a.PayTo, b.Amount, b.PayTo)
	}
}

func TestAnswerOutsideEndpoints(t *testing.T) {
	t.Parallel()
	const shop = "harborlight-search." + Domain
	for _, test := range []struct {
		name  string
		r     request
		want  int
		allow string
	}{
		{"nobody", request{method: "GET", host: "nobody." + Domain, path: "/"}, 404, ""},
		{"no name of the world", request{method: "GET", host: "localhost", path: "/"}, 404, ""},
		{"unknown path", request{method: "GET", host: shop, path: "/v1/nothing"}, 404, ""},
		{"wrong method", request{method: "GET", host: shop, path: "/v1/search"}, 405, "POST"},
		{"HEAD passes the paywall", request{method: "HEAD", host: shop, path: "/v1/suggest"}, 200, ""},
		{"name in capitals with a dot", request{method: "GET", host: "HARBORLIGHT-search.Sample.Test.",
			path: "/v1/suggest"}, 402, ""},
		{"dead, over somebody else's connection", request{method: "GET", host: "millstone-grain." + Domain,
			path: "/prices"}, 421, ""},
		{"home page", request{method: "GET", host: shop, path: "/"}, 200, ""},
		{"robots.txt", request{method: "GET", host: shop, path: "/robots.txt"}, 200, ""},
		{"no website", request{method: "GET", host: "almanac-places." + Domain, path: "/"}, 404, ""},
		{"body that is no object", request{method: "POST", host: "gargoyle-guard." + Domain, path: "/score",
			body: []byte("q=1")}, 400, ""},
	} {
		a := answer(test.r, start)
		if a.status != test.want || a.header.Get("Allow") != test.allow {
			t.Errorf("%s: status %d, Allow %q, want %d, %q", test.name, a.status, a.header.Get("Allow"), test.want,
				test.allow)
		}
	}
}

func TestOpenAPIListsEveryEndpoint(t *testing.T) {
	t.Parallel()
	s := bySlug("plumbline-quotes")
	a := s.answer("v2", request{method: "GET", path: "/openapi.json"}, start)
	var doc struct {
		Paths map[string]map[string]struct {
			Info struct{ Price struct{ Amount string } } `json:"x-payment-info"`
		}
	}
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.endpoints {
		if got := doc.Paths[e.path]["get"].Info.Price.Amount; got != e.price {
			t.Errorf("%s costs %q in the document, want %s", e.key(), got, e.price)
		}
	}
}
