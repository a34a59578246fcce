package x402

import (
	"slices"
	"strings"
	"testing"
)

func TestNetworkTable(t *testing.T) {
	t.Parallel()
	list := Networks()
	if len(list) != 118 {
		t.Errorf("%d networks, want 118", len(list))
	}
	if !slices.IsSortedFunc(list, func(a, b Network) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("networks are not in the order of their ids")
	}
	names := map[string]string{}
	for _, n := range list {
		if n.Name == "" || len(n.Abbreviation) != 3 || n.Abbreviation != strings.ToUpper(n.Abbreviation) ||
			n.ChainType == "" || n.Source == "" {
			t.Errorf("%s is incomplete: %+v", n.ID, n)
		}
		if n.ExplorerURL != "" && !strings.HasPrefix(n.ExplorerURL, "https://") {
			t.Errorf("%s: explorer %q", n.ID, n.ExplorerURL)
		}
		for _, name := range slices.Concat([]string{n.ID, "abbreviation " + n.Abbreviation}, n.Aliases, n.AlsoCAIP2) {
			if other := names[strings.ToLower(name)]; other != "" {
				t.Errorf("%s names both %s and %s", name, other, n.ID)
			}
			names[strings.ToLower(name)] = n.ID
		}
		for _, name := range slices.Concat([]string{n.ID, " " + n.ID + "\n"}, n.Aliases, n.AlsoCAIP2) {
			if id, ok := ResolveNetwork(name); id != n.ID || !ok {
				t.Errorf("ResolveNetwork(%q) = %q, %v, want %q, true", name, id, ok, n.ID)
			}
		}
		if got, ok := NetworkByAbbreviation(strings.ToLower(n.Abbreviation)); !ok || got.ID != n.ID {
			t.Errorf("NetworkByAbbreviation(%q) = %q", n.Abbreviation, got.ID)
		}
		if Abbreviation(n.ID) != n.Abbreviation {
			t.Errorf("Abbreviation(%q) = %q", n.ID, Abbreviation(n.ID))
		}
	}
}

func TestResolveNetwork(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		id     string
		ok     bool
		proper bool // whether version 2 allows this form
	}{
		{"eip155:8453", "eip155:8453", true, true},
		{"base", "eip155:8453", true, false},
		{"Base", "eip155:8453", true, false},
		{" base-sepolia ", "eip155:84532", true, false},
		{"EIP155:8453", "eip155:8453", true, false},
		{"solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", true, false},
		{"solana:mainnet", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", true, false},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", true, true},
		{"solana:5EYKT4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana:5EYKT4UsFv8P8NJdTREpY1vzqKqZKvdp", false, true},
		{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=",
			"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", true, true},
		{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", true,
			true},
		{"cip34:1-764824073", "cardano:mainnet", true, true},
		{"cloudflare:402", "cloudflare:402", true, true},
		{"tempo:4217", "eip155:4217", true, false},
		{"eip155:987654321", "eip155:987654321", false, true},
		{"Eip155:987654321", "eip155:987654321", false, false},
		{"8453", "", false, false},
		{"ethereum-l2", "", false, false},
		{"eip155:", "", false, false},
		{"eip155:8453:1", "", false, false},
		{"", "", false, false},
		{strings.Repeat("x", 1<<16), "", false, false},
	} {
		id, ok := ResolveNetwork(test.text)
		if id != test.id || ok != test.ok {
			t.Errorf("ResolveNetwork(%.60q) = %q, %v, want %q, %v", test.text, id, ok, test.id, test.ok)
		}
		if got := properNetwork(test.text); got != test.proper {
			t.Errorf("properNetwork(%.60q) = %v, want %v", test.text, got, test.proper)
		}
	}
	if got := Abbreviation("eip155:987654321"); got != "" {
		t.Errorf("a network outside the table has abbreviation %q, want none", got)
	}
}

// TestAddressURL checks the pages of accounts at block explorers.
func TestAddressURL(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"eip155:8453":     "https://basescan.org/address/{address}",
		"eip155:196":      "https://www.oklink.com/x-layer/address/{address}",
		"eip155:3338":     "", // an explorer of Substrate chains
		"stellar:testnet": "https://stellar.expert/explorer/testnet/account/{address}",
		"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=": "",
		"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp":               "https://solscan.io/account/{address}",
		"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1":               "https://solscan.io/account/{address}?cluster=devnet",
	} {
		n, _ := NetworkByID(id)
		if got := n.AddressURL(); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
