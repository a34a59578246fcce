package rail

import (
	"cmp"
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
	ceiling                     string // the most that a session may cost, without a price of a unit
	kind                        string // the profile of a method that has several

	chainID uint64 // 0 if absent
	network string
	invoice string // of a charge, or of the deposit for a session
	deposit string // the amount of the deposit in satoshis
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
	o.checkRealm(a, params["realm"])
	if x402.ToolOf(a.URL) == "" &&
		!strings.Contains(strings.ToLower(strings.Join(a.Header.Values("Cache-Control"), ",")), "no-store") {
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

// challengeParams returns the parameters of a challenge that is a JSON object, as MPP over JSON-RPC has it. Its request
// is an object instead of base64url.
func challengeParams(raw json.RawMessage) map[string]string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // what can be read counts
	params := make(map[string]string, len(members))
	for name, value := range members {
		if text := longText(value); text != "" {
			params[strings.ToLower(name)] = text
		} else if name == "request" && len(value) > 0 && value[0] == '{' {
			params[name] = base64.RawURLEncoding.EncodeToString(value)
		}
	}
	return params
}

// checkExpiry checks the parameter expires, which may be absent. Clients skip a challenge whose expires they cannot
// read.
func (o *Offer) checkExpiry(a Answer, text string) {
	if text == "" {
		o.warn(warnNoExpiry, "")
		return
	}
	expires, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		o.fail("expires_ahead", "expires %q is not an RFC 3339 time, so clients skip the challenge", clip(text))
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
	r.ceiling, _ = scalar(top["cap"])
	r.deposit, _ = scalar(top["depositAmount"])
	r.invoice = longText(top["depositInvoice"])
	if json.Unmarshal(top["methodDetails"], &details) == nil {
		r.invoice = cmp.Or(r.invoice, longText(details["invoice"]))
		r.kind, _ = scalar(details["type"])
		var own map[string]json.RawMessage // of the profile that the method uses
		if json.Unmarshal(details[r.kind], &own) == nil && own != nil {
			details = own
		}
	}
	for _, place := range []map[string]json.RawMessage{details, top} { // SDKs write some fields at the top
		chain, _ := scalar(place["chainId"])
		if id, err := strconv.ParseUint(chain, 10, 53); err == nil && r.chainID == 0 {
			r.chainID = id
		}
		for _, key := range []string{"network", "originNetwork"} {
			if name, _ := scalar(place[key]); r.network == "" {
				r.network = name
			}
		}
	}
	return r, true
}

// longText returns a JSON string of any length, "" for anything else.
func longText(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
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
	case r.amount == "" && o.Variable: // the session states the price
		if o.Amount = digits(r.ceiling); o.Amount == "" && r.ceiling != "" {
			o.fail("amount_positive", "the cap %q is not a string of digits above zero", r.ceiling)
		}
	case r.amount == "":
		o.fail("amount_positive", "the request has no amount")
	case o.Amount == "" || !r.amountIsText:
		o.fail("amount_positive", "the amount %q is not a string of digits above zero", r.amount)
	}
	if id := networkOf(method, r); id != "" {
		o.setNetwork(id)
	} else {
		o.Network = method
	}
	if o.Asset = assetOf(method, o.NetworkCAIP2, r.currency); o.Asset == "" {
		o.fail("currency_declared", "the request has no currency")
	}
	o.PayTo = r.recipient
	switch {
	case method == "lightning":
		o.readInvoice(r)
	case o.NetworkCAIP2 != "":
		o.checkRecipient(r)
	}
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
	paid := o.Amount
	if o.Variable { // the invoice is for the deposit
		paid = digits(r.deposit)
	}
	if v.Amount != "" && paid != "" && v.Amount != paid+"000" {
		o.fail("amount_positive", "the amount %s differs from that of the invoice, %s millisatoshis", paid, v.Amount)
	}
}
