// Package lookup writes the address of an endpoint in the one form by which look-ups find it. It must never know what
// is looked up.
package lookup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errAddress = errors.New("not an http address")

// NormalAddress is the normal form of the address of an endpoint, whatever its method:
//
//  1. The scheme is http or https, in lower case.
//  2. User and password before an @ are dropped.
//  3. The host is in lower case; a name with other than ASCII letters must be given as it travels (xn--…).
//  4. The port has no leading zeros, and is dropped where it is the scheme's own (80, 443) or empty.
//  5. Query and fragment are dropped, with ? and #.
//  6. In the path, %XX of a letter, a digit, or one of - . _ ~ is that character; any other %XX has its digits in capitals.
//     A byte that may not stand in a path, a % without two hex digits too, is written %XX. What may: letters, digits and
//     - . _ ~ ! $ & ' ( ) * + , ; = : @ /
//  7. Then segments . and .. are taken out as RFC 3986 §5.2.4 says. An empty path is /. Nothing else changes: a slash at the end
//     and empty segments stay.
func NormalURL(address string) (string, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	scheme = lower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("%w: %.60q", errAddress, address)
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	host, port, err := hostPort(lower(authority))
	if err != nil {
		return "", fmt.Errorf("%w: %w: %.60q", errAddress, err, address)
	}
	if port != "" && !(scheme == "http" && port == "80") && !(scheme == "https" && port == "443") {
		host += ":" + port
	}
	return scheme + "://" + host + withoutDots(escapedPath(path)), nil
}

// hostPort parts a name, or an IPv6 address in brackets, from its port.
func hostPort(authority string) (host, port string, err error) {
	host, port = authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	name, allowed := host, "abcdefghijklmnopqrstuvwxyz0123456789-._"
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name, allowed = host[1:len(host)-1], "0123456789abcdef:."
	}
	if name == "" || strings.Trim(name, allowed) != "" {
		return "", "", errors.New("its host is no name")
	}
	if port == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", "", errors.New("its port is no number to 65535")
	}
	return host, strconv.FormatUint(n, 10), nil
}

const capitalHex = "0123456789ABCDEF"

// escapedPath writes each byte of a path in the one way.
func escapedPath(path string) string {
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

// withoutDots takes the segments . and .. out of a path that is empty or begins with a slash.
func withoutDots(path string) string {
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
		if last { // a dot at the end leaves its slash
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}

// lower puts the letters A to Z into lower case.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
