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

// Why an answer does not count.
const (
	NotJSON     = "not-json"    // nor the whole of it, nor one object alone
	TooLong     = "too-long"    // beyond maxAnswer
	UnknownKey  = "unknown-key" // more than was asked for
	MissingKey  = "missing-key" // less
	WrongType   = "wrong-type"  // a value of another kind
	Confidence  = "confidence"  // not from 0 to 1
	Empty       = "empty"       // a text without words
	BadTag      = "tag"         // of other characters
	BadCategory = "category"    // not one of those to choose from
	Link        = "link"        // a web or e-mail address in a text
	Address     = "address"     // what could be paid to, or a key
	Instruction = "instruction" // a text that asks its reader, or a model, to do something
	Disguised   = "look-alikes" // letters of other alphabets within a word
)

// Fault is why an answer does not count: a reason to count by, and where.
type Fault struct {
	Reason string
	Where  string // key of the answer, never what stands there
}

func (f *Fault) Error() string {
	if f.Where == "" {
		return "the answer does not count: " + f.Reason
	}
	return fmt.Sprintf("the answer does not count: %s in %s", f.Reason, f.Where)
}

// maxAnswer bounds an answer in bytes; the texts that were asked for fit many times.
const maxAnswer = 64 << 10

// Lengths in characters to which an answer's texts are cut.
const (
	maxSummary = 300
	maxLine    = 200
	maxAuth    = 100
	maxTag     = 40
)

// Source of every value that a model gave.
const Source = "ai"

// Read reads a model's answer. It counts whole or not at all: a model that was talked into one wrong value was talked
// into the others too. Texts lose markup and what is not seen, and are cut. An error is a *Fault.
func Read(answer []byte, categories []string) (*site.Synthesis, error) {
	if len(answer) > maxAnswer {
		return nil, &Fault{TooLong, ""}
	}
	if !utf8.Valid(answer) {
		return nil, &Fault{NotJSON, ""}
	}
	top, err := members(answer, "", keys)
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

// members reads an object that has exactly the keys that are wanted, each once and in their own case.
func members(data []byte, where string, want []string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return nil, &Fault{NotJSON, where}
	} else if t != json.Delim('{') {
		return nil, &Fault{WrongType, where}
	}
	found := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, &Fault{NotJSON, where}
		}
		key := t.(string) // of an object's members, always
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, &Fault{NotJSON, where}
		}
		if _, twice := found[key]; twice || !slices.Contains(want, key) {
			return nil, &Fault{UnknownKey, where}
		}
		found[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, &Fault{NotJSON, where}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Fault{NotJSON, where}
	}
	for _, key := range want {
		if found[key] == nil {
			return nil, &Fault{MissingKey, key}
		}
	}
	return found, nil
}

// reader reads the parts of an answer; err is the first fault.
type reader struct {
	top map[string]json.RawMessage
	err error
}

// part reads one part's value into to, and answers its confidence.
func (r *reader) part(key string, to any) (confidence float64) {
	if r.err != nil {
		return 0
	}
	part, err := members(r.top[key], key, []string{"value", "confidence"})
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
	value = plain(unmarked(value), maxAnswer)
	if reason := refused(value); reason != "" { // before it is cut: an end that is cut off was meant too
		r.err = &Fault{reason, key}
		return t
	}
	t.Value = plain(value, limit)
	if !worded(t.Value) {
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
		} else if len(*v) > maxTag || !tag.MatchString(*v) || refused(*v) != "" {
			r.err = &Fault{BadTag, key}
		} else if len(l.Value) < maxTags && !slices.Contains(l.Value, *v) {
			l.Value = append(l.Value, *v)
		}
	}
	return l
}

var (
	tag    = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	marked = regexp.MustCompile(`<[^<>]*>`)
	syntax = strings.NewReplacer("<", "", ">", "", "`", "", "*", "", "[", "", "]", "", "{", "", "}", "", "|", "", "\\",
		"", "#", "", "~", "")
	word = regexp.MustCompile(`[\pL\pN]`)
)

// unmarked is s without markup: what HTML and Markdown are written with is in no plain sentence.
func unmarked(s string) string {
	return syntax.Replace(marked.ReplaceAllString(strings.ToValidUTF8(s, ""), " "))
}

func worded(s string) bool { return word.MatchString(s) }

// What no description of a service holds. Each is looked for in the text in lower case with compatibility forms folded,
// so that full-width letters do not hide it.
var (
	scheme  = regexp.MustCompile(`[a-z][a-z0-9+.-]{1,20}:\s?/\s?/|\bwww\s?[.。．｡]|\b(?:javascript|mailto):`)
	dotted  = regexp.MustCompile(`[\pL\pN-]\s?[.。．｡․‧]\s?([\pL][\pL\pN-]+)`)
	spelled = regexp.MustCompile(
		`[\pL\pN]\s*[\[(]?\s*\b(?:dot|punkt|punto)\b\s*[\])]?\s*(?:com|net|org|io|app|dev|xyz|ai)\b|[\[(]at[\])]`)
	hexadec  = regexp.MustCompile(`0\s?x\s?[0-9a-f]{3,}|\b[0-9a-f]{12,}\b`)
	longWord = regexp.MustCompile(`[\pL\pN]{26,}`)
	ensName  = regexp.MustCompile(`[\pL\pN-]\.(?:eth|sol|base|crypto|wallet)\b`)
	commands = regexp.MustCompile(
		`\b(?:pay|send|transfer|deposit|wire|remit)\b[^.!?]{0,40}\b(?:usdc?|usdt|eth|btc|sol|dollars?|cents?|funds?|money|coins?|crypto|payments?)\b` +
			`|\b(?:pay|buy|subscribe|act|order|invest)\b[^.!?]{0,20}\b(?:now|immediately|today|here|first|urgently)\b` +
			`|\b(?:seed phrase|private key|recovery phrase|wallet address|secret key)\b` +
			`|\b(?:ignore|disregard|forget|override)\b[^.!?]{0,40}\b(?:instructions?|prompts?|rules|above|previous|earlier)\b` +
			`|\b(?:system prompt|jailbreak|as an ai|language model|you must|you should|you are now|do not trust)\b`)
)

// files are what follows a dot in the names of formats and of software, not of hosts.
var files = map[string]bool{"js": true, "json": true, "csv": true, "pdf": true, "html": true, "txt": true, "xml": true,
	"png": true, "jpg": true, "mp3": true, "mp4": true, "wav": true}

// refused is the reason why a text does not count, "" when it does.
func refused(s string) string {
	folded := strings.ToLower(norm.NFKC.String(s))
	switch {
	case strings.ContainsRune(folded, '@'), scheme.MatchString(folded), spelled.MatchString(folded):
		return Link
	case ensName.MatchString(folded), hexadec.MatchString(folded), longWord.MatchString(folded):
		return Address
	case commands.MatchString(folded):
		return Instruction
	case disguised(folded):
		return Disguised
	}
	for _, m := range dotted.FindAllStringSubmatchIndex(folded, -1) {
		// "One. Two" is the end of a sentence; "one.two" and "one .two" are not
		if end := folded[m[2]:m[3]]; !sentence(folded[m[0]:m[2]]) && !files[end] {
			return Link
		}
	}
	return ""
}

// sentence says whether what stands before a word ends the sentence before: its last sign is a blank, and none before
// the dot.
func sentence(s string) bool {
	runes := []rune(s)
	return runes[len(runes)-1] == ' ' && runes[len(runes)-2] == '.' && runes[len(runes)-3] != ' '
}

// disguised says whether a word mixes Latin letters with those that look like them.
func disguised(s string) bool {
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
