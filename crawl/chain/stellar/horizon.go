package stellar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// passphrases are the names that the networks' transactions are signed for, by CAIP-2 id.
var passphrases = map[string]string{
	"stellar:pubnet":  "Public Global Stellar Network ; September 2015",
	"stellar:testnet": "Test SDF Network ; September 2015",
}

// identity returns the call for a server's passphrase.
func identity() chain.Identity {
	return chain.Identity{Call: chain.Call{Path: "/"}, Network: func(result []byte) (string, error) {
		r, err := readRoot(result)
		for id, passphrase := range passphrases {
			if r.Passphrase == passphrase {
				return id, err
			}
		}
		return fmt.Sprintf("the network %.60q", r.Passphrase), err
	}}
}

// root is Horizon's answer about itself.
type root struct {
	Latest     int64     `json:"history_latest_ledger"`
	LatestAt   time.Time `json:"history_latest_ledger_closed_at"`
	Elder      int64     `json:"history_elder_ledger"` // the first one that it has
	Passphrase string    `json:"network_passphrase"`
}

// firstClose is the time of the first ledger of Stellar's network.
var firstClose = time.Date(2015, 9, 30, 16, 46, 54, 0, time.UTC)

func readRoot(result []byte) (r root, err error) {
	if err := json.Unmarshal(result, &r); err != nil {
		return r, fmt.Errorf("read what the server has: %w", err)
	}
	if r.Elder < 0 || r.Latest < max(r.Elder, 1) || r.Latest > math.MaxInt32 {
		return r, fmt.Errorf("has ledgers %d to %d, closed at %s", r.Elder, r.Latest, r.LatestAt.Format(time.RFC3339))
	}
	return r, nil
}

// readDatedRoot is readRoot with a check of the time.
func (x *Reader) readDatedRoot(result []byte) (root, error) {
	r, err := readRoot(result)
	if err == nil {
		err = chain.CheckTime(r.LatestAt, firstClose, x.options.Now())
	}
	return r, err
}

// Head asks for the newest ledger and its time.
func (x *Reader) Head(ctx context.Context, c *chain.Client) (ledger.Head, error) {
	h := ledger.Head{Network: x.network.ID}
	err := c.Ask(ctx, chain.Question{
		Calls: []chain.Call{{Path: "/"}},
		Read: func(_ int, calls []chain.Call) error {
			r, err := x.readDatedRoot(calls[0].Result)
			h.Block, h.Time = r.Latest, r.LatestAt.UTC()
			if err == nil && (x.elder == 0 || r.Elder < x.elder) {
				x.elder = max(r.Elder, 1)
			}
			return err
		},
	})
	h.PolledAt = x.options.Now()
	return h, err
}

// ledgerEntry is one ledger, Stellar's block.
type ledgerEntry struct {
	number   int64
	closedAt time.Time
}

// firstLedger is the first ledger that has transactions: a server with it has the whole history.
const firstLedger = 2

// askHistory asks every server for its first ledger. It returns the earliest one, with number 0 if some server has the
// whole history. A server that does not answer counts as without history: days that may be incomplete must not look
// measured.
func (x *Reader) askHistory(ctx context.Context) (l ledgerEntry, err error) {
	l.number = math.MaxInt64
	answered, err := x.client.AskEach(ctx, chain.Question{
		Calls: []chain.Call{{Path: "/"}},
		Read: func(_ int, calls []chain.Call) error {
			r, err := x.readDatedRoot(calls[0].Result)
			if err == nil {
				l.number = min(l.number, r.Elder)
			}
			return err
		},
	})
	switch {
	case err != nil:
		return l, err
	case answered == 0:
		return l, errors.New("no server says how far back its history goes")
	case l.number <= firstLedger:
		return ledgerEntry{}, nil
	}
	l.closedAt, err = x.Time(ctx, x.client, l.number)
	return l, err
}

// Time asks for the time of a ledger.
func (x *Reader) Time(ctx context.Context, c *chain.Client, number int64) (at time.Time, err error) {
	err = c.Ask(ctx, chain.Question{
		Calls: []chain.Call{{Path: fmt.Sprintf("/ledgers/%d", number)}},
		Read: func(_ int, calls []chain.Call) error {
			var answer struct {
				Sequence int64     `json:"sequence"`
				ClosedAt time.Time `json:"closed_at"`
			}
			if err := json.Unmarshal(calls[0].Result, &answer); err != nil {
				return fmt.Errorf("read ledger %d: %w", number, err)
			}
			if answer.Sequence == 0 {
				return &chain.NodeFault{Kind: chain.KindBehind, Text: fmt.Sprintf("does not have ledger %d", number)}
			}
			if answer.Sequence != number {
				return fmt.Errorf("ledger %d closed at %s is not ledger %d", answer.Sequence,
					answer.ClosedAt.Format(time.RFC3339), number)
			}
			at = answer.ClosedAt.UTC()
			return chain.CheckTime(at, firstClose, x.options.Now())
		},
	})
	return at, err
}

// transaction is one row of /accounts/{id}/transactions, with the members that settlements need.
type transaction struct {
	PagingToken string    `json:"paging_token"` // orders the transactions of the network
	Hash        string    `json:"hash"`
	Successful  *bool     `json:"successful"`
	Ledger      int64     `json:"ledger"`
	CreatedAt   time.Time `json:"created_at"` // when the ledger closed
	FeeAccount  string    `json:"fee_account"`
	Envelope    string    `json:"envelope_xdr"` // base64
}

// page is a part of a settler's transactions, with the settlements in it.
type page struct {
	head         ledgerEntry // up to which the transactions were asked for
	transactions []transaction
	settlements  []ledger.Settlement
	rows         []chain.Row
	elder        int64 // first ledger of the server
	by           *chain.Node
}

// maxLag is how many ledgers a server may be behind the head of the round: some ten minutes.
const maxLag = 100

// askPage asks for the settler's successful transactions after a paging token, up to the head, and compares them with
// those of another server. The server must have the ledgers from needed to about the head.
func (x *Reader) askPage(ctx context.Context, s ledger.ScanSettler, after string, needed int64) (p page, err error) {
	err = x.client.AskAgain(func() (err error) {
		if p, err = x.askPart(ctx, x.client, s, after, needed, x.head.number-maxLag); err == nil {
			err = x.compare(ctx, p, s, after, needed)
		}
		return err
	})
	return p, err
}

// askPart asks c's servers for the settler's successful transactions after a paging token. The server must have the
// ledgers from needed to latest.
func (x *Reader) askPart(ctx context.Context, c *chain.Client, s ledger.ScanSettler, after string,
	needed, latest int64) (p page, err error) {
	query := url.Values{"order": {"asc"}, "limit": {strconv.Itoa(transactionPage)}, "include_failed": {"false"}}
	if after != "" {
		query.Set("cursor", after)
	}
	err = c.Ask(ctx, chain.Question{
		Atomic: true,
		Calls: []chain.Call{{Path: "/"},
			{Path: "/accounts/" + url.PathEscape(s.Address) + "/transactions?" + query.Encode()}},
		Read: func(_ int, calls []chain.Call) error {
			r, err := x.readDatedRoot(calls[0].Result)
			if err != nil {
				return err
			}
			if r.Latest < latest || r.Elder > max(needed, firstLedger) {
				return &chain.NodeFault{Kind: chain.KindBehind,
					Text: fmt.Sprintf("has ledgers %d to %d, not %d to %d", r.Elder, r.Latest, needed, latest)}
			}
			p = page{head: x.head, elder: r.Elder, by: calls[0].By}
			if r.Latest < x.head.number {
				p.head = ledgerEntry{r.Latest, r.LatestAt.UTC()}
			}
			list, err := x.readTransactions(calls[1].Result, after)
			if err != nil {
				return err
			}
			for _, t := range list {
				settlement, err := x.readSettlement(t, s)
				if err != nil {
					return fmt.Errorf("transaction %s: %w", t.Hash, err)
				}
				if t.Ledger > p.head.number {
					break // in a later round
				}
				pays := chain.Pays()
				if settlement != nil {
					p.settlements, pays = append(p.settlements, *settlement), chain.Pays(*settlement)
				}
				p.transactions = append(p.transactions, t)
				p.rows = append(p.rows, chain.Row{ID: t.Hash, Block: t.Ledger, Time: t.CreatedAt, Pays: pays})
			}
			return nil
		},
	})
	return p, err
}

// compare compares a page with what another server has of the same ledgers: all transactions, with their ledgers, times
// and amounts. A server may give fewer at a time, so it is asked until it has given as many, or has no more.
func (x *Reader) compare(ctx context.Context, p page, s ledger.ScanSettler, after string, needed int64) error {
	ask := func(ctx context.Context, one *chain.Client) (r chain.Rows, err error) {
		for at := after; ; {
			part, err := x.askPart(ctx, one, s, at, needed, p.head.number)
			if err != nil {
				return r, err
			}
			for _, row := range part.rows {
				if row.Block <= p.head.number {
					r.List = append(r.List, row)
				}
			}
			if n := len(part.transactions); n == 0 || part.transactions[n-1].Ledger > p.head.number {
				r.Whole, r.Since = true, part.elder
				return r, nil
			} else if len(r.List) > len(p.rows) {
				return r, nil
			} else {
				at = part.transactions[n-1].PagingToken
			}
		}
	}
	return chain.Compare(ctx, x.client, p.by, chain.Rows{List: p.rows, Whole: len(p.rows) == 0}, ask,
		chain.Rows.Difference)
}

var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readTransactions reads a page; null, the answer about an account without history, is an empty one. It refuses a page
// that can't be the right answer: with transactions that failed, are out of order, or are not after the paging token,
// as of a server that ignores it.
func (x *Reader) readTransactions(result []byte, after string) ([]transaction, error) {
	var answer *struct {
		Embedded struct {
			Records []transaction `json:"records"`
		} `json:"_embedded"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return nil, fmt.Errorf("read transactions: %w", err)
	}
	if answer == nil {
		if after != "" {
			return nil, fmt.Errorf("does not know the account of transaction %s", after)
		}
		return nil, nil
	}
	list := answer.Embedded.Records
	if list == nil || len(list) > transactionPage {
		return nil, fmt.Errorf("%d transactions for a limit of %d", len(list), transactionPage)
	}
	last, earlier := tokenNumber(after), firstClose
	for _, t := range list {
		switch n := tokenNumber(t.PagingToken); {
		case !hashForm.MatchString(t.Hash):
			return nil, fmt.Errorf("%.80q is not the hash of a transaction", t.Hash)
		case t.Successful == nil || !*t.Successful:
			return nil, fmt.Errorf("transaction %s is not marked as successful", t.Hash)
		case n <= last:
			return nil, fmt.Errorf("transaction %s is out of order", t.Hash)
		case t.Ledger != ledgerOf(t.PagingToken):
			return nil, fmt.Errorf("transaction %s has the paging token %.40q in ledger %d", t.Hash, t.PagingToken,
				t.Ledger)
		default:
			last = n
		}
		if err := chain.CheckTime(t.CreatedAt, earlier, x.options.Now()); err != nil {
			return nil, fmt.Errorf("transaction %s: %w", t.Hash, err)
		}
		earlier = t.CreatedAt
	}
	return list, nil
}

// tokenNumber returns the number that a paging token is, 0 for none.
func tokenNumber(token string) int64 {
	n, err := strconv.ParseUint(token, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != token {
		return 0
	}
	return int64(n)
}

// ledgerOf returns the ledger of a paging token, its upper 32 bits.
func ledgerOf(token string) int64 { return tokenNumber(token) >> 32 }
