// This part of the package knows how networks write addresses: the form of a recipient and of an asset, their
// checksums, the addresses from which nobody can spend, and a form in which equal addresses are equal texts. It is
// pure, and knows no response, requirement or rule.

package x402

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/crypto/sha3"
)

// The errors of Check and CheckAsset wrap one of these.
var (
	errShape    = errors.New("not an address of this network")
	errChecksum = errors.New("checksum does not match")
	ErrBurn     = errors.New("a burn address: nobody can spend from it")
)

// maxAddress is the largest length of an address in bytes. The longest form is a Lightning invoice.
const maxAddress = 1024

// CheckAddress checks that a recipient has the shape of its network's addresses and a matching checksum, and that
// somebody can spend from it. A contract is a valid recipient. For an unknown namespace it accepts any word that is
// neither a URL nor an e-mail address.
func CheckAddress(networkCAIP2, address string) error {
	return check("address", networkCAIP2, address, recipientFault)
}

// CheckAsset checks an asset in the same way. On many networks assets have a shape of their own.
func CheckAsset(networkCAIP2, asset string) error {
	return check("asset", networkCAIP2, asset, assetFault)
}

func check(what, network, text string, fault func(network, text string) error) error {
	if text == "" || len(text) > maxAddress {
		return fmt.Errorf("check %s of %d bytes on %s: %w", what, len(text), network, errShape)
	}
	if err := fault(network, text); err != nil {
		return fmt.Errorf("check %s %.80q on %s: %w", what, text, network, err)
	}
	return nil
}

func recipientFault(network, text string) error {
	f := formOf(network)
	switch {
	case f.isBurn(network, text):
		return ErrBurn
	case !f.recipient.MatchString(text):
		return errShape
	case f.fault == nil:
		return nil
	}
	return f.fault(network, text)
}

// assetFault checks the further rule only of assets that are written like recipients.
func assetFault(network, text string) error {
	f := formOf(network)
	switch {
	case !f.asset.MatchString(text):
		return errShape
	case f.fault == nil || !f.recipient.MatchString(text):
		return nil
	}
	return f.fault(network, text)
}

// AddressNamespace returns the part of a CAIP-2 id before the colon.
func AddressNamespace(network string) string {
	namespace, _, _ := strings.Cut(network, ":")
	return namespace
}

// NormalizeAddress returns an address in a form in which equal addresses of a network are equal texts: in lower case if
// the network ignores case, else as written. It returns a text that is not an address of its network unchanged.
func NormalizeAddress(networkCAIP2, address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress {
		return address
	}
	switch AddressNamespace(networkCAIP2) {
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

// SpellAddress returns an address in the spelling in which it is published: an EVM address with the checksum of
// EIP-55, any other address as it is. An EVM address in mixed case whose checksum is wrong stays as it is, because
// nobody knows which address was meant.
func SpellAddress(networkCAIP2, address string) string {
	isEVM := AddressNamespace(networkCAIP2) == "eip155" && evmForm.MatchString(address)
	if !isEVM || evmAddress(networkCAIP2, address) != nil {
		return address
	}
	return "0x" + eip55(address[2:])
}

// evmAddress checks the EIP-55 checksum of mixed case. Text all in lower or all in upper case has no checksum.
func evmAddress(_, s string) error {
	digits := s[2:]
	if !strings.ContainsAny(digits, "ABCDEF") || !strings.ContainsAny(digits, "abcdef") || digits == eip55(digits) {
		return nil
	}
	return errChecksum
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

var (
	evmForm    = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	hexForm    = regexp.MustCompile(`^0x[0-9a-fA-F]{1,64}$`)
	casperForm = regexp.MustCompile(`^(0[01][0-9a-fA-F]{64}|02[0-9a-fA-F]{66}|[0-9a-fA-F]{64})$`)
	tonRawForm = regexp.MustCompile(`^-?[0-9]{1,10}:[0-9a-fA-F]{64}$`)
)

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
