package render

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
)

// Lengths in characters to which a service's own words are cut for display. The JSON has them whole.
const (
	maxCode        = 32 // a symbol, a scheme, a method
	maxTitle       = 48 // of a page, without the directory's
	maxName        = 100
	maxBlurb       = 180 // a description in a list
	maxDescription = 2000
	maxLine        = 300 // a path, an error, a piece of evidence
)

// words makes a service's own words fit to be shown: one line, at most limit characters, and nothing in it that is not
// seen: no control, bidi, zero-width or tag characters. Markup is left to the template's escaping.
func words(s string, limit int) string {
	line, whole := site.Line(s, limit, hidden)
	if !whole {
		line += "…"
	}
	return line
}

// hidden says whether a character is not seen, or changes how others are. The joiners that emoji and Indic scripts are
// spelled with are left alone.
func hidden(r rune) bool {
	switch {
	case r == 0x200c || r == 0x200d:
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	default:
		return false
	}
}

// name is a service's name, never empty.
func name(s string) string {
	if s = words(s, maxName); s != "" {
		return s
	}
	return "(no name)"
}

// link is s if a reader may follow it: an http or https address with a host and no credentials. Anything else is "" and
// stays text.
func link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || hidden(r) }) {
		return ""
	}
	return s
}

// short is an address with its middle left out: enough to tell two apart, with the whole in a title beside it.
func short(address string) string {
	address = words(address, maxLine)
	r := []rune(address)
	if len(r) <= 14 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}
