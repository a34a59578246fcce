package crawl

import (
	"fmt"

	"tollbook/site"
	"tollbook/site/postgres"
)

// ImportPlan is what an import would change.
type ImportPlan struct {
	New       []PlannedService  `json:"new"`       // services that would be listed
	Added     []PlannedService  `json:"added"`     // endpoints that listed services would get
	Conflicts []PlannedConflict `json:"conflicts"` // why a file would be refused
	Refused   int               `json:"refused"`   // services at addresses that are not visited
}

// PlannedService is a service with the endpoints that it would get.
type PlannedService struct {
	Slug      string   `json:"slug"`
	BaseURL   string   `json:"base_url,omitempty"`
	Endpoints []string `json:"endpoints"`
}

// PlannedConflict is an entry whose slug or address is listed already, with the fields that differ.
type PlannedConflict struct {
	Slug        string   `json:"slug"`
	BaseURL     string   `json:"base_url"`
	Listed      string   `json:"listed"` // slug of the service that has it
	Differences []string `json:"differences"`
}

// NewImportPlan compares the services of an import with those that are listed.
func NewImportPlan(got Imported, listed []postgres.Service) ImportPlan {
	p := ImportPlan{New: []PlannedService{}, Added: []PlannedService{}, Conflicts: []PlannedConflict{},
		Refused: got.Refused}
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
			p.New = append(p.New, PlannedService{l.Slug, l.BaseURL, endpointTexts(l.Endpoints)})
			continue
		}
		p.Conflicts = append(p.Conflicts, PlannedConflict{l.Slug, l.BaseURL, has.Slug, differences(has, l)})
	}
	for _, a := range got.Added {
		p.Added = append(p.Added, PlannedService{Slug: a.Slug, Endpoints: endpointTexts(a.Endpoints)})
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

// differences returns the fields of a listing that differ from the listed service, each with both values.
func differences(has *postgres.Service, l postgres.Listing) []string {
	list := []string{}
	for _, f := range []struct{ name, was, is string }{
		{"slug", has.Slug, l.Slug}, {"url", has.BaseURL, l.BaseURL}, {"service_name", has.Name, l.Name},
		{"description", has.Description, l.Description},
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
