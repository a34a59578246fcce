package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tollbook/crawl/facts"
	"tollbook/site/postgres/consent"
)

// How often hosts that opted out are asked whether that still holds, and how long one of them may take.
const (
	optOutEvery = 24 * time.Hour
	optOutRetry = 6 * time.Hour // after no answer
	optOutLimit = time.Minute
	takeOptOuts = 4 // for each worker at a time
	optOutLease = takeOptOuts*optOutLimit + time.Minute
)

// readOptOut reports whether the owner of a listed service's host opted out. If so, it stores that and hides all
// services of the host. A host that does not answer has not opted out.
func (c *Crawler) readOptOut(ctx context.Context, base string) (optedOut bool, err error) {
	document, err := c.fetcher.OptOut(ctx, base, false)
	if err != nil || document == "" {
		return false, ctx.Err()
	}
	_, err = c.storeOptOut(ctx, base, document)
	return err == nil, err
}

func (c *Crawler) storeOptOut(ctx context.Context, base, document string) (consent.OptOut, error) {
	now := c.o.Now()
	o := consent.OptOut{Host: consent.HostOf(base), Document: document, Since: now, ReadAt: now}
	hidden, err := c.db.RecordOptOut(ctx, o, now.Add(c.jitter(optOutEvery)))
	if err != nil {
		return o, err
	}
	if len(hidden) > 0 {
		c.o.Logger.InfoContext(ctx, "the owner of a host opted out; its services are hidden", "host", o.Host,
			"document", document, "services", strings.Join(hidden, " "))
	}
	if c.o.Changed != nil {
		c.o.Changed(nil)
	}
	return o, nil
}

// OptOutReport counts the results of asking the hosts that opted out.
type OptOutReport struct{ Lasting, Ended int }

// RecheckOptOuts asks every host that opted out, and is due to be asked, whether that still holds. An opt-out ends when
// the host answers and no document says it any more. A host that does not answer stays out. Only the documents of the
// opt-out are requested.
func (c *Crawler) RecheckOptOuts(ctx context.Context) (r OptOutReport, err error) {
	now := c.o.Now()
	var mu sync.Mutex
	workers := min(c.o.Workers, maxGatherers)
	err = runWorkers(ctx, workers, func(ctx context.Context) ([]consent.OptOut, error) {
		return c.db.TakeOptOuts(ctx, now, optOutLease, takeOptOuts*workers)
	}, func(ctx context.Context, o consent.OptOut) error {
		if c.skips(ctx, o.Host, o.Document) {
			return nil
		}
		ended, err := c.recheckOptOut(ctx, o)
		mu.Lock()
		defer mu.Unlock()
		if ended {
			r.Ended++
		} else {
			r.Lasting++
		}
		return err
	})
	return r, err
}

// recheckOptOut asks one host whether it still opts out, and stores the answer.
func (c *Crawler) recheckOptOut(ctx context.Context, o consent.OptOut) (ended bool, err error) {
	limited, cancel := context.WithTimeout(ctx, optOutLimit)
	defer cancel()
	document, err := c.fetcher.OptOut(limited, o.Document, true)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, facts.ErrNoAnswer):
		c.o.Logger.InfoContext(ctx, "opt-out", "host", o.Host, "lasts", true, "reason", err.Error())
		return false, c.db.PostponeOptOut(ctx, o.Host, c.o.Now().Add(c.jitter(optOutRetry)))
	case document != "":
		_, err = c.storeOptOut(ctx, o.Document, document)
		return false, err
	}
	shown, err := c.db.EndOptOut(ctx, o.Host, c.o.Now())
	if err != nil {
		return false, err
	}
	c.o.Logger.InfoContext(ctx, "the opt-out of a host ended; its services get back the states that they had", "host",
		o.Host, "services", strings.Join(shown, " "))
	if c.o.Changed != nil {
		c.o.Changed(nil)
	}
	return true, nil
}

// AskOptOut asks a host at once whether its owner opts out, and stores the answer. It returns the opt-out, nil for
// none. base is a base URL, or any other URL of the host. If the host does not answer, nothing changes and the error
// says so.
func (c *Crawler) AskOptOut(ctx context.Context, base string) (*consent.OptOut, error) {
	document, err := c.fetcher.OptOut(ctx, base, true)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", consent.HostOf(base), err)
	}
	if document == "" {
		_, err := c.db.EndOptOut(ctx, consent.HostOf(base), c.o.Now())
		return nil, err
	}
	o, err := c.storeOptOut(ctx, base, document)
	return &o, err
}
