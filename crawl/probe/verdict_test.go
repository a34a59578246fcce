package probe

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/x402"
)

// payable returns an envelope with one requirement that can be paid.
func payable(channel x402.Channel) x402.Captured {
	return x402.Captured{Envelope: &x402.Envelope{Version: 2, Channel: channel, Accepts: []x402.Requirement{{
		Scheme: "exact", Network: "eip155:8453", NetworkCAIP2: "eip155:8453",
		Asset: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", AssetNorm: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
		Amount: "10000", AmountRaw: "10000",
		PayTo: "0x209693bc6afc0c5328ba36faf03c514ef312287c", PayToNorm: "0x209693bc6afc0c5328ba36faf03c514ef312287c",
	}}}}
}

// unpayable returns an envelope whose only requirement has no amount.
func unpayable() x402.Captured {
	c := payable(x402.ChannelHeader)
	c.Envelope.Accepts[0].Amount, c.Envelope.Accepts[0].AmountRaw = "", "$0.01"
	return c
}

// issued returns an envelope whose only requirement asks for an issued currency of the XRP Ledger.
func issued() x402.Captured {
	return x402.Capture(x402.Answer{Status: 402,
		Body: []byte(`{"x402Version":2,"accepts":[{"scheme":"exact","network":"xrpl:0","amount":"10.5",` +
			`"asset":"524C555344000000000000000000000000000000","payTo":"rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV",` +
			`"extra":{"issuer":"rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"}}]}`)})
}

func answer(status int, headers ...string) x402.Answer {
	a := x402.Answer{Status: status, Header: http.Header{}, URL: "https://example.com/"}
	for i := 0; i < len(headers); i += 2 {
		a.Header.Add(headers[i], headers[i+1])
	}
	return a
}

func page(status int, body string) x402.Answer {
	a := answer(status, "Content-Type", "text/html; charset=utf-8")
	a.Body = []byte(body)
	return a
}

func TestJudge(t *testing.T) {
	t.Parallel()
	none := x402.Captured{}
	brokenOff := fmt.Errorf("%w: %w", errBody, newTimeout("timed out", 15*time.Second, nil))
	tests := []struct {
		name     string
		answer   x402.Answer
		captured x402.Captured
		fault    error
		verdict  Verdict
		class    string
	}{
		// 402 and 412
		{"402 usable", answer(402), payable(x402.ChannelHeader), nil, Paid, ClassPaidOK},
		{"402 usable body", answer(402), payable(x402.ChannelBody), nil, Paid, ClassPaidOK},
		{"402 unusable", answer(402), unpayable(), nil, Broken, ClassPaidBroken},
		{"402 in an issued currency alone", answer(402), issued(), nil, Paid, ClassPaidOK},
		{"402 no rows", answer(402), x402.Captured{Envelope: &x402.Envelope{Version: 2, Channel: x402.ChannelHeader}},
			nil, Broken, ClassPaidBroken},
		{"402 html only", answer(402), payable(x402.ChannelHTML), nil, Broken, ClassUnreadable},
		{"402 MPP", answer(402), x402.Captured{Protocols: []string{"mpp"}}, nil, Broken, ClassOther402},
		{"402 MPP and x402", answer(402),
			x402.Captured{Envelope: payable(x402.ChannelHeader).Envelope, Protocols: []string{"mpp"}}, nil, Paid,
			ClassPaidOK},
		{"402 platform", answer(402), x402.Captured{Platform: true}, nil, Failed, ClassHostDisabled},
		{"402 unknown", page(402, "<h1>pay</h1>"), none, nil, Broken, ClassUnreadable},
		{"402 with a filter's header", answer(402, "X-Datadome", "protected"), payable(x402.ChannelHeader), nil, Paid,
			ClassPaidOK},
		{"412 usable", answer(412), payable(x402.ChannelHeader), nil, Paid, ClassPaidOK},
		{"412 unusable", answer(412), unpayable(), nil, Broken, ClassPaidBroken},
		{"412 bare", answer(412), none, nil, Failed, ClassClientError},
		// an envelope counts in a 402 or 412 alone
		{"200 with envelope", answer(200), payable(x402.ChannelHeader), nil, Open, ClassOpen},
		{"500 with envelope", answer(500), payable(x402.ChannelBody), nil, Failed, ClassServerError},
		// 2xx, 3xx
		{"200", answer(200), none, nil, Open, ClassOpen},
		{"204", answer(204), none, nil, Open, ClassOpen},
		{"299", answer(299), none, nil, Open, ClassOpen},
		{"304", answer(304), none, nil, Failed, ClassRedirect},
		{"302 without location", answer(302), none, nil, Failed, ClassRedirect},
		{"redirect that leaves", answer(302), none, redirectFault(errors.New("redirects to another site, x.org")),
			Failed, ClassRedirect},
		{"redirect into refusal", answer(302), none, redirectFault(ErrRefused), Failed, ClassRedirect},
		// needs input, credentials, another method
		{"400", answer(400), none, nil, Inconclusive, ClassNeedsInput},
		{"415", answer(415), none, nil, Inconclusive, ClassNeedsInput},
		{"422", answer(422), none, nil, Inconclusive, ClassNeedsInput},
		{"401", answer(401), none, nil, Inconclusive, ClassAuth},
		{"403", answer(403), none, nil, Inconclusive, ClassAuth},
		{"405", answer(405, "Allow", "PUT"), none, nil, Inconclusive, ClassWrongMethod},
		{"429", answer(429), none, nil, Inconclusive, ClassRateLimited},
		// bot filters, whatever the status
		{"403 cloudflare", answer(403, "Cf-Mitigated", "challenge"), none, nil, Inconclusive, ClassChallenge},
		{"503 cloudflare", page(503, "<title>Just a moment...</title>"), none, nil, Inconclusive, ClassChallenge},
		{"429 vercel", answer(429, "X-Vercel-Mitigated", "challenge"), none, nil, Inconclusive, ClassChallenge},
		{"202 aws", answer(202, "X-Amzn-Waf-Action", "challenge"), none, nil, Inconclusive, ClassChallenge},
		{"200 imperva", page(200, `<iframe src="/_Incapsula_Resource?x">`), none, nil, Inconclusive, ClassChallenge},
		{"200 json that quotes a filter",
			x402.Answer{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
				Body: []byte(`"px-captcha"`)}, none, nil, Open, ClassOpen},
		{"403 page", page(403, "<h1>Forbidden</h1>"), none, nil, Inconclusive, ClassAuth},
		// 4xx, 5xx
		{"404", answer(404), none, nil, Failed, ClassGone},
		{"410", answer(410), none, nil, Failed, ClassGone},
		{"406", answer(406), none, nil, Failed, ClassClientError},
		{"409", answer(409), none, nil, Failed, ClassClientError},
		{"418", answer(418), none, nil, Failed, ClassClientError},
		{"451", answer(451), none, nil, Failed, ClassClientError},
		{"500", answer(500), none, nil, Failed, ClassServerError},
		{"502", answer(502, "Retry-After", "5"), none, nil, Failed, ClassServerError},
		{"503", answer(503), none, nil, Failed, ClassServerError},
		{"503 retry after seconds", answer(503, "Retry-After", "120"), none, nil, Inconclusive, ClassUnavailable},
		{"503 retry after date", answer(503, "Retry-After", "Sat, 21 Nov 2026 00:00:00 GMT"), none, nil, Inconclusive,
			ClassUnavailable},
		{"503 retry after nonsense", answer(503, "Retry-After", "soon"), none, nil, Failed, ClassServerError},
		{"599", answer(599), none, nil, Failed, ClassServerError},
		{"101", answer(101), none, nil, Failed, ClassInvalidHTTP},
		{"600", answer(600), none, nil, Failed, ClassInvalidHTTP},
		{"999", answer(999), none, nil, Failed, ClassInvalidHTTP},
		// no answer, or a part of one
		{"unreachable", x402.Answer{}, none, errors.New("x"), Failed, ClassUnreachable},
		{"refused", x402.Answer{}, none, fmt.Errorf("dial: %w", ErrRefused), Refused, ClassRefused},
		{"interrupted", x402.Answer{}, none, &fault{ClassInterrupted, "the probe was interrupted", nil}, Inconclusive,
			ClassInterrupted},
		{"402, header read, body broke off", answer(402), payable(x402.ChannelHeader), brokenOff, Paid, ClassPaidOK},
		{"402, body broke off", answer(402), none, brokenOff, Failed, ClassUnreachable},
		{"200, body broke off", answer(200), none, brokenOff, Open, ClassOpen},
		{"500, body broke off", answer(500), none, brokenOff, Failed, ClassServerError},
	}
	for _, tt := range tests {
		verdict, class, reason := judge(tt.answer, tt.captured, nil, tt.fault)
		if verdict != tt.verdict || class != tt.class {
			t.Errorf("%s: %s %s, want %s %s", tt.name, verdict, class, tt.verdict, tt.class)
		}
		if reason == "" || len(reason) > 200 {
			t.Errorf("%s: reason %q", tt.name, reason)
		}
	}
}

// TestEveryClassHasARank checks that every class that judge returns is in ranks exactly once. A class without a rank
// would win every choice.
func TestEveryClassHasARank(t *testing.T) {
	t.Parallel()
	ranked := map[string]bool{}
	for _, class := range ranks {
		if ranked[class] {
			t.Errorf("ranks contains %s twice", class)
		}
		ranked[class] = true
	}
	for status := 100; status < 1000; status++ {
		for _, c := range []x402.Captured{{}, {Platform: true}, {Protocols: []string{"l402"}},
			payable(x402.ChannelBody), unpayable()} {
			if _, class, _ := judge(answer(status), c, nil, nil); !ranked[class] {
				t.Fatalf("%d: class %q has no rank", status, class)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 59, 30, 0, time.UTC)
	day := 24 * time.Hour
	tests := []struct {
		value string
		want  time.Duration // -1: none
	}{
		{"", -1},
		{"0", 0},
		{"120", 2 * time.Minute},
		{" 7 ", 7 * time.Second},
		{"86400", day},
		{"86401", day},
		{"9223372036854775807", day},
		{"99999999999999999999999", -1},
		{"-1", -1},
		{"1.5", -1},
		{"soon", -1},
		{"Sat, 21 Nov 2026 00:00:00 GMT", 30 * time.Second},
		{"Fri, 20 Nov 2026 00:00:00 GMT", 0},
		{"Sat, 21 Nov 2099 00:00:00 GMT", day},
	}
	for _, tt := range tests {
		got := time.Duration(-1)
		if wait, ok := RetryAfter(http.Header{"Retry-After": {tt.value}}, now); ok {
			got = wait
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.value, diff)
		}
	}
}
