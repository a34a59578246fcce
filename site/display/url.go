package display

import "strings"

// EndpointURL returns the URL of a path below a service's base URL, percent-encoded to ASCII without quotes.
func EndpointURL(base, path string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(path, "/")) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("'\"`\\<>^|", c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
