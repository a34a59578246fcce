package x402_test

import (
	"testing"

	"tollbook/site/x402"
)

// TestCheckSettler checks which texts recognise settlements: addresses of networks whose settlers send transactions,
// and marks in their one form.
func TestCheckSettler(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network, text string
		ok, mark      bool
	}{
		{"eip155:4217", "memo:0xef1ed71201", true, true},
		{"eip155:8453", "memo:0x0000000000", true, true},
		{"eip155:8453", "0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07", true, false},
		{"eip155:4217", "memo:0xef1ed712", false, false},
		{"eip155:4217", "memo:0xef1ed7120101", false, false},
		{"eip155:4217", "memo:0xEF1ED71201", false, false},
		{"eip155:4217", "memo:ef1ed71201", false, false},
		{"eip155:4217", "Memo:0xef1ed71201", false, false},
		{"eip155:4217", "memo:0xef1ed71201\n", false, false},
		{"eip155:4217", "source_tag:7", false, false},
		{"eip155:4217", "0x0000000000000000000000000000000000000000", false, false},
		{"xrpl:0", "source_tag:804681468", true, true},
		{"xrpl:0", "source_tag:1", true, true},
		{"xrpl:0", "source_tag:4294967295", true, true},
		{"xrpl:0", "source_tag:4294967296", false, false},
		{"xrpl:0", "source_tag:0", false, false},
		{"xrpl:0", "source_tag:07", false, false},
		{"xrpl:0", "source_tag:+7", false, false},
		{"xrpl:0", "source_tag:", false, false},
		{"xrpl:0", "memo:0xef1ed71201", false, false},
		{"xrpl:0", "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh", false, false}, // payers send, so no account settles
		{"stellar:pubnet", "memo:0xef1ed71201", false, false},
	} {
		if err := x402.CheckSettler(c.network, c.text); (err == nil) != c.ok {
			t.Errorf("CheckSettler(%s, %q): %v, want it accepted: %v", c.network, c.text, err, c.ok)
		}
		if got := x402.IsMark(c.network, c.text); got != c.mark {
			t.Errorf("IsMark(%s, %q) = %v, want %v", c.network, c.text, got, c.mark)
		}
		if c.mark && x402.NormalizeAddress(c.network, c.text) != c.text {
			t.Errorf("%s on %s has another normal form: %s", c.text, c.network, x402.NormalizeAddress(c.network, c.text))
		}
	}
}

// TestCheckToken checks which tokens can be measured: on the XRP Ledger a currency needs its issuer.
func TestCheckToken(t *testing.T) {
	t.Parallel()
	const issuer = "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"
	for _, c := range []struct {
		network, text string
		ok            bool
	}{
		{"eip155:8453", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", true},
		{"xrpl:0", "XRP", true},
		{"xrpl:0", "USD." + issuer, true},
		{"xrpl:0", "524C555344000000000000000000000000000000." + issuer, true},
		{"xrpl:0", "524c555344000000000000000000000000000000." + issuer, false}, // the ledger writes capitals
		{"xrpl:0", "524C555344000000000000000000000000000000", false},
		{"xrpl:0", "XRP." + issuer, false},
		{"xrpl:0", "USD." + issuer + "x", false},
		{"xrpl:0", "USD.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5Df", false}, // its checksum is wrong
		{"xrpl:0", "USD:" + issuer, false},
		{"eip155:8453", "USD." + issuer, false},
	} {
		if err := x402.CheckToken(c.network, c.text); (err == nil) != c.ok {
			t.Errorf("CheckToken(%s, %q): %v, want it accepted: %v", c.network, c.text, err, c.ok)
		}
	}
}
