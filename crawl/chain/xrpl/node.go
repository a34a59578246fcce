package xrpl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// newCall returns a call of the second version of the API.
func newCall(method string, params map[string]any) chain.Call {
	params["api_version"] = 2
	text, err := json.Marshal([]any{params})
	if err != nil {
		panic(err) // params has texts and numbers
	}
	return chain.Call{Method: method, Params: string(text), NoID: true}
}

// status is what every result says of itself.
type status struct {
	Status string `json:"status"`
	Error  string `json:"error"`
}

// errNotFound is the answer about an account without transactions.
var errNotFound = errors.New("the node does not know the account")

// readResult reads a result. An error of the node is a fault of the kind that says what to do.
func readResult(result []byte, into any) error {
	var s status
	if err := json.Unmarshal(result, &s); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	if s.Error == "actNotFound" {
		return errNotFound
	}
	if s.Status != "success" || s.Error != "" {
		f := &chain.NodeFault{Kind: chain.KindServer, Text: fmt.Sprintf("status %.40q, error %.80q", s.Status, s.Error)}
		switch s.Error {
		case "lgrNotFound", "lgrIdxsInvalid", "lgrIdxMalformed", "lgrNotValidated", "notReady", "noCurrent", "noClosed",
			"noNetwork", "notSynced":
			f.Kind = chain.KindBehind
		case "slowDown", "tooBusy":
			f.Kind = chain.KindRate
		case "unknownCmd", "invalid_API_version":
			f.Kind = chain.KindUnsupported
		case "forbidden", "noPermission":
			f.Kind = chain.KindRefused
		}
		return f
	}
	if err := json.Unmarshal(result, into); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	return nil
}

// serverInfo is the answer of server_info.
type serverInfo struct {
	Info struct {
		NetworkID *int64 `json:"network_id"`
		Complete  string `json:"complete_ledgers"` // ranges such as 32570-6595042,6595044-9000000
	} `json:"info"`
}

// identity returns the call for the number of a node's network.
func identity() chain.Identity {
	call := newCall("server_info", map[string]any{})
	return chain.Identity{Call: call, Network: func(result []byte) (string, error) {
		var r serverInfo
		if err := readResult(result, &r); err != nil {
			return "", err
		}
		if r.Info.NetworkID == nil || *r.Info.NetworkID < 0 {
			return "", errors.New("names no network_id, so its network is not known")
		}
		return "xrpl:" + strconv.FormatInt(*r.Info.NetworkID, 10), nil
	}}
}

// ledgerEntry is one validated ledger, the block of this chain.
type ledgerEntry struct {
	number   int64
	closedAt time.Time
}

// firstLedger is the first ledger of the main network that exists: a node with it has the whole history.
const firstLedger = 32_570

// epoch is the zero of the ledger's clock, in Unix time. firstClose is the time of the first ledger that exists.
var (
	epoch      = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	firstClose = time.Date(2013, 1, 1, 3, 21, 10, 0, time.UTC)
)

// newTime returns the time of seconds since the epoch. It returns false for a time before it or after four bytes.
func newTime(seconds int64) (time.Time, bool) {
	return epoch.Add(time.Duration(seconds) * time.Second), seconds > 0 && seconds <= math.MaxUint32
}

// askLedger asks for the number and the time of a validated ledger: "validated" for the newest one, or a number.
func (x *Reader) askLedger(ctx context.Context, c *chain.Client, index any) (l ledgerEntry, err error) {
	err = c.Ask(ctx, chain.Question{
		Calls: []chain.Call{newCall("ledger", map[string]any{"ledger_index": index})},
		Read: func(_ int, calls []chain.Call) error {
			var r struct {
				Index     int64 `json:"ledger_index"`
				Validated bool  `json:"validated"`
				Ledger    struct {
					CloseTime int64 `json:"close_time"`
				} `json:"ledger"`
			}
			if err := readResult(calls[0].Result, &r); err != nil {
				return err
			}
			closedAt, ok := newTime(r.Ledger.CloseTime)
			if !r.Validated || r.Index < 1 || r.Index > math.MaxUint32 || !ok {
				return fmt.Errorf("ledger %d closed at %d, validated %t, is no validated ledger", r.Index,
					r.Ledger.CloseTime, r.Validated)
			}
			if number, ok := index.(int64); ok && number != r.Index {
				return fmt.Errorf("got ledger %d instead of %d", r.Index, number)
			}
			l = ledgerEntry{r.Index, closedAt}
			return chain.CheckTime(closedAt, firstClose, x.options.Now())
		},
	})
	return l, err
}

// Head asks for the newest validated ledger.
func (x *Reader) Head(ctx context.Context, c *chain.Client) (ledger.Head, error) {
	l, err := x.askLedger(ctx, c, "validated")
	return ledger.Head{Network: x.network.ID, Block: l.number, Time: l.closedAt, PolledAt: x.options.Now()}, err
}

// Time asks for the time of a validated ledger.
func (x *Reader) Time(ctx context.Context, c *chain.Client, number int64) (time.Time, error) {
	l, err := x.askLedger(ctx, c, number)
	return l.closedAt, err
}

// askHistory asks every node for the first ledger of its newest range without gaps, and returns the earliest. A node
// that does not answer counts as without history: days that may be incomplete must not look measured.
func (x *Reader) askHistory(ctx context.Context) (ledgerEntry, error) {
	first := int64(math.MaxInt64)
	answered, err := x.client.AskEach(ctx, chain.Question{
		Calls: []chain.Call{identity().Call},
		Read: func(_ int, calls []chain.Call) error {
			var r serverInfo
			if err := readResult(calls[0].Result, &r); err != nil {
				return err
			}
			begins, err := beginOfHistory(r.Info.Complete)
			if err == nil {
				first = min(first, max(begins, firstLedger))
			}
			return err
		},
	})
	switch {
	case err != nil:
		return ledgerEntry{}, err
	case answered == 0:
		return ledgerEntry{}, errors.New("no node says how far back its history goes")
	case first == firstLedger:
		return ledgerEntry{number: first}, nil
	}
	return x.askLedger(ctx, x.client, first)
}

var rangesForm = regexp.MustCompile(`^[0-9]{1,10}(-[0-9]{1,10})?(,[0-9]{1,10}(-[0-9]{1,10})?)*$`)

// beginOfHistory returns the first ledger of the last range in a list of ranges.
func beginOfHistory(complete string) (int64, error) {
	if len(complete) > 10_000 || !rangesForm.MatchString(complete) {
		return 0, fmt.Errorf("%.60q is not a list of ledgers", complete)
	}
	last := complete[strings.LastIndexByte(complete, ',')+1:]
	begins, _, _ := strings.Cut(last, "-")
	return strconv.ParseInt(begins, 10, 64)
}

// question is for the transactions of an account in a range of ledgers, oldest first.
type question struct {
	account     string
	first, last int64
	marker      string      // JSON as a node wrote it; "" for the first page
	by          *chain.Node // which gave the marker
	after       place       // the last transaction of the page before
}

// place is the position of a transaction: its ledger and its number there.
type place struct{ ledger, index int64 }

func (p place) after(o place) bool {
	return p.ledger > o.ledger || p.ledger == o.ledger && p.index > o.index
}

// page is a part of an account's transactions, with the settlements among them.
type page struct {
	settlements []ledger.Settlement
	rows        []row
	marker      string
	last        place // the newest transaction
	unknown     bool  // whether the node does not know the account
	by          *chain.Node
}

// row is a transaction as it is compared.
type row struct {
	chain.Row
	at place
}

const (
	transactionPage = 200
	maxMarker       = 1000 // bytes
)

// askPage asks for the next transactions of an account, and compares them with what another node has. The node must
// have every ledger of the range.
func (x *Reader) askPage(ctx context.Context, q question, s ledger.ScanSettler) (p page, err error) {
	client := x.client
	if q.marker != "" {
		client = client.Only(q.by)
	}
	err = x.client.AskAgain(func() (err error) {
		p, err = x.askPart(ctx, client, q, s)
		if err != nil && q.marker != "" && ctx.Err() == nil {
			client, q = x.client, q.withoutMarker()
			p, err = x.askPart(ctx, client, q, s)
		}
		if err == nil {
			err = x.compare(ctx, p, q, s)
		}
		client, q = x.client, q.withoutMarker()
		return err
	})
	return p, err
}

// withoutMarker returns the question for a node that did not give the marker: a marker means what its node says.
func (q question) withoutMarker() question {
	q.marker, q.by, q.first = "", nil, max(q.first, q.after.ledger)
	return q
}

// askPart asks c's nodes for the next transactions of an account. A node that does not know the account has no
// transactions to leave out, if it has the range's last ledger.
func (x *Reader) askPart(ctx context.Context, c *chain.Client, q question, s ledger.ScanSettler) (p page, err error) {
	params := map[string]any{"account": q.account, "ledger_index_min": q.first, "ledger_index_max": q.last,
		"forward": true, "limit": transactionPage}
	if q.marker != "" {
		params["marker"] = json.RawMessage(q.marker)
	}
	err = c.Ask(ctx, chain.Question{
		Calls: []chain.Call{newCall("account_tx", params)},
		Read: func(_ int, calls []chain.Call) (err error) {
			p, err = x.readPage(calls[0].Result, q, s)
			p.by = calls[0].By
			return err
		},
	})
	if err == nil && p.unknown {
		_, err = x.askLedger(ctx, c.Only(p.by), q.last)
	}
	return p, err
}

// maxSample is how many transactions another node is asked for, in pages of those.
const maxSample = 20 * transactionPage

// compare compares a page with what another node has in its ledgers: all transactions, with their ledgers, times and
// amounts.
func (x *Reader) compare(ctx context.Context, p page, q question, s ledger.ScanSettler) error {
	again := q.withoutMarker()
	if p.marker != "" {
		again.last = p.last.ledger
	}
	rows := func(list []row, whole bool) (r chain.Rows) {
		slices.SortStableFunc(list, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.at.ledger, b.at.ledger), cmp.Compare(a.at.index, b.at.index))
		})
		for _, one := range list {
			if p.marker == "" || !one.at.after(p.last) {
				r.List = append(r.List, one.Row)
			}
		}
		r.Whole = whole
		return r
	}
	ask := func(ctx context.Context, one *chain.Client) (chain.Rows, error) {
		var list []row
		for q := again; ; {
			part, err := x.askPart(ctx, one, q, s)
			if err != nil {
				return chain.Rows{}, err
			}
			list = append(list, part.rows...)
			if q.marker, q.after = part.marker, part.last; q.marker == "" {
				return rows(list, true), nil
			}
			if len(list) > maxSample {
				return rows(list, false), nil
			}
		}
	}
	return chain.Compare(ctx, x.client, p.by, rows(p.rows, true), ask, chain.Rows.Difference)
}

// readPage reads an answer of account_tx. It refuses what can't be the right answer: another account or range, ledgers
// that are not validated, transactions outside the range, and a marker that leads nowhere.
func (x *Reader) readPage(result []byte, q question, s ledger.ScanSettler) (p page, err error) {
	var r struct {
		Account      string          `json:"account"`
		First        int64           `json:"ledger_index_min"`
		Last         int64           `json:"ledger_index_max"`
		Validated    bool            `json:"validated"`
		Marker       json.RawMessage `json:"marker"`
		Transactions []transaction   `json:"transactions"`
	}
	err = readResult(result, &r)
	switch {
	case errors.Is(err, errNotFound) && q.marker == "":
		return page{unknown: true}, nil
	case err != nil:
		return page{}, err
	case r.Account != q.account || !r.Validated || r.Transactions == nil:
		return page{}, fmt.Errorf("the answer is about account %.60q, validated %t", r.Account, r.Validated)
	case r.First > q.first || r.Last < q.last:
		return page{}, &chain.NodeFault{Kind: chain.KindBehind,
			Text: fmt.Sprintf("has ledgers %d to %d, not %d to %d", r.First, r.Last, q.first, q.last)}
	case len(r.Transactions) > 2*transactionPage || len(r.Marker) > maxMarker:
		return page{}, fmt.Errorf("%d transactions for a limit of %d, a marker of %d bytes", len(r.Transactions),
			transactionPage, len(r.Marker))
	}
	p.last = q.after
	earlier := firstClose
	for i := range r.Transactions {
		t := &r.Transactions[i]
		at, err := t.check(q)
		if err != nil {
			return page{}, err
		}
		if err := chain.CheckTime(t.ClosedAt, earlier, x.options.Now()); err != nil {
			return page{}, fmt.Errorf("transaction %s: %w", t.Hash, err)
		}
		if !at.after(q.after) {
			continue // of the page before
		}
		if at.after(p.last) {
			p.last, earlier = at, t.ClosedAt
		}
		one, err := x.readPayment(t, q.account, s)
		if err != nil {
			return page{}, fmt.Errorf("transaction %s: %w", t.Hash, err)
		}
		pays := chain.Pays()
		if one != nil {
			p.settlements, pays = append(p.settlements, *one), chain.Pays(*one)
		}
		p.rows = append(p.rows, row{chain.Row{ID: t.Hash, Block: t.Ledger, Time: t.ClosedAt, Pays: pays}, at})
	}
	if len(r.Marker) > 0 && string(r.Marker) != "null" {
		if !p.last.after(q.after) {
			return page{}, errors.New("a page has a marker, and no transaction after those of the page before")
		}
		p.marker = string(r.Marker)
	}
	return p, nil
}
