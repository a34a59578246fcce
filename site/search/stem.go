package search

import "strings"

// A SuffixRule replaces the end of a word.
type SuffixRule struct {
	Suffix   string `json:"suffix"`
	With     string `json:"with"`
	Min      int    `json:"min"`      // letters that must remain in front of the suffix
	Vowel    bool   `json:"vowel"`    // one of those letters must be a, e, i, o, u or y
	Undouble bool   `json:"undouble"` // of two equal consonants at the end, other than l, s and z, one is removed
}

// SuffixRules are the steps of the stemmer: plural, verb, agent, and last letters. In each step the first rule that
// applies is used. A rule that changes nothing protects words from the rules behind it.
var SuffixRules = [][]SuffixRule{
	{
		{Suffix: "sses", With: "ss", Min: 1},
		{Suffix: "xes", With: "x", Min: 1},
		{Suffix: "ches", With: "ch", Min: 1},
		{Suffix: "shes", With: "sh", Min: 1},
		{Suffix: "ies", With: "y", Min: 2},
		{Suffix: "us", With: "us", Min: 3},
		{Suffix: "is", With: "is", Min: 1},
		{Suffix: "ss", With: "ss", Min: 1},
		{Suffix: "s", With: "", Min: 3},
	},
	{
		{Suffix: "ification", With: "ify", Min: 2},
		{Suffix: "ization", With: "iz", Min: 3},
		{Suffix: "isation", With: "iz", Min: 3},
		{Suffix: "ation", With: "at", Min: 3},
		{Suffix: "ative", With: "at", Min: 4},
		{Suffix: "tion", With: "t", Min: 3},
		{Suffix: "sion", With: "s", Min: 3},
		{Suffix: "ment", With: "", Min: 4},
		{Suffix: "eed", With: "eed", Min: 1},
		{Suffix: "ed", With: "", Min: 4, Vowel: true, Undouble: true},
		{Suffix: "ing", With: "", Min: 3, Vowel: true, Undouble: true},
		{Suffix: "ise", With: "iz", Min: 4},
	},
	{
		{Suffix: "ifier", With: "ify", Min: 2},
		{Suffix: "izer", With: "iz", Min: 3},
		{Suffix: "iser", With: "iz", Min: 4},
		{Suffix: "ator", With: "at", Min: 3},
		{Suffix: "er", With: "", Min: 4, Undouble: true},
		{Suffix: "our", With: "or", Min: 3},
		{Suffix: "or", With: "", Min: 5, Undouble: true},
	},
	{
		{Suffix: "ie", With: "y", Min: 3},
		{Suffix: "e", With: "", Min: 3},
	},
}

// Exceptions are words with a stem that the rules would not find.
var Exceptions = map[string]string{
	"news": "news", "apis": "api", "kpis": "kpi", "uris": "uri", "indices": "index", "indexes": "index",
	"analysis": "analy", "analyses": "analy", "analyze": "analy", "analyse": "analy", "analyzer": "analy",
	"analytics": "analy", "analytic": "analy", "analysing": "analy", "analyzing": "analy",
	"filing": "filing", "filings": "filing", "direction": "direction", "directions": "direction",
	"completion": "completion", "completions": "completion", "booking": "booking", "bookings": "booking",
	"futures": "futures", "tender": "tender", "tenders": "tender", "odds": "odds", "texting": "texting",
	"paging": "paging", "careers": "career", "career": "career", "vps": "vps",
	"people": "person", "persons": "person", "customer": "customer", "customers": "customer", "charter": "charter",
	"twitter": "twitter", "media": "media", "crypto": "crypto", "cryptocurrencies": "cryptocurrency",
	"factor": "factor", "factors": "factor", "station": "station", "stations": "station",
}

// Stem returns the part of a folded word that its plural, its verb and its other forms share. A word with a character
// outside a-z is its own stem.
func Stem(word string) string {
	if !isLetters(word) {
		return word
	}
	if stem, ok := Exceptions[word]; ok {
		return stem
	}
	for _, step := range SuffixRules {
		for i := range step {
			if shorter, ok := step[i].apply(word); ok {
				word = shorter
				break
			}
		}
	}
	return word
}

func isLetters(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

// apply returns the word with its suffix replaced. ok is false if the rule does not apply.
func (r *SuffixRule) apply(word string) (stem string, ok bool) {
	stem, ok = strings.CutSuffix(word, r.Suffix)
	if !ok || len(stem) < r.Min || r.Vowel && !strings.ContainsAny(stem, "aeiouy") {
		return word, false
	}
	stem += r.With
	if n := len(stem); r.Undouble && n > 1 && stem[n-1] == stem[n-2] &&
		!strings.ContainsRune("aeiouylsz", rune(stem[n-1])) {
		stem = stem[:n-1]
	}
	return stem, true
}
