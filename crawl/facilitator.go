package crawl

import (
	"context"
	"io"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// ShippedFacilitators returns the list of facilitators that is part of Tollbook, in the form of an import.
func ShippedFacilitators() ([]ledger.Facilitator, error) { return toLedger(chain.Shipped()) }

// ImportShippedFacilitators stores that list in a database without facilitators. The facilitators are real ones; which
// payments they settled is read from the chains.
func ImportShippedFacilitators(ctx context.Context, db *postgres.DB) error {
	stored, err := db.Facilitators(ctx)
	if err != nil || len(stored) > 0 {
		return err
	}
	list, err := ShippedFacilitators()
	if err != nil {
		return err
	}
	_, err = db.ImportFacilitators(ctx, list)
	return err
}

// ReadFacilitators reads a list of facilitators in the form of the shipped one.
func ReadFacilitators(name string, r io.Reader) ([]ledger.Facilitator, error) {
	return toLedger(chain.ReadFacilitators(name, r))
}

func toLedger(list []chain.Facilitator, err error) ([]ledger.Facilitator, error) {
	if err != nil {
		return nil, err
	}
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	out := make([]ledger.Facilitator, len(list))
	for i, f := range list {
		out[i] = ledger.Facilitator{
			ID: f.ID, Name: f.Name, WebsiteURL: f.WebsiteURL, DocsURL: orNull(f.DocsURL),
			FacilitatorURL: orNull(f.FacilitatorURL), UpstreamStatus: f.UpstreamStatus,
			Settlers: make([]ledger.Settler, len(f.Settlers)),
		}
		for j, s := range f.Settlers {
			out[i].Settlers[j] = ledger.Settler(s)
		}
	}
	return out, nil
}

// FacilitatorEntry is a facilitator in a file of an export, and in the list that tollbook prints.
type FacilitatorEntry struct {
	ID             string               `json:"id"`
	Name           string               `json:"name"`
	WebsiteURL     string               `json:"website_url"`
	DocsURL        *string              `json:"docs_url"`
	FacilitatorURL *string              `json:"facilitator_url"`
	UpstreamStatus string               `json:"upstream_status"`
	Trusted        bool                 `json:"trusted"`
	Addresses      []FacilitatorAccount `json:"addresses"`
}

// FacilitatorAccount is an account on chain that identifies settlements of a facilitator.
type FacilitatorAccount struct {
	Network    string   `json:"network"`
	Address    string   `json:"address"`
	Tokens     []string `json:"tokens"`
	Since      *string  `json:"since"` // a day
	Deprecated bool     `json:"deprecated"`
	Accepted   bool     `json:"accepted,omitempty"` // by the operator
}

// NewFacilitatorEntry returns the entry of a stored facilitator.
func NewFacilitatorEntry(f ledger.Facilitator) FacilitatorEntry {
	e := FacilitatorEntry{f.ID, f.Name, f.WebsiteURL, f.DocsURL, f.FacilitatorURL, f.UpstreamStatus, f.Trusted,
		make([]FacilitatorAccount, len(f.Settlers))}
	for i, s := range f.Settlers {
		e.Addresses[i] = FacilitatorAccount{s.Network, s.Address, s.Tokens, nil, s.Deprecated, s.Accepted}
		if s.Since != nil {
			e.Addresses[i].Since = new(s.Since.Format(time.DateOnly))
		}
	}
	return e
}
