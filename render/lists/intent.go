package lists

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tollbook/site/display"
	"tollbook/site/routes"
)

// describe returns a filter in words, such as "at most $0.01".
func (s *Settings) describe(p *routes.Param, value string) string {
	if value == "true" && p.Words.True != "" {
		return p.Words.True
	}
	return strings.Replace(p.Words.Chip, "%s", s.valueText(p.Name, value), 1)
}

// withoutText returns the sentence about the services that match without a filter.
func withoutText(n int, p *routes.Param) string {
	verb := "match"
	if n == 1 {
		verb = "matches"
	}
	return display.Plural(int64(n), "service", "services") + " " + verb + " without the " + p.Words.Without
}

// intent is a search in which filters replace words of the query, such as "under $0.01".
type intent struct{ Label, Href string }

// separators matches what is left around words that were taken out of a query. The script of the page uses it too.
const separators = `(?:^|\s)(?:and|with)\s*$|[\s,;]+$|^[\s,;]+`

// withoutSeparators matches separators.
var withoutSeparators = regexp.MustCompile(separators)

// readIntent returns the search that words of a query stand for, with a zero Label if they name no filter.
func readIntent(s *Settings, values url.Values) intent {
	q := display.Line(values.Get("q"), 100)
	if q == "" {
		return intent{}
	}
	filters := map[string]string{}
	take := func(p *routes.Param, expression, value string) {
		m := regexp.MustCompile("(?i)" + expression).FindStringSubmatchIndex(q)
		if m == nil || values.Get(p.Name) != "" || filters[p.Name] != "" {
			return
		}
		for i := 2; value == "" && i < len(m); i += 2 {
			if m[i] >= 0 {
				value = q[m[i]:m[i+1]]
			}
		}
		filters[p.Name] = value
		q = q[:m[0]] + " " + q[m[1]:]
	}
	for i := range routes.Filters {
		p := &routes.Filters[i]
		if p.Words.Phrase == nil {
			continue
		}
		before, after, hasNetwork := strings.Cut(p.Words.Phrase.Expression, "%s")
		if !hasNetwork {
			take(p, before, p.Words.Phrase.Value)
			continue
		}
		for _, code := range s.longestNetworks() {
			take(p, before+regexp.QuoteMeta(s.Networks[code].Name)+"|"+regexp.QuoteMeta(code)+after, code)
		}
	}
	if len(filters) == 0 {
		return intent{}
	}
	for at := withoutSeparators.FindStringIndex(q); at != nil; at = withoutSeparators.FindStringIndex(q) {
		q = q[:at[0]] + q[at[1]:]
	}
	q = strings.Join(strings.Fields(q), " ")
	changed := set(values, "q", q)
	changed.Del("page")
	var label []string
	if q != "" {
		label = append(label, "“"+q+"”")
	}
	for i := range routes.Filters {
		p := &routes.Filters[i]
		if value, ok := filters[p.Name]; ok {
			changed.Set(p.Name, value)
			label = append(label, s.describe(p, value))
		}
	}
	return intent{Label: strings.Join(label, ", "), Href: SearchURL(s.Search, changed)}
}

// longestNetworks returns the abbreviations of networks, those with the longest names first: "Base Sepolia" is not
// "Base".
func (s *Settings) longestNetworks() []string {
	return slices.SortedFunc(maps.Keys(s.Networks), func(a, b string) int {
		return cmp.Or(utf8.RuneCountInString(s.Networks[b].Name)-utf8.RuneCountInString(s.Networks[a].Name),
			cmp.Compare(a, b))
	})
}
