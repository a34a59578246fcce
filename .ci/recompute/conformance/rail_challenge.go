package conformance

import (
	"encoding/base64"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// challenge is one challenge of a WWW-Authenticate header.
type challenge struct {
	scheme string
	params map[string]string // by name in lower case
}

// A challenge is a token and parameters, whose values are quoted strings or tokens (RFC 9110, section 11.6.1).
var (
	challengeEscape = regexp.MustCompile(`\\(.)`)

	challengeToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+")
	challengeValue = regexp.MustCompile(`^[ \t]*=[= \t]*(?:"((?:[^"\\]|\\.)*)"?|([^", \t][^, \t]*)?)`)
)

// The largest numbers of challenges of a value, and of parameters of a challenge.
const maxChallenges, maxParams = 16, 32

func readChallenges(value string) (list []challenge) {
	for {
		if value = strings.TrimLeft(value, ", \t"); value == "" {
			return list
		}
		word := challengeToken.FindString(value)
		if word == "" {
			value = value[1:]
			continue
		}
		value = value[len(word):]
		match := challengeValue.FindStringSubmatch(value)
		if match == nil || len(list) == 0 {
			if len(list) == maxChallenges {
				return list
			}
			list = append(list, challenge{word, map[string]string{}})
			value = strings.TrimPrefix(strings.TrimLeft(value, " \t"), "=")
			continue
		}
		value = value[len(match[0]):]
		text := challengeEscape.ReplaceAllString(match[1], "$1") + match[2]
		if params := list[len(list)-1].params; len(params) < maxParams {
			params[strings.ToLower(word)] = text
		}
	}
}

// An offer counts as expired if it ended longer before it was received than clocks may differ.
const clockSkew = time.Minute

// maxText is the largest length of a text of an offer.
const maxText = 512

// clip returns the start of a text, with U+FFFD in place of characters that are not visible.
func clip(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
}

// readMPP reads one challenge Payment.
func readMPP(a *answer, params map[string]string) Offer {
	o := Offer{protocol: "mpp", failed: map[string]bool{}}
	for _, name := range []string{"id", "realm", "method", "intent", "request"} {
		if params[name] == "" {
			o.failed["challenge_complete"] = true
		}
	}
	if header, ok := params["header"]; ok && header != "Payment-Authorization" {
		o.failed["challenge_complete"] = true
	}
	method, intent := clip(params["method"]), clip(params["intent"])
	o.scheme, o.network = method+"/"+intent, method
	o.Variable = intent != "charge" && intent != "subscription"
	o.failed["challenge_form"] = !matchesWhole(`[a-z]{1,64}`, method) || !matchesWhole(`[A-Za-z0-9-]{1,64}`, intent)
	if text := params["expires"]; text != "" {
		at, err := time.Parse(time.RFC3339, text)
		o.failed["challenge_form"] = o.failed["challenge_form"] || err != nil
		o.failed["expires_ahead"] = err == nil && at.Before(a.Received.Add(-clockSkew))
	}
	control := strings.ToLower(strings.Join(a.header("Cache-Control"), ","))
	o.failed["no_store"] = !strings.Contains(control, "no-store")
	request := o.decodeRequest(params["request"])
	if request == nil {
		o.failed["request_readable"] = true
		return o
	}
	o.readRequest(method, request)
	return o
}

// decodeRequest decodes the parameter request, nil if it cannot be read.
func (o *Offer) decodeRequest(text string) object {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		o.failed["request_encoding"] = true
		raw, err = base64.RawURLEncoding.DecodeString(
			strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "=")))
	}
	if err != nil {
		return nil
	}
	request, _ := parse(string(raw)).(object)
	return request
}

// readRequest reads the price, the asset, the network and the recipient.
func (o *Offer) readRequest(method string, request object) {
	amount := clip(scalar(request["amount"]))
	_, isText := request["amount"].(string)
	if o.amount = wholeNumber(amount); o.amount == "0" || len(amount) > 256 {
		o.amount = ""
	}
	o.failed["amount_positive"] = o.amount == "" || !isText
	o.asset, o.payTo = clip(scalar(request["currency"])), clip(scalar(request["recipient"]))
	o.failed["currency_declared"] = o.asset == ""
	details, _ := request["methodDetails"].(object)
	if method == "lightning" {
		invoice, _ := details["invoice"].(string)
		o.readLightning(invoice)
		return
	}
	if id := networkOfMethod(method, details); id != "" {
		o.network, o.caip2 = id, id
		o.failed["recipient_valid"] = o.payTo == "" || CheckAccount(id, o.payTo) != ""
	}
}

// networkOfMethod returns the CAIP-2 id of the network of a request, "" for a method without one.
func networkOfMethod(method string, details object) string {
	name := clip(scalar(details["network"]))
	chain, ok := new(big.Int).SetString(scalar(details["chainId"]), 10)
	if !ok || chain.Sign() <= 0 || chain.BitLen() > 53 {
		chain = nil
	}
	switch {
	case method == "tempo" && chain == nil:
		return "eip155:4217"
	case method == "solana" && name == "":
		name = "mainnet"
	case chain != nil && name == "":
		id, _ := resolveNetwork("eip155:" + chain.String())
		return id
	}
	names := []string{method + ":" + name, method + "-" + name}
	if strings.Contains(name, ":") {
		names = []string{name}
	}
	for _, name := range names {
		if id, isListed := resolveNetwork(name); isListed {
			return id
		}
	}
	return ""
}

// readLightning reads the invoice of the method lightning, whose amount is in satoshis.
func (o *Offer) readLightning(text string) {
	v := readInvoice(text)
	if v == nil {
		o.failed["request_readable"] = true
		return
	}
	o.setInvoice(v)
	if v.amount != "" && o.amount != "" && v.amount != o.amount+"000" {
		o.failed["amount_positive"] = true
	}
}

func (o *Offer) setInvoice(v *invoice) {
	o.network, o.caip2, o.payTo, o.timeout = v.network, v.network, v.payee, &v.expiry
}

// readL402 reads one challenge L402, or LSAT as it was named before.
func readL402(a *answer, params map[string]string, isOld bool) Offer {
	o := Offer{protocol: "l402", scheme: "bolt11", network: "lightning", asset: "BTC",
		failed: map[string]bool{"scheme_current": isOld}}
	token := params["macaroon"]
	if token == "" {
		token = params["token"]
	}
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(token, "="))
	_, err := base64.RawStdEncoding.DecodeString(plain)
	o.failed["token_encoding"] = token != "" && err != nil
	o.failed["challenge_complete"] = token == "" || params["invoice"] == ""
	if params["invoice"] == "" {
		return o
	}
	v := readInvoice(params["invoice"])
	if v == nil {
		o.failed["invoice_valid"] = true
		return o
	}
	o.setInvoice(v)
	o.amount = v.amount
	o.failed["amount_declared"] = v.amount == ""
	ends := time.Unix(v.created, 0).Add(time.Duration(v.expiry) * time.Second)
	o.failed["invoice_current"] = ends.Before(a.Received.Add(-clockSkew))
	return o
}
