package display

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
)

// Lengths in characters to which a service's own words are cut for display. The JSON has them whole.
const (
	MaxCode        = 32 // a symbol, a scheme, a method
	MaxTitle       = 48 // of a page, without the directory's
	MaxName        = 100
	MaxBlurb       = 180 // a description in a list
	MaxDescription = 2000
	MaxLine        = 300 // a path, an error, a piece of evidence
)

// Line makes a service's own words fit to be shown: one line, at most limit characters, and nothing in it that is not
// seen: no control, bidi, zero-width or tag characters. Markup is left to the template's escaping.
func Line(s string, limit int) string {
	line, whole := site.Line(s, limit, IsInvisible)
	if !whole {
		line += "…"
	}
	return line
}

// IsInvisible says whether a character is not seen, or changes how others are. The joiners that emoji and Indic scripts
// are spelled with are left alone.
func IsInvisible(r rune) bool {
	switch {
	case r == 0x200c || r == 0x200d:
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	default:
		return false
	}
}

// Asset returns the name of a token. A token that no table names is stored as UNKNOWN.
func Asset(name string) string {
	if name == "UNKNOWN" {
		return "unrecognised token"
	}
	return Line(name, MaxCode)
}

// Name is a service's name, never empty.
func Name(s string) string {
	if s = Line(s, MaxName); s != "" {
		return s
	}
	return "(no name)"
}

// Link is s if a reader may follow it: an http or https address with a host and no credentials. Anything else is "" and
// stays text.
func Link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || IsInvisible(r)
	}) {
		return ""
	}
	return s
}

// Short is an address with its middle left out: enough to tell two apart, with the whole in a title beside it.
func Short(address string) string {
	address = Line(address, MaxLine)
	r := []rune(address)
	if len(r) <= 14 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}

// Markdown makes a stranger's words plain text within a line of Markdown and within quotation marks: words, with each
// character that could begin markup escaped and double quotes made single.
func Markdown(s string, limit int) string {
	line := Line(s, limit)
	var b strings.Builder
	b.Grow(len(line))
	for _, r := range line {
		switch r {
		case '"', '“', '”', '„', '«', '»', '＂':
			r = '\''
		case '\\', '`', '*', '_', '[', ']', '<', '>', '#', '|', '~', '&', '!':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// StatusOrder orders states, what needs attention first.
var StatusOrder = []string{site.StatusOffline, site.StatusDegraded, site.StatusUnknown, site.StatusOnline}

// Status is a status of the contract; any other text is unknown.
func Status(s string) string {
	if slices.Contains(StatusOrder, s) {
		return s
	}
	return site.StatusUnknown
}
