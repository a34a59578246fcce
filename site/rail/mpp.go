package rail

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tollbook/site/x402"
)

// The forms of an MPP method and of an intent, and of a currency code.
var (
	methodForm   = regexp.MustCompile(`^[a-z]{1,64}$`)
	intentForm   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	currencyForm = regexp.MustCompile(`^[A-Za-z]{3}$`)
)

// request is the decoded parameter request of a challenge. Absent parts are empty.
type request struct {
	amount, currency, recipient string
	amountIsText                bool

	chainID uint64 // of methodDetails, 0 if absent
	network string // of methodDetails
	invoice string // of methodDetails
}

// readMPP reads one "Payment" challenge.
func readMPP(a Answer, params map[string]string) Offer {
	o := newOffer(MPP)
	for _, name := range []string{"id", "realm", "method", "intent", "request"} {
		if params[name] == "" {
			o.fail("challenge_complete", "the challenge Payment has no %s", name)
		}
	}
	if v, ok := params["header"]; ok && v != "Payment-Authorization" {
		o.fail("challenge_complete", "the header %q is not Payment-Authorization", clip(v))
	}
	method, intent := clip(params["method"]), clip(params["intent"])
	o.Scheme, o.Variable = method+"/"+intent, intent != "charge" && intent != "subscription"
	if !methodForm.MatchString(method) || !intentForm.MatchString(intent) {
		o.fail("challenge_form", "the method and intent %q do not have the form of the specification", o.Scheme)
	}
	o.checkExpiry(a, params["expires"])
	if !strings.Contains(strings.ToLower(strings.Join(a.Header.Values("Cache-Control"), ",")), "no-store") {
		o.fail("no_store", "the response has no Cache-Control: no-store")
	}
	r, ok := o.readRequest(params["request"])
	if !ok {
		o.fail("request_readable", "request is not the base64url form of a JSON object")
		o.Network = method
		return o
	}
	o.readTerms(method, r)
	return o
}

// checkExpiry checks the parameter expires, which may be absent.
func (o *Offer) checkExpiry(a Answer, text string) {
	if text == "" {
		return
	}
	expires, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		o.fail("challenge_form", "expires %q is not an RFC 3339 time", clip(text))
	case expires.Before(a.ReceivedAt.Add(-clockSkew)):
		o.fail("expires_ahead", "the challenge expired before it was received")
	}
}

// clockSkew is how far clocks may differ before an offer counts as expired.
const clockSkew = time.Minute

// readRequest decodes the parameter request. It accepts padding and the other alphabet of base64.
func (o *Offer) readRequest(text string) (r request, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		o.fail("request_encoding", "request is not base64url without padding")
		text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
		if raw, err = base64.RawURLEncoding.DecodeString(text); err != nil {
			return r, false
		}
	}
	var top, details map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil || top == nil {
		return r, false
	}
	r.amount, r.amountIsText = scalar(top["amount"])
	r.currency, _ = scalar(top["currency"])
	r.recipient, _ = scalar(top["recipient"])
	if json.Unmarshal(top["methodDetails"], &details) == nil {
		chain, _ := scalar(details["chainId"])
		r.chainID, _ = strconv.ParseUint(chain, 10, 53)
		r.network, _ = scalar(details["network"])
		if json.Unmarshal(details["invoice"], &r.invoice) != nil {
			r.invoice = ""
		}
	}
	return r, true
}

// scalar returns a JSON string or number as text, and whether it is a string.
func scalar(raw json.RawMessage) (text string, isText bool) {
	if len(raw) > 6*maxText {
		return "", false
	}
	if json.Unmarshal(raw, &text) == nil {
		return clip(strings.TrimSpace(text)), len(raw) > 0 && raw[0] == '"'
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return clip(number.String()), false
	}
	return "", false
}

// readTerms reads the price, the asset and the recipient of a request.
func (o *Offer) readTerms(method string, r request) {
	switch o.Amount = digits(r.amount); {
	case r.amount == "":
		o.fail("amount_positive", "the request has no amount")
	case o.Amount == "" || !r.amountIsText:
		o.fail("amount_positive", "the amount %q is not a string of digits above zero", r.amount)
	}
	if o.Asset = r.currency; o.Asset == "" {
		o.fail("currency_declared", "the request has no currency")
	}
	if id := networkOf(method, r); id != "" {
		o.setNetwork(id)
	} else {
		o.Network = method
	}
	o.PayTo = r.recipient
	switch {
	case method == "lightning":
		o.readInvoice(r)
	case o.NetworkCAIP2 != "":
		o.checkRecipient(r)
	}
}

// tempoMainnet is the chain of the method tempo without a chainId.
const tempoMainnet = 4217

// networkOf returns the CAIP-2 id of the network of a request, "" for a method without one.
func networkOf(method string, r request) string {
	switch chain := r.chainID; {
	case method == "tempo" && chain == 0:
		return "eip155:" + strconv.Itoa(tempoMainnet)
	case method == "solana" && r.network == "":
		r.network = "mainnet"
	case chain != 0 && r.network == "":
		return "eip155:" + strconv.FormatUint(chain, 10)
	}
	names := []string{method + ":" + r.network, method + "-" + r.network}
	if strings.Contains(r.network, ":") { // a bare "mainnet" is a name of Ethereum
		names = []string{r.network}
	}
	for _, name := range names {
		if id, listed := x402.ResolveNetwork(name); listed && method != "lightning" {
			return id
		}
	}
	return ""
}

// checkRecipient checks the recipient of an offer on a network with addresses.
func (o *Offer) checkRecipient(r request) {
	if r.recipient == "" {
		o.fail("recipient_valid", "the request has no recipient")
	} else if err := x402.CheckAddress(o.NetworkCAIP2, r.recipient); err != nil {
		o.fail("recipient_valid", "the recipient is not valid: %s", clip(err.Error()))
	}
}

// readInvoice reads the invoice of the method lightning, whose amount is in satoshis.
func (o *Offer) readInvoice(r request) {
	v, err := ReadInvoice(r.invoice)
	if err != nil {
		o.fail("request_readable", "%s", err)
		return
	}
	o.setNetwork(v.Network)
	o.PayTo, o.MaxTimeoutSeconds = v.Payee, new(int(v.Expiry/time.Second))
	if v.Amount != "" && o.Amount != "" && v.Amount != o.Amount+"000" {
		o.fail("amount_positive", "the amount %s differs from that of the invoice, %s millisatoshis", o.Amount,
			v.Amount)
	}
}
