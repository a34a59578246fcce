package build

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// answers makes responses to requests that no file answers, from the rows, columns and terms of the snapshot that is
// being written. A server makes the same responses from the files.
type answers struct {
	*rowWriter
	slugs  []string
	shards map[string][]string
	now    time.Time
}

// addAnswers adds the responses to the questions of the examples. All rows must have been added.
func (w *rowWriter) addAnswers(x openapi.Examples, slugs []string, now time.Time, provenance []byte) error {
	questions := x.Questions()
	if len(questions) == 0 {
		return nil
	}
	a := answers{w, slugs, w.terms.Shards(), now}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		q, err := routes.ParseRequest(routes.ByName(name).Pattern, questions[name])
		if err != nil {
			return fmt.Errorf("answer %s?%s: %w", name, questions[name], err)
		}
		body, err := a.answer(q)
		if err != nil {
			return fmt.Errorf("answer %s?%s: %w", name, questions[name], err)
		}
		x.Answer(name, questions[name], encode.AppendProvenance(body, provenance))
	}
	return nil
}

// answer returns the response to a search or to a question for the best services.
func (a answers) answer(q routes.Query) ([]byte, error) {
	if q.Route.Rule == routes.RuleRank {
		list, meta, err := search.FindBest(q, search.BestSource{Now: a.now, Slugs: a.slugs, Column: a.Column,
			Search: a.search, Row: a.row})
		if err != nil {
			return nil, err
		}
		return encode.AppendFramed(nil, q.Route.Framing, list, meta)
	}
	rows, meta, err := search.ResultsPage(q, len(a.slugs), a)
	if err != nil {
		return nil, err
	}
	m, err := encode.Row(meta)
	return q.Route.Framing.List(rows, m), err
}

// Built implements search.resultsSource.
func (a answers) Built() time.Time { return a.now }

func (a answers) search(text string) (*search.Result, error) {
	index, err := a.Index()
	if err != nil {
		return nil, err
	}
	return search.Find(index, text, a)
}

// Index returns the index of terms.
func (a answers) Index() (*site.TermIndex, error) { return new(a.terms.Index()), nil }

// Vocabulary implements search.Source.
func (a answers) Vocabulary() (*site.Vocabulary, error) { return new(a.terms.Vocabulary()), nil }

// Shard implements search.Source.
func (a answers) Shard(name string) (*search.Shard, error) {
	lines := make([][]byte, len(a.shards[name]))
	for i, term := range a.shards[name] {
		var err error
		if lines[i], err = encode.Row(a.terms.Term(term)); err != nil {
			return nil, err
		}
	}
	return search.ParseShard(lines, len(a.slugs))
}

// Column returns a column of all services.
func (a answers) Column(name string) (*search.Column, error) {
	i := slices.IndexFunc(site.Columns, func(c site.Column) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no column %s", name)
	}
	return search.ParseColumn(name, slices.Concat([]byte(`{"data":[`), a.columns[i], []byte("]}\n")), len(a.slugs))
}

// Rows returns the rows of the services at some places.
func (a answers) Rows(places []int32) ([]site.RowParts, error) {
	parts := make([]site.RowParts, len(places))
	for i, place := range places {
		row, err := a.file.read(a.filed[place])
		if err != nil {
			return nil, err
		}
		var ok bool
		if parts[i], ok = site.SplitRow(row); !ok {
			return nil, fmt.Errorf("the row of %s has no parts", a.slugs[place])
		}
	}
	return parts, nil
}

func (a answers) row(place int32) (*site.ServiceRow, error) {
	data, err := a.file.read(a.filed[place])
	if err != nil {
		return nil, err
	}
	row := &site.ServiceRow{}
	return row, json.Unmarshal(data, row)
}
