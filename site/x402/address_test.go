package x402

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Addresses of invented keys, valid in shape and checksum.
var validAddresses = []struct{ network, address, norm string }{
	{"eip155:8453", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x209693bc6afc0c5328ba36faf03c514ef312287c"},
	{"eip155:8453", "0x209693bc6afc0c5328ba36faf03c514ef312287c", "0x209693bc6afc0c5328ba36faf03c514ef312287c"},
	{"eip155:8453", "0x209693BC6AFC0C5328BA36FAF03C514EF312287C", "0x209693bc6afc0c5328ba36faf03c514ef312287c"},
	{"eip155:1", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"},
	{"eip155:1", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359"},
	{"eip155:1", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xdbf03b407c01e7cd3cbea99509d93f8dddc8c6fb"},
	{"eip155:1", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb", "0xd1220a0cf47c7b9be7a2e6ba89f429762e7b9adb"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ymG",
		"9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ymG"},
	{"aptos:1", "0xA1", "0x00000000000000000000000000000000000000000000000000000000000000a1"},
	{"sui:mainnet", "0xDBA34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7",
		"0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7"},
	{"stellar:pubnet", "GCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVP5NM",
		"GCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVP5NM"},
	{"stellar:pubnet", "MCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVOAAAAAAAAAAAACTAG",
		"MCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVOAAAAAAAAAAAACTAG"},
	{"stellar:testnet", "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
		"CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"},
	{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=",
		"QIVTHLMHYFEKBIQKLOT42XV4VJUNG2QY46VNCZKVJEB7KLFIE5LZYREUZU",
		"QIVTHLMHYFEKBIQKLOT42XV4VJUNG2QY46VNCZKVJEB7KLFIE5LZYREUZU"},
	{"near:mainnet", "Acme_pay.near", "acme_pay.near"},
	{"near:mainnet", "17208628f84f5d6ad33f0da3bbbeb27ffcb398eac501a31bd6ad2011e36133a1",
		"17208628f84f5d6ad33f0da3bbbeb27ffcb398eac501a31bd6ad2011e36133a1"},
	{"hedera:mainnet", "0.0.456858", "0.0.456858"},
	{"xrpl:0", "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De", "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"},
	{"xrpl:1", "rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV", "rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV"},
	{"tvm:-239", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
		"0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"},
	{"tvm:-239", "0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE",
		"0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"},
	{"tron:0x2b6653dc", "TMqUbiSRPKYmUy1QVw97n7M4wRmcuYsAYZ", "TMqUbiSRPKYmUy1QVw97n7M4wRmcuYsAYZ"},
	{"cosmos:noble-1", "noble1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scqgxrxf", "noble1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scqgxrxf"},
	{"cosmos:cosmoshub-4", "cosmos1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scgtnt78",
		"cosmos1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scgtnt78"},
	{"cardano:mainnet",
		"addr1qxpzkvadslq53g9zpfd60n27hj4x35m2rrn645t924ys8afv4qn40q3txwkc0s2g5z3q5ka8e40te2ng6d4p3ea269jsxhtvmp",
		"addr1qxpzkvadslq53g9zpfd60n27hj4x35m2rrn645t924ys8afv4qn40q3txwkc0s2g5z3q5ka8e40te2ng6d4p3ea269jsxhtvmp"},
	{"cardano:preprod",
		"addr_test1qzpzkvadslq53g9zpfd60n27hj4x35m2rrn645t924ys8afv4qn40q3txwkc0s2g5z3q5ka8e40te2ng6d4p3ea269js9pkvh7",
		"addr_test1qzpzkvadslq53g9zpfd60n27hj4x35m2rrn645t924ys8afv4qn40q3txwkc0s2g5z3q5ka8e40te2ng6d4p3ea269js9pkvh7"},
	{"casper:casper", "02" + strings.Repeat("aB", 33), "02" + strings.Repeat("ab", 33)},
	{"ccd:9dd9ca4d19e9393877d2c44b70f89acb", "3w5AS2VtenLBcNVFk2bGr8rj8im7dUoJSf137HXpVwueXeqmfV",
		"3w5AS2VtenLBcNVFk2bGr8rj8im7dUoJSf137HXpVwueXeqmfV"},
	{"keeta:21378", "keeta_" + strings.Repeat("a2", 30) + "a", "keeta_" + strings.Repeat("a2", 30) + "a"},
	{"stacks:1", "SP212PCXDGZ0MH85219DTFKAYQJN6HMVA30N9DPQX", "SP212PCXDGZ0MH85219DTFKAYQJN6HMVA30N9DPQX"},
	{"starknet:SN_MAIN", "0x0AbC", "0x0abc"},
	{"bip122:000000000019d6689c085ae165831e93", "1CsGbf4hEbRpKnwmufVQFxew2e2JgEJ8Jt",
		"1CsGbf4hEbRpKnwmufVQFxew2e2JgEJ8Jt"},
	{"bip122:000000000019d6689c085ae165831e93", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
		"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
	{"bip122:000000000019d6689c085ae165831e93", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
		"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"},
	{"cloudflare:402", "merchant", "merchant"},
	{"polkadot:91b171bb158e2d3848fa23a9f1c25182", "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
		"15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"},
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range validAddresses {
		if err := CheckAddress(test.network, test.address); err != nil {
			t.Error(err)
		}
		checkForm(t, test.network, test.address, nil, errShape)
		if got := NormalizeAddress(test.network, test.address); got != test.norm {
			t.Errorf("Normalize(%s, %s) = %s, want %s", test.network, test.address, got, test.norm)
		}
		if err := CheckAddress(test.network, NormalizeAddress(test.network, test.address)); err != nil {
			t.Errorf("the normal form is refused: %v", err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		network, address string
		want             error
	}{
		{"eip155:8453", "0x209693bc6afc0C5328bA36FaF03C514EF312287C", errChecksum},
		{"eip155:8453", "0x0000000000000000000000000000000000000000", ErrBurn},
		{"eip155:8453", "0x000000000000000000000000000000000000dEaD", ErrBurn},
		{"eip155:8453", "0x209693Bc6afc0C5328bA36FaF03C514EF312287", errShape},
		{"eip155:8453", "209693Bc6afc0C5328bA36FaF03C514EF312287C", errShape},
		{"eip155:8453", "0x209693Bc6afc0С5328bA36FaF03C514EF312287C", errShape}, // a Cyrillic С
		{"eip155:8453", "vitalik.eth", errShape},
		{"eip155:8453", `"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`, errShape},
		{"eip155:8453", " 0x209693Bc6afc0C5328bA36FaF03C514EF312287C", errShape},
		{"eip155:8453", "", errShape},
		{"eip155:8453", strings.Repeat("0", 1<<20), errShape},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", errShape},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "11111111111111111111111111111111", ErrBurn},
		// too few bytes
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ", errShape},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "9m8D6vqV489JfQDxJ4T5gU5pfXkefna3JWBhqdnJ9ym0", errShape},
		{"aptos:1", "0x0", ErrBurn},
		{"aptos:1", "0x0 ", errShape},
		{"sui:mainnet", "0xdba34672", errShape},
		{"stellar:pubnet", "GCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVP5NA", errChecksum},
		{"stellar:pubnet", "SCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVP5NM", errShape}, // a secret seed
		{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=",
			"QIVTHLMHYFEKBIQKLOT42XV4VJUNG2QY46VNCZKVJEB7KLFIE5LZYREUZA", errChecksum},
		{"near:mainnet", "a", errShape},
		{"near:mainnet", "acme..near", errShape},
		{"hedera:mainnet", "0.0.0", ErrBurn},
		{"hedera:mainnet", "0.0", errShape},
		{"xrpl:0", "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5Df", errChecksum},
		{"tvm:-239", "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDt", errShape},
		{"tron:0x2b6653dc", "TMqUbiSRPKYmUy1QVw97n7M4wRmcuYsAYY", errChecksum},
		{"cosmos:noble-1", "cosmos1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scgtnt78", errShape},
		{"cosmos:noble-1", "noble1sg4n8tv8c9y2pgs2twnu6h4u4f5dx6scqgxrxq", errChecksum},
		{"cosmos:noble-1", "NOBLE1SG4N8TV8C9Y2PGS2TWNU6H4U4F5DX6SCQGXRXF", errShape},
		{"cardano:mainnet",
			"addr_test1qzpzkvadslq53g9zpfd60n27hj4x35m2rrn645t924ys8afv4qn40q3txwkc0s2g5z3q5ka8e40te2ng6d4p3ea269js9pkvh7", errShape},
		{"casper:casper", "03" + strings.Repeat("ab", 33), errShape},
		{"ccd:9dd9ca4d19e9393877d2c44b70f89acb", "3w5AS2VtenLBcNVFk2bGr8rj8im7dUoJSf137HXpVwueXeqmfW", errChecksum},
		{"keeta:21378", "keeta_ABC", errShape},
		{"stacks:1", "SP212PCXDGZ0MH85219DTFKAYQJN6HMVA30N9DPQY", errChecksum},
		{"starknet:SN_MAIN", "0x", errShape},
		{"bip122:000000000019d6689c085ae165831e93", "1CsGbf4hEbRpKnwmufVQFxew2e2JgEJ8Ju", errChecksum},
		{"bip122:000000000019d6689c085ae165831e93", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", errChecksum},
		{"cloudflare:402", "acme", errShape},
		{"polkadot:91b171bb158e2d3848fa23a9f1c25182", "https://acme.test", errShape},
		{"polkadot:91b171bb158e2d3848fa23a9f1c25182", "pay@acme.test", errShape},
		{"", "two words", errShape},
	} {
		err := CheckAddress(test.network, test.address)
		if !errors.Is(err, test.want) {
			t.Errorf("Check(%s, %.80q) = %v, want %v", test.network, test.address, err, test.want)
		}
		checkForm(t, test.network, test.address, err, errShape)
	}
}

func TestCheckAsset(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		network, asset string
		want           error
	}{
		{"eip155:8453", "USDC", errShape},
		{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914", errChecksum},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "USDC", errShape},
		{"stellar:pubnet", "GCBCWM5NQ7AURIFCBJN2PTK6XSVGRU3KDDT2VULFKVEQH5JMVATVP5NM", errShape},
		{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "31566704", nil},
		{"algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "USDC", errShape},
		{"xrpl:0", "XRP", nil},
		{"xrpl:0", "USD", nil},
		{"xrpl:0", "RLUSD", errShape},
		{"tvm:-239", "native", nil},
		{"cosmos:noble-1", "ibc/" + strings.Repeat("A1", 32), nil},
		{"cosmos:noble-1", "USDC", errShape},
		{"cardano:mainnet", "lovelace", nil},
		{"stacks:1", "STX", nil},
		{"stacks:1", "SP212PCXDGZ0MH85219DTFKAYQJN6HMVA30N9DPQX.token-susdh::susdh", nil},
		{"bip122:000000000019d6689c085ae165831e93", "sats", nil},
		{"cloudflare:402", "USD", nil},
		{"cloudflare:402", "dollars", errShape},
		{"aptos:1", "0x1::aptos_coin::AptosCoin", nil},
	} {
		err := CheckAsset(test.network, test.asset)
		if !errors.Is(err, test.want) {
			t.Errorf("CheckAsset(%s, %s) = %v, want %v", test.network, test.asset, err, test.want)
		}
		checkForm(t, test.network, test.asset, errShape, err)
	}
}

var forms = sync.OnceValue(func() map[string]addressForm {
	by := map[string]addressForm{}
	for _, f := range AddressForms() {
		by[f.Namespace] = f
	}
	return by
})

// checkForm checks that the published forms fit what Check and CheckAsset returned for a text. Text that does not have
// the form is refused for its shape, or as a listed burn address: the boot addresses of Stacks are shorter than its
// accounts.
func checkForm(t *testing.T, network, text string, recipient, asset error) {
	t.Helper()
	f, ok := forms()[AddressNamespace(network)]
	if !ok {
		f = forms()["*"]
	}
	for _, c := range []struct {
		form string
		err  error
	}{{f.Recipient, recipient}, {f.Asset, asset}} {
		isListed := errors.Is(c.err, ErrBurn) && slices.Contains(f.Burn, text)
		if !errors.Is(c.err, errShape) && !isListed && !regexp.MustCompile(c.form).MatchString(text) {
			t.Errorf("%q on %s is accepted (%v), but does not have the form %s", text, network, c.err, c.form)
		}
	}
	if recipient == nil && slices.Contains(f.Burn, NormalizeAddress(network, text)) {
		t.Errorf("%q on %s is a listed burn address, but accepted", text, network)
	}
}

func FuzzAddress(f *testing.F) {
	for _, test := range validAddresses {
		f.Add(test.network, test.address)
	}
	f.Add("eip155:8453", "0x")
	f.Add("aptos:1", "0x0 ")
	f.Add("stacks:1", "SP000000000000000000002Q6VF78")
	f.Add("bip122:000000000019d6689c085ae165831e93", "lnbc1500n1pw5kjhmpp5f")
	f.Fuzz(func(t *testing.T, network, address string) {
		norm := NormalizeAddress(network, address)
		if again := NormalizeAddress(network, norm); again != norm {
			t.Errorf("Normalize(%q, %q) = %q, and once more %q", network, address, norm, again)
		}
		if CheckAddress(network, address) == nil && CheckAddress(network, norm) != nil {
			t.Errorf("%q is an address on %q, its normal form %q is not", address, network, norm)
		}
		checkForm(t, network, address, CheckAddress(network, address), CheckAsset(network, address))
	})
}

func TestSpell(t *testing.T) {
	t.Parallel()
	const base, usdc = "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	for _, test := range []struct{ name, network, address, want string }{
		{"lower case", base, strings.ToLower(usdc), usdc},
		{"upper case", base, "0x" + strings.ToUpper(usdc[2:]), usdc},
		{"already", base, usdc, usdc},
		{"wrong checksum", base, "0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02913"},
		{"digits alone", base, "0x1111111111111111111111111111111111111111",
			"0x1111111111111111111111111111111111111111"},
		{"no address", base, "usdc", "usdc"},
		{"another network", "starknet:SN_MAIN", strings.ToLower(usdc), strings.ToLower(usdc)},
		{"nothing", "", "", ""},
	} {
		if got := SpellAddress(test.network, test.address); got != test.want {
			t.Errorf("%s: Spell(%s, %s) = %s, want %s", test.name, test.network, test.address, got, test.want)
		}
	}
}
