package x402

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A mark is a text that payers write into their payments, by which the payments of one protocol or facilitator are
// recognised where no account shows who settled them. Its normal form begins with the name of the field and a colon,
// so it is never an address.
//
//   - memo:0x and ten hexadecimal digits in lower case, on EVM networks: the first five bytes of the memo of a
//     transfer. All marks have this length, so that no memo has two.
//   - source_tag: and a number from 1 to 4294967295, on the XRP Ledger.
var (
	memoForm      = regexp.MustCompile(`^memo:0x[0-9a-f]{10}$`)
	sourceTagForm = regexp.MustCompile(`^source_tag:[1-9][0-9]{0,9}$`)
)

// IsMark reports whether a text is a mark of payments on a network.
func IsMark(networkCAIP2, text string) bool {
	switch AddressNamespace(networkCAIP2) {
	case "eip155":
		return memoForm.MatchString(text)
	case "xrpl":
		_, err := strconv.ParseUint(strings.TrimPrefix(text, "source_tag:"), 10, 32)
		return err == nil && sourceTagForm.MatchString(text)
	}
	return false
}

// issuedForm is an issued currency of the XRP Ledger: its code, a point and the issuer.
var issuedForm = regexp.MustCompile(`^([A-Za-z0-9?!@#$%^&*<>(){}\[\]|]{3}|[0-9A-F]{40})` +
	`\.(r[1-9A-HJ-NP-Za-km-z]{24,34})$`)

// CheckToken checks a token whose settlements are measured: an asset, as CheckAsset does. On the XRP Ledger, where
// anyone may issue a currency of any code, it is XRP or the code, a point and the issuer.
func CheckToken(networkCAIP2, text string) error {
	if AddressNamespace(networkCAIP2) != "xrpl" || text == "XRP" {
		return CheckAsset(networkCAIP2, text)
	}
	m := issuedForm.FindStringSubmatch(text)
	if m == nil || m[1] == "XRP" {
		return fmt.Errorf("check token %.80q on %s: want XRP, or a currency's code, a point and its issuer: %w", text,
			networkCAIP2, errShape)
	}
	return CheckAddress(networkCAIP2, m[2])
}

// CheckSettler checks what recognises the settlements of a facilitator: an address, as Check does, or a mark.
func CheckSettler(networkCAIP2, text string) error {
	if IsMark(networkCAIP2, text) {
		return nil
	}
	if AddressNamespace(networkCAIP2) == "xrpl" {
		return fmt.Errorf("check %.80q on %s: payers send their payments themselves, so no account can settle; want a "+
			"mark such as source_tag:804681468", text, networkCAIP2)
	}
	return CheckAddress(networkCAIP2, text)
}
