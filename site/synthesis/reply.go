package synthesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tollbook/site"
)

// Reasons for refusing a reply.
const (
	NotJSON     = "not-json"    // not exactly one JSON object
	TooLong     = "too-long"    // longer than maxReply
	UnknownKey  = "unknown-key" // a key that the schema lacks, or a repeated key
	MissingKey  = "missing-key" // without a key of the schema
	WrongType   = "wrong-type"  // a value of another type
	Confidence  = "confidence"  // not from 0 to 1
	Empty       = "empty"       // a text without words
	BadTag      = "tag"         // a tag with other characters, or too long
	BadCategory = "category"    // not one of the given categories
	Link        = "link"        // a URL, host or e-mail address in a text
	Address     = "address"     // a text that may be a payment address or a key
	Instruction = "instruction" // a text that tells its reader, or a model, to do something
	Disguised   = "look-alikes" // a word of Latin letters and letters that look like them
)

// Fault says why a reply is refused: a reason for metrics, and a place.
type Fault struct {
	Reason string
	Where  string // a key of the reply, never its value
}

func (f *Fault) Error() string {
	if f.Where == "" {
		return "the answer does not count: " + f.Reason
	}
	return fmt.Sprintf("the answer does not count: %s in %s", f.Reason, f.Where)
}

// maxReply is the largest size of a reply in bytes, many times that of a valid one.
const maxReply = 64 << 10

// Lengths in characters to which the texts of a reply are cut.
const (
	maxSummary = 300
	maxLine    = 200
	maxAuth    = 100
	maxTag     = 40
)

// Source is the source of every value from a model.
const Source = "ai"

// Read reads a model's reply. It accepts a reply as a whole or refuses it: if a stranger's text led the model to one
// wrong value, the other values are not reliable either. Texts lose markup and invisible characters, and are cut. An
// error is a *Fault.
func Read(reply []byte, categories []string) (*site.Synthesis, error) {
	if len(reply) > maxReply {
		return nil, &Fault{TooLong, ""}
	}
	if !utf8.Valid(reply) {
		return nil, &Fault{NotJSON, ""}
	}
	top, err := readMembers(reply, "", keys)
	if err != nil {
		return nil, err
	}
	r := reader{top: top}
	s := site.Synthesis{
		Summary:        r.text("summary", maxSummary),
		CapabilityTags: r.tags("capability_tags"),
		Category:       r.text("category", maxShort),
		Inputs:         r.text("inputs", maxLine),
		Outputs:        r.text("outputs", maxLine),
		Auth:           r.text("auth", maxAuth),
	}
	if r.err == nil && !slices.Contains(categories, s.Category.Value) {
		r.err = &Fault{BadCategory, "category"}
	}
	if r.err != nil {
		return nil, r.err
	}
	return &s, nil
}

// readMembers reads an object that must have exactly the wanted keys, each once and in the same case.
func readMembers(data []byte, where string, want []string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return nil, &Fault{NotJSON, where}
	} else if t != json.Delim('{') {
		return nil, &Fault{WrongType, where}
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, &Fault{NotJSON, where}
		}
		key := t.(string) // the decoder accepts only strings as keys
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, &Fault{NotJSON, where}
		}
		if _, twice := members[key]; twice || !slices.Contains(want, key) {
			return nil, &Fault{UnknownKey, where}
		}
		members[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, &Fault{NotJSON, where}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Fault{NotJSON, where}
	}
	for _, key := range want {
		if members[key] == nil {
			return nil, &Fault{MissingKey, key}
		}
	}
	return members, nil
}

// reader reads the parts of a reply; err is the first fault.
type reader struct {
	top map[string]json.RawMessage
	err error
}

// part decodes the value of a part into to, and returns its confidence.
func (r *reader) part(key string, to any) (confidence float64) {
	if r.err != nil {
		return 0
	}
	part, err := readMembers(r.top[key], key, []string{"value", "confidence"})
	if err != nil {
		r.err = err
		return 0
	}
	for _, v := range part {
		if bytes.Equal(v, []byte("null")) {
			r.err = &Fault{WrongType, key}
			return 0
		}
	}
	if json.Unmarshal(part["value"], to) != nil || json.Unmarshal(part["confidence"], &confidence) != nil {
		r.err = &Fault{WrongType, key}
		return 0
	}
	if !(confidence >= 0 && confidence <= 1) {
		r.err = &Fault{Confidence, key}
	}
	return math.Round(confidence*100) / 100
}

func (r *reader) text(key string, limit int) site.SynthesisText {
	var value string
	t := site.SynthesisText{Source: Source, Confidence: r.part(key, &value)}
	if r.err != nil {
		return t
	}
	value = plain(removeMarkup(value), maxReply)
	if reason := checkText(value); reason != "" { // checked before the cut, since the end may show what the model meant
		r.err = &Fault{reason, key}
		return t
	}
	t.Value = plain(value, limit)
	if !word.MatchString(t.Value) {
		r.err = &Fault{Empty, key}
	}
	return t
}

func (r *reader) tags(key string) site.SynthesisList {
	var values []*string
	l := site.SynthesisList{Source: Source, Value: []string{}, Confidence: r.part(key, &values)}
	for _, v := range values {
		if r.err != nil {
			break
		}
		if v == nil {
			r.err = &Fault{WrongType, key}
		} else if len(*v) > maxTag || !tag.MatchString(*v) || checkText(*v) != "" {
			r.err = &Fault{BadTag, key}
		} else if len(l.Value) < maxTags && !slices.Contains(l.Value, *v) {
			l.Value = append(l.Value, *v)
		}
	}
	return l
}

var (
	tag    = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	markup = regexp.MustCompile(`<[^<>]*>`)
	syntax = strings.NewReplacer("<", "", ">", "", "`", "", "*", "", "[", "", "]", "", "{", "", "}", "", "|", "", "\\",
		"", "#", "", "~", "")
	word = regexp.MustCompile(`[\pL\pN]`)
)

// removeMarkup returns s without HTML tags and without the characters of HTML and Markdown, which plain sentences do
// not need.
func removeMarkup(s string) string {
	return syntax.Replace(markup.ReplaceAllString(strings.ToValidUTF8(s, ""), " "))
}

// Patterns that a description of a service must not match. They apply to the text in NFKC and lower case, so that
// full-width letters do not hide a match.
var (
	scheme  = regexp.MustCompile(`[a-z][a-z0-9+.-]{1,20}:\s?/\s?/|\bwww\s?[.。．｡]|\b(?:javascript|mailto):`)
	dotted  = regexp.MustCompile(`[\pL\pN-]\s?[.。．｡․‧]\s?([\pL][\pL\pN-]+)`)
	spelled = regexp.MustCompile(
		`[\pL\pN]\s*[\[(]?\s*\b(?:dot|punkt|punto)\b\s*[\])]?\s*(?:com|net|org|io|app|dev|xyz|ai)\b|[\[(]at[\])]`)
	hexadec  = regexp.MustCompile(`0\s?x\s?[0-9a-f]{3,}|\b[0-9a-f]{12,}\b`)
	longWord = regexp.MustCompile(`[\pL\pN]{26,}`)
	ensName  = regexp.MustCompile(`[\pL\pN-]\.(?:eth|sol|base|crypto|wallet)\b`)
	commands = regexp.MustCompile(
		`\b(?:pay|send|transfer|deposit|wire|remit)\b[^.!?]{0,40}` +
			`\b(?:usdc?|usdt|eth|btc|sol|dollars?|cents?|funds?|money|coins?|crypto|payments?)\b` +
			`|\b(?:pay|buy|subscribe|act|order|invest)\b[^.!?]{0,20}\b(?:now|immediately|today|here|first|urgently)\b` +
			`|\b(?:seed phrase|private key|recovery phrase|wallet address|secret key)\b` +
			`|\b(?:ignore|disregard|forget|override)\b[^.!?]{0,40}` +
			`\b(?:instructions?|prompts?|rules|above|previous|earlier)\b` +
			`|\b(?:system prompt|jailbreak|as an ai|language model|you must|you should|you are now|do not trust)\b`)
)

// files lists endings that follow a dot in names of formats and software, and are not hosts.
var files = map[string]bool{"js": true, "json": true, "csv": true, "pdf": true, "html": true, "txt": true, "xml": true,
	"png": true, "jpg": true, "mp3": true, "mp4": true, "wav": true}

// checkText returns the reason for refusing a text, or "" if the text is accepted.
func checkText(s string) string {
	folded := strings.ToLower(norm.NFKC.String(s))
	switch {
	case strings.ContainsRune(folded, '@'), scheme.MatchString(folded), spelled.MatchString(folded):
		return Link
	case ensName.MatchString(folded), hexadec.MatchString(folded), longWord.MatchString(folded):
		return Address
	case commands.MatchString(folded):
		return Instruction
	case isDisguised(folded):
		return Disguised
	}
	for _, m := range dotted.FindAllStringSubmatchIndex(folded, -1) {
		// "One. Two" is the end of a sentence; "one.two" and "one .two" may be hosts
		if end := folded[m[2]:m[3]]; !endsSentence(folded[m[0]:m[2]]) && !files[end] {
			return Link
		}
	}
	return ""
}

// endsSentence reports whether s ends a sentence: with a dot and a space, and without a space before the dot.
func endsSentence(s string) bool {
	runes := []rune(s)
	return runes[len(runes)-1] == ' ' && runes[len(runes)-2] == '.' && runes[len(runes)-3] != ' '
}

// isDisguised reports whether a word mixes Latin letters with letters that look like them.
func isDisguised(s string) bool {
	latin, alike := false, false
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			latin = true
		case r >= 0x370 && r <= 0x52f, r >= 0x13a0 && r <= 0x13ff: // Greek, Cyrillic, Cherokee
			alike = true
		case r == ' ':
			latin, alike = false, false
		}
		if latin && alike {
			return true
		}
	}
	return false
}
