package solana

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"

	"golang.org/x/sync/errgroup"
)

// signatureEntry is one row of getSignaturesForAddress.
type signatureEntry struct {
	Signature string          `json:"signature"`
	Slot      int64           `json:"slot"`
	BlockTime *int64          `json:"blockTime"` // seconds since 1970
	Err       json.RawMessage `json:"err"`
	Status    string          `json:"confirmationStatus"`
}

// signatureForm is the form of 64 bytes in base58.
var signatureForm = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{64,88}$`)

// signaturesCall asks for the signatures of an account, newest first: those older than before (unless "") and newer
// than until. A node that has not reached slot must refuse, instead of answering with fewer.
func signaturesCall(account, before, until string, limit int, slot int64) chain.Call {
	params := map[string]any{"commitment": "finalized", "limit": limit, "minContextSlot": slot}
	if before != "" {
		params["before"] = before
	}
	if until != "" {
		params["until"] = until
	}
	return newCall("getSignaturesForAddress", account, params)
}

func newCall(method string, params ...any) chain.Call {
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return chain.Call{Method: method, Params: string(text)}
}

// readSignatures reads a page. It refuses a page that can't be the right answer: with entries out of order, twice, not
// finalised, or from before the walk's position, as of a node that ignores the position.
func (x *Reader) readSignatures(result []byte, w ledger.Walk, limit int) ([]signatureEntry, error) {
	var list []signatureEntry
	if err := json.Unmarshal(result, &list); err != nil {
		return nil, fmt.Errorf("read signatures: %w", err)
	}
	if list == nil || len(list) > limit {
		return nil, fmt.Errorf("%d signatures for a limit of %d", len(list), limit)
	}
	seen := map[string]bool{}
	for i, e := range list {
		switch {
		case !signatureForm.MatchString(e.Signature):
			return nil, fmt.Errorf("%.100q is not a signature", e.Signature)
		case e.Slot <= 0 || i > 0 && e.Slot > list[i-1].Slot:
			return nil, fmt.Errorf("signature %s is out of order", e.Signature)
		case e.Status != "" && e.Status != "finalized":
			return nil, fmt.Errorf("signature %s has status %.20q, want finalized", e.Signature, e.Status)
		case len(e.Err) == 0:
			return nil, fmt.Errorf("signature %s lacks the member err", e.Signature)
		case seen[e.Signature] || e.Signature == w.Newest || e.Signature == w.Before:
			return nil, fmt.Errorf("signature %s appears twice", e.Signature)
		case e.BlockTime != nil: // a walk ends at the settler's first day
			if err := chain.CheckTime(time.Unix(*e.BlockTime, 0), genesis, x.options.Now()); err != nil {
				return nil, fmt.Errorf("signature %s: %w", e.Signature, err)
			}
		}
		seen[e.Signature] = true
	}
	return list, nil
}

// page is the part of a history after a walk's position.
type page struct {
	entries   []signatureEntry
	last      bool // the walk is complete after this page
	forgotten bool // no node has the walk's position
}

// upTo cuts a page at the signature at which the previous walk began.
func upTo(until string, entries []signatureEntry) page {
	for i, e := range entries {
		if e.Signature == until {
			return page{entries: entries[:i], last: true}
		}
	}
	return page{entries: entries}
}

// askPage asks for the page after a walk's position, and compares it with that of another node.
func (x *Reader) askPage(ctx context.Context, w ledger.Walk, limit int) (p page, err error) {
	err = x.client.AskAgain(func() error {
		entries, by, err := x.askSignatures(ctx, x.client, w, limit)
		if err != nil {
			return err
		}
		p = upTo(w.Until, entries)
		if len(entries) == 0 {
			if w.Newest != "" { // askEnd asks all nodes
				return nil
			}
			p.last = true
		}
		return x.compareSignatures(ctx, w, p, by)
	})
	if err == nil && len(p.entries) == 0 && !p.last {
		return x.askEnd(ctx, w)
	}
	return p, err
}

// TipSlots are some seconds, in which a node lists the signatures of a finalised slot by account.
const TipSlots = 32

// askSignatures asks c's nodes for the signatures after a walk's position. Only the first page of a walk is requested
// with the boundary as its end. A node may cut a page short, so the walk has met the boundary only when a page contains
// it. Later signatures than TipSlots before the head are for the next walk: not every node lists them yet.
func (x *Reader) askSignatures(ctx context.Context, c *chain.Client, w ledger.Walk, limit int) (list []signatureEntry,
	by *chain.Node, err error) {
	begins, until, before := w.Newest == "", "", w.Before
	if begins {
		until = w.Until
	}
	newest := w.NewestSlot
	if x.client.Nodes() > 1 {
		newest -= TipSlots
	}
	for {
		err = c.Ask(ctx, chain.Question{
			Calls: []chain.Call{signaturesCall(w.Settler.Address, before, until, limit, w.NewestSlot)},
			Read: func(_ int, calls []chain.Call) (err error) {
				list, err = x.readSignatures(calls[0].Result, w, limit)
				by = calls[0].By
				return err
			},
		})
		if err != nil || !begins || len(list) == 0 {
			return list, by, err
		}
		final := slices.IndexFunc(list, func(e signatureEntry) bool { return e.Slot <= newest })
		if final >= 0 {
			return list[final:], by, nil
		}
		before = list[len(list)-1].Signature
	}
}

// compareSignatures compares a page of signatures with what another node has after the same position: the signatures,
// with their slots, times and success. A node may give fewer at a time, so it is asked until it has given as many, or
// has no more.
func (x *Reader) compareSignatures(ctx context.Context, w ledger.Walk, p page, by *chain.Node) error {
	ask := func(ctx context.Context, one *chain.Client) (r chain.Rows, err error) {
		for at := w; ; {
			list, _, err := x.askSignatures(ctx, one, at, signaturePage)
			if err != nil {
				return r, err
			}
			part := upTo(w.Until, list)
			r.List = append(r.List, signatureRows(part.entries)...)
			switch {
			case part.last || len(list) == 0 && at.Newest == "" && w.Until != "":
				r.Whole = true
				return r, nil
			case len(list) == 0 && len(r.List) == 0 && w.Newest != "":
				return r, &chain.NodeFault{Kind: chain.KindBehind, Text: "does not have the walk's position"}
			case len(list) == 0:
				r.Whole = true
				r.Since, err = x.askFirstSlot(ctx, one)
				return r, err
			case len(r.List) > len(p.entries):
				return r, nil
			}
			at.Newest, at.Before = cmp.Or(at.Newest, list[0].Signature), list[len(list)-1].Signature
		}
	}
	return chain.Compare(ctx, x.client, by, chain.Rows{List: signatureRows(p.entries), Whole: p.last}, ask,
		chain.Rows.Difference)
}

// signatureRows returns signatures as they are compared.
func signatureRows(list []signatureEntry) (rows []chain.Row) {
	for _, e := range list {
		row := chain.Row{ID: e.Signature, Block: e.Slot, Pays: "if it succeeded"}
		if !bytes.Equal(e.Err, []byte("null")) {
			row.Pays = "nothing, as it failed"
		}
		if e.BlockTime != nil {
			row.Time = time.Unix(*e.BlockTime, 0)
		}
		rows = append(rows, row)
	}
	return rows
}

// askEnd finds out what an empty page means: the end of the history, or a node that has less history or does not know
// the walk's position. It asks all nodes, and fails if none has entries and some did not answer.
func (x *Reader) askEnd(ctx context.Context, w ledger.Walk) (page, error) {
	var ok []signatureEntry
	knowing := 0
	answered, err := x.client.AskEach(ctx, chain.Question{
		Calls: []chain.Call{
			signaturesCall(w.Settler.Address, w.Before, "", signaturePage, w.NewestSlot),
			newCall("getSignatureStatuses", []string{w.Before}, map[string]any{"searchTransactionHistory": true}),
		},
		Read: func(_ int, calls []chain.Call) error {
			entries, err := x.readSignatures(calls[0].Result, w, signaturePage)
			if err != nil {
				return err
			}
			var statuses struct{ Value []json.RawMessage }
			if err := json.Unmarshal(calls[1].Result, &statuses); err != nil || len(statuses.Value) != 1 {
				return fmt.Errorf("%.80q is not the status of one signature", calls[1].Result)
			}
			if len(ok) == 0 {
				ok = entries
			}
			if !bytes.Equal(statuses.Value[0], []byte("null")) {
				knowing++
			}
			return nil
		},
	})
	switch {
	case err != nil:
		return page{}, err
	case len(ok) > 0:
		return upTo(w.Until, ok), nil
	case answered < x.client.Nodes():
		return page{}, fmt.Errorf("%d of %d nodes did not answer whether the history goes on",
			x.client.Nodes()-answered, x.client.Nodes())
	case knowing == 0:
		return page{forgotten: true}, nil
	}
	if w.Until != "" {
		x.options.Logger.Warn("no node has the history back to where the last walk began: settlements between may "+
			"be missing",
			"network", x.network.ID, "settler", w.Settler.Address, "after", w.Until, "before", w.Before)
	}
	return page{last: true}, nil
}

// Head asks for the newest finalised slot and its time.
func (x *Reader) Head(ctx context.Context, c *chain.Client) (ledger.Head, error) {
	h := ledger.Head{Network: x.network.ID}
	err := c.Ask(ctx, chain.Question{
		Calls: []chain.Call{newCall("getSlot", map[string]any{"commitment": "finalized"})},
		Read: func(_ int, calls []chain.Call) error {
			if err := json.Unmarshal(calls[0].Result, &h.Block); err != nil || h.Block <= 0 {
				return fmt.Errorf("%.40q is not a slot", calls[0].Result)
			}
			return nil
		},
	})
	if err != nil {
		return h, err
	}
	h.Time, err = x.Time(ctx, c, h.Block)
	h.PolledAt = x.options.Now()
	return h, err
}

// Time asks for the time of a slot.
func (x *Reader) Time(ctx context.Context, c *chain.Client, slot int64) (at time.Time, err error) {
	err = c.Ask(ctx, chain.Question{
		Calls: []chain.Call{newCall("getBlockTime", slot)},
		Read: func(_ int, calls []chain.Call) error {
			var seconds int64
			if err := json.Unmarshal(calls[0].Result, &seconds); err != nil {
				return fmt.Errorf("%.40q is not the time of slot %d", calls[0].Result, slot)
			}
			at = time.Unix(seconds, 0).UTC()
			return chain.CheckTime(at, genesis, x.options.Now())
		},
	})
	return at, err
}

// askHistory asks every node for the beginning of its history. It returns the earliest beginning, nil if some node has
// everything. A node that does not answer counts as without history: days that may be incomplete must not look
// measured.
func (x *Reader) askHistory(ctx context.Context) (*time.Time, error) {
	first, answered := int64(math.MaxInt64), false
	_, err := x.client.AskEach(ctx, firstSlot(func(slot int64) { first, answered = min(first, slot), true }))
	switch {
	case err != nil:
		return nil, err
	case !answered:
		now := x.options.Now()
		return &now, nil
	case first == 0:
		return nil, nil
	}
	at, err := x.Time(ctx, x.client, first)
	return &at, err
}

// firstSlot asks a node for the first slot of its history.
func firstSlot(found func(slot int64)) chain.Question {
	return chain.Question{
		Calls: []chain.Call{newCall("getFirstAvailableBlock")},
		Read: func(_ int, calls []chain.Call) error {
			var slot int64
			if err := json.Unmarshal(calls[0].Result, &slot); err != nil || slot < 0 {
				return fmt.Errorf("%.40q is not a slot", calls[0].Result)
			}
			found(slot)
			return nil
		},
	}
}

func (x *Reader) askFirstSlot(ctx context.Context, c *chain.Client) (first int64, err error) {
	err = c.Ask(ctx, firstSlot(func(slot int64) { first = slot }))
	return first, err
}

// transaction is a successful transaction with its settlements.
type transaction struct {
	signatureEntry
	settlements []ledger.Settlement
	by          *chain.Node
}

// askSettlements fetches the successful transactions of a page and returns their settlements, in the page's order.
// A sample of them is compared with what another node has.
func (x *Reader) askSettlements(ctx context.Context, s ledger.ScanSettler,
	entries []signatureEntry) (list []ledger.Settlement, err error) {
	var succeeded []signatureEntry
	for _, e := range entries {
		if bytes.Equal(e.Err, []byte("null")) {
			succeeded = append(succeeded, e)
		}
	}
	err = x.client.AskAgain(func() error {
		transactions, err := x.askParts(ctx, s, succeeded)
		if err == nil {
			err = x.compareTransactions(ctx, s, transactions)
		}
		list = nil
		for _, t := range transactions {
			list = append(list, t.settlements...)
		}
		return err
	})
	return list, err
}

// askParts fetches transactions, some at a time.
func (x *Reader) askParts(ctx context.Context, s ledger.ScanSettler, entries []signatureEntry) ([]transaction, error) {
	parts := slices.Collect(slices.Chunk(entries, transactionBatch))
	ok := make([][]transaction, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		g.Go(func() error {
			select {
			case x.asking <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-x.asking }()
			var err error
			ok[i], err = x.askTransactions(ctx, x.client, s, part)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(ok...), nil
}

// Of a page's transactions, one of sampleShare is asked of another node, and at least sampleLeast. Which ones they are
// nobody knows beforehand.
const (
	sampleShare = 8
	sampleLeast = 8
)

// compareTransactions compares a sample of transactions with what other nodes have: their times, transfers and amounts.
func (x *Reader) compareTransactions(ctx context.Context, s ledger.ScanSettler, list []transaction) error {
	if x.client.Nodes() < 2 {
		return nil
	}
	sample := slices.Clone(list)
	rand.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	sample = sample[:min(len(sample), max(sampleLeast, len(sample)/sampleShare))]
	for len(sample) > 0 {
		var entries []signatureEntry
		var said, rest []transaction
		for _, t := range sample {
			if t.by == sample[0].by && len(said) < transactionBatch {
				said, entries = append(said, t), append(entries, t.signatureEntry)
			} else {
				rest = append(rest, t)
			}
		}
		ask := func(ctx context.Context, one *chain.Client) (chain.Rows, error) {
			again, err := x.askTransactions(ctx, one, s, entries)
			return transactionRows(again), err
		}
		if err := chain.Compare(ctx, x.client, said[0].by, transactionRows(said), ask, chain.Rows.Difference); err != nil {
			return err
		}
		sample = rest
	}
	return nil
}

// transactionRows returns transactions as they are compared.
func transactionRows(list []transaction) (r chain.Rows) {
	for _, t := range list {
		row := chain.Row{ID: t.Signature, Block: t.Slot, Pays: chain.Pays(t.settlements...)}
		if len(t.settlements) > 0 {
			row.Time = t.settlements[0].Time
		}
		r.List = append(r.List, row)
	}
	return r
}

// askTransactions asks c's nodes for transactions and returns them in order.
func (x *Reader) askTransactions(ctx context.Context, c *chain.Client, s ledger.ScanSettler,
	entries []signatureEntry) (list []transaction, err error) {
	q := chain.Question{Read: func(from int, calls []chain.Call) error {
		var part []transaction
		for i, c := range calls {
			e := entries[from+i]
			var t *solanaTransaction
			if err := json.Unmarshal(c.Result, &t); err != nil {
				return fmt.Errorf("read transaction %s: %w", e.Signature, err)
			}
			if t == nil {
				return fmt.Errorf("transaction %s is listed but not available", e.Signature)
			}
			ok, err := x.readSettlements(t, e, s)
			if err != nil {
				return fmt.Errorf("transaction %s: %w", e.Signature, err)
			}
			part = append(part, transaction{e, ok, c.By})
		}
		list = append(list, part...)
		return nil
	}}
	for _, e := range entries {
		q.Calls = append(q.Calls, newCall("getTransaction", e.Signature,
			map[string]any{"commitment": "finalized", "encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}))
	}
	err = c.Ask(ctx, q)
	return list, err
}
