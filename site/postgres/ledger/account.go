package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// idCache caches the numbers that identify networks, tokens of facilitators and accounts in the tables of settlements.
// A number never changes. It is committed before the transaction that uses it: a crash between the two leaves a row
// that nothing refers to yet.
type idCache struct {
	mu       sync.Mutex // guards the maps
	chains   map[string]int16
	tokens   map[tokenKey]int32
	accounts map[string]int64
}

type tokenKey struct {
	chain              int16
	facilitator, token string
}

// maxAccounts is how many numbers of accounts are cached, in about 100 MB.
const maxAccounts = 1 << 19

// chainID returns the number of a network, and inserts the network if it is new.
func (db *DB) chainID(ctx context.Context, network string) (int16, error) {
	n := &db.numbers
	n.mu.Lock()
	id, ok := n.chains[network]
	n.mu.Unlock()
	if ok {
		return id, nil
	}
	_, err := db.pool.Exec(ctx,
		`INSERT INTO chains (network) SELECT $1 WHERE NOT EXISTS (SELECT FROM chains WHERE network = $1)
			ON CONFLICT DO NOTHING`, network)
	if err == nil {
		err = db.pool.QueryRow(ctx, `SELECT id FROM chains WHERE network = $1`, network).Scan(&id)
	}
	if err != nil {
		return 0, fmt.Errorf("number network %s: %w", network, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.chains == nil {
		n.chains = map[string]int16{}
	}
	n.chains[network] = id
	return id, nil
}

func (db *DB) tokenID(ctx context.Context, name tokenKey) (int32, error) {
	n := &db.numbers
	n.mu.Lock()
	id, ok := n.tokens[name]
	n.mu.Unlock()
	if ok {
		return id, nil
	}
	_, err := db.pool.Exec(ctx, `
		INSERT INTO facilitator_tokens (facilitator_id, chain_id, token)
		SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM facilitator_tokens WHERE facilitator_id = $1 AND chain_id = $2
			AND token = $3)
		ON CONFLICT DO NOTHING`, name.facilitator, name.chain, name.token)
	if err == nil {
		err = db.pool.QueryRow(ctx,
			`SELECT id FROM facilitator_tokens WHERE facilitator_id = $1 AND chain_id = $2 AND token = $3`,
			name.facilitator, name.chain, name.token).Scan(&id)
	}
	if err != nil {
		return 0, fmt.Errorf("number what %s settles: %w", name.facilitator, unknownFacilitator(err))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tokens == nil {
		n.tokens = map[tokenKey]int32{}
	}
	n.tokens[name] = id
	return id, nil
}

// unknownFacilitator returns ErrUnknownFacilitator for a violation of the foreign key on facilitators, which is the
// only one that a settlement can violate.
func unknownFacilitator(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "23503" && e.ConstraintName == "facilitator_tokens_facilitator_id_fkey" {
		return fmt.Errorf("%w: %s", ErrUnknownFacilitator, e.Detail)
	}
	return err
}

// accountIDs returns the numbers of distinct addresses, and inserts those that are new. It inserts them sorted, so that
// two writers cannot deadlock.
func (db *DB) accountIDs(ctx context.Context, addresses []string) ([]int64, error) {
	n := &db.numbers
	ids := make([]int64, len(addresses))
	var unknown []string
	n.mu.Lock()
	for i, address := range addresses {
		id, ok := n.accounts[address]
		if ids[i] = id; !ok {
			unknown = append(unknown, address)
		}
	}
	n.mu.Unlock()
	if len(unknown) == 0 {
		return ids, nil
	}
	slices.Sort(unknown)
	numbers := make(map[string]int64, len(unknown))
	if err := readAccounts(ctx, db.pool, unknown, numbers); err != nil {
		return nil, err
	}
	if len(numbers) < len(unknown) {
		missing := slices.DeleteFunc(slices.Clone(unknown), func(a string) bool { _, ok := numbers[a]; return ok })
		if _, err := db.pool.Exec(ctx,
			`INSERT INTO accounts (address) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`, missing); err != nil {
			return nil, fmt.Errorf("number %d accounts: %w", len(missing), err)
		}
		if err := readAccounts(ctx, db.pool, missing, numbers); err != nil {
			return nil, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.accounts == nil || len(n.accounts)+len(numbers) > maxAccounts {
		n.accounts = make(map[string]int64, len(numbers))
	}
	for i, address := range addresses {
		if id, fresh := numbers[address]; fresh {
			ids[i], n.accounts[address] = id, id
		} else if ids[i] == 0 {
			return nil, fmt.Errorf("number account %.80q: it was not inserted", address)
		}
	}
	return ids, nil
}

func readAccounts(ctx context.Context, q querier, addresses []string, into map[string]int64) error {
	// A sub-query forces one index look-up for each address, whatever the planner estimates.
	rows, err := q.Query(ctx, `
		SELECT address, id FROM (SELECT u AS address, (SELECT a.id FROM accounts a WHERE a.address = u) AS id
			FROM unnest($1::text[]) u) found
		WHERE id IS NOT NULL`, addresses)
	if err != nil {
		return fmt.Errorf("read %d accounts: %w", len(addresses), err)
	}
	var address string
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&address, &id}, func() error {
		into[address] = id
		return nil
	}); err != nil {
		return fmt.Errorf("read %d accounts: %w", len(addresses), err)
	}
	return nil
}
