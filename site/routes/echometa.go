package routes

import (
	"encoding/json"

	"tollbook/site"
)

// echoMeta is the meta of a list that repeats parameters: the four counts, then each repeated value.
type echoMeta struct {
	site.PaginationMeta
	names, values []string
}

// MarshalJSON implements json.Marshaler.
func (m echoMeta) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(m.PaginationMeta)
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-1]
	for i, name := range m.names {
		value, err := json.Marshal(m.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, `,"`...), name...), `":`...), value...)
	}
	return append(b, '}'), nil
}

// pageMeta returns the meta of q's page in a list of total rows: the counts and the parameters with Echo.
func pageMeta(q Query, total int) any {
	counts := site.NewPaginationMeta(total, q.Int("page"), q.Int("per_page"))
	m := echoMeta{PaginationMeta: counts}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Echo {
			m.names, m.values = append(m.names, p.Name), append(m.values, q.Text(p.Name))
		}
	}
	if m.names == nil {
		return counts
	}
	return m
}
