package routes_test

import (
	"regexp"
	"slices"
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

// TestPhrases checks that each phrase is an expression for Go and JavaScript with a value of its parameter.
func TestPhrases(t *testing.T) {
	t.Parallel()
	for _, f := range routes.Phrases {
		e, err := regexp.Compile(strings.Replace(f.Expression, "%s", "base", 1))
		p := routes.ByName("search").Param(f.Name)
		if err != nil || strings.Contains(f.Expression, "(?i") || strings.Contains(f.Expression, `\s`) || p == nil ||
			f.Value == "" && e.NumSubexp() == 0 {
			t.Errorf("the phrase %+v (%v), want an expression for Go and JavaScript without \\s, with a group or a Value; "+
				"see site/routes/phrase.go", f, err)
		}
		if f.Value != "" && p.Kind == routes.KindChoice && !slices.Contains(p.Values, f.Value) {
			t.Errorf("the phrase %+v has no value of %v", f, p.Values)
		}
	}
}
