package search

import (
	"maps"
	"slices"
	"strings"

	"tollbook/site"
)

// Tables are the data that Find uses, for the same steps in another language.
type Tables struct {
	Stop       []string          `json:"stop"`
	Rules      [][]SuffixRule    `json:"rules"`
	Exceptions map[string]string `json:"exceptions"`
	Concepts   []TableConcept    `json:"concepts"`
	Concept    string            `json:"concept"` // begins the terms of concepts
	MaxTerm    int               `json:"max_term"`
	MinCorrect int               `json:"min_correct"` // letters of the shortest word that is corrected
}

// TableConcept is the term of a concept and its phrases. A phrase is stems without stop words, with | between them. A
// word of the phrase that follows "to" is "to " and its stem.
type TableConcept struct {
	Term    string   `json:"term"`
	Phrases []string `json:"phrases"`
}

// NewTables returns the tables. A reader groups all phrases by their first stem, the longest first, and keeps the order
// of those with as many stems.
func NewTables() Tables {
	t := Tables{Stop: StopWords, Rules: SuffixRules, Exceptions: Exceptions, Concept: site.ConceptTerm,
		MaxTerm:    site.MaxTerm,
		MinCorrect: minCorrected}
	by := map[string][]string{} // phrases by the term of their concept
	for _, first := range slices.Sorted(maps.Keys(phrases)) {
		for _, p := range phrases[first] {
			by[p.term] = append(by[p.term], strings.Join(p.stems, "|"))
		}
	}
	for i := range Concepts {
		if term := Concepts[i].Term(); len(by[term]) > 0 {
			t.Concepts = append(t.Concepts, TableConcept{term, by[term]})
		}
	}
	return t
}
