package sample

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"tollbook/site/x402"
)

// TestChecksummed checks the mixed case with the test vectors of EIP-55.
func TestChecksummed(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	} {
		b, err := hex.DecodeString(want[2:])
		if err != nil {
			t.Fatal(err)
		}
		if got := checksummed(b); got != want {
			t.Errorf("checksummed(%s) = %s", strings.ToLower(want), got)
		}
	}
}

func TestAtomic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rail, price, want string }{
		{"exact base", "0.01", "10000"},
		{"exact base", "1.50", "1500000"},
		{"exact base", "12", "12000000"},
		{"exact base", "0", "0"},
		{"exact bnb USD1", "0.004", "4000000000000000"},
		{"exact stellar", "0.1", "1000000"},
	} {
		r, err := parseRail(test.rail)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.atomic(test.price); got != test.want {
			t.Errorf("%s at %s = %s, want %s", test.rail, test.price, got, test.want)
		}
	}
}

// TestAddresses checks the format of every address on its network, and that each recipient has one owner.
func TestAddresses(t *testing.T) {
	t.Parallel()
	owners := map[string]string{}
	for _, s := range cast() {
		for _, e := range s.endpoints {
			for _, r := range e.rails {
				if err := x402.CheckAsset(r.network.ID, r.asset.Address); err != nil {
					t.Errorf("%s: asset %s on %s: %v", s.Slug, r.asset.Address, r.network.ID, err)
				}
				for number := range 12 {
					to := r.recipient(s.Owner, number)
					if err := x402.CheckAddress(r.network.ID, to); err != nil {
						t.Errorf("%s: recipient %s on %s: %v", s.Slug, to, r.network.ID, err)
					}
					if owner := owners[to]; owner != "" && owner != s.Owner {
						t.Errorf("%s is paid at the address of %s", s.Owner, owner)
					}
					owners[to] = s.Owner
				}
				for _, key := range []string{"facilitatorAddress", "receiverAuthorizer", "feePayer", "facilitator"} {
					if at, ok := r.extra(s.Owner)[key].(string); ok && x402.CheckAddress(r.network.ID, at) != nil {
						t.Errorf("%s: %s %s on %s is not an address", s.Slug, key, at, r.network.ID)
					}
				}
			}
		}
	}
}

func TestExtraHasWhatTheSchemeNeeds(t *testing.T) {
	t.Parallel()
	for rail, want := range map[string]string{
		"exact base":         `{"name":"USD Coin","version":"2"}`,
		"exact base-sepolia": `{"name":"USDC","version":"2"}`,
		"exact xlayer USD₮0": `{"name":"USD₮0","version":"1"}`,
		"exact solana":       `{"feePayer":"8ys275XU2RyYiEoVDDt3gb7DEGD987vuCH1QqBbdoX16"}`,
		"upto base": `{"assetTransferMethod":"permit2","facilitatorAddress":"` +
			facilitatorAddress(t, "upto base") + `","name":"USD Coin","version":"2"}`,
		"exact_cosmos_authz noble": `{"chainId":"noble-1","facilitator":"` +
			facilitatorAddress(t, "exact_cosmos_authz noble") +
			`"}`,
	} {
		r, err := parseRail(rail)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r.extra("somebody"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("extra of %s = %s, want %s", rail, got, want)
		}
	}
}

// facilitatorAddress returns the facilitator's address on a rail's network.
func facilitatorAddress(t *testing.T, text string) string {
	t.Helper()
	r, err := parseRail(text)
	if err != nil {
		t.Fatal(err)
	}
	return r.address("facilitator")
}
