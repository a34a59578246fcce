package routes_test

import (
	"regexp"
	"strings"
	"testing"

	"tollbook/site/routes"
)

// TestFiltersHaveWords checks that people can read each filter of services: on the search page, in what a search
// without results offers, on the command line and in the tools of MCP.
func TestFiltersHaveWords(t *testing.T) {
	t.Parallel()
	const where = "add it to its row of rowFilters in site/routes/filter.go"
	for i := range routes.Filters {
		p := &routes.Filters[i]
		if strings.Count(p.Words.Chip, "%s") != 1 {
			t.Errorf("the filter %s has the Words.Chip %q, want a text with one %%s for its value: %s", p.Name,
				p.Words.Chip, where)
		}
		if p.Words.Without == "" {
			t.Errorf("the filter %s has no Words.Without, its name after \"without the\": %s", p.Name, where)
		}
		if p.About == "" {
			t.Errorf("the filter %s has no About: %s", p.Name, where)
		}
		if p.Words.Field != nil && p.Words.Field.Label == "" {
			t.Errorf("the filter %s has a field of the form without a Label: %s", p.Name, where)
		}
		if p.Words.Facet != "" && p.Words.Field != nil {
			t.Errorf("the filter %s is both a facet and a field of the form; keep one in site/routes/filter.go", p.Name)
		}
		if f := p.Words.Phrase; f != nil {
			e, err := regexp.Compile(strings.Replace(f.Expression, "%s", "base", 1))
			if err != nil || strings.Contains(f.Expression, "(?i") ||
				f.Value == "" && e.NumSubexp() == 0 && !strings.Contains(f.Expression, "%s") {
				t.Errorf("the filter %s has the Words.Phrase %+v (%v), want an expression for Go and JavaScript that has "+
					"a group, %%s or a Value; see site/routes/filter.go", p.Name, *f, err)
			}
		}
		for _, name := range []string{"services", "search", "best"} {
			if routes.ByName(name).Param(p.Name) == nil {
				t.Errorf("the route %s has no filter %s", name, p.Name)
			}
		}
	}
	for _, name := range []string{"services", "search", "best"} {
		params := routes.ByName(name).Params
		for i := range params {
			if p := &params[i]; p.Column != "" && p.Name != "q" && p.Words.Chip == "" {
				t.Errorf("the filter %s of %s has no words: %s", p.Name, name, where)
			}
		}
	}
}
