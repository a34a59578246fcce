package solana

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"time"

	"tollbook/crawl/chain/jsonrpc"
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

// signaturesCall asks for the signatures of an account, newest first: those older than before, unless that is "", and
// newer than until. A node that has not come to slot yet must say so, instead of answering with less.
func signaturesCall(account, before, until string, limit int, slot int64) jsonrpc.Call {
	params := map[string]any{"commitment": "finalized", "limit": limit, "minContextSlot": slot}
	if before != "" {
		params["before"] = before
	}
	if until != "" {
		params["until"] = until
	}
	return newCall("getSignaturesForAddress", account, params)
}

func newCall(method string, params ...any) jsonrpc.Call {
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		panic(err) // texts and numbers always have a form
	}
	return jsonrpc.Call{Method: method, Params: string(text)}
}

// readSignatures reads a page and refuses one that can't be the answer to what was asked: entries out of order, twice,
// not finalised, or from before the place to go on from, as of a node that ignores it.
func readSignatures(result []byte, w ledger.Walk, limit int) ([]signatureEntry, error) {
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
			return nil, fmt.Errorf("%.100q is no signature", e.Signature)
		case e.Slot <= 0 || i > 0 && e.Slot > list[i-1].Slot:
			return nil, fmt.Errorf("signature %s is out of order", e.Signature)
		case e.Status != "" && e.Status != "finalized":
			return nil, fmt.Errorf("signature %s is only %.20q", e.Signature, e.Status)
		case len(e.Err) == 0:
			return nil, fmt.Errorf("signature %s does not tell whether it succeeded", e.Signature)
		case seen[e.Signature] || e.Signature == w.Newest || e.Signature == w.Before:
			return nil, fmt.Errorf("signature %s comes twice", e.Signature)
		}
		seen[e.Signature] = true
	}
	return list, nil
}

// page is what follows a walk's place.
type page struct {
	entries   []signatureEntry
	last      bool // nothing follows that the walk looks for
	forgotten bool // no node knows the walk's place
}

// upTo cuts a page off where the walk before began.
func upTo(until string, entries []signatureEntry) page {
	for i, e := range entries {
		if e.Signature == until {
			return page{entries: entries[:i], last: true}
		}
	}
	return page{entries: entries}
}

// askPage asks for the page that follows a walk's place. Only the first page of a walk is asked for with the boundary
// as its end: a short page may have been cut by the node, so that the boundary counts as met only when it is seen to
// follow.
func (x *Reader) askPage(ctx context.Context, w ledger.Walk, limit int) (page, error) {
	begins, until := w.Newest == "", ""
	if begins {
		until = w.Until
	}
	var entries []signatureEntry
	err := x.client.Ask(ctx, jsonrpc.Question{
		Calls: []jsonrpc.Call{signaturesCall(w.Settler.Address, w.Before, until, limit, w.NewestSlot)},
		Read: func(_ int, calls []jsonrpc.Call) (err error) {
			entries, err = readSignatures(calls[0].Result, w, limit)
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

// askEnd finds out what an empty page means: a node may keep less history than another, and one that has forgotten the
// walk's place, or not come to it, answers the same. So all of them are asked, and the walk waits for those that fail.
func (x *Reader) askEnd(ctx context.Context, w ledger.Walk) (page, error) {
	var found []signatureEntry
	knowing := 0
	answered, err := x.client.AskEach(ctx, jsonrpc.Question{
		Calls: []jsonrpc.Call{
			signaturesCall(w.Settler.Address, w.Before, "", signaturePage, w.NewestSlot),
			newCall("getSignatureStatuses", []string{w.Before}, map[string]any{"searchTransactionHistory": true}),
		},
		Read: func(_ int, calls []jsonrpc.Call) error {
			entries, err := readSignatures(calls[0].Result, w, signaturePage)
			if err != nil {
				return err
			}
			var statuses struct{ Value []json.RawMessage }
			if err := json.Unmarshal(calls[1].Result, &statuses); err != nil || len(statuses.Value) != 1 {
				return fmt.Errorf("%.80q is no status of one signature", calls[1].Result)
			}
			if len(found) == 0 {
				found = entries
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
	case len(found) > 0:
		return upTo(w.Until, found), nil
	case answered < x.client.Nodes():
		return page{}, fmt.Errorf("%d of %d nodes can't be asked whether the history goes on",
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

// askHead asks for the newest finalised slot and its time.
func (x *Reader) askHead(ctx context.Context) (ledger.Head, error) {
	h := ledger.Head{Network: x.network.ID}
	err := x.client.Ask(ctx, jsonrpc.Question{
		Calls: []jsonrpc.Call{newCall("getSlot", map[string]any{"commitment": "finalized"})},
		Read: func(_ int, calls []jsonrpc.Call) error {
			if err := json.Unmarshal(calls[0].Result, &h.Block); err != nil || h.Block <= 0 {
				return fmt.Errorf("%.40q is no slot", calls[0].Result)
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
	err = x.client.Ask(ctx, jsonrpc.Question{
		Calls: []jsonrpc.Call{newCall("getBlockTime", slot)},
		Read: func(_ int, calls []jsonrpc.Call) error {
			var seconds int64
			if err := json.Unmarshal(calls[0].Result, &seconds); err != nil || seconds <= 0 {
				return fmt.Errorf("%.40q is no time of slot %d", calls[0].Result, slot)
			}
			at = time.Unix(seconds, 0).UTC()
			return nil
		},
	})
	return at, err
}

// askHistory asks every node how far back it knows, and gives when the longest history begins; nil when it has
// everything. One that does not tell is taken to know nothing from before now: what may be missing is not called
// measured.
func (x *Reader) askHistory(ctx context.Context) (*time.Time, error) {
	first, told := int64(math.MaxInt64), false
	_, err := x.client.AskEach(ctx, jsonrpc.Question{
		Calls: []jsonrpc.Call{newCall("getFirstAvailableBlock")},
		Read: func(_ int, calls []jsonrpc.Call) error {
			var slot int64
			if err := json.Unmarshal(calls[0].Result, &slot); err != nil || slot < 0 {
				return fmt.Errorf("%.40q is no slot", calls[0].Result)
			}
			first, told = min(first, slot), true
			return nil
		},
	})
	switch {
	case err != nil:
		return nil, err
	case !told:
		now := x.options.Now()
		return &now, nil
	case first == 0:
		return nil, nil
	}
	at, err := x.askTime(ctx, first)
	return &at, err
}

// askSettlements fetches the transactions of a page that succeeded and reads their settlements, in the page's order.
func (x *Reader) askSettlements(ctx context.Context, s ledger.ScanSettler,
	entries []signatureEntry) ([]ledger.Settlement, error) {
	var succeeded []signatureEntry
	for _, e := range entries {
		if bytes.Equal(e.Err, []byte("null")) {
			succeeded = append(succeeded, e)
		}
	}
	found := make([][]ledger.Settlement, (len(succeeded)+transactionBatch-1)/transactionBatch)
	g, ctx := errgroup.WithContext(ctx)
	for i := range found {
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
			found[i], err = x.askTransactions(ctx, s, part)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var list []ledger.Settlement
	for _, part := range found {
		list = append(list, part...)
	}
	return list, nil
}

func (x *Reader) askTransactions(ctx context.Context, s ledger.ScanSettler,
	entries []signatureEntry) (list []ledger.Settlement, err error) {
	q := jsonrpc.Question{Read: func(from int, calls []jsonrpc.Call) error {
		var part []ledger.Settlement
		for i, c := range calls {
			e := entries[from+i]
			var t *solanaTransaction
			if err := json.Unmarshal(c.Result, &t); err != nil {
				return fmt.Errorf("read transaction %s: %w", e.Signature, err)
			}
			if t == nil {
				return fmt.Errorf("transaction %s is listed and not there", e.Signature)
			}
			found, err := x.settlements(t, e, s)
			if err != nil {
				return fmt.Errorf("transaction %s: %w", e.Signature, err)
			}
			part = append(part, found...)
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
