package search

import (
	"slices"
	"strings"

	"tollbook/site"
)

// reader reads the units of a query from files of terms.
type reader struct {
	index *site.TermIndex
	from  Source
}

// posting returns the posting of a term, nil if no service has the term.
func (r *reader) posting(term string) (*Posting, error) {
	name, ok := r.index.Shard(term)
	if !ok {
		return nil, nil
	}
	shard, err := r.from.Shard(name)
	if err != nil {
		return nil, err
	}
	return shard.find(term), nil
}

// read divides the words of a query into units, from left to right. At each word the longest phrase whose concept some
// service has is a unit; without one, the word itself is. If no service has the last word, it is read as a prefix.
func (r *reader) read(words []word) (units []unit, err error) {
next:
	for i := 0; i < len(words); {
		for _, p := range phrasesAt(words, i) {
			posting, err := r.posting(p.term)
			if err != nil {
				return nil, err
			}
			if posting != nil {
				u := unit{postings: []*Posting{posting}}
				u.reading = site.Reading{Words: join(words[i : i+len(p.stems)]), As: site.ReadSynonym,
					To: conceptName(p.term)}
				if u.words, err = r.wordPostings(words[i : i+len(p.stems)]); err != nil {
					return nil, err
				}
				units = append(units, u)
				i += len(p.stems)
				continue next
			}
		}
		u, err := r.readWord(words[i], i == len(words)-1)
		if err != nil {
			return nil, err
		}
		units = append(units, u)
		i++
	}
	return units, nil
}

// wordPostings returns the postings of the words that some service has.
func (r *reader) wordPostings(words []word) (list []*Posting, err error) {
	for _, w := range words {
		posting, err := r.posting(w.stem)
		if err != nil {
			return nil, err
		}
		if posting != nil {
			list = append(list, posting)
		}
	}
	return list, nil
}

func join(words []word) string {
	typed := make([]string, len(words))
	for i, w := range words {
		typed[i] = w.typed
	}
	return strings.Join(typed, " ")
}

func conceptName(term string) string {
	return strings.ReplaceAll(strings.TrimPrefix(term, site.ConceptTerm), "-", " ")
}

// readWord reads one word as its stem or, if it is the last one, as a prefix.
func (r *reader) readWord(w word, last bool) (unit, error) {
	u := unit{reading: site.Reading{Words: w.typed, As: site.ReadUnknown}}
	posting, err := r.posting(w.stem)
	if err != nil {
		return unit{}, err
	}
	if posting != nil {
		u.reading.As, u.postings = site.ReadExact, []*Posting{posting}
		return u, nil
	}
	if !last {
		return u, nil
	}
	if u.postings, err = r.readPrefix(w.typed); len(u.postings) > 0 {
		u.reading.As = site.ReadPrefix
	}
	return u, err
}

// readPrefix returns the postings of the words that begin with the prefix, of words whose ending is begun, and of
// concepts with a phrase of one word that begins with the prefix.
func (r *reader) readPrefix(prefix string) (list []*Posting, err error) {
	if len([]rune(prefix)) < 2 {
		return nil, nil
	}
	if name := site.CommonTermShard(prefix); r.index.Shards[name] > 0 {
		shard, err := r.from.Shard(name)
		if err != nil {
			return nil, err
		}
		for i := range shard.terms {
			if t := shard.terms[i].term; strings.HasPrefix(t, prefix) && isWord(t) {
				list = append(list, &shard.terms[i])
			}
		}
	}
	for _, term := range r.otherCompletions(prefix) {
		posting, err := r.posting(term)
		if err != nil {
			return nil, err
		}
		if posting != nil && !slices.ContainsFunc(list, func(p *Posting) bool { return p.term == term }) {
			list = append(list, posting)
		}
	}
	return list, nil
}

// otherCompletions returns further terms that a prefix may mean, sorted. They are frequent words that begin with it,
// stems of what it becomes if a suffix at its end is completed, and concepts with a phrase of one word.
func (r *reader) otherCompletions(prefix string) (terms []string) {
	for name := range r.index.Shards {
		if len(name) > 2 && strings.HasPrefix(name, prefix) && isWord(name) {
			terms = append(terms, name)
		}
	}
	for _, step := range SuffixRules {
		for _, rule := range step {
			for n := 1; n < len(rule.Suffix); n++ {
				if stem, ok := strings.CutSuffix(prefix, rule.Suffix[:n]); ok {
					terms = append(terms, Stem(stem+rule.Suffix))
				}
			}
		}
	}
	for first, list := range phrases {
		for _, p := range list {
			if len(p.stems) == 1 && len(prefix) > 2 && strings.HasPrefix(first, prefix) {
				terms = append(terms, p.term)
			}
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// minCorrected is the length in letters from which a word is corrected.
const minCorrected = 5

// correct replaces each word that was read as unknown by one that differs in one letter. It returns the new words and
// the readings of those that it replaced.
func (r *reader) correct(words []word, units []unit) (corrected []word, readings []site.Reading, err error) {
	unknown := map[string]bool{}
	for _, u := range units {
		if u.reading.As == site.ReadUnknown && isLetters(u.reading.Words) &&
			len(u.reading.Words) >= minCorrected {
			unknown[u.reading.Words] = true
		}
	}
	if len(unknown) == 0 {
		return words, nil, nil
	}
	vocabulary, err := r.from.Vocabulary()
	if err != nil {
		return nil, nil, err
	}
	corrected = slices.Clone(words)
	for i, w := range words {
		if !unknown[w.typed] {
			continue
		}
		if to := nearest(w.typed, vocabulary.Terms); to != "" {
			corrected[i].typed, corrected[i].stem = to, Stem(to)
			readings = append(readings, site.Reading{Words: w.typed, As: site.ReadCorrected, To: to})
		}
	}
	return corrected, readings, nil
}

// nearest returns the word that one edit makes of an unknown one: two neighbouring letters exchanged, or one letter
// removed, replaced or inserted. Words that begin with the same letter are preferred, then words that more services
// have, then the first by the alphabet. It returns "" if there is none.
func nearest(unknown string, services map[string]int) (best string) {
	var bestSame bool
	bestN := 0
	for _, to := range edits(unknown) {
		stem := Stem(to)
		n := services[stem]
		if n == 0 && len(phrases[stem]) > 0 {
			n = 1
		}
		same := to[0] == unknown[0]
		if n == 0 || stopWords[to] || best != "" && (bestSame && !same || bestSame == same && (n < bestN ||
			n == bestN && to >= best)) {
			continue
		}
		best, bestSame, bestN = to, same, n
	}
	return best
}

// edits returns every word that one edit makes of a word of the letters a-z. Other words have none.
func edits(w string) (all []string) {
	if !isLetters(w) {
		return nil
	}
	for i := range len(w) + 1 {
		if i+1 < len(w) {
			all = append(all, w[:i]+w[i+1:i+2]+w[i:i+1]+w[i+2:])
		}
		if i < len(w) {
			all = append(all, w[:i]+w[i+1:])
		}
		for c := byte('a'); c <= 'z'; c++ {
			if i < len(w) {
				all = append(all, w[:i]+string(c)+w[i+1:])
			}
			all = append(all, w[:i]+string(c)+w[i:])
		}
	}
	return all
}
