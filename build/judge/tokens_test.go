package judge

import (
	"testing"

	"tollbook/site/postgres/ledger"
)

// TestUnitsPerUSD checks which tokens are worth a dollar: those that the operator configures, and otherwise USDC that
// can be redeemed.
func TestUnitsPerUSD(t *testing.T) {
	t.Parallel()
	const sepoliaUSDC = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
	own := func(decimals int, usd bool) *ledger.Token {
		return &ledger.Token{Symbol: "OWN", Decimals: decimals, USD: usd}
	}
	for _, c := range []struct {
		name, network, token string
		configured           *ledger.Token
		unit, asset          string // unit is "" of no value
	}{
		{"USDC", "eip155:8453", baseUSDC, nil, "1000000", "USDC"},
		{"USDC of 18 decimals", "eip155:56", "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", nil, "1000000000000000000",
			"USDC"},
		{"USDC of a testnet", "eip155:84532", sepoliaUSDC, nil, "", "USDC"},
		{"the same, if the operator says so", "eip155:84532", sepoliaUSDC, own(6, true), "1000000", "USDC"},
		{"USDC that the operator does not count", "eip155:8453", baseUSDC, own(6, false), "", "USDC"},
		{"an unknown token", "eip155:8453", "0x01", nil, "", "UNKNOWN"},
		{"a token of the operator", "eip155:8453", "0x01", own(2, true), "100", "OWN"},
		{"one without value", "eip155:31337", "0x01", own(2, false), "", "OWN"},
		{"one without decimals", "eip155:31337", "0x01", own(0, true), "1", "OWN"},
	} {
		unit, valued := unitsPerUSD(c.network, c.token, c.configured)
		if valued != (c.unit != "") || valued && unit.String() != c.unit {
			t.Errorf("%s: a dollar is %v, %v; want %q", c.name, unit, valued, c.unit)
		}
		if _, asset := lookupAsset(c.network, c.token, c.configured); asset != c.asset {
			t.Errorf("%s is called %s, want %s", c.name, asset, c.asset)
		}
	}
}
