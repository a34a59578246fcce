package main

import (
	"context"
	"sync"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/render/submitform"
	"tollbook/site"
	"tollbook/site/serve"
)

// takeSubmissions opens the database and has submissions taken into it, and the probes that wait in it made, until stop
// is called. What becomes of the database meanwhile is told, and ends nothing: readers need none.
func (o *serveOptions) takeSubmissions(ctx context.Context, to *serve.Options) (stop func(), err error) {
	free, err := o.freeHosts()
	if err != nil {
		return nil, err
	}
	logger := to.Logger
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return nil, err
	}
	submissions := crawl.NewSubmissions(db.DB, crawl.SubmissionOptions{Logger: logger}, probe.Options{UserAgent: userAgent(o.Contact)})
	to.Submit = submitOptions(db, submissions, free)
	to.Submit.MaxPending = o.MaxPending
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { submissions.Run(ctx) })
	parts.Go(func() { db.revive(ctx, o.dataOptions, logger) })
	return func() {
		cancel()
		parts.Wait()
		submissions.Close()
		if err := db.Close(); err != nil {
			logger.Error("the database was not closed", "err", err)
		}
	}, nil
}

// submitOptions hold submissions to the strictest guard.
func submitOptions(db *database, submissions *crawl.Submissions, free site.FreeHosts) *serve.SubmitOptions {
	return &serve.SubmitOptions{
		Store: db.DB, Prober: submissions, FreeHosts: free, Address: (&probe.Guard{}).Canonical, Domain: probe.Domain,
		FillForm: submitform.Fill, MaxPending: site.MaxPending,
	}
}
