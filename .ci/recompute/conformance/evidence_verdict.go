package conformance

import (
	"bytes"
	"slices"
	"strings"
)

// VerdictOf returns the verdict and the class of a response.
func VerdictOf(a *answer, t *terms) (verdict, class string) {
	switch {
	case a.Status == 402, a.Status == 412 && t.Envelope != nil, isToolAnswer(a) && t.Envelope != nil:
		return paymentVerdict(a, t)
	case isChallenge(a):
		return "inconclusive", "challenge"
	case a.Status == 503 && len(a.header("Retry-After")) > 0:
		return "inconclusive", "unavailable"
	}
	for _, c := range statusClasses {
		if a.Status >= c.from && a.Status <= c.to {
			return c.verdict, c.class
		}
	}
	return "failed", "invalid_http"
}

// statusClasses lists the classes that follow from the status alone; the first that applies counts.
var statusClasses = []struct {
	from, to       int
	verdict, class string
}{
	{200, 299, "open", "open"},
	{300, 399, "failed", "redirect"},
	{400, 400, "inconclusive", "needs_input"},
	{401, 401, "inconclusive", "auth"},
	{403, 403, "inconclusive", "auth"},
	{404, 404, "failed", "gone"},
	{405, 405, "inconclusive", "wrong_method"},
	{410, 410, "failed", "gone"},
	{415, 415, "inconclusive", "needs_input"},
	{422, 422, "inconclusive", "needs_input"},
	{429, 429, "inconclusive", "rate_limited"},
	{400, 499, "failed", "client_error"},
	{500, 599, "failed", "server_error"},
}

// paymentVerdict returns the verdict of a response that asks for payment.
func paymentVerdict(a *answer, t *terms) (verdict, class string) {
	e := t.Envelope
	switch {
	case e == nil && slices.ContainsFunc(readOffers(a), func(o Offer) bool { return o.Usable() }):
		return "paid", "paid_other"
	case e == nil && len(t.others) == 0 && len(t.Protocols) == 0 && isPlatformPage(a):
		return "failed", "host_disabled"
	case e == nil && len(t.Protocols) > 0:
		return "broken", "other_402"
	case e == nil, e.Channel == "html":
		return "broken", "paid_unreadable"
	case !slices.ContainsFunc(e.Rows, func(r Row) bool { return r.Usable() }):
		return "broken", "paid_broken"
	}
	return "paid", "paid_ok"
}

// isPlatformPage reports whether a hosting platform answered 402 for a deployment that it disabled.
func isPlatformPage(a *answer) bool {
	return len(a.header("X-Vercel-Error")) > 0 ||
		containsAny(a.body, "DEPLOYMENT_DISABLED", "402: PAYMENT_REQUIRED", "This Deployment has been disabled")
}

// isChallenge reports whether a bot filter answered in the service's place.
func isChallenge(a *answer) bool {
	for _, name := range []string{"Cf-Mitigated", "X-Vercel-Mitigated"} {
		for _, value := range a.header(name) {
			if strings.EqualFold(value, "challenge") {
				return true
			}
		}
	}
	for _, name := range []string{"X-Amzn-Waf-Action", "X-Datadome", "X-Sucuri-Block"} {
		if len(a.header(name)) > 0 {
			return true
		}
	}
	return strings.Contains(a.mediaType(), "html") && containsAny(bytes.ToLower(a.body[:min(len(a.body), 32<<10)]),
		"<title>just a moment", "/cdn-cgi/challenge-platform/", "captcha-delivery.com", "_incapsula_resource",
		"errors.edgesuite.net", "px-captcha", "awswafintegration")
}

func containsAny(text []byte, marks ...string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(text, []byte(mark)) })
}
