package display

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/listing"
)

// Lengths in characters to which a service's own texts are cut for display. The JSON contains them in full.
const (
	MaxCode        = 32 // a symbol, a scheme, a method
	MaxTitle       = 48 // a page's title, without the directory's
	MaxName        = 100
	MaxBlurb       = 180 // a description in a list
	MaxDescription = 2000
	MaxLine        = 300 // a path, an error, a piece of evidence
)

// Line returns a stranger's text in one line of at most limit characters, and an ellipsis if it was longer. It drops
// invisible characters and leaves markup for the template to escape.
func Line(s string, limit int) string {
	line, whole := listing.Line(s, limit, invisible.Is)
	if !whole {
		line += "…"
	}
	return line
}

// Reason returns the reason of a check's failure in one line, without the backticks around names of fields, which only
// Markdown shows as code.
func Reason(s string) string { return Line(strings.ReplaceAll(s, "`", ""), MaxLine) }

// Risk returns a risk level with its reason, as in "danger: Recipient changed", or "" without a reason.
func Risk(level string, reason *string) string {
	if reason == nil {
		return ""
	}
	return Line(level, MaxCode) + ": " + Line(*reason, MaxName)
}

// Verdict is how a level of site.Advice is shown.
type Verdict struct {
	Words   string `json:"words"`
	Advised bool   `json:"advised"` // whether clients may be shown how to pay
}

// adviceWords are the words for each level.
var adviceWords = map[string]string{site.AdviceGood: "Safe to pay", site.AdviceCaution: "Caution",
	site.AdviceDoNotPay: "Do not pay", site.AdviceUnknown: "Unknown"}

// Verdicts returns how each level is shown, for scripts.
func Verdicts() map[string]Verdict {
	all := map[string]Verdict{}
	for _, level := range site.AdviceLevels {
		all[level] = Verdict{adviceWords[level], site.IsAdvised(level)}
	}
	return all
}

// AdviceLevel returns a level of site.Advice in words. Another level is unknown.
func AdviceLevel(level string) string {
	if words, ok := adviceWords[level]; ok {
		return words
	}
	return adviceWords[site.AdviceUnknown]
}

// Advice returns a level of site.Advice in words with its main reason, as in "Caution: New domain".
func Advice(level string, reason *string) string {
	if reason == nil || *reason == "" {
		return AdviceLevel(level)
	}
	return AdviceLevel(level) + ": " + Line(*reason, MaxLine)
}

// Reasons returns the reasons of an advice in one line.
func Reasons(a *site.Advice) string {
	texts := make([]string, len(a.Reasons))
	for i, r := range a.Reasons {
		texts[i] = Line(r.Text, MaxName)
	}
	return strings.Join(texts, "; ")
}

// Asset returns the name of a token. A token that is in no table is stored as UNKNOWN.
func Asset(name string) string {
	if name == "UNKNOWN" {
		return "unrecognised token"
	}
	return Line(name, MaxCode)
}

// Name returns a service's name for display, and "(no name)" instead of an empty one.
func Name(s string) string {
	if s = Line(s, MaxName); s != "" {
		return s
	}
	return "(no name)"
}

// Link returns s if it is safe to link to: an http or https URL with a host and without credentials. For anything else
// it returns "", and the caller shows plain text.
func Link(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || invisible.Is(r)
	}) {
		return ""
	}
	return s
}

// Short returns an address without its middle, which is enough to distinguish two. The caller puts the whole address
// into the title attribute.
func Short(address string) string {
	address = Line(address, MaxLine)
	r := []rune(address)
	if len(r) <= 14 {
		return address
	}
	return string(r[:6]) + "…" + string(r[len(r)-4:])
}

// Markdown returns a stranger's text as plain text for a line of Markdown in quotation marks. It escapes each character
// that could begin markup and turns double quotes into single ones.
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

// StatusOrder lists the statuses, those that need attention first.
var StatusOrder = []string{site.StatusOffline, site.StatusDegraded, site.StatusUnknown, site.StatusOnline}

// Status returns s if it is a status of the contract, else the status unknown.
func Status(s string) string {
	if slices.Contains(StatusOrder, s) {
		return s
	}
	return site.StatusUnknown
}

// Supported returns what became of the newest question to a facilitator, what it settles.
func Supported(state string) string {
	switch state {
	case site.SupportedAnswered:
		return "answered"
	case site.SupportedUnreadable:
		return "answer not readable"
	case site.SupportedStatus:
		return "refused with an error status"
	case site.SupportedRedirected:
		return "redirected elsewhere"
	case site.SupportedUnreachable:
		return "no response"
	case site.SupportedRefused:
		return "not asked: its URL is not public"
	}
	return "not known"
}

// PullOutcome returns how a pull of a public source ended, in words.
func PullOutcome(outcome string) string {
	switch outcome {
	case site.PullAccepted:
		return "believed"
	case site.PullUnchanged:
		return "nothing changed"
	case site.PullHeld:
		return "held back"
	case site.PullFailed:
		return "failed"
	}
	return "not known"
}
