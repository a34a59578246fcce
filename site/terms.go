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

// TermIndex: index of the files of terms.
//
// It is the data of v1/terms.json.
type TermIndex struct {
	// Number of services.
	Services int `json:"services"` // number of services, in the order of slugs
	// Number of terms in each file, by the file's name.
	Shards map[string]int `json:"shards"`
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

// Term is a word or concept, and the services that have it.
//
// It is a line of a file of terms.
type Term struct {
	// Stem of a word, or concept- and the name of a concept.
	Term string `json:"term"`
	// Inverse document frequency times 100: the natural logarithm of 1 + (services - n + 0.5) / (n + 0.5), if n
	// services have the term.
	IDF int `json:"idf"`
	// Place of the first service with the term, by slug, then the distance of each further one from the one before.
	Gaps []int `json:"gaps"`
	// How much of idf each of these services gets, in percent from 1 to 100.
	Weights []int `json:"weights"`
}

// Vocabulary: every word of the directory.
//
// It is the data of v1/vocabulary.json: the number of services of each term that is no concept. It is read only to
// correct a word that no service has.
type Vocabulary struct {
	// Number of services that have each word, by the word's stem.
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

// Reading says how words of a query were read.
type Reading struct {
	// The words, in lower case and without diacritics.
	Words string `json:"words"` // as typed, folded
	// Exact: the word itself with any ending; synonym: a concept, whatever a service calls it; prefix: words that begin
	// with it; corrected: a word that differs in one letter; ignored: a word that says nothing; unknown: no service has
	// it.
	As string `json:"as" enum:"Readings"`
	// The concept, or the corrected word.
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
