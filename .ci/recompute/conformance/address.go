package conformance

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
	FaultBurn     addressFault = "nobody can spend from this address"
)

// maxAddress is the longest address in bytes.
const maxAddress = 1024

// byteRules say for each namespace what the published pattern does not: what the bytes of an address must be. They get
// the reference of the network and a text that matches the pattern.
var byteRules = map[string]func(reference, text string) addressFault{
	"eip155": checkEVM, "solana": checkSolana, "aptos": checkNotZeroHex, "starknet": checkNotZeroHex,
	"sui": checkNotZeroHex, "stellar": checkStellar, "algorand": checkAlgorand, "near": checkNEAR, "xrpl": checkXRPL,
	"tvm": checkTON, "tron": checkTRON, "cosmos": checkCosmos, "cardano": checkCardano, "ccd": checkConcordium,
	"stacks": checkStacks, "bip122": checkBitcoin, "*": checkWord,
}

// ownAssets are the namespaces whose assets are no accounts, so that their pattern says all.
var ownAssets = []string{"algorand", "sui", "hedera", "xrpl", "cosmos", "cardano", "casper", "ccd", "stacks", "bip122",
	"cloudflare"}

// formOf returns the published form of a network's addresses and its name in byteRules.
func formOf(network string) (addressForm, string) {
	namespace := NamespaceOf(network)
	if form, ok := Tables.addresses[namespace]; ok {
		return form, namespace
	}
	return Tables.addresses["*"], "*"
}

// CheckAccount returns the fault of a recipient's address on a network.
func CheckAccount(network, text string) addressFault {
	form, namespace := formOf(network)
	if form.burned[NormalAddress(network, text)] {
		return FaultBurn
	}
	return checkForm(form.recipient, namespace, network, text)
}

// checkAsset returns the fault of an asset's address on a network. An asset may be an address that nobody owns.
func checkAsset(network, text string) addressFault {
	form, namespace := formOf(network)
	isType := strings.Contains(text, "::") || text == "native"
	if slices.Contains(ownAssets, namespace) || isType && namespace != "*" {
		namespace = ""
	}
	return checkForm(form.asset, namespace, network, text)
}

func checkForm(form *regexp.Regexp, namespace, network, text string) addressFault {
	if form == nil || len(text) > maxAddress || !form.MatchString(text) {
		return faultShape
	}
	if rule := byteRules[namespace]; rule != nil {
		_, reference, _ := strings.Cut(network, ":")
		return rule(reference, text)
	}
	return ""
}

// checkWord checks an address on an unknown network.
func checkWord(_, text string) addressFault {
	if strings.Contains(text, "://") || strings.ContainsAny(text, `@"'<>`) {
		return faultShape
	}
	return ""
}

const hex40 = `0x[0-9a-fA-F]{40}`

// compiled keeps each regular expression once.
var compiled = map[string]*regexp.Regexp{}

func matchesWhole(form, text string) bool {
	if compiled[form] == nil {
		compiled[form] = regexp.MustCompile(`^(?:` + form + `)$`)
	}
	return compiled[form].MatchString(text)
}

func NamespaceOf(network string) string {
	namespace, _, _ := strings.Cut(network, ":")
	return namespace
}

// NormalAddress returns an address in a form in which two spellings of one address are equal.
func NormalAddress(network, text string) string {
	text = strings.TrimSpace(text)
	switch NamespaceOf(network) {
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
		if form, _ := formOf(network); form.recipient != nil && form.recipient.MatchString(text) {
			return strings.ToLower(text)
		}
	case "tvm":
		if raw, ok := rawTON(text); ok {
			return raw
		}
	}
	return text
}

// PublishedAddress returns an address as it is published: on EVM networks with the checksum of EIP-55, unless the text
// is in mixed case with a wrong checksum.
func PublishedAddress(network, text string) string {
	if NamespaceOf(network) == "eip155" && matchesWhole(hex40, text) && checkEVM("", text) == "" {
		return "0x" + eip55(text[2:])
	}
	return text
}

// checkEVM checks the checksum of EIP-55, which only a text in mixed case has.
func checkEVM(_, text string) addressFault {
	digits := text[2:]
	if digits == strings.ToLower(digits) || digits == strings.ToUpper(digits) || digits == eip55(digits) {
		return ""
	}
	return faultChecksum
}

func checkNotZeroHex(_, text string) addressFault {
	if strings.Trim(text[2:], "0") == "" {
		return FaultBurn
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
