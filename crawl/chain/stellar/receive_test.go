package stellar

import (
	"strings"
	"testing"
)

// TestIssuers derives each contract of the table from its asset, on the network that has the contract.
func TestIssuers(t *testing.T) {
	t.Parallel()
	for contract, asset := range issuers {
		code, issuer, _ := strings.Cut(asset, ":")
		found := false
		for _, passphrase := range passphrases {
			found = found || contractOf(passphrase, code, issuer) == contract
		}
		if !found {
			t.Errorf("%s is not the contract of %s on any network", contract, asset)
		}
	}
	// The contract of lumens on the main network, as stellar.expert and the documents of Soroban name it.
	if got, want := nativeContract(passphrases["stellar:pubnet"]),
		"CAS3J7GYLGXMF6TDJBBYYSE3HQ6BBSMLNUQ34T6TZMYMW2EVH34XOWMA"; got != want {
		t.Errorf("the contract of lumens is %s, want %s", got, want)
	}
}
