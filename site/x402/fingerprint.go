package x402

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// volatileExtra lists members of extra that differ in every response: channel state, nonces and identifiers of a single
// invoice. A change in them is not a change of terms.
var volatileExtra = []string{"channelState", "voucherState", "nonce", "invoiceId", "expires", "expiresAt", "timestamp",
	"validUntil"}

// VolatileExtra returns the names of the members of extra that a fingerprint leaves out.
func VolatileExtra() []string { return slices.Clone(volatileExtra) }

// Fingerprint returns an identifier of an envelope's terms: the SHA-256, in hex, of the version and the set of rows in
// normalised form. It does not depend on the order of rows, repeated rows, the channel, the error text, the resource's
// description, extensions, or members of extra that change with every response.
func (e Envelope) Fingerprint() string {
	lines := make([]string, 0, len(e.Accepts))
	for _, r := range e.Accepts {
		timeout := ""
		if r.MaxTimeoutSeconds != nil {
			timeout = strconv.Itoa(*r.MaxTimeoutSeconds)
		}
		line, _ := json.Marshal([]string{r.Scheme, r.networkKey(), r.AssetNorm, r.amountKey(), r.PayToNorm, timeout,
			string(r.StableExtra())})
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	h := sha256.New()
	h.Write([]byte("x402/" + strconv.Itoa(e.Version) + "\n"))
	for _, line := range slices.Compact(lines) {
		h.Write([]byte(line + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// StableExtra returns extra in the form of canonical, without the members that change with every response. It returns
// "{}" if nothing is left.
func (r Requirement) StableExtra() json.RawMessage {
	list := slices.DeleteFunc(r.extra(), func(m member) bool { return slices.Contains(volatileExtra, m.Key) })
	var b bytes.Buffer
	writeObject(&b, list)
	return b.Bytes()
}

// canonical returns valid JSON in a form in which equal values are equal texts, and which every database accepts. Keys
// are sorted and unique, invalid UTF-8 and NUL become U+FFFD, huge numbers become strings, and lists are cut at
// maxMembers.
func canonical(b *bytes.Buffer, raw json.RawMessage) {
	if list, ok := members(raw); ok {
		writeObject(b, list)
		return
	}
	if list, _, ok := elements(raw, maxMembers); ok {
		b.WriteByte('[')
		for i, value := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			canonical(b, value)
		}
		b.WriteByte(']')
		return
	}
	if text, ok := stringValue(raw); ok {
		writeString(b, text)
		return
	}
	if kind(raw) == '0' && numberText(raw) == "" {
		writeString(b, cut(string(raw), maxScalar))
		return
	}
	b.Write(bytes.TrimSpace(raw))
}

func writeObject(b *bytes.Buffer, list []member) {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y member) int { return cmp.Compare(x.Key, y.Key) })
	b.WriteByte('{')
	first := true
	for i, m := range sorted {
		if i+1 < len(sorted) && sorted[i+1].Key == m.Key {
			continue // the last of repeated keys counts
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		writeString(b, m.Key)
		b.WriteByte(':')
		canonical(b, m.Value)
	}
	b.WriteByte('}')
}

// writeString writes a JSON string without HTML escapes.
func writeString(b *bytes.Buffer, s string) {
	if isPrinted(s) && !strings.ContainsAny(s, `"\`) {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)   // cannot fail: a string into a bytes.Buffer
	b.Truncate(b.Len() - 1) // the encoder's line break
}
