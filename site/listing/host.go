// This file brings a host into one form, however it was written. It must never know which hosts may be visited.

package listing

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// nameProfile maps international names to DNS names. Real host names contain underscores and doubled hyphens, so isName
// has the strict rules instead of this profile.
var nameProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.CheckHyphens(false),
	idna.StrictDomainName(false), idna.VerifyDNSLength(false))

var (
	errHost = errors.New("its host is no name and no address")
	errPort = errors.New("its port is no number to 65535")
)

// NormalHost returns the one form of a host, which is compared, stored, resolved and sent. Every address that somebody
// wrote comes through it:
//
//  1. %XX is decoded.
//  2. A name with letters outside ASCII gets the form of the DNS (xn--…), by UTS 46 without transitional mapping.
//  3. Letters are in lower case, and a dot at the end is dropped.
//  4. A name whose last label is a number is an IPv4 address, as browsers read it (WHATWG URL, "IPv4 parser"): 127.1,
//     0x7f.0.0.1 and 2130706433 are 127.0.0.1. A number with a zero before it is an error, because programs disagree
//     on whether it is octal.
//  5. An IPv6 address is in the form of RFC 5952, without brackets. A zone is an error.
func NormalHost(host string) (string, error) {
	host, err := url.PathUnescape(host)
	if err != nil {
		return "", errHost
	}
	if strings.Contains(host, ":") {
		if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
			host = strings.TrimSuffix(inner, "]")
		}
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" || !a.Is6() {
			return "", errHost
		}
		return a.String(), nil
	}
	name, err := nameProfile.ToASCII(host)
	if err == nil && strings.Contains(name, "xn--") {
		// Some names map to a name that maps to another one. They would be checked as one and resolved as another.
		var again string
		if again, err = nameProfile.ToASCII(name); err == nil && again != name {
			err = errHost
		}
	}
	if err != nil {
		return "", errHost
	}
	name = strings.TrimSuffix(lower(name), ".")
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) {
		return parseIPv4(name)
	}
	if !isName(name) {
		return "", errHost
	}
	return name, nil
}

// isName reports whether name has the syntax of a host name.
func isName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// isNumber reports whether a last label makes its name an IPv4 address.
func isNumber(label string) bool {
	return label != "" && (strings.Trim(label, "0123456789") == "" || strings.HasPrefix(label, "0x"))
}

// parseIPv4 returns the address of a name of one to four numbers, of which the last fills what the others leave.
func parseIPv4(name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return "", errHost
	}
	var address uint64
	for i, part := range parts {
		n, err := parseIPv4Number(part)
		last := i == len(parts)-1
		if err != nil || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return "", errHost
		}
		if last {
			address |= n
		} else {
			address |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String(),
		nil
}

// parseIPv4Number parses a part of an IPv4 address: hexadecimal after 0x, else decimal.
func parseIPv4Number(s string) (uint64, error) {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(digits, 16, 33)
	}
	if len(s) > 1 && s[0] == '0' {
		return 0, errHost
	}
	return strconv.ParseUint(s, 10, 33)
}

// address is an http or https URL in parts, as it was written.
type address struct {
	scheme  string // in lower case
	host    string // with its port
	rest    string // path, query and fragment
	hasUser bool   // something precedes an @ before the host
}

// splitAddress splits a URL. ok is false if it is not an absolute one of http or https.
func splitAddress(s string) (a address, ok bool) {
	a.scheme, a.rest, ok = strings.Cut(s, "://")
	a.scheme = lower(a.scheme)
	if !ok || a.scheme != "http" && a.scheme != "https" {
		return a, false
	}
	end := strings.IndexAny(a.rest, "/?#")
	if end < 0 {
		end = len(a.rest)
	}
	a.host, a.rest = a.rest[:end], a.rest[end:]
	if i := strings.LastIndexByte(a.host, '@'); i >= 0 {
		a.host, a.hasUser = a.host[i+1:], true
	}
	return a, true
}

// origin returns scheme, host and port in one form: the port without leading zeros, and none if it is empty or the
// scheme's own.
func (a address) origin() (string, error) {
	name, port := a.host, ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
		name, port = name[:i], name[i+1:]
	}
	if strings.HasPrefix(name, "[") != strings.HasSuffix(name, "]") || strings.Contains(name, ":") && name[0] != '[' {
		return "", errHost
	}
	host, err := NormalHost(name)
	if err != nil {
		return "", err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", errPort
		}
		if port = strconv.FormatUint(n, 10); !(a.scheme == "http" && n == 80) && !(a.scheme == "https" && n == 443) {
			host += ":" + port
		}
	}
	return a.scheme + "://" + host, nil
}
