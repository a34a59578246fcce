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

// NewDocument returns the text of a service's row.
func NewDocument(r *site.ServiceRow) *Document {
	d := &Document{Name: r.Name, Category: r.Category, Description: r.Description}
	if tags := r.Assessment.CapabilityTags; tags != nil {
		d.Tags = tags.Value
	}
	for i := range r.Endpoints {
		d.Paths = append(d.Paths, r.Endpoints[i].Path)
		if about := r.Endpoints[i].Description; about != nil {
			d.Descriptions = append(d.Descriptions, *about)
		}
	}
	return d
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

// Weights are the terms of a document, each with its weight in percent of the term's IDF: BM25F over the fields.
type Weights map[string]uint8

// Weigh returns the weights of a document.
func Weigh(d *Document) Weights {
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
	weights := make(Weights, len(sums))
	for t, sum := range sums {
		weights[t] = uint8(max(1, math.Round(100*sum/(saturation+sum))))
	}
	return weights
}

// Weigher collects the weights of all services.
type Weigher struct {
	services int
	terms    map[string]*weighted
}

// weighted are the services with a term, and their weights.
type weighted struct {
	at      []int32
	weights []uint8
}

// NewWeigher returns a Weigher without services.
func NewWeigher() *Weigher { return &Weigher{terms: map[string]*weighted{}} }

// Add adds the next service. Services are added in the order of slugs.
func (w *Weigher) Add(weights Weights) {
	for t, weight := range weights {
		of := w.terms[t]
		if of == nil {
			of = &weighted{}
			w.terms[t] = of
		}
		of.at, of.weights = append(of.at, int32(w.services)), append(of.weights, weight)
	}
	w.services++
}

// Shards returns the terms of each file of terms, by its name. Terms are sorted.
func (w *Weigher) Shards() map[string][]string {
	shards := map[string][]string{}
	for _, t := range slices.Sorted(maps.Keys(w.terms)) {
		name := site.TermShard(t, len(w.terms[t].at))
		shards[name] = append(shards[name], t)
	}
	return shards
}

// Index returns the index of the files of terms.
func (w *Weigher) Index() site.TermIndex {
	index := site.TermIndex{Services: w.services, Shards: map[string]int{}}
	for t, of := range w.terms {
		index.Shards[site.TermShard(t, len(of.at))]++
	}
	return index
}

// Vocabulary returns the vocabulary.
func (w *Weigher) Vocabulary() site.Vocabulary {
	v := site.Vocabulary{Terms: map[string]int{}}
	for t, of := range w.terms {
		if isWord(t) {
			v.Terms[t] = len(of.at)
		}
	}
	return v
}

// Term returns the line of a term.
func (w *Weigher) Term(term string) site.Term {
	of := w.terms[term]
	t := site.Term{Term: term, IDF: idfOf(len(of.at), w.services), Gaps: make([]int, len(of.at)),
		Weights: make([]int, len(of.at))}
	last := 0
	for i, place := range of.at {
		t.Gaps[i], t.Weights[i] = int(place)-last, int(of.weights[i])
		last = int(place)
	}
	return t
}

// idfOf returns 100 times the inverse document frequency of a term that n services have.
func idfOf(n, services int) int {
	return max(1, int(math.Round(100*math.Log(1+(float64(services-n)+0.5)/(float64(n)+0.5)))))
}
