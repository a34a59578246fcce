package x402

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Challenge is one way to pay by the "Payment" HTTP authentication scheme (MPP). It is separate from x402: no figure
// includes its prices and recipients.
type Challenge struct {
	ID, Realm, Method, Intent, Expires, Description string
	Request                                         json.RawMessage // request parameter, decoded; nil if it cannot be
	Amount, Currency, Recipient                     string          // of the request, as written
}

// maxChallenges is the largest number of authentication challenges that are read from one response.
const maxChallenges = 16

// protocols returns the other payment protocols of which a response shows signs, sorted, and its MPP challenges.
func protocols(a Answer, d *defects) (names []string, mpp []Challenge) {
	for _, value := range a.Header.Values("Www-Authenticate") {
		if len(value) > MaxHeader {
			d.add(headerOversize, "WWW-Authenticate")
			continue
		}
		for _, c := range challenges(value) {
			switch strings.ToLower(c.scheme) {
			case "payment":
				names = append(names, "mpp")
				if len(mpp) < maxChallenges {
					mpp = append(mpp, readChallenge(c.params))
				}
			case "l402", "lsat":
				names = append(names, "l402")
			case "x402":
				d.add(authenticateX402)
			}
		}
	}
	if len(a.Header.Values("Crawler-Price")) > 0 {
		names = append(names, "crawler-price")
	}
	if contentType(a) == "application/problem+json" && bytes.Contains(a.Body, []byte("paymentauth.org/problems/")) {
		names = append(names, "mpp")
	}
	slices.Sort(names)
	return slices.Compact(names), mpp
}

// challenge is one element of a WWW-Authenticate header.
type challenge struct {
	scheme string
	params map[string]string // names in lower case
}

// challenges splits a WWW-Authenticate value (RFC 9110 §11.6.1): a scheme token, then parameters separated by commas,
// then possibly the next scheme. Other text is skipped.
func challenges(value string) []challenge {
	var list []challenge
	for len(list) < maxChallenges {
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
			list = append(list, challenge{scheme: word, params: map[string]string{}})
			value = strings.TrimPrefix(rest, "=")
			continue
		}
		var text string
		text, value = parameter(strings.TrimLeft(strings.TrimLeft(rest, "="), " \t"))
		if params := list[len(list)-1].params; len(params) < 32 {
			params[strings.ToLower(word)] = text
		}
	}
	return list
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

func readChallenge(params map[string]string) Challenge {
	c := Challenge{
		ID:          cut(params["id"], maxScalar),
		Realm:       clip(cleanText(params["realm"]), maxText),
		Method:      cut(params["method"], maxScalar),
		Intent:      cut(params["intent"], maxScalar),
		Expires:     cut(params["expires"], maxScalar),
		Description: clip(cleanText(params["description"]), maxText),
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(params["request"], "="))
	if err != nil || depth(raw) > maxDepth || !json.Valid(raw) {
		return c
	}
	c.Request = raw
	request, _ := members(raw)
	c.Amount, c.Currency, c.Recipient = scalar(object(request).get("amount")), object(request).text("currency"),
		object(request).text("recipient")
	return c
}

// platformMarks lists texts of the 402 pages that hosting platforms show for a disabled deployment.
var platformMarks = []string{"DEPLOYMENT_DISABLED", "402: PAYMENT_REQUIRED", "This Deployment has been disabled"}

// platformPage reports whether a 402 comes from the hosting platform instead of the service.
func platformPage(a Answer) bool {
	if a.Status != 402 {
		return false
	}
	if len(a.Header.Values("X-Vercel-Error")) > 0 {
		return true
	}
	for _, mark := range platformMarks {
		if bytes.Contains(a.Body, []byte(mark)) {
			return true
		}
	}
	return false
}
