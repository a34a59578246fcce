package main

import (
	"regexp"
	"slices"
	"strings"
)

// addressFault says why a text is not the address of a recipient or of an asset. The empty fault means that it is one.
type addressFault string

const (
	faultShape    addressFault = "not an address of this network"
	faultChecksum addressFault = "the checksum does not match"
	faultBurn     addressFault = "nobody can spend from this address"
)

// maxAddress is the longest address in bytes.
const maxAddress = 1024

// addressRule says how one namespace of CAIP-2 writes addresses: the form of the text, then what its bytes must be.
type addressRule struct {
	form  string // a regular expression of the whole text
	bytes func(reference, text string) addressFault
}

// unknownForm is the form of addresses in every other namespace: a word that is neither a URL nor an e-mail address.
const unknownForm = `[!#-&(-;=?A-~]{1,256}`

const hex40, hex64 = `0x[0-9a-fA-F]{40}`, `0x[0-9a-fA-F]{64}`

// accountRules contains the addresses that can receive a payment.
var accountRules = map[string]addressRule{
	"eip155":     {hex40, checkEVM},
	"solana":     {`[1-9A-HJ-NP-Za-km-z]{32,44}`, checkSolana},
	"aptos":      {`0x[0-9a-fA-F]{1,64}`, checkNotZeroHex},
	"starknet":   {`0x[0-9a-fA-F]{1,64}`, checkNotZeroHex},
	"sui":        {hex64, checkNotZeroHex},
	"stellar":    {`[GC][A-D][A-Z2-7]{54}|M[A-D][A-Z2-7]{67}`, checkStellar},
	"algorand":   {`[A-Z2-7]{58}`, checkAlgorand},
	"near":       {`(?i)(([a-z\d]+[-_])*[a-z\d]+\.)*([a-z\d]+[-_])*[a-z\d]+`, checkNEAR},
	"hedera":     {`\d{1,20}\.\d{1,20}\.\d{1,20}`, checkHedera},
	"xrpl":       {`r[1-9A-HJ-NP-Za-km-z]{24,34}`, checkXRPL},
	"tvm":        {`-?[0-9]{1,10}:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{48}`, checkTON},
	"tron":       {`T[1-9A-HJ-NP-Za-km-z]{33}`, checkTRON},
	"cosmos":     {`[a-z0-9]{1,90}`, checkCosmos},
	"cardano":    {`addr(_test)?1[a-z0-9]{1,110}`, checkCardano},
	"casper":     {`0[01][0-9a-fA-F]{64}|02[0-9a-fA-F]{66}|[0-9a-fA-F]{64}`, nil},
	"ccd":        {`[1-9A-HJ-NP-Za-km-z]{45,55}`, checkConcordium},
	"keeta":      {`keeta_[a-z2-7]{50,80}`, nil},
	"stacks":     {`S[PMTN][0-9A-HJKMNP-TV-Z]{38,40}`, checkStacks},
	"bip122":     {`[A-Za-z0-9]+`, checkBitcoin},
	"cloudflare": {`merchant`, nil},
}

// assetRules contains the namespaces that write an asset in another way than an account. The account's rule applies to
// all others, without burn addresses.
var assetRules = map[string]addressRule{
	"stellar":  {`C[A-D][A-Z2-7]{54}`, checkStellar},
	"algorand": {`[0-9]{1,20}`, nil},
	"sui":      {moveType, nil},
	"hedera":   {`\d{1,20}\.\d{1,20}\.\d{1,20}`, nil},
	"xrpl":     {`[A-Za-z0-9?!@#$%^&*<>(){}\[\]|]{3}|[0-9a-fA-F]{40}`, nil},
	"cosmos":   {`u[a-z]{2,20}|ibc/[0-9A-Fa-f]{64}|factory/[a-z0-9]{10,90}/[A-Za-z0-9./_-]{1,128}`, nil},
	"cardano":  {`lovelace|[0-9a-f]{56}\.?[0-9a-f]{0,64}`, nil},
	"casper":   {`[0-9a-fA-F]{64}`, nil},
	"ccd":      {`[A-Za-z0-9.%-]{1,128}`, nil},
	"stacks": {`STX|S[PMTN][0-9A-Z]{38,40}\.[a-zA-Z][a-zA-Z0-9-]{0,127}(::[a-zA-Z][a-zA-Z0-9-]{0,127})?`,
		nil},
	"bip122":     {`BTC|sats`, nil},
	"cloudflare": {`[A-Z]{3}`, nil},
}

const moveType = `0x[0-9a-fA-F]{1,64}::[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*`

// checkAccount returns the fault of a recipient's address on a network.
func checkAccount(network, text string) addressFault {
	rule, ok := accountRules[namespaceOf(network)]
	if !ok {
		rule = addressRule{form: unknownForm}
	}
	return rule.check(network, text)
}

// checkAsset returns the fault of an asset's address on a network. An asset may be what no recipient may be.
func checkAsset(network, text string) addressFault {
	namespace := namespaceOf(network)
	if rule, ok := assetRules[namespace]; ok {
		return rule.check(network, text)
	}
	if namespace == "aptos" && matchesWhole(moveType, text) || namespace == "tvm" && text == "native" {
		return ""
	}
	fault := checkAccount(network, text)
	if fault == faultBurn && namespace == "eip155" {
		return ""
	}
	return fault
}

func (r addressRule) check(network, text string) addressFault {
	switch {
	case len(text) > maxAddress || !matchesWhole(r.form, text) || strings.Contains(text, "://"):
		return faultShape
	case r.bytes != nil:
		_, reference, _ := strings.Cut(network, ":")
		return r.bytes(reference, text)
	}
	return ""
}

// compiled keeps each regular expression once.
var compiled = map[string]*regexp.Regexp{}

func matchesWhole(form, text string) bool {
	if compiled[form] == nil {
		compiled[form] = regexp.MustCompile(`^(?:` + form + `)$`)
	}
	return compiled[form].MatchString(text)
}

func namespaceOf(network string) string {
	namespace, _, _ := strings.Cut(network, ":")
	return namespace
}

// normalAddress returns an address in a form in which two spellings of one address are equal.
func normalAddress(network, text string) string {
	text = strings.TrimSpace(text)
	switch namespaceOf(network) {
	case "eip155":
		if matchesWhole(hex40, text) {
			return strings.ToLower(text)
		}
	case "starknet":
		if matchesWhole(`0x[0-9a-fA-F]{1,64}`, text) {
			return strings.ToLower(text)
		}
	case "aptos":
		if matchesWhole(`0x[0-9a-fA-F]{1,64}`, text) {
			return "0x" + strings.Repeat("0", 66-len(text)) + strings.ToLower(text[2:])
		}
	case "sui":
		if digits, _, _ := strings.Cut(text, "::"); matchesWhole(`0x[0-9a-fA-F]{1,64}`, digits) {
			return strings.ToLower(digits) + text[len(digits):]
		}
	case "near":
		return strings.ToLower(text)
	case "casper":
		if matchesWhole(accountRules["casper"].form, text) {
			return strings.ToLower(text)
		}
	case "tvm":
		if raw, ok := rawTON(text); ok {
			return raw
		}
	}
	return text
}

// burnEVM lists the accounts on EVM chains from which nobody can spend.
var burnEVM = []string{"0x0000000000000000000000000000000000000000", "0x000000000000000000000000000000000000dead"}

// checkEVM checks for burn addresses and for the checksum of EIP-55, which only a text in mixed case has.
func checkEVM(_, text string) addressFault {
	digits := text[2:]
	switch {
	case slices.Contains(burnEVM, strings.ToLower(text)):
		return faultBurn
	case digits == strings.ToLower(digits), digits == strings.ToUpper(digits), digits == eip55(digits):
		return ""
	}
	return faultChecksum
}

func checkNotZeroHex(_, text string) addressFault {
	if strings.Trim(text[2:], "0") == "" {
		return faultBurn
	}
	return ""
}

func checkHedera(_, text string) addressFault {
	if text == "0.0.0" {
		return faultBurn
	}
	return ""
}

func checkNEAR(_, text string) addressFault {
	switch {
	case matchesWhole(hex40, text):
		return checkNotZeroHex("", text)
	case len(text) < 2 || len(text) > 64:
		return faultShape
	}
	return ""
}
