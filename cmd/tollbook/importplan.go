package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tollbook/crawl"
	"tollbook/site"
	"tollbook/site/postgres"
)

// importPlan is what an import would change.
type importPlan struct {
	New       []plannedService  `json:"new"`       // services that would be listed
	Added     []plannedService  `json:"added"`     // endpoints that listed services would get
	Conflicts []plannedConflict `json:"conflicts"` // why a file would be refused
	Refused   int               `json:"refused"`   // services at addresses that are not visited
}

type plannedService struct {
	Slug      string   `json:"slug"`
	BaseURL   string   `json:"base_url,omitempty"`
	Endpoints []string `json:"endpoints"`
}

// plannedConflict is an entry whose slug or address is listed, with what it says otherwise.
type plannedConflict struct {
	Slug        string   `json:"slug"`
	BaseURL     string   `json:"base_url"`
	Listed      string   `json:"listed"` // slug of the service that has it
	Differences []string `json:"differences"`
}

// newImportPlan compares what would come with what is listed.
func newImportPlan(got crawl.Imported, listed []postgres.Service) importPlan {
	p := importPlan{New: []plannedService{}, Added: []plannedService{}, Conflicts: []plannedConflict{}, Refused: got.Refused}
	slugs, bases := map[string]*postgres.Service{}, map[string]*postgres.Service{}
	for i := range listed {
		slugs[listed[i].Slug], bases[listed[i].BaseURL] = &listed[i], &listed[i]
	}
	for _, l := range got.Fresh {
		has := slugs[l.Slug]
		if has == nil {
			has = bases[l.BaseURL]
		}
		if has == nil {
			p.New = append(p.New, plannedService{l.Slug, l.BaseURL, endpointTexts(l.Endpoints)})
			continue
		}
		p.Conflicts = append(p.Conflicts, plannedConflict{l.Slug, l.BaseURL, has.Slug, differences(has, l)})
	}
	for _, a := range got.Added {
		p.Added = append(p.Added, plannedService{Slug: a.Slug, Endpoints: endpointTexts(a.Endpoints)})
	}
	return p
}

func endpointTexts(list []postgres.ListedEndpoint) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = site.DeclaredPath{Method: e.Method, Path: e.Path}.String()
	}
	return texts
}

// differences are the words of a listing that are others than those that are listed.
func differences(has *postgres.Service, l postgres.Listing) []string {
	list := []string{}
	for _, f := range []struct{ name, was, is string }{
		{"slug", has.Slug, l.Slug}, {"url", has.BaseURL, l.BaseURL}, {"service_name", has.Name, l.Name}, {"description", has.Description, l.Description},
		{"website_url", orDash(has.WebsiteURL), orDash(l.WebsiteURL)}, {"category", has.Category, l.Category},
	} {
		if f.was != f.is {
			list = append(list, fmt.Sprintf("%s: %s → %s", f.name, f.was, f.is))
		}
	}
	return list
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// errConflicts is a dry run of a file that would be refused.
var errConflicts = errors.New("nothing would be imported: what is listed already refuses the file")

func (p importPlan) print(stdout io.Writer, asJSON bool) error {
	if asJSON {
		if err := printJSON(stdout, p); err != nil {
			return err
		}
	} else {
		for _, s := range p.New {
			fmt.Fprintf(stdout, "+ %s %s: %s\n", s.Slug, seen(s.BaseURL), seen(strings.Join(s.Endpoints, ", ")))
		}
		for _, s := range p.Added {
			fmt.Fprintf(stdout, "+ %s gets %s\n", s.Slug, seen(strings.Join(s.Endpoints, ", ")))
		}
		for _, c := range p.Conflicts {
			fmt.Fprintf(stdout, "! %s %s is listed as %s\n", c.Slug, seen(c.BaseURL), c.Listed)
			for _, d := range c.Differences {
				fmt.Fprintf(stdout, "    %s\n", seen(d))
			}
		}
		if _, err := fmt.Fprintf(stdout, "%d services would be listed, %d get endpoints, %d are listed already, %d at addresses that are not visited\n",
			len(p.New), len(p.Added), len(p.Conflicts), p.Refused); err != nil {
			return err
		}
	}
	if len(p.Conflicts) > 0 {
		return errConflicts
	}
	return nil
}
