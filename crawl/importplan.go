package crawl

import (
	"fmt"

	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// ImportPlan says what an import would change.
type ImportPlan struct {
	New       []PlannedService  `json:"new"`       // services that would be listed
	Added     []PlannedService  `json:"added"`     // listed services that would get endpoints
	Conflicts []PlannedConflict `json:"conflicts"` // entries for which the file would be refused
	Refused   int               `json:"refused"`   // services at addresses that the guard refuses
}

// PlannedService is a service with the endpoints that the import would add.
type PlannedService struct {
	Slug      string   `json:"slug"`
	BaseURL   string   `json:"base_url,omitempty"`
	Endpoints []string `json:"endpoints"`
}

// PlannedConflict is an entry whose slug or URL is listed already, with the fields that differ.
type PlannedConflict struct {
	Slug        string   `json:"slug"`
	BaseURL     string   `json:"base_url"`
	Listed      string   `json:"listed"` // slug of the listed service
	Differences []string `json:"differences"`
}

// NewImportPlan compares the services of an import with the listed ones.
func NewImportPlan(got ImportReport, listed []postgres.Service) ImportPlan {
	p := ImportPlan{New: []PlannedService{}, Added: []PlannedService{}, Conflicts: []PlannedConflict{},
		Refused: got.Refused}
	slugs, bases := map[string]*postgres.Service{}, map[string]*postgres.Service{}
	for i := range listed {
		slugs[listed[i].Slug], bases[listed[i].BaseURL] = &listed[i], &listed[i]
	}
	for _, l := range got.New {
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
		texts[i] = listing.DeclaredPath{Method: e.Method, Path: e.Path}.String()
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
