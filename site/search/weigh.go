package search

import (
	"maps"
	"math"
	"slices"

	"tollbook/site"
)

// Document is the text of a service.
type Document struct {
	Name, Category, Description string
	Tags                        []string
	Paths, Descriptions         []string // of its endpoints
}

// fields returns the texts of a document by field, in the order of fieldTable.
func fields(d *Document) [fieldCount][]string {
	return [fieldCount][]string{{d.Name}, d.Tags, {d.Category}, {d.Description}, d.Paths, d.Descriptions}
}

// field is a part of a document. Typical lengths are constants, so that a service's weights do not depend on what
// others write.
type field struct {
	name   string
	weight float64 // multiplies how often the field has a term
	length float64 // the typical number of terms
	slope  float64 // 0 if a longer field is worth as much, 1 if it is worth less in proportion to its length
}

const fieldCount = 6

// fieldTable is in the order of fields.
var fieldTable = [fieldCount]field{
	{"name", 4, 2, 0.3},
	{"tags", 3, 4, 0.5},
	{"category", 1, 1, 0},
	{"description", 3, 12, 0.5},
	{"path", 1.5, 8, 0.7},
	{"endpoint_description", 1.5, 16, 0.7},
}

// saturation is BM25's k1: the weighted frequency at which a term has half of its weight.
const saturation = 1.5

// weigh returns the weight of each term of a document in percent of the term's IDF: BM25F over its fields.
func weigh(d *Document) map[string]uint8 {
	sums := map[string]float64{}
	for i, texts := range fields(d) {
		counts, length := map[string]int{}, 0
		for _, text := range texts {
			for _, t := range Terms(text) {
				counts[t]++
				if isWord(t) {
					length++
				}
			}
		}
		f := &fieldTable[i]
		scale := f.weight / (1 - f.slope + f.slope*float64(length)/f.length)
		for t, n := range counts {
			sums[t] += float64(float64(n) * scale) // rounded, so that no machine computes it in one step with the sum
		}
	}
	weights := make(map[string]uint8, len(sums))
	for t, sum := range sums {
		weights[t] = uint8(max(1, math.Round(100*sum/(saturation+sum))))
	}
	return weights
}

// Weigher collects the terms of all services.
type Weigher struct {
	services int
	terms    map[string]*site.Term
	last     map[string]int // the last place of each term
}

// NewWeigher returns a Weigher without services.
func NewWeigher() *Weigher { return &Weigher{terms: map[string]*site.Term{}, last: map[string]int{}} }

// Add adds the next service. Services are added in the order of slugs.
func (w *Weigher) Add(d *Document) {
	for t, weight := range weigh(d) {
		term := w.terms[t]
		if term == nil {
			term = &site.Term{Term: t}
			w.terms[t] = term
		}
		term.Gaps = append(term.Gaps, w.services-w.last[t])
		term.Weights = append(term.Weights, int(weight))
		w.last[t] = w.services
	}
	w.services++
}

// Files are the files of terms.
type Files struct {
	Index      site.TermIndex
	Shards     map[string][]*site.Term // by name; the terms of each by term
	Vocabulary site.Vocabulary
}

// Files returns the files of the services that were added.
func (w *Weigher) Files() Files {
	f := Files{Index: site.TermIndex{Services: w.services, Shards: map[string]int{}}, Shards: map[string][]*site.Term{},
		Vocabulary: site.Vocabulary{Terms: map[string]int{}}}
	for _, t := range slices.Sorted(maps.Keys(w.terms)) {
		term := w.terms[t]
		n := len(term.Gaps)
		others := float64(w.services - n)
		term.IDF = max(1, int(math.Round(100*math.Log(1+(others+0.5)/(float64(n)+0.5)))))
		name := site.TermShard(t, n)
		f.Shards[name] = append(f.Shards[name], term)
		f.Index.Shards[name]++
		if isWord(t) {
			f.Vocabulary.Terms[t] = n
		}
	}
	return f
}
