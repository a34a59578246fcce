package build

import (
	"fmt"
	"strconv"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/encode"
)

// writeIncidents writes each page of 25 and of 100 incidents, the feeds and the calendar.
func writeIncidents(s *site.Snapshot, renderer *render.Renderer, totals map[string]int, add addFunc) error {
	q := bare("incidents", "")
	totals[q.ListKey()] = len(s.Incidents)
	lines := make([][]byte, len(s.Incidents))
	for i := range s.Incidents {
		var err error
		if lines[i], err = encode.Row(&s.Incidents[i]); err != nil {
			return fmt.Errorf("encode an incident of %s: %w", s.Incidents[i].Slug, err)
		}
	}
	for _, size := range []int{site.PageSize, site.MaxPageSize} {
		if err := writeListFiles(q.With("per_page", strconv.Itoa(size)), lines, add); err != nil {
			return err
		}
	}
	feeds, err := renderer.Incidents()
	if err != nil {
		return err
	}
	for _, f := range feeds {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return writeListFile(q, lines, add)
}
