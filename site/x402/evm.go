package x402

import (
	"encoding/hex"
	"regexp"
	"strings"

	"golang.org/x/crypto/sha3"
)

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
	for _, burn := range []string{"0x0000000000000000000000000000000000000000",
		"0x000000000000000000000000000000000000dead"} {
		if strings.EqualFold(s, burn) {
			return ErrBurn
		}
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
