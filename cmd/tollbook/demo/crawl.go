package demo

import (
	"context"
	"sync/atomic"
	"time"

	"tollbook/cmd/tollbook/version"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/site/postgres"
)

const (
	hostGap       = 20 * time.Millisecond // between two requests to a sample service
	pollInterval  = 3 * time.Second       // of the sample chain, whose blocks are two seconds apart
	confirmations = 2                     // fewer blocks than a reorganisation replaces, so that one is rolled back
)

// probeOptions returns how sample services are reached: through the dialer of the sample world, with its certificates.
func (d *Demo) probeOptions(world *sample.World) probe.Options {
	return probe.Options{
		UserAgent: version.UserAgent(d.baseURL),
		Routes:    []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	}
}

// newCrawler returns a crawler of the sample services. visited is closed after most of the services that are due now
// were visited.
func (d *Demo) newCrawler(world *sample.World, due int) (c *crawl.Crawler, visited <-chan struct{}) {
	var left atomic.Int64 // visits until most services were visited
	left.Store(int64(due * 8 / 10))
	most := make(chan struct{})
	if left.Load() == 0 {
		close(most)
	}
	changed := func(visits []postgres.Visit) { // several goroutines call it
		n := int64(len(visits))
		if now := left.Add(-n); now <= 0 && now+n > 0 {
			close(most)
		}
		d.markChanged()
	}
	return crawl.New(d.db.DB, crawl.Options{HostGap: hostGap, Hourly: -1, Logger: d.logger, Changed: changed},
		d.probeOptions(world)), most
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
