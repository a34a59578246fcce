package x402

import (
	"encoding/json"
	"testing"
)

func TestToolPrice(t *testing.T) {
	t.Parallel()
	const terms = `{"x402Version":2,"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}]}`
	for _, test := range []struct {
		entry  string
		isPaid bool
		usd    string
	}{
		{`{"name":"a"}`, false, ""},
		{`{"annotations":{"paymentHint":true}}`, true, ""},
		{`{"annotations":{"paymentHint":false}}`, false, ""},
		{`{"_meta":{"agents-x402/paymentRequired":true,"agents-x402/priceUSD":0.01}}`, true, "0.01"},
		{`{"_meta":{"agents-x402/priceUSD":"0.25"}}`, true, "0.25"},
		{`{"_meta":{"priceUSD":0}}`, false, ""},
		{`{"_meta":{"x402/price":"$0.05"}}`, true, "0.05"},
		{`{"_meta":{"x402":` + terms + `}}`, true, "0.01"},
		{`{"_meta":{"x402/payment-required":` + terms + `}}`, true, "0.01"},
		{`{"pricing":{"amount":"0.5","currency":"USD","network":"base"}}`, true, "0.5"},
		{`{"pricing":{"amount":"500","currency":"sats"}}`, true, ""},
		{`{"pricing":{"price_usd":1e-3}}`, true, "0.001"},
		{`{"pricing":{"amount":"0","currency":"USD"}}`, false, ""},
		{`{"payment":{"required":false}}`, false, ""},
		{`{"payment":{"required":true}}`, true, ""},
		{`{"price":"10 credits"}`, false, ""},
		{`{"price":-1,"cost":[1]}`, false, ""},
		{`[]`, false, ""},
		{`{"_meta":{"x402":{"x402":{"x402":{}}}}}`, true, ""},
	} {
		if isPaid, usd := ToolPrice(json.RawMessage(test.entry)); isPaid != test.isPaid || usd != test.usd {
			t.Errorf("ToolPrice(%s) = %v, %q; want %v, %q", test.entry, isPaid, usd, test.isPaid, test.usd)
		}
	}
}
