package conformance

import (
	"encoding/json"
	"os"
	"testing"

	assets "tollbook/build/tables"
	"tollbook/site/listing"

	"tollbook/.ci/recompute/snapshot"
)

// loadPublished loads the tables as they are published. Only tests may ask the packages of Tollbook for them.
func loadPublished(t *testing.T) {
	t.Helper()
	data, err := json.Marshal(assets.New(nil, listing.FreeHosts{}))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../templates/pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	LoadTables(snapshot.Node{Value: snapshot.ParseJSON(data)}, string(page))
}

// TestCheckAccount checks published addresses and spoilt copies of them.
func TestCheckAccount(t *testing.T) {
	loadPublished(t)
	for _, test := range []struct {
		network, text string
		want          addressFault
	}{
		{"eip155:8453", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", ""},
		{"eip155:8453", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", ""},
		{"eip155:8453", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", faultChecksum},
		{"eip155:8453", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", faultShape},
		{"eip155:8453", "0x0000000000000000000000000000000000000000", FaultBurn},
		{"eip155:8453", "vitalik.eth", faultShape},
		{"solana:x", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", ""},
		{"solana:x", "11111111111111111111111111111111", FaultBurn},
		{"solana:x", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", faultShape},
		{"tron:x", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", ""},
		{"tron:x", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", faultChecksum},
		{"xrpl:0", "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De", ""},
		{"xrpl:0", "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5Df", faultChecksum},
		{"stellar:pubnet", "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75", ""},
		{"stellar:pubnet", "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI76", faultChecksum},
		{"tvm:-239", "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe", ""},
		{"bip122:x", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", ""},
		{"bip122:x", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", faultChecksum},
		{"bip122:x", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", ""},
		{"hedera:mainnet", "0.0.456858", ""},
		{"near:mainnet", "acme.near", ""},
		{"cloudflare:402", "merchant", ""},
		{"cloudflare:402", "acme", faultShape},
		{"elsewhere:1", "someone", ""},
		{"elsewhere:1", "someone@acme.test", faultShape},
	} {
		if got := CheckAccount(test.network, test.text); got != test.want {
			t.Errorf("checkAccount(%q, %q) = %q, want %q", test.network, test.text, got, test.want)
		}
	}
}

// TestNormalAddress checks that two spellings of an address are one.
func TestNormalAddress(t *testing.T) {
	loadPublished(t)
	for _, test := range []struct{ network, text, want string }{
		{"eip155:1", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"},
		{"solana:x", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
		{"aptos:1", "0xAb", "0x00000000000000000000000000000000000000000000000000000000000000ab"},
		{"tvm:-239", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
			"0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"},
	} {
		if got := NormalAddress(test.network, test.text); got != test.want {
			t.Errorf("normalAddress(%q, %q) = %q, want %q", test.network, test.text, got, test.want)
		}
	}
}
