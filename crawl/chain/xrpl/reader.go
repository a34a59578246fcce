// Package xrpl reads settlements from the XRP Ledger: payments to recipients of listed services that carry the source
// tag of a facilitator. It asks the JSON-RPC API of rippled and Clio; SOURCES.md says where each rule is documented.
//
// The payer signs, sends and pays the fee of each payment, so no account shows who settled it. The mark is the payer's
// own word. Reading every ledger would find all payments with the mark, but costs a request for all transactions of the
// network every four seconds, 21,600 a day, and as much again for each day of history. One request for each recipient
// and poll costs a fraction of that and reaches back to the first day. So the volume of a facilitator covers the
// recipients that this directory knows.
//
// WalkReader runs its rounds and commits each page with its settlements. A node's word is not checked by hashes: another
// node is asked for each page again. The package must never know what a service is.
package xrpl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// Store stores a reader's settlements; *postgres.DB is one.
type Store interface {
	chain.WalkStore
	// Recipients returns the addresses that listed services ask to pay to, sorted.
	Recipients(ctx context.Context, network string) ([]string, error)
}

var _ Store = (*postgres.DB)(nil)

// Reader reads the settlements of one network of the XRP Ledger, mark by mark. The walk of a mark reads the payments to
// each recipient from old to new. Walk.Until is the ledger up to which it has read, and Walk.Before the recipients of
// which that is true. Walk.Newest is set while recipients are missing there. Validated ledgers are final, so nothing is
// rolled back.
type Reader struct {
	*chain.WalkReader
	network    chain.Network
	store      Store
	options    chain.Options
	client     *chain.Client
	measured   map[string]chain.Token // by the text of amounts: XRP, or currency.issuer
	recipients []string               // of this round, sorted
	latest     int64                  // newest validated ledger of this round
	pages      int                    // most pages of one recipient in one round; maxPages, but for tests
}

const (
	// defaultPoll is the time between two rounds. A round costs a request for every recipient.
	defaultPoll   = 5 * time.Minute
	maxRecipients = 5000
	maxPages      = 5000
)

// New returns a reader of a network of the XRP Ledger that stores settlements in s. It sends nothing.
func New(n chain.Network, s Store, o chain.Options) (*Reader, error) {
	n, err := n.WithDefaults("xrpl", defaultPoll)
	if err != nil {
		return nil, err
	}
	x := &Reader{network: n, store: s, options: o.WithDefaults(), measured: map[string]chain.Token{}, pages: maxPages}
	for _, t := range n.Tokens {
		x.measured[t.Address] = t
	}
	if n.Whole {
		x.pages = math.MaxInt
	}
	x.client, err = chain.NewClient(n, identity(), x.options)
	x.WalkReader = chain.NewWalks(n, s, x.options, x.client, x)
	return x, err
}

// Inspect asks one node of a network, at the URL address, for its newest validated ledger. It fails if the node serves
// another network. Errors name the node by scheme and host alone.
func Inspect(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	n := chain.Network{ID: network, RPC: []string{address}}
	o = o.WithDefaults()
	c, err := chain.NewClient(n, identity(), o)
	if err != nil {
		return ledger.Head{Network: network}, err
	}
	head, err := (&Reader{network: n, options: o}).Head(ctx, c)
	if err != nil {
		return head, fmt.Errorf("ask a node of %s for its newest ledger: %w", network, err)
	}
	return head, nil
}

// Begin reads the recipients. If a walk has not read one of them yet, it asks how far back the nodes' history goes.
func (x *Reader) Begin(ctx context.Context, head ledger.Head, walks []ledger.Walk) (
	run func(context.Context, ledger.Walk) error, err error) {
	x.latest = head.Block
	if x.recipients, err = x.readRecipients(ctx); err != nil {
		return nil, err
	}
	begins := ledgerEntry{number: firstLedger}
	if slices.ContainsFunc(walks, func(w ledger.Walk) bool { return len(x.findNew(w)) > 0 }) {
		if begins, err = x.askHistory(ctx); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, w ledger.Walk) error { return x.runWalk(ctx, w, head, begins) }, nil
}

// readRecipients returns the recipients that are addresses. Services may state anything.
func (x *Reader) readRecipients(ctx context.Context) ([]string, error) {
	list, err := x.store.Recipients(ctx, x.network.ID)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(a string) bool { return x402.CheckAddress(x.network.ID, a) != nil })
	if len(list) > maxRecipients {
		x.options.Logger.Warn("too many recipients to read; the others are left out", "network", x.network.ID,
			"recipients", len(list), "read", maxRecipients)
		list = list[:maxRecipients]
	}
	return list, nil
}

// findNew returns the recipients that a walk has not read yet.
func (x *Reader) findNew(w ledger.Walk) (list []string) {
	read := map[string]bool{}
	for _, a := range strings.Fields(w.Before) {
		read[a] = true
	}
	for _, a := range x.recipients {
		if !read[a] {
			list = append(list, a)
		}
	}
	return list
}

// runWalk first reads the history of new recipients up to the walk's ledger, then all recipients up to the head.
// A crash loses at most what was read of one recipient, or of the newest ledgers; the next round reads that again.
func (x *Reader) runWalk(ctx context.Context, w ledger.Walk, head ledger.Head, begins ledgerEntry) error {
	until, _ := strconv.ParseInt(w.Until, 10, 64)
	if until == 0 {
		until = head.Block
	}
	for _, account := range x.findNew(w) {
		is := w
		is.Until, is.Newest = strconv.FormatInt(until, 10), "history"
		is.Before = strings.TrimSpace(w.Before + " " + account)
		is.NewestSlot, is.NewestTime = head.Block, &head.Time
		if begins.number > firstLedger && begins.closedAt.After(chain.FirstTime(x.network, w.Settler)) &&
			(w.HistoryStart == nil || begins.closedAt.After(*w.HistoryStart)) {
			is.HistoryStart = &begins.closedAt
		}
		if err := x.runAccount(ctx, &w, &is, account, begins.number, until); err != nil {
			return err
		}
	}
	is := w
	is.Until, is.Newest, is.Before = strconv.FormatInt(max(until, head.Block), 10), "", strings.Join(x.recipients, " ")
	is.NewestSlot, is.NewestTime = head.Block, &head.Time
	if until < head.Block {
		for _, account := range x.recipients {
			if err := x.runAccount(ctx, &w, nil, account, until+1, head.Block); err != nil {
				return err
			}
		}
	}
	return x.Commit(ctx, w, is, nil, 0)
}

// runAccount reads the payments to an account in the ledgers first to last, and commits each page. The last page moves
// the walk w to is, unless is is nil. A service may name the busiest account of the network as its recipient. Pages
// beyond the limit are left out, with a warning, so that such an account does not keep others from being read.
func (x *Reader) runAccount(ctx context.Context, w, is *ledger.Walk, account string, first, last int64) error {
	q := question{account: account, first: first, last: last}
	for range x.pages {
		p := page{}
		if first <= last {
			var err error
			if p, err = x.askPage(ctx, q, w.Settler); err != nil {
				return fmt.Errorf("payments to %s: %w", account, err)
			}
		}
		next := w
		if p.marker == "" && is != nil {
			next = is
		}
		if len(p.settlements) > 0 || next == is {
			if err := x.Commit(ctx, *w, *next, p.settlements, len(p.rows)); err != nil {
				return err
			}
			*w = *next
		}
		if p.marker == "" {
			return nil
		}
		q.marker, q.by, q.after = p.marker, p.by, p.last
	}
	x.options.Logger.Warn("too many transactions of one recipient; later ones are left out", "network", x.network.ID,
		"recipient", account, "pages", x.pages, "first", first, "last", last)
	if is == nil {
		return nil
	}
	err := x.Commit(ctx, *w, *is, nil, 0)
	*w = *is
	return err
}
