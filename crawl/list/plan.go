package list

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"tollbook/crawl/source"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// Plan says what makes a directory equal to a list.
type Plan struct {
	Add       []addition   `json:"add"`
	Change    []Change     `json:"change"`
	Retire    []retirement `json:"retire"`
	Notes     []Note       `json:"notes"`     // what stays although the list says otherwise
	Unchanged int          `json:"unchanged"` // services that are listed as the list says
	Missing   int          `json:"missing"`   // services of a list that this list lacks, and that stay
}

// addition is a service that would be listed.
type addition struct {
	Slug      string   `json:"slug"`
	Name      string   `json:"service_name"`
	URL       string   `json:"url"`
	Endpoints []string `json:"endpoints"`

	listing postgres.Listing
}

// Change is a listed service with the fields that would change.
type Change struct {
	Slug   string        `json:"slug"`
	Fields []FieldChange `json:"fields"`
	Erases []string      `json:"erases"` // what is lost for good: endpoints that were paid for, with their prices

	change postgres.ListingChange
}

// FieldChange is a value before and after. An endpoint that is added has no old value, one that is removed no new one.
type FieldChange struct {
	Field string `json:"field"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// retirement is a listed service that would be retired.
type retirement struct {
	Slug string `json:"slug"`
	Name string `json:"service_name"`
	URL  string `json:"url"`

	change postgres.ListingChange
}

// Note says why a service stays as it is, or is not listed.
type Note struct {
	Slug   string          `json:"slug"` // "" for a service that is not listed
	Text   string          `json:"text"`
	OptOut *consent.OptOut `json:"opt_out,omitempty"` // nil unless the owner of the host opted out

	Removed *postgres.RemovedService `json:"removed,omitempty"` // nil unless the operator removed the service
}

// IsEmpty reports whether the plan changes nothing.
func (p *Plan) IsEmpty() bool { return len(p.Add)+len(p.Change)+len(p.Retire) == 0 }

// Removes reports whether the plan retires a service or erases something.
func (p *Plan) Removes() bool {
	return len(p.Retire) > 0 || slices.ContainsFunc(p.Change, func(c Change) bool { return len(c.Erases) > 0 })
}

// Changes returns the plan as the database writes it.
func (p *Plan) Changes() (c postgres.ListingChanges) {
	for _, a := range p.Add {
		c.Add = append(c.Add, a.listing)
	}
	for _, change := range p.Change {
		c.Change = append(c.Change, change.change)
	}
	for _, r := range p.Retire {
		c.Change = append(c.Change, r.change)
	}
	return c
}

// NewPlan compares the entries of a list with a directory. With prune, the plan retires the services of a list that
// this list lacks, and removes endpoints that were paid for.
//
// An entry means the service that has its slug, if it names one; else the service at its URL; else the service that
// moved there, as visits saw. Else it means the service of its name that came from a list. The URL of the last two
// changes.
// The slug of a service never changes. The error joins all faults,
// each a *Fault: a slug or URL that belongs to another service.
func NewPlan(entries []Entry, o Options, has postgres.Listed, prune bool) (*Plan, error) {
	m := newMatcher(entries, o, has)
	p := &Plan{Add: []addition{}, Change: []Change{}, Retire: []retirement{}, Notes: []Note{}}
	for i := range entries {
		if o, ok := optOutOf(entries[i].BaseURL, has); ok {
			p.refuse(&entries[i], m.of[i], has, o)
		} else if r := findRemoved(&entries[i], m.of[i], has); r != nil {
			p.refuseRemoved(&entries[i], m.of[i], has, r)
		} else if at := m.of[i]; at >= 0 {
			p.compare(&entries[i], &has.Services[at], prune)
		} else {
			p.add(&entries[i], m.slugs)
		}
	}
	for i := range has.Services {
		s := &has.Services[i]
		if m.claimed[i] || s.Source != sourceFile || s.State == postgres.StateRetired || s.StateBeforeOptOut != nil {
			continue // a retired service is published, so one whose owner opted out stays hidden
		}
		if !prune {
			p.Missing++
			continue
		}
		change := newChange(s)
		change.State, change.Pruned, change.Action, change.Detail = postgres.StateRetired, true, "retire",
			"not in "+o.Name
		p.Retire = append(p.Retire, retirement{s.Slug, s.Name, s.BaseURL, change})
	}
	slices.SortFunc(p.Add, func(a, b addition) int { return cmp.Compare(a.Slug, b.Slug) })
	slices.SortFunc(p.Change, func(a, b Change) int { return cmp.Compare(a.Slug, b.Slug) })
	slices.SortFunc(p.Notes, func(a, b Note) int { return cmp.Compare(a.Slug, b.Slug) })
	if err := m.in.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// NoteFiles notes each change of a service that came from a file: the file has the old values, and applying it again
// undoes the change.
func (p *Plan) NoteFiles() {
	for i := range p.Change {
		if c := &p.Change[i]; c.change.Source == sourceFile {
			p.Notes = append(p.Notes, Note{Slug: c.Slug, Text: "comes from a file of services: write this change there, " +
				"too, or the next tollbook services apply of that file undoes it"})
		}
	}
}

// optOutOf returns the opt-out of the host of a base URL, or of the host that moved there.
func optOutOf(base string, has postgres.Listed) (consent.OptOut, bool) {
	host := consent.HostOf(base)
	if o, ok := has.OptOuts.Find(host); ok {
		return o, true
	}
	return has.OptOuts.Find(has.Moved[source.CanonicalHost(host)])
}

// refuse notes that a host opted out. Nothing is listed there, and a service that is listed there already stays as it
// is.
func (p *Plan) refuse(e *Entry, at int, has postgres.Listed, o consent.OptOut) {
	note := Note{Text: e.BaseURL + " is not listed, because " + o.String(), OptOut: &o}
	if at >= 0 {
		note.Slug, note.Text = has.Services[at].Slug, "stays as it is, because "+o.String()
		p.Unchanged++
	}
	p.Notes = append(p.Notes, note)
}

// findRemoved returns the removal that keeps an entry from being listed, nil if there is none. Earlier versions did not
// store addresses; a service that one of them removed is known by its slug alone. A service that is listed at the
// entry's URL already stays listed.
func findRemoved(e *Entry, at int, has postgres.Listed) *postgres.RemovedService {
	if at >= 0 && has.Services[at].BaseURL == e.BaseURL {
		return nil
	}
	for i := range has.Removed {
		if r := &has.Removed[i]; e.NamesSlug && e.Slug == r.Slug && r.AllowedAt == nil &&
			(len(r.Addresses) == 0 || r.Covers(e.BaseURL)) {
			return r
		}
	}
	return has.FindRemoved(e.BaseURL)
}

// refuseRemoved notes that the service of an entry was removed. Nothing is listed there, and a service that would move
// there stays as it is.
func (p *Plan) refuseRemoved(e *Entry, at int, has postgres.Listed, r *postgres.RemovedService) {
	note := Note{Text: e.BaseURL + " is not listed: " + r.String(), Removed: r}
	if at >= 0 {
		note.Slug = has.Services[at].Slug
		note.Text = "stays as it is, because the service at " + e.BaseURL + " was " + r.String()
		p.Unchanged++
	}
	p.Notes = append(p.Notes, note)
}

func (p *Plan) add(e *Entry, slugs map[string]bool) {
	l := e.Listing
	if !e.NamesSlug {
		u, _ := url.Parse(l.BaseURL) // a checked one
		l.Slug = listing.FreeSlug(slugs, l.Slug, listing.Slug(u.Hostname()))
		slugs[l.Slug] = true
	}
	a := addition{Slug: l.Slug, Name: l.Name, URL: l.BaseURL, Endpoints: []string{}, listing: l}
	for _, e := range l.Endpoints {
		a.Endpoints = append(a.Endpoints, pathOf(e).String())
	}
	p.Add = append(p.Add, a)
}

// newChange returns a change of a service that changes nothing yet.
func newChange(s *postgres.DueService) postgres.ListingChange {
	return postgres.ListingChange{
		ID: s.ID, Pruned: s.Pruned, Action: "change",
		Listing: postgres.Listing{
			Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL,
			Category: s.Category, Source: s.Source,
		},
	}
}

// compare adds to the plan how a service differs from its entry.
func (p *Plan) compare(e *Entry, s *postgres.DueService, prune bool) {
	c := Change{Slug: s.Slug, Fields: []FieldChange{}, Erases: []string{}, change: newChange(s)}
	to := &c.change.Listing
	set := func(field string, was *string, is string) {
		if *was != is {
			c.Fields = append(c.Fields, FieldChange{field, *was, is})
			*was = is
		}
	}
	set("service_name", &to.Name, e.Name)
	set("description", &to.Description, e.Description)
	set("url", &to.BaseURL, e.BaseURL)
	if was, is := textOf(s.WebsiteURL), textOf(e.WebsiteURL); was != is {
		c.Fields = append(c.Fields, FieldChange{"website_url", was, is})
		to.WebsiteURL = e.WebsiteURL
	}
	set("category", &to.Category, e.Category)
	if e.NamesSource {
		set("source", &to.Source, e.Source)
	}
	if s.VerifiedAt != nil && originOf(s.BaseURL) != originOf(to.BaseURL) {
		c.change.Unverify = true
		c.Fields = append(c.Fields, FieldChange{"verified", "true", "false"})
	}
	p.compareEndpoints(&c, e, s, prune)
	if s.StateBeforeOptOut != nil && c.change.BaseURL != s.BaseURL { // another host, whose owner did not opt out
		c.Fields = append(c.Fields, FieldChange{"state", s.State, *s.StateBeforeOptOut})
		c.change.State = *s.StateBeforeOptOut
	}
	if s.State == postgres.StateRetired {
		if s.Pruned {
			c.Fields = append(c.Fields, FieldChange{"state", s.State, postgres.StateListed})
			c.change.State, c.change.Pruned, c.change.Action = postgres.StateListed, false, "resume"
		} else {
			p.Notes = append(p.Notes, Note{Slug: s.Slug,
				Text: "stays retired, as the operator decided; tollbook services resume " + s.Slug + " lists it again"})
		}
	}
	if len(c.Fields) == 0 {
		p.Unchanged++
		return
	}
	c.change.Detail = describe(c.Fields)
	p.Change = append(p.Change, c)
}

// compareEndpoints compares the endpoints that people declared. Endpoints that documents declare stay.
func (p *Plan) compareEndpoints(c *Change, e *Entry, s *postgres.DueService, prune bool) {
	keep := map[uuid.UUID]bool{}
	for _, d := range e.Endpoints {
		matched := false
		for _, k := range s.Endpoints {
			// the method of a path without one may be known from visits or documents
			if k.Path == d.Path && !k.IsUnproven() && (d.Method == "" || k.MethodDeclared && k.Method == d.Method) {
				keep[k.ID], matched = true, true
			}
		}
		if !matched {
			c.Fields = append(c.Fields, FieldChange{"endpoint", "", pathOf(d).String()})
			c.change.Endpoints = append(c.change.Endpoints, d)
		}
	}
	for _, k := range s.Endpoints {
		if keep[k.ID] || !IsDeclared(k) {
			continue
		}
		text := listing.DeclaredPath{Method: k.Method, Path: k.Path}.String()
		if k.LastPaidAt != nil && !prune {
			p.Notes = append(p.Notes, Note{Slug: s.Slug,
				Text: "keeps endpoint " + text + " and its prices, although the list lacks it; --prune removes both"})
			continue
		}
		c.Fields = append(c.Fields, FieldChange{"endpoint", text, ""})
		c.change.RemoveEndpoints = append(c.change.RemoveEndpoints, k.ID)
		if k.LastPaidAt != nil {
			c.Erases = append(c.Erases, "endpoint "+text+" with its prices")
		}
	}
}

// IsDeclared reports whether a person declared an endpoint, in a list or a submission.
func IsDeclared(e postgres.Endpoint) bool { return e.Origin == "import" || e.Origin == "submission" }

func pathOf(e postgres.ListedEndpoint) listing.DeclaredPath {
	return listing.DeclaredPath{Method: e.Method, Path: e.Path}
}

// describe returns the changes of fields as a line of the audit trail.
func describe(fields []FieldChange) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

// String returns the change as "field: old → new".
func (f FieldChange) String() string {
	return fmt.Sprintf("%s: %s → %s", f.Field, cmp.Or(f.Old, "-"), cmp.Or(f.New, "-"))
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// originOf returns the scheme and host of a base URL.
func originOf(base string) string {
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
