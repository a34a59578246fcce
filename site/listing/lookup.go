// This file normalises the URL of an endpoint, so that a look-up finds it in whatever form it was written. It must
// never know what a look-up finds.

package listing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errURL = errors.New("not an http address")

// NormalURL returns the normal form of an endpoint's URL, whatever the endpoint's method. An error says why address is
// not an http or https URL.
//
//  1. The scheme is http or https, in lower case.
//  2. User and password before an @ are dropped.
//  3. The host is in the form of NormalHost: in lower case, without a dot at the end, and other letters than those of
//     ASCII in the form of the DNS (xn--…).
//  4. The port has no leading zeros. It is dropped if it is the scheme's default (80, 443) or empty.
//  5. Query and fragment are dropped, with ? and #.
//  6. In the path, %XX of a letter, a digit, or one of - . _ ~ becomes that character. Any other %XX gets capital
//     digits. A byte that is not allowed in a path becomes %XX, and so does a % without two hex digits.
//     Allowed are letters, digits and - . _ ~ ! $ & ' ( ) * + , ; = : @ /
//  7. Then the segments . and .. are removed as in RFC 3986 §5.2.4. An empty path becomes /. Nothing else changes: a
//     slash at the end and empty segments stay.
func NormalURL(address string) (string, error) {
	a, ok := splitAddress(address)
	if !ok {
		return "", fmt.Errorf("%w: %.60q", errURL, address)
	}
	origin, err := a.origin()
	if err != nil {
		return "", fmt.Errorf("%w: %w: %.60q", errURL, err, address)
	}
	path := a.rest
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return origin + removeDots(escapePath(path)), nil
}

const capitalHex = "0123456789ABCDEF"

// escapePath returns a path with each byte in its normal form, as in step 6 of NormalURL.
func escapePath(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if v, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				if i += 2; isUnreserved(byte(v)) {
					b.WriteByte(byte(v))
					continue
				}
				b.WriteByte('%')
				b.WriteByte(capitalHex[v>>4])
				b.WriteByte(capitalHex[v&15])
				continue
			}
		}
		if isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(capitalHex[c>>4])
		b.WriteByte(capitalHex[c&15])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}

// removeDots removes the segments . and .. from a path that is empty or begins with a slash.
func removeDots(path string) string {
	if path == "" {
		return "/"
	}
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, s)
			last = false
		}
		if last { // RFC 3986 keeps the slash before a last segment of dots
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}

// lower returns s with the letters A to Z in lower case. Other letters stay, unlike with strings.ToLower.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
