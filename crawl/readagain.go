package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/solana"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// ReadAgainReport is what reading a network again did.
type ReadAgainReport struct {
	ledger.Replaced
	Calls, Errors int64 // of nodes
	Took          time.Duration
}

const (
	// lockWait is how long ReadAgain waits for a process that reads the network, such as a step of a worker.
	lockWait = time.Minute
	// readAgainTries is how many rounds of a reader may fail. What was read before counts.
	readAgainTries = 5
)

// ReadAgain reads a network again from a day on, up to where it was read, and replaces what is stored of it in one
// transaction. What a node that lied said is gone then, if the nodes that are asked now do not lie. A crash before that
// transaction changes nothing. Until its end no other process reads the network. It returns ledger.ErrForgotten if no
// node has the chain back to that day, ledger.ErrUnfinished if the network is not read up to its end, and
// chain.ErrBusy if another process goes on reading it.
func ReadAgain(ctx context.Context, db *postgres.DB, n chain.Network, from time.Time, o chain.Options) (ReadAgainReport,
	error) {
	report, err := readAgain(ctx, db, n, from, o)
	if err != nil {
		return ReadAgainReport{}, fmt.Errorf("read %s again from %s on: %w; nothing was changed", n.ID,
			from.Format(time.DateOnly), err)
	}
	return report, nil
}

func readAgain(ctx context.Context, db *postgres.DB, n chain.Network, from time.Time, o chain.Options) (
	report ReadAgainReport, err error) {
	o = o.WithDefaults()
	begun := o.Now()
	release, err := lockWithin(ctx, db, n.ID, lockWait)
	if err != nil {
		return report, err
	}
	defer release()
	if n.Start.Before(from) {
		n.Start = from
	}
	n.Whole = true
	stretch := ledger.ReplacementOptions{Network: n.ID, From: n.Start}
	if len(n.Tokens) == 0 {
		n.Tokens = chain.DefaultTokens(n.ID)
	}
	for _, t := range n.Tokens {
		stretch.Tokens = append(stretch.Tokens, x402.NormalizeAddress(n.ID, t.Address))
	}
	if strings.HasPrefix(n.ID, "solana:") {
		stretch.Margin = solana.TipSlots
	}
	r, err := db.BeginReplacement(ctx, stretch)
	if err != nil {
		return report, err
	}
	defer r.Close()
	reader, err := openReader(n, r, o)
	if err != nil {
		return report, err
	}
	for failures := 0; !r.Finished(); {
		round, err := reader.Once(ctx)
		report.Calls, report.Errors = report.Calls+round.Calls, report.Errors+round.Errors
		if err == nil && round.Blocks == 0 {
			break // Apply says what is missing
		}
		if err == nil {
			continue
		}
		if failures++; failures == readAgainTries || ctx.Err() != nil || errors.Is(err, ledger.ErrForgotten) {
			return report, err
		}
		o.Logger.Warn("reading again failed; it goes on where it was", "network", n.ID, "error", err.Error())
		if err := sleep(ctx, o.Backoff); err != nil {
			return report, err
		}
	}
	report.Replaced, err = r.Apply(ctx, o.Now())
	report.Took = o.Now().Sub(begun)
	return report, err
}

// lockWithin locks the index of a network, and waits for another process that has it.
func lockWithin(ctx context.Context, db *postgres.DB, network string, limit time.Duration) (release func(), err error) {
	const pause = time.Second / 2
	for tries := int(limit / pause); ; tries-- {
		release, err = chain.Lock(ctx, db, network)
		if !errors.Is(err, chain.ErrBusy) || tries <= 0 {
			return release, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}
