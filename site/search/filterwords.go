// This part of the package reads words of a query as filters and as the order: "under $0.01", "on Base", "cheapest". It
// must never know how a page shows them.

package search

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tollbook/site"
	"tollbook/site/routes"
)

// filterWords is how a query was read.
type filterWords struct {
	rest     string               // the query without the words that were read
	filters  []site.FilterReading // in the order of the query's parameters
	readings []site.Reading       // of words that were corrected
	weak     bool                 // a phrase was read that may also say what a service does
}

// phrase expressions without values of parameters, compiled once.
var (
	phraseExpressions = sync.OnceValue(func() []*regexp.Regexp {
		list := make([]*regexp.Regexp, len(routes.Phrases))
		for i, p := range routes.Phrases {
			if !strings.Contains(p.Expression, "%s") {
				list[i] = compilePhrase(p, "")
			}
		}
		return list
	})
	connectors = regexp.MustCompile("(?i)" + routes.Connectors)
	fillers    = regexp.MustCompile("(?i)" + routes.Fillers)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	blanks     = regexp.MustCompile(`[ \t\r\n]+`)
	letters    = regexp.MustCompile(`(?i)[a-z]+`)
)

func compilePhrase(p routes.Phrase, spellings string) *regexp.Regexp {
	flags := "(?i)"
	if p.Exact {
		flags = ""
	}
	return regexp.MustCompile(flags + strings.Replace(p.Expression, "%s", spellings, 1))
}

// readFilters reads words of the text of a request as filters and as the order. Without allowWeak, phrases that may also
// say what a service does are left in the text.
func (c *candidates) readFilters(text string, allowWeak bool) (f filterWords, err error) {
	q := strings.Trim(blanks.ReplaceAllString(text, " "), " ")
	values, err := c.spelledValues()
	if err != nil {
		return f, err
	}
	if q, err = c.correctFilterWords(q, values, &f); err != nil {
		return f, err
	}
	masked := quoted.ReplaceAllStringFunc(q, func(s string) string { return strings.Repeat("\x00", len(s)) })
	var spans [][2]int
	read := map[string]site.FilterReading{}
	for i, p := range routes.Phrases {
		param := c.q.Route.Param(p.Name)
		if read[p.Name].Name != "" || p.Weak && !allowWeak && param.Column != "" {
			continue
		}
		expression := phraseExpressions()[i]
		if expression == nil {
			names := slices.SortedFunc(maps.Keys(values[p.Name]), longestFirst)
			if p.Weak {
				names = slices.DeleteFunc(names, func(s string) bool { return len(s) < routes.MinWeak })
			}
			if len(names) == 0 {
				continue
			}
			for k := range names {
				names[k] = regexp.QuoteMeta(names[k])
			}
			expression = compilePhrase(p, strings.Join(names, "|"))
		}
		m := expression.FindStringSubmatchIndex(masked)
		if m == nil {
			continue
		}
		value, ok := phraseValue(p, param, q, m)
		if !ok {
			continue
		}
		if p.Weak {
			describes, err := c.describesService(q, masked, m)
			if err != nil {
				return f, err
			}
			if describes {
				continue
			}
			f.weak = f.weak || param.Column != ""
		}
		span := [2]int{m[0], m[1]}
		spans = append(spans, span)
		masked = blankSpans(masked, span)
		if c.isGiven(param) { // the request says otherwise
			continue
		}
		read[p.Name] = site.FilterReading{Words: strings.Trim(q[m[0]:m[1]], " ,;.!?()"), Name: p.Name, Value: value,
			Without: joinWords(blankSpans(q, span))}
	}
	if f.rest = joinWords(blankSpans(q, spans...)); len(spans) > 0 && fillers.MatchString(f.rest) {
		f.rest = ""
	}
	for i := range c.q.Route.Params {
		if r, ok := read[c.q.Route.Params[i].Name]; ok {
			f.filters = append(f.filters, r)
		}
	}
	return f, nil
}

// isGiven reports whether a request has a value for a parameter other than its default.
func (c *candidates) isGiven(p *routes.Param) bool { return c.q.Text(p.Name) != p.Default }

// phraseValue returns the value of a parameter that a match of a phrase stands for, and false if there is none.
func phraseValue(p routes.Phrase, param *routes.Param, q string, m []int) (string, bool) {
	value := p.Value
	for i := 2; value == "" && i < len(m); i += 2 {
		if m[i] >= 0 {
			value = q[m[i]:m[i+1]]
		}
	}
	switch {
	case p.Upper:
		value = strings.ToUpper(value)
	case param.Kind == routes.KindDecimal || param.Kind == routes.KindInteger:
		d, err := site.ParseDecimal(routes.ShiftPoint(value, p.Shift))
		if err != nil {
			return "", false
		}
		value = string(d)
		if param.Kind == routes.KindInteger {
			value, _, _ = strings.Cut(value, ".")
		}
	default:
		if value = param.Spell(value); param.Kind == routes.KindChoice {
			i := slices.IndexFunc(param.Values, func(v string) bool { return strings.EqualFold(v, value) })
			if i < 0 {
				return "", false
			}
			value = param.Values[i]
		}
	}
	return value, true
}

// spelledValues returns the values of parameters that the directory has, by their spellings.
func (c *candidates) spelledValues() (map[string]map[string]string, error) {
	values := map[string]map[string]string{}
	for i := range c.q.Route.Params {
		p := &c.q.Route.Params[i]
		if p.Spellings == "" || p.Column == "" { // an order's other names are no values of services
			continue
		}
		column, err := c.from.Column(p.Column)
		if err != nil {
			return nil, err
		}
		values[p.Name] = p.SpellingsOf(column.values)
	}
	return values, nil
}

func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }

// correctFilterWords returns the query with words of phrases in place of words that differ in one letter and that no
// service has.
func (c *candidates) correctFilterWords(q string, values map[string]map[string]string, f *filterWords) (string, error) {
	known, parts := map[string]bool{}, map[string]bool{}
	for _, w := range routes.PhraseWords {
		known[w] = true
	}
	for spelling := range values["network"] {
		for _, part := range letters.FindAllString(spelling, -1) {
			parts[part] = true
		}
		if isLetters(spelling) && len(spelling) >= minCorrected {
			known[spelling] = true
		}
	}
	masked := quoted.ReplaceAllStringFunc(q, func(s string) string { return strings.Repeat("\x00", len(s)) })
	var corrected strings.Builder
	from := 0
	for _, m := range letters.FindAllStringIndex(masked, -1) {
		w := strings.ToLower(q[m[0]:m[1]])
		if !isLetters(w) || len(w) < minCorrected || known[w] || parts[w] || stopWords[w] || len(phrases[Stem(w)]) > 0 {
			continue
		}
		to := ""
		for _, edit := range edits(w) {
			if known[edit] && (to == "" || edit[0] == w[0] && to[0] != w[0] || (edit[0] == w[0]) == (to[0] == w[0]) && edit < to) {
				to = edit
			}
		}
		if to == "" {
			continue
		}
		posting, err := c.termReader().posting(Stem(w))
		if err != nil {
			return "", err
		}
		if posting != nil {
			continue
		}
		corrected.WriteString(q[from:m[0]] + to)
		from = m[1]
		f.readings = append(f.readings, site.Reading{Words: w, As: site.ReadCorrected, To: to})
	}
	corrected.WriteString(q[from:])
	return corrected.String(), nil
}

func (c *candidates) termReader() *reader { return &reader{index: c.index, from: c.from} }

// describesService reports whether the words of a match say what a service does: a phrase of a concept has them and
// others, or a service that matches the rest of the query has them.
func (c *candidates) describesService(q, masked string, m []int) (bool, error) {
	span := [2]int{m[0], m[1]}
	rest := joinWords(blankSpans(strings.ReplaceAll(masked, "\x00", " "), span))
	own, _ := split(Fold(q[m[0]:m[1]]))
	if rest == "" || fillers.MatchString(rest) || len(own) == 0 {
		return false, nil
	}
	words, _ := split(Fold(q))
	for i := range words {
		for _, p := range phrasesAt(words, i) {
			if len(p.stems) < 2 || !slices.ContainsFunc(words[i:i+len(p.stems)], func(w word) bool {
				return w.stem == own[0].stem
			}) {
				continue
			}
			if posting, err := c.termReader().posting(p.term); err != nil || posting != nil {
				return posting != nil, err
			}
		}
	}
	posting, err := c.termReader().posting(own[0].stem)
	if err != nil || posting == nil {
		return false, err
	}
	result, err := Find(c.index, rest, c.from)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(result.Hits, func(h Hit) bool {
		_, has := slices.BinarySearch(posting.at, int32(h.Place))
		return has
	}), nil
}

// blankSpans returns a text with spaces in place of spans.
func blankSpans(text string, spans ...[2]int) string {
	b := []byte(text)
	for _, s := range spans {
		for i := s[0]; i < s[1]; i++ {
			b[i] = ' '
		}
	}
	return string(b)
}

// joinWords returns what is left of a query without what joined it to words that were taken out.
func joinWords(q string) string {
	q = strings.Trim(blanks.ReplaceAllString(q, " "), " ")
	for connectors.MatchString(q) {
		q = strings.Trim(connectors.ReplaceAllString(q, ""), " ")
	}
	return q
}

// findNearest returns the services that match any word of a text, or any word of the phrases of concepts that it names:
// for a text that nothing matches.
func findNearest(index *site.TermIndex, text string, from Source) ([]Hit, error) {
	r := reader{index: index, from: from}
	words, _ := split(Fold(text))
	var stems []string
	for i, w := range words {
		stems = append(stems, w.stem)
		for _, p := range phrasesAt(words, i) {
			stems = append(stems, nearStems[p.term]...)
		}
	}
	scores := map[int]int{}
	for i, stem := range stems {
		posting, err := r.posting(stem)
		if err != nil {
			return nil, err
		}
		if posting == nil || slices.Contains(stems[:i], stem) {
			continue
		}
		for k, place := range posting.at {
			scores[int(place)] += posting.idf * int(posting.weights[k])
		}
	}
	hits := make([]Hit, 0, len(scores))
	for place, score := range scores {
		hits = append(hits, Hit{place, score})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Place, b.Place))
	})
	return hits[:min(len(hits), maxNearest)], nil
}

// maxNearest is the number of services that are listed if nothing matches.
const maxNearest = 5

// nearStems are the stems of the words of all phrases of each concept, by its term.
var nearStems = func() map[string][]string {
	by := map[string][]string{}
	for _, list := range phrases {
		for _, p := range list {
			for _, stem := range p.stems {
				by[p.term] = append(by[p.term], strings.TrimPrefix(stem, behindTo))
			}
		}
	}
	return by
}()
