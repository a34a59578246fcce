package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// volatileExtra lists the members of extra that change with every response.
var volatileExtra = []string{"channelState", "voucherState", "nonce", "invoiceId", "expires", "expiresAt", "timestamp",
	"validUntil"}

// Fingerprint returns the SHA-256 of the version and the sorted set of rows.
func (e *envelope) Fingerprint() string {
	var lines []string
	for i := range e.Rows {
		r := &e.Rows[i]
		timeout := ""
		if r.Timeout != nil {
			timeout = strconv.Itoa(*r.Timeout)
		}
		extra := maps.Clone(r.extra)
		for _, name := range volatileExtra {
			delete(extra, name)
		}
		if extra == nil {
			extra = object{}
		}
		line, _ := json.Marshal([]string{ // with <, > and & as \u003c, \u003e and \u0026; cannot fail for strings
			r.Scheme, r.networkKey(), r.AssetNorm(), r.amountKey(), r.payToNorm(), timeout, string(marshal(extra)),
		})
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	text := fmt.Sprintf("x402/%d\n%s\n", e.Version, strings.Join(slices.Compact(lines), "\n"))
	if len(lines) == 0 {
		text = fmt.Sprintf("x402/%d\n", e.Version)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
