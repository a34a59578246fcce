package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"tollbook/site"
)

// phrase is a Concept's phrase.
type phrase struct {
	stems []string // without stop words; "to " and the stem for a word behind "to"
	term  string   // of the concept
}

// phrases are the phrases of Concepts by their first stem, the longest first. stopWords is the set of StopWords.
var phrases, stopWords = indexTables()

func indexTables() (map[string][]phrase, map[string]bool) {
	stop := map[string]bool{}
	for _, w := range StopWords {
		stop[w] = true
	}
	by := map[string][]phrase{}
	for _, c := range Concepts {
		for _, text := range append([]string{c.Name}, c.Phrases...) {
			var stems []string
			for _, w := range strings.Fields(text) {
				switch {
				case stop[w]:
				case len(stems) > 0 && strings.Contains(text, " to "+w):
					stems = append(stems, behindTo+Stem(w))
				default:
					stems = append(stems, Stem(w))
				}
			}
			p := phrase{stems, c.Term()}
			if !slices.ContainsFunc(by[stems[0]], func(o phrase) bool { return slices.Equal(o.stems, stems) }) {
				by[stems[0]] = append(by[stems[0]], p)
			}
		}
	}
	for _, list := range by {
		slices.SortStableFunc(list, func(a, b phrase) int { return cmp.Compare(len(b.stems), len(a.stems)) })
	}
	return by, stop
}

// Term returns the term by which files of terms list the concept.
func (c *Concept) Term() string { return site.ConceptTerm + strings.ReplaceAll(c.Name, " ", "-") }

// word is a word of a text or query.
type word struct {
	typed string // folded
	stem  string
	to    bool // it follows the word "to", which tells speech to text from text in speech
}

// behindTo begins the stem of a phrase's word that follows "to".
const behindTo = "to "

// split returns the words of a folded text without stop words, and the stop words. Han, Kana and Hangul are written
// without spaces, so a sequence of them is cut into pairs of neighbouring characters; its last character is a word
// alone. Words are cut to site.MaxTerm characters.
func split(folded string) (words []word, ignored []string) {
	_, runs := wordsAndRuns(folded)
	for i, run := range runs {
		to := i > 0 && runs[i-1] == "to"
		for run != "" {
			first, _ := utf8.DecodeRuneInString(run)
			unspaced := isUnspaced(first)
			end := strings.IndexFunc(run, func(r rune) bool { return isUnspaced(r) != unspaced })
			if end < 0 {
				end = len(run)
			}
			part := run[:end]
			run = run[end:]
			switch {
			case stopWords[part]:
				ignored = append(ignored, part)
			case unspaced:
				words = append(words, pairs(part)...)
			default:
				part = cut(part)
				words = append(words, word{part, Stem(part), to})
			}
		}
	}
	return words, ignored
}

// pairs returns each character of a text with the one behind it.
func pairs(text string) (words []word) {
	characters := []rune(text)
	for i := range characters {
		pair := string(characters[i:min(i+2, len(characters))])
		words = append(words, word{pair, pair, false})
	}
	return words
}

// cut returns the first site.MaxTerm characters of a word.
func cut(word string) string {
	n := 0
	for i := range word {
		if n == site.MaxTerm {
			return word[:i]
		}
		n++
	}
	return word
}

// phrasesAt returns the phrases of concepts that begin at the word i, the longest first.
func phrasesAt(words []word, i int) (list []phrase) {
	for _, p := range phrases[words[i].stem] {
		if n := len(p.stems); n <= len(words)-i && slices.EqualFunc(words[i+1:i+n], p.stems[1:], sameInner) {
			list = append(list, p)
		}
	}
	return list
}

// Terms returns the terms of a text: the stem of each word that is no stop word, and the concept of the longest phrase
// that begins at each word. A word in camel case adds the terms of its parts: OpenVPS has the terms openvps, open, vps
// and the concept of a virtual server. A term is repeated as often as the text contains it.
func Terms(text string) []string {
	terms := termsOf(text)
	parts := splitCamel(text)
	if parts == text {
		return terms
	}
	seen := map[string]bool{}
	for _, t := range terms {
		seen[t] = true
	}
	for _, t := range termsOf(parts) {
		if !seen[t] {
			terms = append(terms, t)
		}
	}
	return terms
}

// splitCamel splits words that are written together: speechToText becomes "speech To Text", and HTTPServer becomes
// "HTTP Server". A capital begins a word after a small letter or a digit, and also after a capital if a small letter
// follows.
func splitCamel(text string) string {
	var b strings.Builder
	from := 0
	for i := 1; i < len(text); i++ {
		if !isCapital(text[i]) {
			continue
		}
		before := text[i-1]
		if isSmall(before) || before >= '0' && before <= '9' ||
			isCapital(before) && i+1 < len(text) && isSmall(text[i+1]) {
			b.WriteString(text[from:i])
			b.WriteByte(' ')
			from = i
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

func termsOf(text string) (terms []string) {
	words, _ := split(Fold(text))
	for _, w := range words {
		terms = append(terms, w.stem)
	}
	for i := 0; i < len(words); {
		if list := phrasesAt(words, i); len(list) > 0 {
			terms = append(terms, list[0].term)
			i += len(list[0].stems)
			continue
		}
		if term := spreadPhraseAt(words, i); term != "" {
			terms = append(terms, term)
		}
		i++
	}
	return terms
}

// spreadPhraseAt returns the concept of the longest phrase that begins at the word i and has one other word inside, as
// image generation has in "image and video generation". It returns "" if there is none.
func spreadPhraseAt(words []word, i int) string {
	for _, p := range phrases[words[i].stem] {
		n := len(p.stems)
		for skip := 1; skip < n && n < len(words)-i; skip++ {
			rest := words[i+skip+1:]
			if slices.EqualFunc(words[i+1:i+skip], p.stems[1:skip], sameInner) &&
				slices.EqualFunc(rest[:n-skip], p.stems[skip:], sameInner) {
				return p.term
			}
		}
	}
	return ""
}

// sameInner reports whether a word is that of a phrase behind its first one.
func sameInner(w word, stem string) bool {
	if w.to {
		return stem == behindTo+w.stem
	}
	return stem == w.stem
}

// isWord reports whether a term is the stem of a word and not a concept.
func isWord(term string) bool { return !strings.Contains(term, "-") }
