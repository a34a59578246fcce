package x402

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestUnusable(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	const xrplAccount = "rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV"
	issued := func(more m) m {
		row := m{"network": "xrpl:0", "asset": "524C555344000000000000000000000000000000", "amount": "10.5",
			"payTo": xrplAccount, "extra": m{"issuer": "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"}}
		maps.Copy(row, more)
		return row
	}
	for _, test := range []struct {
		name string
		row  m // what differs from a good row; nil removes a member
		want string
	}{
		{"a good row", m{}, ""},
		{"an unknown network", m{"network": "eip155:123456789"}, ""},
		{"a token of another network", m{"network": "eip155:137"}, `the asset "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" ` +
			"is the USDC of Base, not a token of eip155:137"},
		{"lower case", m{"payTo": "0x209693bc6afc0c5328ba36faf03c514ef312287c"}, ""},
		{"another field", m{"payTo": nil, "payToAddress": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}, ""},
		{"no scheme", m{"scheme": nil}, "scheme is missing"},
		{"no network", m{"network": nil}, "network is missing"},
		{"a strange network", m{"network": "moon"}, `the network "moon" is not recognised`},
		{"no asset", m{"asset": nil}, "asset is missing"},
		{"no price", m{"amount": nil}, "no price"},
		{"a decimal price", m{"amount": "0.01"}, `the price "0.01" is not a whole number of atomic units`},
		{"no recipient", m{"payTo": nil}, "no recipient"},
		{"the zero address", m{"payTo": "0x0000000000000000000000000000000000000000"},
			`the recipient "0x0000000000000000000000000000000000000000" is a burn address: nobody can spend from it`},
		{"the dead address", m{"payTo": "0x000000000000000000000000000000000000dEaD"},
			`the recipient "0x000000000000000000000000000000000000dEaD" is a burn address: nobody can spend from it`},
		{"the token", m{"payTo": "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913"},
			`the recipient "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913" is the asset itself: a payment would be lost`},
		{"another network's address", m{"payTo": "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ymG"},
			`the recipient "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ymG" is not an address of eip155:8453`},
		{"a name", m{"payTo": "vitalik.eth"}, `the recipient "vitalik.eth" is not an address of eip155:8453`},
		{"a wrong checksum", m{"payTo": "0x209693bC6afc0C5328bA36FaF03C514EF312287C"}, ""},
		{"the token with a wrong checksum", m{"payTo": "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913"},
			`the recipient "0x833589fcD6eDb6E08f4c7C32D4f71b54bdA02913" is the asset itself: a payment would be lost`},
		{"an issued currency", issued(nil), ""},
		{"an issuer in the asset", issued(m{"asset": "USD.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De", "extra": nil}), ""},
		{"no issuer", issued(m{"extra": m{}}),
			"the currency has no issuer; extra.issuer must be an address of the XRP Ledger"},
		{"a strange issuer", issued(m{"extra": m{"issuer": "Ripple"}}),
			"the currency has no issuer; extra.issuer must be an address of the XRP Ledger"},
		{"no number", issued(m{"amount": "1e3"}), `the price "1e3" is not a decimal number`},
		{"decimal XRP", issued(m{"asset": "XRP"}), `the price "10.5" is not a whole number of atomic units`},
	} {
		row := m{"scheme": "exact", "network": "eip155:8453", "amount": "10000",
			"asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "maxTimeoutSeconds": 60,
			"payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}
		maps.Copy(row, test.row)
		raw, err := json.Marshal(m{"x402Version": 2, "accepts": []m{row}})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := Reread(raw, ChannelHeader, "std")
		if !ok {
			t.Fatalf("%s: not an envelope", test.name)
		}
		if got := e.Accepts[0].Unusable(); got != test.want {
			t.Errorf("%s: unusable because %q, want %q", test.name, got, test.want)
		}
		if usable := e.Accepts[0].Usable(); usable != (test.want == "") {
			t.Errorf("%s: usable = %v", test.name, usable)
		}
	}
}
