package x402

import (
	"regexp"
	"strings"
)

var (
	evmForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	hexForm = regexp.MustCompile(`^0x[0-9a-fA-F]{1,64}$`)
)

// NormalizeAddress returns an address in the one form in which two of its network compare equal: lower case where the
// network does not tell cases apart, otherwise as written. Text that is no address of its network stays as it is.
func NormalizeAddress(networkCAIP2, address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxScalar {
		return address
	}
	switch namespace(networkCAIP2) {
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
	case "near", "casper":
		return strings.ToLower(address)
	case "tvm":
		if raw, ok := rawTON(address); ok {
			return raw
		}
	}
	return address
}
