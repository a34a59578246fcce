package crawl

import (
	"context"
	"errors"
	"time"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// OwnerReport counts the results of looking for owners' tokens again.
type OwnerReport struct{ Shown, Missing int }

// RecheckOwners looks for the ownership token of every service that has one, at the pace of visits. Where a site shows
// its token, the proof is renewed in the name of actor. Where it answers without the token, the proof ends. If nothing
// answers, the last proof stays valid until it expires.
func (c *Crawler) RecheckOwners(ctx context.Context, actor string) (OwnerReport, error) {
	var r OwnerReport
	slugs, err := c.db.ClaimedServices(ctx)
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

// recheckOwner reports whether a service's site shows its token. It returns false for a service that has been erased,
// or that must not be asked without a contact.
func (c *Crawler) recheckOwner(ctx context.Context, slug, actor string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, ownerLimit)
	defer cancel()
	token, base, err := c.db.OwnershipToken(ctx, slug)
	if err == nil && c.skips(ctx, slug, base) {
		return false, nil
	}
	if err == nil {
		if missing := c.fetcher.CheckToken(limited, base, token); missing != nil {
			c.o.Logger.InfoContext(ctx, "owner", "service", slug, "shown", false, "reason", missing.Error())
			if ctx.Err() == nil && errors.Is(missing, facts.ErrNotShown) {
				return false, c.db.MissToken(ctx, slug, actor, c.o.Now())
			}
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

// ownerLimit bounds the look at one site, including the wait for its host.
const ownerLimit = time.Minute
