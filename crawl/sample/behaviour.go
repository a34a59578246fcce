package sample

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tollbook/site/rail/railtest"
	"tollbook/site/x402"
)

// behaviour is a way to answer. Exactly one of paid, always and deaf is set. The list in cast.toml describes each.
type behaviour struct {
	paid    func(scene) reply // answers a request for an endpoint
	always  func(scene) reply // answers every request
	deaf    bool              // connections are refused
	varies  bool              // the answer depends on the time
	expired bool              // the certificate has expired
}

// behaviours maps the names in cast.toml to behaviours. init sets it, because reading the cast uses it.
var behaviours map[string]behaviour

func init() {
	behaviours = map[string]behaviour{
		// Valid by the protocol, also for strict readers.
		"v2": {paid: header(base64.StdEncoding.EncodeToString, "{}")},
		"v1": {paid: v1},
		"mirror": {paid: func(c scene) reply {
			return encoded(base64.StdEncoding.EncodeToString, c.v2(), c.v2().json())
		}},
		"dual": {paid: func(c scene) reply {
			return encoded(base64.StdEncoding.EncodeToString, c.v2(), c.v1().json())
		}},
		"raiser": {paid: header(base64.StdEncoding.EncodeToString, "{}"), varies: true},
		"mover":  {paid: header(base64.StdEncoding.EncodeToString, "{}"), varies: true},
		"with-mpp": {paid: func(c scene) reply {
			a := standard(c.v2())
			a.header.Set("WWW-Authenticate", mppChallenge(c))
			return a
		}},
		"needs-body": {paid: needsBody},
		"mcp":        {always: toolServer},

		// Readable for tolerant readers.
		"url-safe":     {paid: header(base64.URLEncoding.EncodeToString, "{}")},
		"unpadded":     {paid: header(base64.RawStdEncoding.EncodeToString, "{}")},
		"raw":          {paid: header(func(b []byte) string { return string(b) }, "{}")},
		"body-only":    {paid: func(c scene) reply { return jsonReply(402, c.v2().json()) }},
		"body-differs": {paid: recipientsDiffer},
		"browser-differs": {paid: func(c scene) reply {
			ch := c.v2()
			if strings.Contains(c.accept, "text/html") {
				ch.first().PayTo = c.e.rails[0].recipient(c.s.Owner, 9)
			}
			return standard(ch)
		}},
		"network-names": {paid: networkNames},
		"version-text":  {paid: spoiled(func(c *challenge) { c.X402Version = "2" })},
		"numeric-amount": {paid: spoiled(func(c *challenge) {
			c.first().Amount, _ = strconv.Atoi(c.first().Amount.(string))
		})},
		"accepts-object": {paid: spoiled(func(c *challenge) { c.Accepts = *c.first() })},
		"recipient-alias": {paid: spoiled(func(c *challenge) {
			c.first().PayTo, c.first().PayToAddress = "", c.first().PayTo
		})},
		"wrong-chain-recipient": {paid: wrongChainRecipient},
		"zero-recipient": {paid: spoiled(func(c *challenge) {
			c.first().PayTo = "0x" + strings.Repeat("0", 40)
		})},
		"ticker-asset": {paid: spoiled(func(c *challenge) { c.first().Asset = "USDC" })},
		"wrong-domain": {paid: spoiled(func(c *challenge) {
			c.first().Extra = map[string]any{"name": "USDC", "version": "2"}
		})},

		// A 402 that can't be used.
		"decimal-amount": {paid: decimalAmount},
		"truncated":      {paid: truncated},
		"html":           {paid: paywall},
		"mpp":            {paid: mppOnly},
		"l402":           {paid: l402},
		"disabled":       {always: disabled},

		// Other answers.
		"free":         {paid: func(c scene) reply { return json200(`{"sample":true,"today":"bread and onions"}`) }},
		"slow":         {paid: func(c scene) reply { a := standard(c.v2()); a.delay = slowness; return a }},
		"flapping":     {paid: flapping, varies: true},
		"timeout":      {always: func(scene) reply { return reply{hang: true} }},
		"server-error": {always: func(scene) reply { return jsonReply(500, `{"error":"Internal Server Error"}`) }},
		"gone":         {always: func(scene) reply { return text(404, "not found\n") }},
		"rate-limited": {always: rateLimited},
		"challenge":    {always: botFilter},
		"dead":         {deaf: true},
		"expired":      {paid: header(base64.StdEncoding.EncodeToString, "{}"), expired: true},
	}
}

// header returns a behaviour with a version 2 challenge in the header, in an encoding.
func header(encode func([]byte) string, body string) func(scene) reply {
	return func(c scene) reply { return encoded(encode, c.v2(), body) }
}

func standard(ch challenge) reply { return encoded(base64.StdEncoding.EncodeToString, ch, "{}") }

// encoded returns an answer with a challenge in the header. It lengthens the error text until the four variants of
// base64 differ: until there is padding and one of the two characters in which the alphabets differ.
func encoded(encode func([]byte) string, ch challenge, body string) reply {
	raw := ch.json()
	for range 64 {
		if std := base64.StdEncoding.EncodeToString([]byte(raw)); strings.HasSuffix(std, "=") &&
			strings.ContainsAny(std, "+/") {
			break
		}
		ch.Error += "?"
		raw = ch.json()
	}
	a := jsonReply(http.StatusPaymentRequired, body)
	a.header.Set("Payment-Required", encode([]byte(raw)))
	return a
}

// spoiled returns a behaviour whose challenge has one fault.
func spoiled(spoil func(*challenge)) func(scene) reply {
	return func(c scene) reply {
		ch := c.v2()
		spoil(&ch)
		return standard(ch)
	}
}

func v1(c scene) reply { return jsonReply(http.StatusPaymentRequired, c.v1().json()) }

// needsBody validates the request before it asks to be paid, as many sellers do.
func needsBody(c scene) reply {
	if !bytes.HasPrefix(bytes.TrimSpace(c.body), []byte("{")) {
		return jsonReply(http.StatusBadRequest, `{"error":"the body must be a JSON object"}`)
	}
	return standard(c.v2())
}

// recipientsDiffer names one recipient in the header and another in the body.
func recipientsDiffer(c scene) reply {
	other := c.v2()
	other.first().PayTo = c.e.rails[0].recipient(c.s.Owner, 9)
	return encoded(base64.StdEncoding.EncodeToString, c.v2(), other.json())
}

// networkNames has version 2 with the network names and the amount field of version 1.
func networkNames(c scene) reply {
	ch := c.v2()
	list := ch.Accepts.([]option)
	for i := range list {
		list[i].Network = c.e.rails[i].word
		list[i].Amount, list[i].MaxAmountRequired = nil, list[i].Amount.(string)
	}
	return standard(ch)
}

// wrongChainRecipient names its address on Base for every network.
func wrongChainRecipient(c scene) reply {
	ch := c.v2()
	list := ch.Accepts.([]option)
	for i := range list {
		list[i].PayTo = list[0].PayTo
	}
	return standard(ch)
}

// decimalAmount has dollars instead of atomic units.
func decimalAmount(c scene) reply {
	ch := c.v2()
	ch.first().Amount = c.e.price
	return standard(ch)
}

// truncated cuts its header in half, as a proxy with a small limit does.
func truncated(c scene) reply {
	a := standard(c.v2())
	value := a.header.Get("Payment-Required")
	a.header.Set("Payment-Required", value[:len(value)/2])
	return a
}

// paywall has its requirements only inside an HTML page.
func paywall(c scene) reply {
	return page(http.StatusPaymentRequired,
		`<!DOCTYPE html><html><head><title>Payment Required</title><script>window.x402 = {"amount":`+
			c.e.price+`,"testnet":false,"paymentRequirements":`+c.v1().json()+
			`};</script></head><body><div id="root"></div></body></html>`)
}

func mppChallenge(c scene) string {
	request := fmt.Sprintf(
		`{"amount":%q,"currency":"0x20c0000000000000000000000000000000000000",`+
			`"methodDetails":{"chainId":4217},"recipient":%q}`,
		c.e.rails[0].atomic(c.e.price), rail{network: x402.Network{ID: "eip155:4217"}}.recipient(c.s.Owner, 0))
	return fmt.Sprintf(`Payment id="%016x", realm=%q, method="tempo", intent="charge", request=%q`,
		c.s.seed^uint64(c.now.UnixNano()), c.s.Slug+"."+Domain, base64.RawURLEncoding.EncodeToString([]byte(request)))
}

// mppOnly asks to be paid by another protocol.
func mppOnly(c scene) reply {
	return reply{status: http.StatusPaymentRequired, header: http.Header{
		"Cache-Control":    {"no-store"},
		"Content-Type":     {"application/problem+json"},
		"Www-Authenticate": {mppChallenge(c)},
	},
		body: []byte(
			`{"type":"https://paymentauth.org/problems/payment-required","title":"Payment Required","status":402}`)}
}

// toolServer is an MCP server, whose tools are the service's endpoints.
func toolServer(c scene) reply {
	if c.path != "/mcp" || c.method != http.MethodPost {
		return text(http.StatusNotFound, "not found\n")
	}
	var list []tool
	for _, c.e = range c.s.endpoints {
		list = append(list, tool{Name: x402.ToolOf(c.e.path), Description: c.e.description, Terms: c.v2().json()})
	}
	return jsonReply(toolAnswer(c.body, list))
}

// l402 asks to be paid by a Lightning invoice of ten minutes: a satoshi for each tenth of a cent of the price.
func l402(c scene) reply {
	a := text(http.StatusPaymentRequired, "Payment Required\n")
	prefix := "bc" + rail{asset: x402.Asset{Decimals: 4}}.atomic(c.e.price) + "n"
	macaroon := fmt.Sprintf("%s %x", c.s.Slug, c.s.seed^uint64(c.now.UnixNano()))
	a.header.Set("WWW-Authenticate", railtest.Challenge(prefix, macaroon, c.now))
	return a
}

// disabled is a hosting platform's answer for a deployment that was switched off.
func disabled(scene) reply {
	a := text(http.StatusPaymentRequired, "Payment required\n\nDEPLOYMENT_DISABLED\n\n402: PAYMENT_REQUIRED\n")
	a.header.Set("X-Vercel-Error", "DEPLOYMENT_DISABLED")
	return a
}

func flapping(c scene) reply {
	if flapsDown(c.now) {
		return badGateway()
	}
	return standard(c.v2())
}

func badGateway() reply { return text(http.StatusBadGateway, "bad gateway\n") }

func rateLimited(scene) reply {
	a := jsonReply(http.StatusTooManyRequests, `{"error":"too many requests"}`)
	a.header.Set("Retry-After", "60")
	return a
}

// botFilter is the page of a bot filter in front of the service.
func botFilter(scene) reply {
	a := page(http.StatusForbidden,
		`<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>`)
	a.header.Set("Cf-Mitigated", "challenge")
	return a
}
