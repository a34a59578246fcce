package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the form in which names and queries are compared: NFKD without marks, in lower case. A final sigma
// becomes a plain one, since both have the same capital. Folding a folded text changes nothing.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.M, r):
			return -1
		case r == 'ς':
			return 'σ'
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(strings.ToValidUTF8(s, "\ufffd")))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Words returns the words of a folded text. A word is a run of letters and digits. Han, Kana and Hangul are written
// without spaces, so each of their characters begins a further word, which ends where the run ends. So does a letter of
// another script directly after one of them: 東京都API has the words 東京都api, 京都api, 都api and api.
func Words(folded string) []string {
	words, _ := wordsAndRuns(folded)
	return words
}

// wordsAndRuns returns the words of a folded text, and its runs of letters and digits. Each run is also a word.
func wordsAndRuns(folded string) (words, runs []string) {
	start := -1           // start of the run, -1 between runs
	var begins []int      // starts of the words in the run
	var unspaced, is bool // whether the previous and the present character are of a script without spaces
	end := func(at int) {
		if start >= 0 {
			runs = append(runs, folded[start:at])
		}
		for _, b := range begins {
			words = append(words, folded[b:at])
		}
		start, begins, unspaced = -1, begins[:0], false
	}
	for i, r := range folded {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			end(i)
			continue
		}
		if is = isUnspaced(r); start < 0 || is || unspaced {
			begins = append(begins, i)
		}
		if start < 0 {
			start = i
		}
		unspaced = is
	}
	end(len(folded))
	return words, runs
}

// isUnspaced reports whether a character is Han, Kana or Hangul. The mark that lengthens a vowel belongs to Kana.
func isUnspaced(r rune) bool {
	return r >= 0x1100 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

// Query is a search for names by words.
type Query struct {
	runs []string // each must begin a word of the name; the words inside a run then begin one too
}

// NewQuery returns the Query of a text that a reader typed.
func NewQuery(query string) Query {
	_, runs := wordsAndRuns(Fold(query))
	return Query{runs: runs}
}

// Matches reports whether every word of the query begins some word of a name. words are the Words of the folded name.
func (s Query) Matches(words []string) bool {
	for _, run := range s.runs {
		if !beginsAny(run, words) {
			return false
		}
	}
	return len(s.runs) > 0
}

func beginsAny(run string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, run) {
			return true
		}
	}
	return false
}
