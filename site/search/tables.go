package search

import (
	"maps"
	"slices"

	"tollbook/site"
)

// Tables are the data that Find uses, for the same steps in another language.
type Tables struct {
	Stop       []string          `json:"stop"`
	Rules      [][]SuffixRule    `json:"rules"`
	Exceptions map[string]string `json:"exceptions"`
	Phrases    []TablePhrase     `json:"phrases"`
	Concept    string            `json:"concept"` // begins the terms of concepts
	MaxTerm    int               `json:"max_term"`
	MinCorrect int               `json:"min_correct"` // letters of the shortest word that is corrected
}

// TablePhrase is a phrase as stems without stop words, and the term of its concept. A word of the phrase that follows
// "to" is "to " and its stem.
type TablePhrase struct {
	Stems []string `json:"stems"`
	Term  string   `json:"term"`
}

// NewTables returns the tables. Phrases with the same first stem follow each other, the longest first.
func NewTables() Tables {
	t := Tables{Stop: StopWords, Rules: SuffixRules, Exceptions: Exceptions, Concept: site.ConceptTerm,
		MaxTerm:    site.MaxTerm,
		MinCorrect: minCorrected}
	for _, first := range slices.Sorted(maps.Keys(phrases)) {
		for _, p := range phrases[first] {
			t.Phrases = append(t.Phrases, TablePhrase{p.stems, p.term})
		}
	}
	return t
}
