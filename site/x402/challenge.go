// This file splits a WWW-Authenticate header into its challenges (RFC 9110, section 11.6.1): a scheme with named
// parameters. It reads leniently and skips other text.
//
// The package is pure. It must never know what a scheme means or how anything is paid.

package x402

import "strings"

// Max is the largest number of challenges that are read from one header value. MaxParams is the largest number of
// parameters of a challenge; later ones are dropped.
const (
	maxChallenges = 16
	maxParams     = 32
)

// Challenge is one element of a WWW-Authenticate header.
type Challenge struct {
	Scheme string            // as received
	Params map[string]string // names in lower case
}

// ReadChallenges returns the challenges of one value of a WWW-Authenticate header: a scheme token, then parameters
// separated by commas, then possibly the next scheme.
func ReadChallenges(value string) []Challenge {
	var list []Challenge
	for {
		value = strings.TrimLeft(value, ", \t")
		word, rest := token(value)
		if word == "" {
			if value == "" {
				return list
			}
			value = value[1:]
			continue
		}
		rest = strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(rest, "=") || len(list) == 0 {
			if len(list) == maxChallenges {
				return list
			}
			list = append(list, Challenge{Scheme: word, Params: map[string]string{}})
			value = strings.TrimPrefix(rest, "=")
			continue
		}
		var text string
		text, value = parameter(strings.TrimLeft(strings.TrimLeft(rest, "="), " \t"))
		if params := list[len(list)-1].Params; len(params) < maxParams {
			params[strings.ToLower(word)] = text
		}
	}
}

// token splits a leading RFC 9110 token from s.
func token(s string) (word, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// parameter splits a leading quoted string or token from s.
func parameter(s string) (text, rest string) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, ", \t")
		if i < 0 {
			return s, ""
		}
		return s[:i], s[i:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
