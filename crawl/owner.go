package crawl

import (
	"context"
	"errors"
	"time"

	"tollbook/site/postgres"
)

// Rechecked counts what a look for the owners' tokens found.
type Rechecked struct{ Shown, Missing int }

// RecheckOwners looks again for the token of every service that was ever given one, at the pace of visits. Where it is
// still shown the proof is renewed, in the name of actor; where not, the last one stays until its time is over.
func (c *Crawler) RecheckOwners(ctx context.Context, actor string) (Rechecked, error) {
	var r Rechecked
	slugs, err := c.db.Claimed(ctx)
	if err != nil {
		return r, err
	}
	for _, slug := range slugs {
		shown, err := c.recheckOwner(ctx, slug, actor)
		switch {
		case err != nil:
			return r, err
		case shown:
			r.Shown++
		default:
			r.Missing++
		}
	}
	return r, nil
}

// recheckOwner looks for one service's token; a service that was erased meanwhile shows none.
func (c *Crawler) recheckOwner(ctx context.Context, slug, actor string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, ownerLimit)
	defer cancel()
	token, base, err := c.db.OwnershipToken(ctx, slug)
	if err == nil {
		if unseen := c.fetcher.ShowsToken(limited, base, token); unseen != nil {
			c.o.Logger.InfoContext(ctx, "owner", "service", slug, "shown", false, "reason", unseen.Error())
			return false, ctx.Err()
		}
		c.o.Logger.InfoContext(ctx, "owner", "service", slug, "shown", true)
		err = c.db.Verify(ctx, slug, actor, c.o.Now())
	}
	if errors.Is(err, postgres.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ownerLimit bounds the look at one service, its turn included.
const ownerLimit = time.Minute
