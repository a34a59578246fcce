// Package search finds services by words of their names: how a name is folded and cut into words, which shards it
// belongs to, and which rows of a shard match a query. It must never know where shards are stored or how a page is cut.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"

	"golang.org/x/text/unicode/norm"
)

// Fold brings text into the form in which names and queries are compared: NFKD, marks dropped, lower case, a final
// sigma as any other, since one capital stands for both. Fold of a folded text is the same text.
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

// Words are the words of a folded text. A word is a run of letters and digits. Han, Kana and Hangul are written without
// blanks, so there each character begins a word, which ends with its run, and so does a letter of another script right
// after one: 東京都API has the words 東京都api, 京都api, 都api and api.
func Words(folded string) []string {
	words, _ := wordsAndRuns(folded)
	return words
}

// wordsAndRuns are all words of a folded text, and its runs, which are those words that are part of no longer one.
func wordsAndRuns(folded string) (words, runs []string) {
	start := -1           // of the run, -1 between runs
	var begins []int      // of the words in the run
	var unspaced, is bool // whether the character before, and this one, is of a script without blanks
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
		if is = writtenUnspaced(r); start < 0 || is || unspaced {
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

// writtenUnspaced says whether a character is Han, Kana or Hangul; the mark that lengthens a vowel belongs to Kana.
func writtenUnspaced(r rune) bool {
	return r >= 0x1100 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

// ShardsOf are the letters of the shards that a name belongs to, each once, in the order in which they come.
func ShardsOf(name string) []string {
	var shards []string
	seen := map[string]bool{}
	for _, w := range Words(Fold(name)) {
		_, one := utf8.DecodeRuneInString(w)
		_, next := utf8.DecodeRuneInString(w[one:])
		for _, letters := range []string{w[:one], w[:one+next]} {
			if !seen[letters] {
				seen[letters] = true
				shards = append(shards, letters)
			}
		}
	}
	return shards
}

// Query is a query by words.
type Query struct {
	runs   []string // each must begin a word of the name; the words inside a run then do by themselves
	shards []string // any of them holds every match; the most letters of each word that shards are made by
}

// NewQuery reads a query.
func NewQuery(query string) Query {
	all, runs := wordsAndRuns(Fold(query))
	s := Query{runs: runs}
	for _, w := range all {
		_, one := utf8.DecodeRuneInString(w)
		_, next := utf8.DecodeRuneInString(w[one:])
		s.shards = append(s.shards, w[:one+next])
	}
	return s
}

// Shard is the smallest shard that holds every match. It is false where nothing can match: the query has no word, or
// has one that begins none in the directory.
func (s Query) Shard(index site.SearchIndex) (letters string, ok bool) {
	for _, shard := range s.shards {
		rows, exists := index.Shards[shard]
		if !exists {
			return "", false
		}
		if !ok || rows < index.Shards[letters] {
			letters, ok = shard, true
		}
	}
	return letters, ok
}

// Matches says whether every word of the query begins some word of a name, given by its Words.
func (s Query) Matches(words []string) bool {
	for _, run := range s.runs {
		if !beginsOne(run, words) {
			return false
		}
	}
	return len(s.runs) > 0
}

func beginsOne(run string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, run) {
			return true
		}
	}
	return false
}
