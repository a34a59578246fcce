package address

import "regexp"

// Form describes the addresses of a CAIP-2 namespace for people who check them without this package.
type Form struct {
	Namespace string // "*" stands for every other one
	// Every recipient matches Recipient and every asset Asset; RecipientRule and AssetRule say what they must fulfil
	// beyond that.
	Recipient, RecipientRule string
	Asset, AssetRule         string
	Burn                     []string // recipients from which nobody can spend, in normal form
	Normal                   string   // the form in which equal addresses are equal texts
}

// Rules that more than one namespace has.
const (
	eip55Rule = "Hexadecimal digits in mixed case carry the EIP-55 checksum, which must match. Digits all in lower or " +
		"all in upper case carry none."
	zeroRule   = " An address of zeros alone is a burn address."
	asWritten  = "As written."
	lowerCase  = "In lower case."
	noRule     = ""
	base58Form = `^[1-9A-HJ-NP-Za-km-z]{32,44}$`
)

// burnAddresses are recipients of EVM networks from which nobody can spend.
var burnAddresses = []string{
	"0x0000000000000000000000000000000000000000", "0x000000000000000000000000000000000000dead",
}

// solanaSystem is the system program.
const solanaSystem = "11111111111111111111111111111111"

func either(forms ...*regexp.Regexp) string {
	text := forms[0].String()
	for _, f := range forms[1:] {
		text += "|" + f.String()
	}
	return text
}

// Forms returns the forms of all namespaces, in the order of their names.
func Forms() []Form {
	const base58check = "base58, in which the last four bytes are the first of a double SHA-256 of the others"
	return []Form{
		{"algorand", `^[A-Z2-7]{58}$`, "Base32 of 32 bytes and the last four bytes of their SHA-512/256." + zeroRule,
			asaForm.String(), "The number of the asset.", nil, asWritten},
		{"aptos", hexForm.String(), "Not zeros alone, which is a burn address.", either(hexForm, moveTypeForm),
			"As of a recipient, or a type of Move's coin standard.", nil,
			"In lower case, with zeros after 0x up to 64 digits."},
		{"bip122", `^(ln.+|LN.+|bc1.+|BC1.+|tb1.+|TB1.+|[1-9A-HJ-NP-Za-km-z]{1,128})$`, "A Lightning invoice in " +
			"bech32; a segwit address (bech32 for version 0, bech32m for later ones); or " + base58check +
			", with a version of 0, 5, 111 or 196 and 20 bytes.",
			`^(BTC|sats)$`, noRule, nil, asWritten},
		{"cardano", `^addr(_test)?1[02-9ac-hj-np-z]+$`, "Bech32, at most 120 characters, with the prefix addr on " +
			"cardano:mainnet and addr_test on the others.",
			`^lovelace$|` + cardanoAsset.String(), noRule, nil, asWritten},
		{"casper", casperForm.String(), noRule, packageForm.String(), noRule, nil, lowerCase},
		{"ccd", `^[1-9A-HJ-NP-Za-km-z]{45,55}$`, "Written in " + base58check + ", with the version 1 and 32 bytes.",
			ccdTokenForm.String(), noRule, nil, asWritten},
		{"cloudflare", `^merchant$`, noRule, iso4217Form.String(), noRule, nil, asWritten},
		{"cosmos", `^[^A-Z]{1,90}$`, "Bech32 in lower case; the prefix is noble on cosmos:noble-1 and cosmos:grand-1, " +
			"and cosmos on cosmos:cosmoshub-4.", cosmosDenom.String(), noRule, nil, asWritten},
		{"eip155", evmForm.String(), eip55Rule, evmForm.String(), eip55Rule, burnAddresses, lowerCase},
		{"hedera", hederaForm.String(), noRule, hederaForm.String(), noRule, []string{"0.0.0"}, asWritten},
		{"keeta", keetaForm.String(), noRule, keetaForm.String(), noRule, nil, asWritten},
		{"near", `(?i)` + either(evmForm, nearForm), "An account of 2 to 64 characters in lower case, or 0x and 40 " +
			"digits that are not zeros alone.", `(?i)` + either(evmForm, nearForm), "As of a recipient.", nil, lowerCase},
		{"solana", base58Form, "Base58 of exactly 32 bytes.", base58Form, "As of a recipient.", []string{solanaSystem},
			asWritten},
		{"stacks", stacksForm.String(), "The c32check of a version and 20 bytes: four bytes of a double SHA-256 of " +
			"both follow." + zeroRule, `^STX$|` + stacksAsset.String(), noRule, nil, asWritten},
		{"starknet", hexForm.String(), "Not zeros alone, which is a burn address.", hexForm.String(),
			"As of a recipient.", nil, lowerCase},
		{"stellar", stellarForm.String(), "A strkey in base32 that ends with the CRC-16/XMODEM of the bytes before, " +
			"low byte first." + zeroRule, `^C[A-D][A-Z2-7]{54}$`, "As of a recipient.", nil, asWritten},
		{"sui", hex32Form.String(), "Not zeros alone, which is a burn address.", moveTypeForm.String(), noRule, nil,
			"The digits in lower case."},
		{"tron", `^T[1-9A-HJ-NP-Za-km-z]{33}$`, "Written in " + base58check + ", with the version 65 and 20 bytes." +
			zeroRule, `^T[1-9A-HJ-NP-Za-km-z]{33}$`, "As of a recipient.", nil, asWritten},
		{"tvm", tonRawForm.String() + `|^[A-Za-z0-9+/_-]{48}$`, "The workchain and 64 digits, or base64 of 36 bytes: a " +
			"flag (17 or 81, plus 128 on test networks), the workchain, 32 bytes, and the CRC-16/XMODEM of what comes " +
			"before, high byte first.", `^native$|` + tonRawForm.String() + `|^[A-Za-z0-9+/_-]{48}$`,
			"As of a recipient.", nil, "The workchain, a colon and 64 digits in lower case."},
		{"xrpl", `^r[1-9A-HJ-NP-Za-km-z]{24,34}$`, "Written in " + base58check + ", with the alphabet of the XRP " +
			"Ledger, the version 0 and 20 bytes." + zeroRule, xrplCodeForm.String(), "XRP, or a currency code.", nil,
			asWritten},
		{"*", elsewhereForm.String(), "Without @, ://, quotation marks and angle brackets.", elsewhereForm.String(),
			"As of a recipient.", nil, asWritten},
	}
}
