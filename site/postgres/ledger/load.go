package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// LoadedAccount is an address with its number.
type LoadedAccount struct {
	ID      int64
	Address string // in normal form
}

// FacilitatorToken identifies a token that a facilitator settles on a network.
type FacilitatorToken struct{ Facilitator, Network, Token string }

// LoadedSettlement is a Settlement with numbers for its accounts and its token.
type LoadedSettlement struct {
	Token                 int // index into the tokens of the loader
	Settler, Payer, Payee int64
	Block                 int64
	BlockHash             []byte
	Time                  time.Time
	Transaction           []byte
	LogIndex              int32
	Method                string
	Amount                uint64 // atomic units, below 1<<63
}

// Loader fills the empty tables of settlements by COPY, over several connections, with the rows that indexers would
// have written.
type Loader struct {
	db     *DB
	now    time.Time
	tokens []loadedToken

	mu    sync.Mutex // guards whole
	whole *rollups   // sums over all payees: hours, tokens, settlers, authorisations
}

type loadedToken struct {
	chain int16
	id    int32
	token string
}

// NewLoader returns a loader of settlements of some tokens, as of now. Their facilitators are imported already.
func (db *DB) NewLoader(ctx context.Context, now time.Time, tokens []FacilitatorToken) (*Loader, error) {
	l := &Loader{db: db, now: now, whole: newRollups(0)}
	for _, f := range tokens {
		chain, err := db.chainID(ctx, f.Network)
		if err != nil {
			return nil, err
		}
		id, err := db.tokenID(ctx, tokenKey{chain, f.Facilitator, f.Token})
		if err != nil {
			return nil, err
		}
		l.tokens = append(l.tokens, loadedToken{chain, id, f.Token})
	}
	return l, nil
}

// Accounts inserts accounts with their numbers.
func (l *Loader) Accounts(ctx context.Context, tx pgx.Tx, list []LoadedAccount) error {
	return rows.Copy(ctx, tx, "accounts", "id address", list, func(row []any, a *LoadedAccount) {
		rows.Put(row, a.ID, a.Address)
	})
}

// QueueSums queues the sums of tokens.
func (l *Loader) QueueSums(batch *pgx.Batch) {
	if len(l.whole.tokens) == 0 {
		return
	}
	l.whole.queueTokens(batch)
	l.whole.queueSettlers(batch)
	batch.Queue(
		`INSERT INTO token_payers (token_id, payer_id, last_day) SELECT token_id, payer_id, max(day) FROM payer_days
			GROUP BY token_id, payer_id`)
	batch.Queue(`
		UPDATE token_totals t SET payers = n FROM (SELECT token_id, count(*) AS n FROM token_payers GROUP BY token_id) p
			WHERE p.token_id = t.token_id`)
	for _, k := range sortedKeys(l.whole.authorizations, func(a, b authorizationKey) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.day, b.day), cmp.Compare(a.token, b.token))
	}) {
		batch.Queue(addAuthorizations, k.chain, k.token, dayTime(k.day), 0, l.whole.authorizations[k])
	}
}

// Authorizations returns the authorisations among the settlements that were loaded on a network.
func (l *Loader) Authorizations(ctx context.Context, network string) ([]AuthorizationDay, error) {
	chain, err := l.db.chainID(ctx, network)
	if err != nil {
		return nil, err
	}
	var days []AuthorizationDay
	for _, k := range sortedKeys(l.whole.authorizations, func(a, b authorizationKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.token, b.token))
	}) {
		if k.chain == chain {
			days = append(days, AuthorizationDay{Token: k.token, Day: dayTime(k.day),
				Authorizations: l.whole.authorizations[k]})
		}
	}
	return days, nil
}

// Settlements writes settlements with the sums of their payees. The sums of tokens are added up until QueueSums.
func (l *Loader) Settlements(ctx context.Context, tx pgx.Tx, list []LoadedSettlement) (n int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	entries := make([]entry, len(list))
	t := newRollups(len(list))
	for i := range list {
		s := &list[i]
		f := l.tokens[s.Token]
		entries[i] = entry{chain: f.chain, tokenID: f.id, settler: s.Settler, payer: s.Payer, payee: s.Payee,
			block: s.Block, log: s.LogIndex, at: s.Time,
			transaction: s.Transaction, hash: s.BlockHash, method: s.Method, token: f.token,
			amount: amount{small: s.Amount}}
		t.add(&entries[i])
	}
	slices.SortFunc(entries, compareEntries)
	if err := copyEntries(ctx, tx, "settlements", entries, nil); err != nil {
		return 0, err
	}
	batch := &pgx.Batch{}
	t.queuePayees(batch)
	fresh := []*insertRows{t.queuePayers(batch), t.queueAmounts(batch)}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return 0, fmt.Errorf("add to roll-ups: %w", err)
	}
	for _, r := range fresh {
		if err := r.copy(ctx, tx, r.updated); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole.merge(t, l.now.Add(-HourRetention))
	return int64(len(list) + len(t.payees) + len(t.payers) + len(t.amounts)), nil
}

// merge adds the sums of tokens, settlers and authorisations, and the sums of hours that are not before since.
func (t *rollups) merge(o *rollups, since time.Time) {
	for k, s := range o.hours {
		if k.hour*3600 >= since.Unix() {
			old := t.hours[k]
			t.hours[k] = sum{old.n + s.n, old.amount.plus(s.amount)}
		}
	}
	for k, s := range o.tokens {
		f := t.tokens[k]
		if f == nil {
			t.tokens[k] = s
			continue
		}
		f.n, f.amount = f.n+s.n, f.amount.plus(s.amount)
		f.self = sum{f.self.n + s.self.n, f.self.amount.plus(s.self.amount)}
		if s.first.Before(f.first) {
			f.first = s.first
		}
		if s.last.After(f.last) {
			f.last = s.last
		}
	}
	for k, s := range o.settlers {
		t.addSettler(k, *s)
	}
	for k, n := range o.authorizations {
		t.authorizations[k] += n
	}
}
