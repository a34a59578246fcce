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
func (x *Reader) Head(ctx context.Context) (ledger.Head, error) {
	h := ledger.Head{Network: x.network.ID}
	err := x.client.Ask(ctx, chain.Question{
		Calls: []chain.Call{{Path: "/"}},
		Read: func(_ int, calls []chain.Call) error {
			r, err := x.readDatedRoot(calls[0].Result)
			h.Block, h.Time = r.Latest, r.LatestAt.UTC()
			x.latest, x.elder = r.Latest, r.Elder
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
	err = x.client.Ask(ctx, chain.Question{
		Calls: []chain.Call{{Path: fmt.Sprintf("/ledgers/%d", l.number)}},
		Read: func(_ int, calls []chain.Call) error {
			var answer struct {
				Sequence int64     `json:"sequence"`
				ClosedAt time.Time `json:"closed_at"`
			}
			if err := json.Unmarshal(calls[0].Result, &answer); err != nil {
				return fmt.Errorf("read ledger %d: %w", l.number, err)
			}
			if answer.Sequence == 0 {
				return &chain.NodeFault{Kind: chain.KindBehind, Text: fmt.Sprintf("does not have ledger %d", l.number)}
			}
			if answer.Sequence != l.number {
				return fmt.Errorf("ledger %d closed at %s is not ledger %d", answer.Sequence,
					answer.ClosedAt.Format(time.RFC3339), l.number)
			}
			l.closedAt = answer.ClosedAt.UTC()
			return chain.CheckTime(l.closedAt, firstClose, x.options.Now())
		},
	})
	return l, err
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
	head         ledgerEntry // the server's newest ledger before it answered
	transactions []transaction
	settlements  []ledger.Settlement
}

// maxLag is how many ledgers a server may be behind the one that answered Head: some ten minutes.
const maxLag = 100

// askPage asks for the settler's successful transactions after a paging token. The server must have the ledgers from
// needed to about the head.
func (x *Reader) askPage(ctx context.Context, s ledger.ScanSettler, after string, needed int64) (p page, err error) {
	query := url.Values{"order": {"asc"}, "limit": {strconv.Itoa(transactionPage)}, "include_failed": {"false"}}
	if after != "" {
		query.Set("cursor", after)
	}
	err = x.client.Ask(ctx, chain.Question{
		Atomic: true,
		Calls: []chain.Call{{Path: "/"},
			{Path: "/accounts/" + url.PathEscape(s.Address) + "/transactions?" + query.Encode()}},
		Read: func(_ int, calls []chain.Call) error {
			r, err := x.readDatedRoot(calls[0].Result)
			if err != nil {
				return err
			}
			if r.Latest < x.latest-maxLag || r.Elder > max(needed, firstLedger) {
				return &chain.NodeFault{Kind: chain.KindBehind,
					Text: fmt.Sprintf("has ledgers %d to %d, not %d to %d", r.Elder, r.Latest, needed, x.latest)}
			}
			p = page{head: ledgerEntry{r.Latest, r.LatestAt.UTC()}}
			if p.transactions, err = x.readTransactions(calls[1].Result, after); err != nil {
				return err
			}
			for _, t := range p.transactions {
				settlement, err := x.readSettlement(t, s)
				if err != nil {
					return fmt.Errorf("transaction %s: %w", t.Hash, err)
				}
				if settlement != nil {
					p.settlements = append(p.settlements, *settlement)
				}
			}
			return nil
		},
	})
	return p, err
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
