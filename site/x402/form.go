package x402

import (
	"regexp"
	"slices"
	"sync"
)

// addressForm describes the addresses of a CAIP-2 namespace. Check and CheckAsset apply it, and it is published for
// people who check addresses without this package.
type addressForm struct {
	Namespace string // "*" stands for every other one
	// Every recipient matches Recipient and every asset Asset; RecipientRule and AssetRule say what they must fulfil
	// beyond that.
	Recipient, RecipientRule string
	Asset, AssetRule         string
	Burn                     []string // recipients from which nobody can spend, in normal form
	Normal                   string   // the form in which equal addresses are equal texts

	// fault checks the further rule of recipients, and of assets with the form of a recipient; nil without a rule
	fault func(network, text string) error
}

// Rules and regular expressions that more than one namespace has.
const (
	eip55Rule = "Hexadecimal digits in mixed case carry the EIP-55 checksum, which must match. Digits all in lower " +
		"or all in upper case carry none."
	base58Check = "base58, in which the last four bytes are the first of a double SHA-256 of the others"
	asRecipient = "As of a recipient."
	asWritten   = "As written."
	lowerCase   = "In lower case."
	noRule      = ""
	base58Text  = `[1-9A-HJ-NP-Za-km-z]`
	bech32Text  = `[02-9ac-hj-np-z]`
	moveHex     = `0x[0-9a-fA-F]{1,64}`
	moveType    = moveHex + `::[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*`
	nearText    = `^(([a-zA-Z\d]+[-_])*[a-zA-Z\d]+\.)*([a-zA-Z\d]+[-_])*[a-zA-Z\d]+$`
	hederaText  = `^\d{1,20}\.\d{1,20}\.\d{1,20}$`
	keetaText   = `^keeta_[a-z2-7]{50,80}$`
	solanaText  = `^` + base58Text + `{32,44}$`
	tronText    = `^T` + base58Text + `{33}$`
	tonText     = `-?[0-9]{1,10}:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{48}`
	wordText    = "^[!#-&(-;=?A-~]{1,256}$" // printable ASCII without spaces, quotation marks, angle brackets and @
)

// table has a form for each namespace. Its burn addresses are those with a key or hash of zeros, and those that people
// use to destroy tokens.
var table = []addressForm{
	{"algorand", `^[A-Z2-7]{58}$`, "Base32 of 32 bytes and the last four bytes of their SHA-512/256.",
		`^[0-9]{1,20}$`, "The number of the asset.",
		[]string{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ"}, asWritten, algorandAddress},
	{"aptos", `^` + moveHex + `$`, noRule, `^(` + moveHex + `|` + moveType + `)$`, noRule,
		[]string{"0x0000000000000000000000000000000000000000000000000000000000000000"},
		"In lower case, with zeros after 0x up to 64 digits.", nil},
	{"bip122", `^((?i:ln(bc|tb|bcrt)[0-9]*[munp]?1|(bc|tb)1)(?i:` + bech32Text + `+)|` + base58Text + `{6,128})$`,
		"A Lightning invoice in bech32; a segwit address (bech32 for version 0, bech32m for later ones); or " +
			base58Check + ", with a version of 0, 5, 111 or 196 and 20 bytes.", `^(BTC|sats)$`, noRule,
		[]string{"1111111111111111111114oLvT2", "1BitcoinEaterAddressDontSendf59kuE"}, asWritten, bitcoinAddress},
	{"cardano", `^addr(_test)?1` + bech32Text + `{6,112}$`,
		"Bech32 with the prefix addr on cardano:mainnet and addr_test on the others.",
		`^(lovelace|[0-9a-f]{56}\.?[0-9a-f]{0,64})$`, noRule, nil, asWritten, cardanoAddress},
	{"casper", casperForm.String(), noRule, `^[0-9a-fA-F]{64}$`, noRule, nil, lowerCase, nil},
	{"ccd", `^` + base58Text + `{45,55}$`, "Written in " + base58Check + ", with the version 1 and 32 bytes.",
		`^[A-Za-z0-9.%-]{1,128}$`, noRule, nil, asWritten, concordiumAddress},
	{"cloudflare", `^merchant$`, noRule, `^[A-Z]{3}$`, noRule, nil, asWritten, nil},
	{"cosmos", `^[!-@\[-~]{1,83}1` + bech32Text + `{6,88}$`, "Bech32 of at most 90 characters; the prefix is noble " +
		"on cosmos:noble-1 and cosmos:grand-1, and cosmos on cosmos:cosmoshub-4.",
		`^(u[a-z]{2,20}|ibc/[0-9A-Fa-f]{64}|factory/[a-z0-9]{10,90}/[A-Za-z0-9./_-]{1,128})$`, noRule, nil, asWritten,
		cosmosAddress},
	{"eip155", evmForm.String(), eip55Rule, evmForm.String(), eip55Rule, []string{
		"0x0000000000000000000000000000000000000000", "0x0000000000000000000000000000000000000001",
		"0x000000000000000000000000000000000000dead", "0xdead000000000000000042069420694206942069"}, lowerCase,
		evmAddress},
	{"hedera", hederaText, noRule, hederaText, noRule, []string{"0.0.0"}, asWritten, nil},
	{"keeta", keetaText, noRule, keetaText, noRule, nil, asWritten, nil},
	{"near", nearText, "2 to 64 characters.", nearText, asRecipient, []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0x0000000000000000000000000000000000000000", "system"}, lowerCase, nearAccount},
	{"solana", solanaText, "Base58 of exactly 32 bytes.", solanaText, asRecipient, []string{
		"11111111111111111111111111111111", "1nc1nerator11111111111111111111111111111111"}, asWritten, solanaAddress},
	{"stacks", `^S[PMTN][0-9A-HJKMNP-TV-Z]{38,40}$`,
		"The c32check of a version and 20 bytes: four bytes of a double SHA-256 of both follow.",
		`^(STX|(S[PMTN][0-9A-Z]{38,40})\.[a-zA-Z][a-zA-Z0-9-]{0,127}(::[a-zA-Z][a-zA-Z0-9-]{0,127})?)$`, noRule,
		[]string{"SP000000000000000000002Q6VF78", "ST000000000000000000002AMW42H"}, asWritten, stacksAddress},
	{"starknet", `^` + moveHex + `$`, "Zeros alone are a burn address.", `^` + moveHex + `$`, noRule,
		[]string{"0x0"}, lowerCase, nil},
	{"stellar", `^(?:[GC][A-D][A-Z2-7]{54}|M[A-D][A-Z2-7]{67})$`, "A strkey in base32 that ends with the " +
		"CRC-16/XMODEM of the bytes before, low byte first.", `^C[A-D][A-Z2-7]{54}$`, asRecipient, []string{
		"CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM",
		"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"}, asWritten, stellarAddress},
	{"sui", `^0x[0-9a-fA-F]{64}$`, noRule, `^` + moveType + `$`, noRule,
		[]string{"0x0000000000000000000000000000000000000000000000000000000000000000"}, "The digits in lower case.",
		nil},
	{"tron", tronText, "Written in " + base58Check + ", with the version 65 and 20 bytes.", tronText, asRecipient,
		[]string{"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"}, asWritten, tronAddress},
	{"tvm", `^(` + tonText + `)$`,
		"The workchain and 64 digits, or base64 of 36 bytes: a flag (17 or 81, plus 128 on " +
			"test networks), the workchain, 32 bytes, and the CRC-16/XMODEM of what comes before, high byte first.",
		`^(native|` + tonText + `)$`, "native, or as of a recipient.",
		[]string{"0:0000000000000000000000000000000000000000000000000000000000000000"},
		"The workchain, a colon and 64 digits in lower case.", tonAddress},
	{"xrpl", `^r` + base58Text + `{24,34}$`, "Written in " + base58Check + ", with the alphabet of the XRP Ledger, " +
		"the version 0 and 20 bytes.", `^([A-Za-z0-9?!@#$%^&*<>(){}\[\]|]{3}|[0-9a-fA-F]{40})$`,
		"XRP, or a currency code.", []string{"rrrrrrrrrrrrrrrrrNAMEtxvNvQ", "rrrrrrrrrrrrrrrrrrrn5RM1rHd",
			"rrrrrrrrrrrrrrrrrrrrBZbvji", "rrrrrrrrrrrrrrrrrrrrrhoLvTp"}, asWritten, xrplAddress},
	{"*", wordText, "Without ://.", wordText, asRecipient, nil, asWritten, unknownWord},
}

// AddressForms returns the forms of all namespaces, in the order of their names.
func AddressForms() []addressForm { return slices.Clone(table) }

// compiledForm is a form with its regular expressions.
type compiledForm struct {
	*addressForm
	recipient, asset *regexp.Regexp
}

var compiledForms = sync.OnceValue(func() map[string]compiledForm {
	by := map[string]compiledForm{}
	for i := range table {
		f := &table[i]
		by[f.Namespace] = compiledForm{f, regexp.MustCompile(f.Recipient), regexp.MustCompile(f.Asset)}
	}
	return by
})

func formOf(network string) compiledForm {
	by := compiledForms()
	if f, ok := by[AddressNamespace(network)]; ok {
		return f
	}
	return by["*"]
}

var zeroHex = regexp.MustCompile(`^0x0+$`)

// isBurn reports whether an address is a burn address of its network. Listed ones may lack the form of recipients:
// the boot addresses of Stacks are shorter.
func (f compiledForm) isBurn(network, address string) bool {
	if !f.recipient.MatchString(address) {
		return slices.Contains(f.Burn, address)
	}
	normal := NormalizeAddress(network, address)
	if f.Namespace == "starknet" && zeroHex.MatchString(normal) { // leading zeros are no part of its number
		normal = "0x0"
	}
	return slices.Contains(f.Burn, normal)
}
