package crawl

import (
	"slices"

	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// ImportPlan says what an import of a catalogue would change.
type ImportPlan struct {
	New     []PlannedService `json:"new"`     // services that would be listed
	Added   []PlannedService `json:"added"`   // listed services that would get endpoints
	Refused int              `json:"refused"` // services at addresses that the guard refuses

	OptedOut []consent.OptOut `json:"opted_out"` // hosts whose owners opted out
	Removed  []RemovedSeller  `json:"removed"`   // services that the operator removed
}

// PlannedService is a service with the endpoints that the import would add.
type PlannedService struct {
	Slug      string   `json:"slug"`
	BaseURL   string   `json:"base_url,omitempty"`
	Endpoints []string `json:"endpoints"`
}

// NewImportPlan returns the plan of an import.
func NewImportPlan(got ImportReport) ImportPlan {
	p := ImportPlan{New: []PlannedService{}, Added: []PlannedService{}, Refused: got.Refused,
		OptedOut: slices.Concat([]consent.OptOut{}, got.OptedOut),
		Removed:  slices.Concat([]RemovedSeller{}, got.Removed)}
	for _, l := range got.New {
		p.New = append(p.New, PlannedService{l.Slug, l.BaseURL, endpointTexts(l.Endpoints)})
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
