package search

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
)

// Source reads the files of a snapshot that a search needs. An error ends the search.
type Source interface {
	// Shard returns the file of terms with this name, which the index lists.
	Shard(name string) (*Shard, error)
	Vocabulary() (*site.Vocabulary, error)
}

// Shard is a file of terms.
type Shard struct{ terms []Posting }

// Posting is a term with the services that have it.
type Posting struct {
	term    string
	idf     int
	at      []int32 // places, ascending
	weights []uint8 // of the services at these places
}

// Size returns the memory that the shard uses, in bytes.
func (s *Shard) Size() int {
	n := 0
	for i := range s.terms {
		n += 100 + 5*len(s.terms[i].at)
	}
	return n
}

// errShard reports lines that are not a file of terms.
var errShard = errors.New("not a file of terms")

// ParseShard reads the lines of a file of terms in a directory of so many services.
func ParseShard(lines [][]byte, services int) (*Shard, error) {
	s := &Shard{terms: make([]Posting, len(lines))}
	for i, line := range lines {
		var t site.Term
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("%w: %w", errShard, err)
		}
		p := Posting{term: t.Term, idf: t.IDF, at: make([]int32, len(t.Gaps)), weights: make([]uint8, len(t.Gaps))}
		if len(t.Gaps) != len(t.Weights) || t.IDF < 1 || i > 0 && s.terms[i-1].term >= t.Term {
			return nil, fmt.Errorf("%w: %.60s", errShard, line)
		}
		place := 0
		for k, gap := range t.Gaps {
			w := t.Weights[k]
			if place += gap; gap < 0 || gap == 0 && k > 0 || place >= services || w < 1 || w > 100 {
				return nil, fmt.Errorf("%w: the term %.40s has a wrong place or weight", errShard, t.Term)
			}
			p.at[k], p.weights[k] = int32(place), uint8(w)
		}
		s.terms[i] = p
	}
	return s, nil
}

// find returns the posting of a term, or nil.
func (s *Shard) find(term string) *Posting {
	i, ok := slices.BinarySearchFunc(s.terms, term, func(p Posting, t string) int { return strings.Compare(p.term, t) })
	if !ok {
		return nil
	}
	return &s.terms[i]
}

// Hit is a service that matches a query.
type Hit struct {
	Place int // of its slug
	Score int // the sum of weight × IDF over the query's units
}

// Result is what a query matches.
type Result struct {
	Readings []site.Reading
	Hits     []Hit // the highest score first; equal scores by place
	// Ceiling is the score of a service that has the whole weight of each unit. No score is higher.
	Ceiling int
	terms   map[string]bool // of all units
}

// Matches reports whether a text contains a term of the query.
func (f *Result) Matches(text string) bool {
	return slices.ContainsFunc(Terms(text), func(t string) bool { return f.terms[t] })
}

// Count returns how many terms of the query several texts contain.
func (f *Result) Count(texts ...string) int {
	contained := map[string]bool{}
	for _, text := range texts {
		for _, t := range Terms(text) {
			if f.terms[t] {
				contained[t] = true
			}
		}
	}
	return len(contained)
}

// Relevance returns a score in thousandths of the ceiling.
func (f *Result) Relevance(score int) int {
	if f.Ceiling == 0 {
		return 0
	}
	return score * 1000 / f.Ceiling
}

// unit is one or several words of a query that are read together.
type unit struct {
	reading  site.Reading
	postings []*Posting // a service's weight is the largest of these
	words    []*Posting // of a concept: the words that name it
}

// idf returns the largest IDF of the postings.
func (u *unit) idf() (idf int) {
	for _, p := range u.postings {
		idf = max(idf, p.idf)
	}
	return idf
}

// Find searches for a text that a reader typed. The package comment describes the steps.
func Find(index *site.TermIndex, text string, from Source) (*Result, error) {
	words, ignored := split(Fold(text))
	r := reader{index: index, from: from}
	units, err := r.read(words)
	if err != nil {
		return nil, err
	}
	corrected, readings, err := r.correct(words, units)
	if err != nil {
		return nil, err
	}
	if len(readings) > 0 {
		if units, err = r.read(corrected); err != nil {
			return nil, err
		}
	}
	f := &Result{Readings: []site.Reading{}, Hits: []Hit{}, terms: map[string]bool{}}
	f.Readings = append(f.Readings, readings...)
	for _, u := range units {
		f.Readings = append(f.Readings, u.reading)
	}
	for _, w := range ignored {
		f.Readings = append(f.Readings, site.Reading{Words: w, As: site.ReadIgnored})
	}
	f.score(slices.DeleteFunc(units, func(u unit) bool { return len(u.postings) == 0 }), index.Services)
	return f, nil
}

// wordShare divides what the words of a concept add to its score. A service that uses the same words as the query comes
// before one that uses other words for the same thing.
const wordShare = 4

// score computes the hits of the units.
func (f *Result) score(units []unit, services int) {
	t := counter{scores: make([]int, services), matched: make([]int, services), concept: make([]bool, services),
		best: make([]int, services), words: make([]int, services), named: make([]int, services)}
	seen := map[string]bool{} // first terms
	for i := range units {
		u := &units[i]
		if seen[u.postings[0].term] { // a word that is repeated
			continue
		}
		seen[u.postings[0].term] = true
		t.add(u)
		for _, p := range slices.Concat(u.postings, u.words) {
			f.terms[p.term] = true
		}
	}
	f.Ceiling = 100 * t.ceiling
	for place, score := range t.scores {
		if score > 0 && (t.concept[place] || t.matched[place] >= t.total) {
			f.Hits = append(f.Hits, Hit{place, score})
		}
	}
	slices.SortFunc(f.Hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Place, b.Place))
	})
}

// counter sums what each service, by its place, has of the units.
type counter struct {
	scores  []int
	matched []int  // twice the IDF of each unit that the service has, once if it has only words of a concept
	concept []bool // the service has a concept of the query
	total   int    // of the units' IDFs
	ceiling int    // total, and the share of words

	best, words, named []int // of the present unit: weight × IDF of it and of its words; the IDFs of its words
}

// add adds a unit.
func (t *counter) add(u *unit) {
	clear(t.best)
	clear(t.words)
	clear(t.named)
	for _, p := range u.postings {
		for k, place := range p.at {
			t.best[place] = max(t.best[place], p.idf*int(p.weights[k]))
		}
	}
	all := 0
	for _, p := range u.words {
		all += p.idf
		for k, place := range p.at {
			t.words[place] += p.idf * int(p.weights[k])
			t.named[place] += p.idf
		}
	}
	idf := u.idf()
	t.total += idf
	t.ceiling += idf + all/wordShare
	for place := range t.scores {
		switch {
		case t.best[place] > 0:
			t.scores[place] += t.best[place] + t.words[place]/wordShare
			t.matched[place] += 2 * idf
			t.concept[place] = t.concept[place] || len(u.words) > 0
		case t.named[place] > 0 && 2*t.named[place] >= all:
			t.scores[place] += t.words[place] / wordShare
			t.matched[place] += idf
		}
	}
}
