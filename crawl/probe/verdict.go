package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Verdict is what one probe says about an endpoint. A service's status is computed from the verdicts of its endpoints.
type Verdict string

const (
	Paid         Verdict = "paid"         // 402 or 412 with a requirement or an offer that can be paid
	Broken       Verdict = "broken"       // 402 that can't be paid
	Open         Verdict = "open"         // 2xx without payment
	Inconclusive Verdict = "inconclusive" // says nothing about the endpoint and does not count
	Failed       Verdict = "failed"       // no answer, or one that no payment would change
	Refused      Verdict = "refused"      // the guard refused: a fault of the configuration, not a check
)

// Classes are finer than verdicts: they say exactly what was observed. They are stored with a check. New ones may
// follow.
const (
	ClassPaidOK       = "paid_ok"         // paid
	ClassPaidOther    = "paid_other"      // paid: over another protocol alone
	ClassPaidBroken   = "paid_broken"     // broken: an envelope without a usable requirement
	ClassOther402     = "other_402"       // broken: another payment protocol, without an offer that can be paid
	ClassUnreadable   = "paid_unreadable" // broken: a 402 without an envelope, or only within an HTML paywall
	ClassSignIn       = "sign_in"         // inconclusive: a 402 that asks for a sign-in with a wallet and no payment
	ClassHostDisabled = "host_disabled"   // failed: the hosting platform's own 402 page
	ClassOpen         = "open"            // open
	ClassNeedsInput   = "needs_input"     // inconclusive: 400, 415, 422, or a URL with a placeholder
	ClassGRPC         = "grpc"            // inconclusive: a gRPC call that failed, as L402 over gRPC asks for payment
	ClassWrongMethod  = "wrong_method"    // inconclusive: 405
	ClassAuth         = "auth"            // inconclusive: 401, 403
	ClassChallenge    = "challenge"       // inconclusive: a page of a bot filter
	ClassRateLimited  = "rate_limited"    // inconclusive: 429
	ClassUnavailable  = "unavailable"     // inconclusive: 503 with Retry-After
	ClassInterrupted  = "interrupted"     // inconclusive: the caller's context ended
	ClassGone         = "gone"            // failed: 404, 410
	ClassRedirect     = "redirect"        // failed: redirects in a loop, to another site or to a forbidden address
	ClassClientError  = "client_error"    // failed: any other 4xx
	ClassServerError  = "server_error"    // failed: 5xx
	ClassInvalidHTTP  = "invalid_http"    // failed: an answer that is not valid HTTP, or not one to a request
	ClassOversized    = "oversized"       // failed: response headers beyond 256 KiB
	ClassUnreachable  = "unreachable"     // failed: DNS, TCP, TLS, timeout
	ClassRefused      = "refused"         // refused
)

// judge is the table of verdicts. It takes an answer (zero for none), the payment terms and offers in it, and the fault
// that ended the exchange, if any. It returns the verdict, its class and one sentence for people.
func judge(a x402.Answer, c x402.Captured, offers []rail.Offer, fault error) (Verdict, string, string) {
	if fault != nil && !(errors.Is(fault, errBody) && c.Envelope != nil) {
		if errors.Is(fault, errBody) && a.Status != http.StatusPaymentRequired {
			return judgeStatus(a) // the status is enough
		}
		return judgeFault(fault)
	}
	switch {
	case a.Status == http.StatusPaymentRequired, c.Envelope != nil && c.Envelope.Channel == x402.ChannelMCP,
		x402.ToolOf(a.URL) != "" && len(offers) > 0:
		return judge402(c, offers)
	case a.Status == http.StatusPreconditionFailed && c.Envelope != nil:
		return judge402(c, nil) // permit2_allowance_required
	}
	return judgeStatus(a)
}

// judge402 judges a 402. Payment terms of x402 decide alone if there are any.
func judge402(c x402.Captured, offers []rail.Offer) (Verdict, string, string) {
	switch {
	case c.Platform:
		return Failed, ClassHostDisabled,
			"the hosting platform answers 402 in the service's place: the deployment is disabled"
	case c.Envelope == nil && slices.ContainsFunc(offers, rail.Offer.Usable):
		return Paid, ClassPaidOther, "asks for payment over " + strings.Join(c.Protocols, ", ")
	case c.Envelope == nil && len(offers) > 0:
		return Broken, ClassOther402, "asks for payment over " + strings.Join(c.Protocols, ", ") +
			", but no offer can be paid: " + offers[0].Fault()
	case c.Envelope == nil && len(c.Protocols) > 0:
		return Broken, ClassOther402, "asks for payment over " + strings.Join(c.Protocols, ", ") + " without an offer"
	case c.Envelope == nil:
		return Broken, ClassUnreadable, "answers 402 without readable payment requirements"
	case c.Envelope.Channel == x402.ChannelHTML:
		return Broken, ClassUnreadable, "states its payment requirements only inside an HTML page"
	case c.Envelope.SignInOnly():
		return Inconclusive, ClassSignIn, "asks for a sign-in with a wallet instead of a payment"
	case len(c.Envelope.Accepts) == 0:
		return Broken, ClassPaidBroken, "asks for payment, but lists no payment option"
	case !slices.ContainsFunc(c.Envelope.Accepts, x402.Requirement.Usable):
		return Broken, ClassPaidBroken,
			"asks for payment, but no option can be paid; row 1: " + c.Envelope.Accepts[0].Unusable()
	}
	return Paid, ClassPaidOK, "asks for payment"
}

func judgeStatus(a x402.Answer) (Verdict, string, string) {
	if isChallenge(a) {
		return Inconclusive, ClassChallenge,
			fmt.Sprintf("a bot filter answered in the service's place (status %d)", a.Status)
	}
	answered := fmt.Sprintf("answers %d", a.Status)
	if text := http.StatusText(a.Status); text != "" {
		answered += " " + text
	}
	switch s := a.Status; {
	case s >= 200 && s < 300 && grpcReason(a) != "":
		return Inconclusive, ClassGRPC, grpcReason(a)
	case s >= 200 && s < 300:
		return Open, ClassOpen, answered + " without asking for payment"
	case s >= 300 && s < 400:
		return Failed, ClassRedirect, answered + " without an address to go to"
	case s == 400, s == 415, s == 422, s == 406 && isRPC(a):
		return Inconclusive, ClassNeedsInput, answered + ": it wants input that we do not have"
	case s == 401, s == 403:
		return Inconclusive, ClassAuth, answered + ": it wants credentials before payment"
	case s == 404, s == 410:
		return Failed, ClassGone, answered
	case s == 405:
		return Inconclusive, ClassWrongMethod, answered + " to every method tried"
	case s == 429:
		return Inconclusive, ClassRateLimited, answered
	case s >= 400 && s < 500:
		return Failed, ClassClientError, answered
	case s == 503 && asksToRetry(a.Header):
		return Inconclusive, ClassUnavailable, answered + " and says when to come back"
	case s >= 500 && s < 600:
		return Failed, ClassServerError, answered
	}
	return Failed, ClassInvalidHTTP, answered + ", which is no answer to a request"
}

// grpcReason returns how a gRPC call failed, "" for an answer that is none of gRPC. Such a call has the status 200, and
// says how it ended in its trailers. In L402 over gRPC, a call without payment ends with status 13 and a challenge.
func grpcReason(a x402.Answer) string {
	status := a.Header.Get("Grpc-Status")
	isGRPC := strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "application/grpc")
	if status == "0" || status == "" && !isGRPC {
		return ""
	}
	for _, value := range a.Header.Values("Www-Authenticate") {
		for _, c := range x402.ReadChallenges(value) {
			if strings.EqualFold(c.Scheme, "l402") || strings.EqualFold(c.Scheme, "lsat") {
				return "asks for payment over L402 by gRPC, which needs a client of that service"
			}
		}
	}
	if status == "" {
		return "answers over gRPC, which needs a client of that service"
	}
	return fmt.Sprintf("answers the gRPC status %s: %s", clip(status), clip(a.Header.Get("Grpc-Message")))
}

// isRPC reports whether an answer is a JSON-RPC error, as an MCP server answers a request that is none of MCP.
func isRPC(a x402.Answer) bool {
	messages := x402.Messages(a)
	var m rpcMessage
	return len(messages) > 0 && json.Unmarshal(messages[0], &m) == nil && m.JSONRPC == "2.0" && m.Error != nil
}

// challengeHeaders and challengeMarks identify the pages of bot filters. The headers count with any status but 402. The
// marks count only in an HTML body, so that a service's JSON may quote them.
var (
	challengeHeaders = [][2]string{
		{"Cf-Mitigated", "challenge"},
		{"X-Vercel-Mitigated", "challenge"},
		{"X-Amzn-Waf-Action", ""},
		{"X-Datadome", ""},
		{"X-Sucuri-Block", ""},
	}
	challengeMarks = []string{
		"<title>just a moment", "/cdn-cgi/challenge-platform/", "captcha-delivery.com", "_incapsula_resource",
		"errors.edgesuite.net", "px-captcha", "awswafintegration",
	}
)

func isChallenge(a x402.Answer) bool {
	for _, h := range challengeHeaders {
		if v := a.Header.Get(h[0]); v != "" && (h[1] == "" || strings.EqualFold(v, h[1])) {
			return true
		}
	}
	if !strings.Contains(strings.ToLower(a.Header.Get("Content-Type")), "html") {
		return false
	}
	head := bytes.ToLower(a.Body[:min(len(a.Body), 32<<10)])
	for _, mark := range challengeMarks {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}
