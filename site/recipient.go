package site

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Hash returns the SHA-256 of a normal form, in hexadecimal.
func Hash(normal string) string {
	sum := sha256.Sum256([]byte(normal))
	return hex.EncodeToString(sum[:])
}

// NormalRecipient returns the normal form of a recipient: the network's CAIP-2 id, a slash and the address, with the
// letters A to Z in lower case. Most networks allow several spellings of one address. On networks where case matters,
// no two addresses are known that differ only in case; finding a pair is harder than forging a signature.
func NormalRecipient(caip2, address string) string { return LowerASCII(caip2 + "/" + address) }

// LowerASCII converts the letters A to Z to lower case.
func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// NormalAddress returns the form in which addresses of recipients are compared without their network: hexadecimal
// digits after 0x in lower case, anything else as it is.
func NormalAddress(address string) string {
	if digits, ok := strings.CutPrefix(address, "0x"); ok && strings.Trim(digits, "0123456789abcdefABCDEF") == "" {
		return LowerASCII(address)
	}
	return address
}
