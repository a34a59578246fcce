package rail

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"tollbook/site/x402"
)

// readL402 reads one challenge L402, or LSAT as it was named before.
func readL402(a Answer, c x402.Challenge) Offer {
	o := newOffer(L402)
	o.Scheme, o.Asset, o.Network = "bolt11", "BTC", "lightning"
	if strings.EqualFold(c.Scheme, "lsat") {
		o.fail("scheme_current", "the challenge is named %s", c.Scheme)
	}
	token := c.Params["macaroon"]
	if token == "" {
		token = c.Params["token"]
	}
	if token == "" {
		o.fail("challenge_complete", "the challenge has no macaroon")
	} else if !isBase64(token) {
		o.fail("token_encoding", "the macaroon is not base64")
	}
	invoice := c.Params["invoice"]
	if invoice == "" {
		o.fail("challenge_complete", "the challenge has no invoice")
		return o
	}
	v, err := ReadInvoice(invoice)
	if err != nil {
		o.fail("invoice_valid", "%s", err)
		return o
	}
	o.setNetwork(v.Network)
	o.Amount, o.PayTo, o.MaxTimeoutSeconds = v.Amount, v.Payee, new(int(v.Expiry/time.Second))
	if v.Amount == "" {
		o.fail("amount_declared", "the invoice has no amount")
	}
	if v.Expires().Before(a.ReceivedAt.Add(-clockSkew)) {
		o.fail("invoice_current", "the invoice expired before it was received")
	}
	return o
}

// isBase64 reports whether text is base64 in either alphabet, padded or not.
func isBase64(text string) bool {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	_, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil
}

// addL402 adds an offer, unless the same one is listed under the other name of the scheme. The current name wins.
func addL402(list []Offer, o Offer) []Offer {
	i := slices.IndexFunc(list, func(p Offer) bool {
		return p.Protocol == L402 && p.Amount == o.Amount && p.PayTo == o.PayTo && p.NetworkCAIP2 == o.NetworkCAIP2 &&
			(p.failed["scheme_current"] == "") != (o.failed["scheme_current"] == "")
	})
	switch {
	case i < 0:
		return append(list, o)
	case o.failed["scheme_current"] == "":
		list[i] = o
	}
	return list
}
