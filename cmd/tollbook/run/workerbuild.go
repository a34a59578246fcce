package run

import (
	"context"
	"errors"
	"os"
	"time"

	"tollbook/crawl/schedule"
	"tollbook/output"
	"tollbook/output/objects"
)

// buildSteps returns the steps of the process that has the published folder. Each follows the one before, so that the
// newest build is published and nothing is pruned before that.
func buildSteps(db *Database, o WorkerOptions) ([]schedule.Step, error) {
	steps := []schedule.Step{{
		Name: "build", Every: o.Schedule.Build, Limit: buildLimit,
		Do: func(ctx context.Context) error {
			if _, err := o.Folder.Checkpoint(); errors.Is(err, output.ErrEmpty) {
				waitForVisits(ctx, db)
			}
			r, err := o.Builder.Build(ctx, db, o.Folder, nil)
			if err == nil {
				o.Logger.InfoContext(ctx, "built", "snapshot", r.Snapshot, "services", r.Services, "files", r.Files,
					"bytes", r.Bytes, "seconds", r.Took.Seconds())
				for _, s := range r.SetAside {
					o.Logger.WarnContext(ctx, "service set aside", "slug", s.Slug, "since", s.Since, "reason", s.Reason)
				}
			}
			return err
		},
	}}
	if o.Publish.To == "" {
		return steps, nil
	}
	if _, err := objects.OpenStore(o.Publish.To, objects.StoreOptions{Getenv: os.Getenv}); err != nil {
		return nil, err // an address that can't be read is reported at the start
	}
	return append(steps, schedule.Step{
		Name: "publish", Every: max(o.Schedule.Publish, time.Second), Follows: "build", Limit: publishLimit,
		Do: func(ctx context.Context) error {
			p, err := NewPublisher(ctx, db.DB, o.Publish)
			if err != nil {
				return err
			}
			r, err := p.Publish(ctx, o.Folder)
			if err == nil {
				o.Logger.InfoContext(ctx, "published", "to", o.Publish.To, "snapshot", r.Checkpoint.Snapshot,
					"generation", r.Checkpoint.Generation, "written", r.Written, "bytes", r.Bytes,
					"writes", r.Traffic.Writes, "reads", r.Traffic.Reads, "deletes", r.Traffic.Deletes)
			}
			return err
		},
	}, schedule.Step{
		Name: "prune", Every: pruneEvery, Follows: "publish", Limit: pruneLimit,
		Do: func(ctx context.Context) error {
			p, err := NewPublisher(ctx, db.DB, o.Publish)
			if err != nil {
				return err
			}
			_, err = p.Prune(ctx, o.Folder)
			return err
		},
	}), nil
}

// The first build of a directory waits for the first visits, because a service that was never visited has no prices.
const (
	firstVisitsLimit    = 30 * time.Second
	firstVisitsInterval = 200 * time.Millisecond
)

// waitForVisits waits until each service was visited once, or the limit is reached.
func waitForVisits(ctx context.Context, db *Database) {
	ctx, cancel := context.WithTimeout(ctx, firstVisitsLimit)
	defer cancel()
	for {
		if unvisited, err := db.CountUnvisited(ctx); err != nil || unvisited == 0 {
			return
		}
		select {
		case <-time.After(firstVisitsInterval):
		case <-ctx.Done():
			return
		}
	}
}
