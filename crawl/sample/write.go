package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
)

// Names of settings in the database.
const (
	// the time at which the sample world began: its history ends and its chain continues there
	startSetting   = "sample_start"
	settledSetting = "sample_settled" // set when all previous settlements are written
)

// Begin returns the time at which a database's sample world began; in a fresh database it begins now. Begin refuses a
// database with a real directory.
func Begin(ctx context.Context, db *postgres.DB) (began time.Time, fresh bool, err error) {
	source, err := db.Setting(ctx, "source")
	if err != nil {
		return began, false, err
	}
	if source == "" {
		listed, err := db.Services(ctx)
		if err != nil {
			return began, false, err
		}
		if len(listed) > 0 {
			return began, false,
				errors.New(
					"this database contains a real directory: give the demo another --data folder, and no DATABASE_URL")
		}
	}
	stored, err := db.Setting(ctx, startSetting)
	if err != nil {
		return began, false, err
	}
	if source != "" && stored != "" {
		began, err = time.Parse(time.RFC3339, stored)
		return began, false, err
	}
	began = time.Now().UTC().Truncate(time.Second)
	return began, source == "", db.SetSetting(ctx, startSetting, began.Format(time.RFC3339))
}

// Write stores the sample services with their history in a fresh database, and their payments. After an interruption,
// the next call continues.
func Write(ctx context.Context, db *postgres.DB, world *World, began time.Time, fresh bool,
	interval time.Duration) error {
	g, ctx := errgroup.WithContext(ctx)
	if fresh {
		g.Go(func() error {
			histories, err := wait(ctx, func() []load.History { return Histories(began) })
			if err != nil {
				return err
			}
			if err := load.Sample(ctx, db, Notice, Listings(began, interval), histories); err != nil {
				return fmt.Errorf("write sample data: %w", err)
			}
			return nil
		})
	}
	g.Go(func() error {
		if _, err := db.ImportFacilitators(ctx, Facilitators(began)); err != nil {
			return err
		}
		if err := WritePolls(ctx, db, began); err != nil {
			return fmt.Errorf("write polls of sample facilitators: %w", err)
		}
		if err := writeSettled(ctx, db, world.Ledger()); err != nil {
			return fmt.Errorf("write sample settlements: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// WritePolls stores what facilitators answered before the sample world began, unless any poll is stored. A crash here
// leaves fewer days.
func WritePolls(ctx context.Context, db *postgres.DB, began time.Time) error {
	stored, err := db.Polled(ctx, began)
	if err != nil || len(stored.Facilitators) > 0 {
		return err
	}
	for _, p := range Polls(began) {
		if err := db.RecordPoll(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// writeSettled stores the settlements before the sample world began, once, as indexers would have committed them.
func writeSettled(ctx context.Context, db *postgres.DB, chain *Ledger) error {
	written, err := db.Setting(ctx, settledSetting)
	if err != nil || written != "" {
		return err
	}
	past, err := wait(ctx, chain.Past)
	if err != nil {
		return err
	}
	for _, r := range past {
		write := writeScanned
		if r.Hash == "" {
			write = writeWalked
		}
		if err := write(ctx, db, r, chain.Genesis()); err != nil {
			return err
		}
		if err := db.SetHead(ctx, ledger.Head{Network: r.Network, Block: r.Last, Time: r.Time,
			PolledAt: r.Time, ComparedNodes: 1}); err != nil {
			return err
		}
	}
	return db.SetSetting(ctx, settledSetting, "yes")
}

// writeScanned commits a part of a network's past to the scan that counts it, unless it was committed before. The first
// part opens the scans.
func writeScanned(ctx context.Context, db *postgres.DB, past ledger.Range, genesis time.Time) error {
	if past.First == 0 {
		settlers, err := db.NewSettlers(ctx, past.Network)
		if err != nil {
			return err
		}
		if err := db.OpenScans(ctx, past.Network, settlers, 0, genesis, past.Last+1); err != nil {
			return err
		}
	}
	scans, err := db.Scans(ctx, past.Network)
	if err != nil {
		return err
	}
	for _, s := range scans {
		if s.Counts && s.Next == past.First {
			past.Scan = s.ID
			_, err := db.CommitRanges(ctx, past)
			return err
		}
	}
	return nil
}

// writeWalked commits the past of a Solana network to the walk of each settler, unless it was committed before.
func writeWalked(ctx context.Context, db *postgres.DB, past ledger.Range, genesis time.Time) error {
	walks, err := db.Walks(ctx, past.Network)
	if err != nil {
		return err
	}
	by := map[string][]ledger.Settlement{}
	for _, s := range past.Settlements {
		by[s.Settler] = append(by[s.Settler], s)
	}
	for _, was := range walks {
		if was.NewestTime != nil {
			continue
		}
		is, list := was, by[was.Settler.Address]
		is.NewestSlot, is.NewestTime, is.HistoryStart = past.Last, &past.Time, &genesis
		if len(list) > 0 {
			is.Until = list[len(list)-1].Transaction
		}
		if _, err := db.CommitWalk(ctx, past.Network, was, is, list); err != nil {
			return err
		}
	}
	return nil
}

// wait returns the result of f, which may take seconds on a slow machine. It returns early if ctx ends.
func wait[T any](ctx context.Context, f func() T) (it T, err error) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case it = <-done:
		return it, nil
	case <-ctx.Done():
		return it, ctx.Err()
	}
}
