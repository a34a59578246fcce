package demo

import (
	"context"
	"time"

	"tollbook/cmd/tollbook/version"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/postgres/checks"
)

const (
	hostGap      = 20 * time.Millisecond // between two requests to a sample service
	pollInterval = 3 * time.Second       // of the sample chain, whose blocks are two seconds apart
	// facilitatorEvery is the time from one poll of a facilitator to the next, less than crawl.PollsEvery: each look
	// finds them due.
	facilitatorEvery = 45 * time.Second
	confirmations    = 2 // fewer blocks than a reorganisation replaces, so that one is rolled back
)

// probeOptions returns how sample services are reached: through the dialer of the sample world, with its certificates.
func (d *Demo) probeOptions(world *sample.World) probe.Options {
	return probe.Options{
		UserAgent: version.UserAgent(d.baseURL),
		Routes:    []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	}
}

// newCrawler returns a crawler of the sample services, which requests a build after each visit.
func (d *Demo) newCrawler(world *sample.World) *crawl.Crawler {
	return crawl.New(d.db.DB, crawl.Options{HostGap: hostGap, Hourly: -1, Logger: d.logger,
		FacilitatorEvery: facilitatorEvery, Changed: func([]checks.Visit) { d.markChanged() }}, d.probeOptions(world))
}

// newIndexer returns a reader of the sample chain, which requests a build after each payment.
func (d *Demo) newIndexer(world *sample.World) (run func(context.Context) error, err error) {
	var settlements int64
	index, err := crawl.NewIndexer(d.db.DB, []chain.Network{{
		ID: sample.Network, RPC: []string{world.RPC()}, Confirmations: confirmations, Start: world.Ledger().Genesis(),
		Poll: pollInterval,
	}}, chain.Options{Logger: d.logger, Progress: func(p chain.Progress) { // one goroutine calls it
		if p.Settlements != settlements {
			settlements = p.Settlements
			d.markChanged()
		}
	}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := index.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}, nil
}
