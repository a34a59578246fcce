package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrClaimed says that a settler account belongs to another facilitator.
var ErrClaimed = errors.New("the account settles for another facilitator")

// Facilitator is a row of facilitators with its settlers.
type Facilitator struct {
	ID             string
	Name           string
	WebsiteURL     string
	DocsURL        *string
	FacilitatorURL *string
	UpstreamStatus string
	Trusted        bool // the operator vouches for its settlers; an import never changes it
	Settlers       []Settler
}

// Settler is a row of settlers: an account that a facilitator sends settlements from.
type Settler struct {
	Network    string   // CAIP-2
	Address    string   // in normal form
	Tokens     []string // in normal form
	Since      *time.Time
	Deprecated bool
	Accepted   bool // by the operator, for a facilitator whose list does not name it
}

// ImportReport lists what an import changed, by facilitators' ids in the order of the list.
type ImportReport struct {
	Added, Changed, Left []string
	SettlersAdded        int
	SettlersRemoved      int
	Others               int // facilitators that the list does not name; they are unchanged
}

const facilitatorColumns = `id, name, website_url, docs_url, facilitator_url, upstream_status, trusted`

// Facilitators reads every facilitator with its settlers, by id, network and address.
func (db *DB) Facilitators(ctx context.Context) ([]Facilitator, error) {
	return facilitators(ctx, db.pool)
}

func facilitators(ctx context.Context, q querier) ([]Facilitator, error) {
	rows, err := q.Query(ctx, `SELECT `+facilitatorColumns+` FROM facilitators ORDER BY id COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read facilitators: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Facilitator, err error) {
		return f, row.Scan(&f.ID, &f.Name, &f.WebsiteURL, &f.DocsURL, &f.FacilitatorURL, &f.UpstreamStatus, &f.Trusted)
	})
	if err != nil {
		return nil, fmt.Errorf("read facilitators: %w", err)
	}
	at := make(map[string]*Facilitator, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	rows, err = q.Query(ctx, `
		SELECT facilitator_id, network, address, tokens, since, deprecated, accepted FROM settlers
		ORDER BY network COLLATE "C", address COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read settlers: %w", err)
	}
	var id string
	var s Settler
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Network, &s.Address, &s.Tokens, &s.Since, &s.Deprecated, &s.Accepted},
		func() error {
			at[id].Settlers = append(at[id].Settlers, s)
			s = Settler{}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read settlers: %w", err)
	}
	return list, nil
}

// ImportFacilitators imports a list of facilitators in one transaction. A facilitator with the same id is replaced; one
// that the list does not name is unchanged. It returns ErrClaimed, with both ids, if such a facilitator has an account
// of the list. Recorded settlements keep their facilitator.
func (db *DB) ImportFacilitators(ctx context.Context, list []Facilitator) (ImportReport, error) {
	var report ImportReport
	err := db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK facilitators, settlers IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		stored, err := facilitators(ctx, tx)
		if err != nil {
			return err
		}
		before := make(map[string]Facilitator, len(stored))
		for _, f := range stored {
			before[f.ID] = f
		}
		report = ImportReport{Others: len(stored)}
		batch := &pgx.Batch{}
		for _, f := range list {
			old, isKnown := before[f.ID]
			if isKnown {
				report.Others--
			}
			f.Settlers = withAccepted(f.Settlers, old.Settlers)
			gone, came := settlerChanges(old.Settlers, f.Settlers)
			switch {
			case !isKnown:
				report.Added = append(report.Added, f.ID)
			case len(gone) > 0 || len(came) > 0 || !sameWords(old, f):
				report.Changed = append(report.Changed, f.ID)
			default:
				report.Left = append(report.Left, f.ID)
				continue
			}
			queueFacilitator(batch, f)
			for _, s := range gone {
				queueSettlerChange(batch, f, s)
			}
			report.SettlersAdded += countNew(came, old.Settlers)
			report.SettlersRemoved += countNew(gone, f.Settlers)
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return putSettlers(ctx, tx, list)
	})
	if err != nil {
		return ImportReport{}, fmt.Errorf("import %d facilitators: %w", len(list), err)
	}
	return report, nil
}

// queueSettlerChange removes an account that a facilitator no longer has, and with it the scans for it. If only the
// deprecation or the acceptance of the account changed, it updates these, and the scans stay.
func queueSettlerChange(b *pgx.Batch, f Facilitator, old Settler) {
	for _, s := range f.Settlers {
		deprecated, accepted := s.Deprecated, s.Accepted
		if s.Deprecated, s.Accepted = old.Deprecated, old.Accepted; sameSettler(s, old) {
			b.Queue(`UPDATE settlers SET deprecated = $4, accepted = $5
				WHERE network = $1 AND address = $2 AND facilitator_id = $3`,
				s.Network, s.Address, f.ID, deprecated, accepted)
			return
		}
	}
	b.Queue(`DELETE FROM settlers WHERE network = $1 AND address = $2 AND facilitator_id = $3`, old.Network,
		old.Address, f.ID)
}

// withAccepted returns the accounts of a list, and those stored ones that the operator accepted and the list does not
// name.
func withAccepted(list, stored []Settler) []Settler {
	list = slices.Clip(list)
	for _, s := range stored {
		if s.Accepted && countNew([]Settler{s}, list) == 1 {
			list = append(list, s)
		}
	}
	return list
}

func sameWords(a, b Facilitator) bool {
	return a.Name == b.Name && a.WebsiteURL == b.WebsiteURL && equal(a.DocsURL, b.DocsURL) &&
		equal(a.FacilitatorURL, b.FacilitatorURL) &&
		a.UpstreamStatus == b.UpstreamStatus
}

func equal(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

func sameSettler(a, b Settler) bool {
	return a.Network == b.Network && a.Address == b.Address && slices.Equal(a.Tokens, b.Tokens) &&
		a.Deprecated == b.Deprecated && a.Accepted == b.Accepted &&
		(a.Since == nil) == (b.Since == nil) && (a.Since == nil || a.Since.Equal(*b.Since))
}

// settlerChanges returns the removed and the added accounts. A changed account is in both.
func settlerChanges(old, now []Settler) (gone, came []Settler) {
	in := func(list []Settler, s Settler) bool {
		return slices.ContainsFunc(list, func(o Settler) bool { return sameSettler(o, s) })
	}
	for _, s := range old {
		if !in(now, s) {
			gone = append(gone, s)
		}
	}
	for _, s := range now {
		if !in(old, s) {
			came = append(came, s)
		}
	}
	return gone, came
}

// countNew counts the accounts of list that are not in other, whatever their other fields.
func countNew(list, other []Settler) (n int) {
	for _, s := range list {
		if !slices.ContainsFunc(other, func(o Settler) bool {
			return o.Network == s.Network && o.Address == s.Address
		}) {
			n++
		}
	}
	return n
}

func queueFacilitator(b *pgx.Batch, f Facilitator) {
	b.Queue(`
		INSERT INTO facilitators (id, name, website_url, docs_url, facilitator_url, upstream_status)
			VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, website_url = excluded.website_url,
			docs_url = excluded.docs_url,
			facilitator_url = excluded.facilitator_url, upstream_status = excluded.upstream_status`,
		f.ID, f.Name, f.WebsiteURL, f.DocsURL, f.FacilitatorURL, f.UpstreamStatus)
}

// putSettlers adds the missing accounts. It runs after the removals, so that an account may move between facilitators
// of the list.
func putSettlers(ctx context.Context, tx pgx.Tx, list []Facilitator) error {
	for _, f := range list {
		for _, s := range f.Settlers {
			var owner string
			err := tx.QueryRow(ctx, `
				WITH put AS (
					INSERT INTO settlers (network, address, facilitator_id, tokens, since, deprecated, accepted)
						VALUES ($1, $2, $3, $4, $5, $6, $7)
					ON CONFLICT DO NOTHING RETURNING facilitator_id
				)
				SELECT facilitator_id FROM put UNION ALL SELECT facilitator_id FROM settlers WHERE network = $1
					AND address = $2`,
				s.Network, s.Address, f.ID, s.Tokens, s.Since, s.Deprecated, s.Accepted).Scan(&owner)
			if err != nil {
				return fmt.Errorf("add settler %s of %s: %w", s.Address, f.ID, err)
			}
			if owner != f.ID {
				return fmt.Errorf("settler %s on %s of %s is claimed by facilitator %s: %w", s.Address, s.Network, f.ID,
					owner, ErrClaimed)
			}
		}
	}
	return nil
}

// TrustFacilitator stores whether the operator vouches for a facilitator's settlers. It returns ErrNotFound for an
// unknown id.
func (db *DB) TrustFacilitator(ctx context.Context, id string, trusted bool) error {
	tag, err := db.pool.Exec(ctx, `UPDATE facilitators SET trusted = $2 WHERE id = $1`, id, trusted)
	if err == nil && tag.RowsAffected() == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("trust facilitator %s: %w", id, err)
	}
	return nil
}

// WithdrawSettlers removes accounts that the operator accepted for a facilitator. It returns how many it removed.
// Recorded settlements keep their facilitator.
func (db *DB) WithdrawSettlers(ctx context.Context, id string, addresses []string) (int, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM settlers WHERE facilitator_id = $1 AND address = ANY($2) AND accepted`,
		id, addresses)
	if err != nil {
		return 0, fmt.Errorf("withdraw accounts of facilitator %s: %w", id, err)
	}
	return int(tag.RowsAffected()), nil
}
