// This part of the package says which public sources of services are configured: those that come with Tollbook, and
// the [[source]] tables of the configuration file. It must never ask a source.

package settings

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl/pull"
	"tollbook/crawl/source"
	"tollbook/site/display"
	"tollbook/site/postgres/sources"
)

// sourceTable is a [[source]] of the configuration file. Keys that the file leaves out are nil.
type sourceTable struct {
	Name    *string `toml:"name"`
	Kind    *string `toml:"kind"`
	Address *string `toml:"address"`
	Period  *string `toml:"period"`
	Take    *string `toml:"take"`
	Trust   *bool   `toml:"trust"`
	Enabled *bool   `toml:"enabled"`
}

// Defaults of a source. A source is not asked more often than MinPeriod.
const (
	defaultPeriod = 6 * time.Hour
	minPeriod     = 10 * time.Minute
	defaultTake   = pull.TakeAnswering
)

// ReadSources returns the sources that come with Tollbook and those of the tables, by name. A table of a name that
// comes with Tollbook changes that source. A source of a table is enabled unless the table says otherwise; the others
// are not.
func ReadSources(tables []sourceTable) ([]pull.Source, error) {
	list := shippedSources()
	seen := map[string]bool{}
	for i, t := range tables {
		if t.Name == nil || !isName.MatchString(*t.Name) {
			return nil, terminal.UsageErrorf("[[source]] number %d: name must be 1 to 40 of a-z, 0-9 and inner hyphens", i+1)
		}
		name := *t.Name
		if seen[name] {
			return nil, terminal.UsageErrorf("[[source]] %s appears twice; combine the two tables", name)
		}
		seen[name] = true
		at := slices.IndexFunc(list, func(s pull.Source) bool { return s.Name == name })
		if at < 0 {
			at = len(list)
			list = append(list, newSource(name, "", ""))
		}
		if err := t.apply(&list[at]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b pull.Source) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

var isName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

func newSource(name, kind, address string) pull.Source {
	return pull.Source{Source: sources.Source{Name: name, Kind: kind, Address: address}, Period: defaultPeriod,
		Take: defaultTake, Trust: true}
}

// apply changes a source as a table says, and checks it.
func (t sourceTable) apply(s *pull.Source) error {
	s.Enabled = t.Enabled == nil || *t.Enabled
	if t.Kind != nil {
		s.Kind = *t.Kind
	}
	if t.Address != nil {
		s.Address = *t.Address
	}
	if t.Take != nil {
		s.Take = *t.Take
	}
	if t.Trust != nil {
		s.Trust = *t.Trust
	}
	if t.Period != nil {
		d, err := time.ParseDuration(*t.Period)
		if err != nil || d < minPeriod {
			return terminal.UsageErrorf("[[source]] %s: period %.20q: give a duration of at least %s, such as \"6h\"", s.Name,
				*t.Period, "10m")
		}
		s.Period = d
	}
	if _, ok := source.KindOf(s.Kind); !ok {
		return terminal.UsageErrorf("[[source]] %s: kind %.60q: give one of %s%s", s.Name, s.Kind,
			strings.Join(sourceKinds(), ", "), display.Hint(s.Kind, sourceKinds()))
	}
	u, err := url.Parse(s.Address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		u.Fragment != "" || len(s.Address) > source.MaxURL {
		return terminal.UsageErrorf("[[source]] %s: address must be a URL that begins with https:// or http://, without a "+
			"user name", s.Name)
	}
	if !slices.Contains(pull.Takes, s.Take) {
		return terminal.UsageErrorf("[[source]] %s: take %.20q: give one of %s", s.Name, s.Take, strings.Join(pull.Takes, ", "))
	}
	return nil
}

// sourceKinds returns the names of all kinds.
func sourceKinds() []string {
	var names []string
	for _, k := range source.Kinds() {
		names = append(names, k.Name)
	}
	return names
}
