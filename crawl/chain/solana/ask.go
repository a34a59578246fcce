package solana

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
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

// askPage asks for the page after a walk's position. Only the first page of a walk is requested with the boundary as
// its end. A node may cut a page short, so the walk has met the boundary only when a page contains it.
func (x *Reader) askPage(ctx context.Context, w ledger.Walk, limit int) (page, error) {
	begins, until := w.Newest == "", ""
	if begins {
		until = w.Until
	}
	var entries []signatureEntry
	err := x.client.Ask(ctx, chain.Question{
		Calls: []chain.Call{signaturesCall(w.Settler.Address, w.Before, until, limit, w.NewestSlot)},
		Read: func(_ int, calls []chain.Call) (err error) {
			entries, err = x.readSignatures(calls[0].Result, w, limit)
			return err
		},
	})
	switch {
	case err != nil:
		return page{}, err
	case len(entries) > 0:
		return upTo(w.Until, entries), nil
	case begins:
		return page{last: true}, nil
	}
	return x.askEnd(ctx, w)
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
func (x *Reader) Head(ctx context.Context) (ledger.Head, error) {
	h := ledger.Head{Network: x.network.ID}
	err := x.client.Ask(ctx, chain.Question{
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
	h.Time, err = x.askTime(ctx, h.Block)
	h.PolledAt = x.options.Now()
	return h, err
}

func (x *Reader) askTime(ctx context.Context, slot int64) (at time.Time, err error) {
	err = x.client.Ask(ctx, chain.Question{
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
	_, err := x.client.AskEach(ctx, chain.Question{
		Calls: []chain.Call{newCall("getFirstAvailableBlock")},
		Read: func(_ int, calls []chain.Call) error {
			var slot int64
			if err := json.Unmarshal(calls[0].Result, &slot); err != nil || slot < 0 {
				return fmt.Errorf("%.40q is not a slot", calls[0].Result)
			}
			first, answered = min(first, slot), true
			return nil
		},
	})
	switch {
	case err != nil:
		return nil, err
	case !answered:
		now := x.options.Now()
		return &now, nil
	case first == 0:
		return nil, nil
	}
	at, err := x.askTime(ctx, first)
	return &at, err
}

// askSettlements fetches the successful transactions of a page and returns their settlements, in the page's order.
func (x *Reader) askSettlements(ctx context.Context, s ledger.ScanSettler,
	entries []signatureEntry) ([]ledger.Settlement, error) {
	var succeeded []signatureEntry
	for _, e := range entries {
		if bytes.Equal(e.Err, []byte("null")) {
			succeeded = append(succeeded, e)
		}
	}
	ok := make([][]ledger.Settlement, (len(succeeded)+transactionBatch-1)/transactionBatch)
	g, ctx := errgroup.WithContext(ctx)
	for i := range ok {
		part := succeeded[i*transactionBatch:]
		part = part[:min(len(part), transactionBatch)]
		g.Go(func() error {
			select {
			case x.asking <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-x.asking }()
			var err error
			ok[i], err = x.askTransactions(ctx, s, part)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var list []ledger.Settlement
	for _, part := range ok {
		list = append(list, part...)
	}
	return list, nil
}

func (x *Reader) askTransactions(ctx context.Context, s ledger.ScanSettler,
	entries []signatureEntry) (list []ledger.Settlement, err error) {
	q := chain.Question{Read: func(from int, calls []chain.Call) error {
		var part []ledger.Settlement
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
			part = append(part, ok...)
		}
		list = append(list, part...)
		return nil
	}}
	for _, e := range entries {
		q.Calls = append(q.Calls, newCall("getTransaction", e.Signature,
			map[string]any{"commitment": "finalized", "encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}))
	}
	err = x.client.Ask(ctx, q)
	return list, err
}
