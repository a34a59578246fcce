package site

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The full text of services is stored by term. The line of a term lists the services that have it. v1/terms.json lists
// the files of terms, so that a query reads only the files of its own words.

const (
	// TermsFile is the key of the TermIndex.
	TermsFile = "v1/terms.json"
	// VocabularyFile is the key of the Vocabulary.
	VocabularyFile = "v1/vocabulary.json"

	// ConceptTerm begins the term of a concept. No other term contains a hyphen.
	ConceptTerm = "concept-"
	// MaxTerm is the maximum length of a term in characters. Longer words are cut.
	MaxTerm = 32
	// ownShardServices is the number of services from which a term has a file of its own.
	ownShardServices = 200
)

// TermIndex is the data of v1/terms.json.
type TermIndex struct {
	Services int            `json:"services"` // number of services, in the order of slugs
	Shards   map[string]int `json:"shards"`   // number of terms of each file of terms, by its name
}

// Shard returns the name of the file that contains a term, if any service has the term.
func (x *TermIndex) Shard(term string) (name string, ok bool) {
	name = term
	if _, own := x.Shards[term]; !own || !mayOwnShard(term) {
		name = CommonTermShard(term)
	}
	_, ok = x.Shards[name]
	return name, ok
}

// Term is a line of a file of terms.
type Term struct {
	Term string `json:"term"`
	// IDF is the inverse document frequency times 100: 100 × ln(1 + (services − n + 0.5) / (n + 0.5)) for a term of n
	// services, rounded, at least 1.
	IDF int `json:"idf"`
	// Gaps are the places of the services with the term, each as the difference from the place before; the first is
	// the place itself. Place 0 is the first slug of v1/index.json.
	Gaps []int `json:"gaps"`
	// Weights say how much of the IDF each of the services gets, in percent from 1 to 100.
	Weights []int `json:"weights"`
}

// Vocabulary is the data of v1/vocabulary.json: the number of services of each term that is no concept. It is read only
// to correct a word that no service has.
type Vocabulary struct {
	Terms map[string]int `json:"terms"`
}

// TermShard returns the name of the file for a term that n services have: the term itself if it is frequent, and
// otherwise its CommonTermShard.
func TermShard(term string, n int) string {
	if n >= ownShardServices && mayOwnShard(term) {
		return term
	}
	return CommonTermShard(term)
}

// mayOwnShard reports whether a term can name a file: it cannot be taken for the name of a file of several terms.
func mayOwnShard(term string) bool {
	return len(term) > 2 && strings.Trim(term, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// CommonTermShard returns the name of the file of several terms that a term belongs to: the first two characters of the
// term, or of a concept's name. If the second is not in a-z or 0-9, it is the first one alone. If the first is not in
// a-z or 0-9 either, it is an underscore and the last two hexadecimal digits of the first one's code point, so that the
// number of files has a limit.
func CommonTermShard(term string) string {
	term = strings.TrimPrefix(term, ConceptTerm)
	first, size := utf8.DecodeRuneInString(term)
	switch {
	case !isTermLetter(first):
		return "_" + strconv.FormatInt(int64(first&0xff|0x100), 16)[1:]
	case size < len(term) && isTermLetter(rune(term[size])):
		return term[:2]
	}
	return term[:1]
}

func isTermLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// Reading says how one or several words of a query were read.
type Reading struct {
	Words string `json:"words"` // as typed, folded
	As    string `json:"as"`
	// To is the word that a typing error was corrected to, or the concept that the words name.
	To string `json:"to,omitempty"`
}

// Values of Reading.As.
const (
	ReadExact     = "exact"     // the word itself, whatever its ending
	ReadSynonym   = "synonym"   // a concept, whatever words a service uses for it
	ReadPrefix    = "prefix"    // the beginning of words, because no service has the word itself
	ReadCorrected = "corrected" // a word that differs in one letter, because no service has the word itself
	ReadIgnored   = "ignored"   // a word such as "the", which says nothing about a service
	ReadUnknown   = "unknown"   // no service has the word
)

// Readings are the values of Reading.As.
var Readings = []string{ReadExact, ReadSynonym, ReadPrefix, ReadCorrected, ReadIgnored, ReadUnknown}
