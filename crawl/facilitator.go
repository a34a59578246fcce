package crawl

import (
	"context"
	"io"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// ShippedFacilitators is the list of facilitators that comes with Tollbook, as it is imported.
func ShippedFacilitators() ([]ledger.Facilitator, error) { return imported(chain.Shipped()) }

// ImportShippedFacilitators stores that list in a database without facilitators. They are real ones; what they settled
// is what the settlements table contains.
func ImportShippedFacilitators(ctx context.Context, db *postgres.DB) error {
	known, err := db.Facilitators(ctx)
	if err != nil || len(known) > 0 {
		return err
	}
	list, err := ShippedFacilitators()
	if err != nil {
		return err
	}
	_, err = db.ImportFacilitators(ctx, list)
	return err
}

// ReadFacilitators reads a list of facilitators of the same form. One wrong entry refuses the whole list; every fault
// found is told, each with whose it is.
func ReadFacilitators(name string, r io.Reader) ([]ledger.Facilitator, error) {
	return imported(chain.ReadFacilitators(name, r))
}

func imported(list []chain.Facilitator, err error) ([]ledger.Facilitator, error) {
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
			FacilitatorURL: orNull(f.FacilitatorURL),
			UpstreamStatus: f.UpstreamStatus, Settlers: make([]ledger.Settler, len(f.Settlers)),
		}
		for j, s := range f.Settlers {
			out[i].Settlers[j] = ledger.Settler(s)
		}
	}
	return out, nil
}
