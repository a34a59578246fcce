// Package address knows how networks write addresses: the form of a recipient and of an asset, their checksums, the
// addresses from which nobody can spend, and a form in which equal addresses are equal texts. It is pure, and knows no
// response, requirement or rule.
package address

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/sha3"
)

// The errors of Check and CheckAsset wrap one of these.
var (
	ErrShape    = errors.New("not an address of this network")
	ErrChecksum = errors.New("checksum does not match")
	ErrBurn     = errors.New("a burn address: nobody can spend from it")
)

// Forms that more than one rule needs. Callers limit the length of a text before they match it.
var (
	hexForm      = regexp.MustCompile(`^0x[0-9a-fA-F]{1,64}$`)
	hex32Form    = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
	moveTypeForm = regexp.MustCompile(`^0x[0-9a-fA-F]{1,64}::[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*$`)
	nearForm     = regexp.MustCompile(`^(([a-z\d]+[-_])*[a-z\d]+\.)*([a-z\d]+[-_])*[a-z\d]+$`)
	hederaForm   = regexp.MustCompile(`^\d{1,20}\.\d{1,20}\.\d{1,20}$`)
	casperForm   = regexp.MustCompile(`^(0[01][0-9a-fA-F]{64}|02[0-9a-fA-F]{66}|[0-9a-fA-F]{64})$`)
	packageForm  = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	keetaForm    = regexp.MustCompile(`^keeta_[a-z2-7]{50,80}$`)
	asaForm      = regexp.MustCompile(`^[0-9]{1,20}$`)
	xrplCodeForm = regexp.MustCompile(`^([A-Za-z0-9?!@#$%^&*<>(){}\[\]|]{3}|[0-9a-fA-F]{40})$`)
	cosmosDenom  = regexp.MustCompile(`^(u[a-z]{2,20}|ibc/[0-9A-Fa-f]{64}|factory/[a-z0-9]{10,90}/[A-Za-z0-9./` +
		`_-]{1,128})$`)
	cardanoAsset = regexp.MustCompile(`^[0-9a-f]{56}\.?[0-9a-f]{0,64}$`)
	stacksAsset  = regexp.MustCompile(`^(S[PMTN][0-9A-Z]{38,40})\.[a-zA-Z][a-zA-Z0-9-]{0,` +
		`127}(::[a-zA-Z][a-zA-Z0-9-]{0,127})?$`)
	iso4217Form   = regexp.MustCompile(`^[A-Z]{3}$`)
	ccdTokenForm  = regexp.MustCompile(`^[A-Za-z0-9.%-]{1,128}$`)
	elsewhereForm = regexp.MustCompile(`^[!-~]{1,256}$`)
)

// maxAddress is the largest length of an address in bytes. The longest form is a Lightning invoice.
const maxAddress = 1024

// Check checks that a recipient has the shape of its network's addresses and a matching checksum, and that
// somebody can spend from it. A contract is a valid recipient. For an unknown namespace it accepts any word that is
// neither a URL nor an e-mail address.
func Check(networkCAIP2, address string) error {
	return check("address", networkCAIP2, address, recipientShape)
}

// CheckAsset checks an asset in the same way. On many networks assets have a shape of their own.
func CheckAsset(networkCAIP2, asset string) error {
	return check("asset", networkCAIP2, asset, assetShape)
}

func check(what, network, text string, shape func(network, text string) error) error {
	if text == "" || len(text) > maxAddress {
		return fmt.Errorf("check %s of %d bytes on %s: %w", what, len(text), network, ErrShape)
	}
	if err := shape(network, text); err != nil {
		return fmt.Errorf("check %s %.80q on %s: %w", what, text, network, err)
	}
	return nil
}

func recipientShape(network, s string) error {
	switch Namespace(network) {
	case "eip155":
		return evmRecipient(s)
	case "solana":
		return solanaRecipient(s)
	case "aptos", "starknet":
		return nonZeroHex(s, hexForm)
	case "sui":
		return nonZeroHex(s, hex32Form)
	case "stellar":
		return stellarAddress(s)
	case "algorand":
		return algorandAddress(s)
	case "near":
		return nearAccount(s)
	case "hedera":
		if s == "0.0.0" {
			return ErrBurn
		}
		return matches(hederaForm, s)
	case "xrpl":
		return xrplAddress(s)
	case "tvm":
		if _, ok := rawTON(s); !ok {
			return ErrShape
		}
		return nil
	case "tron":
		return tronAddress(s)
	case "cosmos":
		return cosmosAddress(network, s)
	case "cardano":
		return cardanoAddress(network, s)
	case "casper":
		return matches(casperForm, s)
	case "ccd":
		return concordiumAddress(s)
	case "keeta":
		return matches(keetaForm, s)
	case "stacks":
		return stacksAddress(s)
	case "bip122":
		return bitcoinAddress(s)
	case "cloudflare":
		return oneOf(s, "merchant")
	}
	return unknownWord(s)
}

func assetShape(network, s string) error {
	switch Namespace(network) {
	case "eip155":
		return evmAddress(s)
	case "stellar":
		if !strings.HasPrefix(s, "C") {
			return ErrShape
		}
		return stellarAddress(s)
	case "algorand":
		return matches(asaForm, s)
	case "sui":
		return matches(moveTypeForm, s)
	case "aptos":
		if moveTypeForm.MatchString(s) { // a token of Move's older coin standard
			return nil
		}
	case "hedera":
		return matches(hederaForm, s)
	case "xrpl":
		return matches(xrplCodeForm, s)
	case "tvm":
		if s == "native" {
			return nil
		}
	case "cosmos":
		return matches(cosmosDenom, s)
	case "cardano":
		if s == "lovelace" {
			return nil
		}
		return matches(cardanoAsset, s)
	case "casper":
		return matches(packageForm, s)
	case "ccd":
		return matches(ccdTokenForm, s)
	case "stacks":
		if s == "STX" {
			return nil
		}
		return matches(stacksAsset, s)
	case "bip122":
		return oneOf(s, "BTC", "sats")
	case "cloudflare":
		return matches(iso4217Form, s)
	}
	return recipientShape(network, s)
}

// Namespace returns the part of a CAIP-2 id before the colon.
func Namespace(network string) string {
	namespace, _, _ := strings.Cut(network, ":")
	return namespace
}

func matches(form *regexp.Regexp, s string) error {
	if !form.MatchString(s) {
		return ErrShape
	}
	return nil
}

func oneOf(s string, words ...string) error {
	if !slices.Contains(words, s) {
		return ErrShape
	}
	return nil
}

// nonZeroHex accepts hex of a form that is not all zeros.
func nonZeroHex(s string, form *regexp.Regexp) error {
	if !form.MatchString(s) {
		return ErrShape
	}
	if strings.Trim(s[2:], "0") == "" {
		return ErrBurn
	}
	return nil
}

// unknownWord accepts a text that may be an address on an unknown chain.
func unknownWord(s string) error {
	if !elsewhereForm.MatchString(s) || strings.Contains(s, "@") || strings.Contains(s, "://") ||
		strings.ContainsAny(s, `"'<>`) {
		return ErrShape
	}
	return nil
}

// Normalize returns an address in a form in which equal addresses of a network are equal texts: in lower case if
// the network ignores case, else as written. It returns a text that is not an address of its network unchanged.
func Normalize(networkCAIP2, address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress {
		return address
	}
	switch Namespace(networkCAIP2) {
	case "eip155":
		if evmForm.MatchString(address) {
			return strings.ToLower(address)
		}
	case "aptos":
		if hexForm.MatchString(address) {
			return "0x" + strings.Repeat("0", 66-len(address)) + strings.ToLower(address[2:])
		}
	case "sui":
		hex, rest, _ := strings.Cut(address, "::")
		if hexForm.MatchString(hex) {
			if rest != "" {
				rest = "::" + rest
			}
			return strings.ToLower(hex) + rest
		}
	case "starknet":
		if hexForm.MatchString(address) {
			return strings.ToLower(address)
		}
	case "near":
		return strings.ToLower(address)
	case "casper":
		if casperForm.MatchString(address) {
			return strings.ToLower(address)
		}
	case "tvm":
		if raw, ok := rawTON(address); ok {
			return raw
		}
	}
	return address
}

// evmForm is 0x and 40 hex digits of any case.
var evmForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// evmAddress checks shape and, for mixed case, the EIP-55 checksum. Text all in lower or all in upper case carries
// none.
func evmAddress(s string) error {
	if !evmForm.MatchString(s) {
		return ErrShape
	}
	digits := s[2:]
	if !strings.ContainsAny(digits, "ABCDEF") || !strings.ContainsAny(digits, "abcdef") || digits == eip55(digits) {
		return nil
	}
	return ErrChecksum
}

func evmRecipient(s string) error {
	if slices.Contains(burnAddresses, strings.ToLower(s)) {
		return ErrBurn
	}
	return evmAddress(s)
}

// eip55 writes 40 hex digits in the case that EIP-55 gives them: a letter is upper case where the same digit of the
// Keccak-256 of the lower-case text is 8 or more.
func eip55(digits string) string {
	lower := strings.ToLower(digits)
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(lower))
	sum := hex.EncodeToString(h.Sum(nil))
	out := []byte(lower)
	for i, c := range out {
		if c >= 'a' && sum[i] >= '8' {
			out[i] = c - 'a' + 'A'
		}
	}
	return string(out)
}

var tonRawForm = regexp.MustCompile(`^-?[0-9]{1,10}:[0-9a-fA-F]{64}$`)

// rawTON returns the raw form "workchain:hash" of a TON address in either of its forms. The friendly form is base64 of
// a flag byte, the workchain, 32 bytes of hash and a CRC16 of what comes before.
func rawTON(address string) (raw string, ok bool) {
	if tonRawForm.MatchString(address) {
		return strings.ToLower(address), true
	}
	if len(address) != 48 {
		return "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(address))
	if err != nil || len(b) != 36 {
		return "", false
	}
	if flags := b[0] &^ 0x80; flags != 0x11 && flags != 0x51 {
		return "", false
	}
	if sum := crc16(b[:34]); b[34] != byte(sum>>8) || b[35] != byte(sum) {
		return "", false
	}
	return strconv.Itoa(int(int8(b[1]))) + ":" + hex.EncodeToString(b[2:34]), true
}

// crc16 returns the CRC-16/XMODEM of data, which ends TON and Stellar addresses.
func crc16(data []byte) uint16 {
	var crc uint16
	for _, c := range data {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
