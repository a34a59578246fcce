package sources

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Decision is what the operator decided about a source.
type Decision struct {
	Name    string      `json:"name"`
	Enabled *bool       `json:"enabled"` // nil if the configuration decides
	Audit   []AuditLine `json:"audit"`
}

// AuditLine says who decided what, and when.
type AuditLine struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"` // one of Actions
}

// Actions of the audit trail of a source.
var Actions = []string{actionEnable, actionDisable, actionAccept}

const (
	actionEnable  = "enable source"
	actionDisable = "disable source"
	actionAccept  = "accept source"
)

// Check returns why a decision of another database cannot be restored.
func (d *Decision) Check() error {
	if !site.ValidSlug(d.Name) {
		return fmt.Errorf("name %.80q must be 1 to 80 of a-z, 0-9 and inner hyphens", d.Name)
	}
	for _, l := range d.Audit {
		if !slices.Contains(Actions, l.Action) || l.Actor == "" || strings.ContainsRune(l.Actor, 0) {
			return fmt.Errorf("audit: each line must have an actor and one of the actions %q", Actions)
		}
	}
	return nil
}

// ReadDecisions reads the decisions about sources, by name.
func ReadDecisions(ctx context.Context, q rows.Querier) ([]Decision, error) {
	var list []Decision
	at := map[string]int{}
	var d Decision
	err := rows.Each(ctx, q, `
		SELECT name, enabled FROM sources s WHERE enabled IS NOT NULL
			OR EXISTS (SELECT FROM audit WHERE action = ANY($1) AND detail = s.name)
		ORDER BY name COLLATE "C"`, []any{&d.Name, &d.Enabled}, func() {
		at[d.Name], d.Audit = len(list), []AuditLine{}
		list = append(list, d)
		d = Decision{}
	}, Actions)
	if err != nil {
		return nil, wrap("read the decisions about sources", err)
	}
	var name string
	var l AuditLine
	err = rows.Each(ctx, q, `SELECT detail, at, actor, action FROM audit WHERE action = ANY($1) ORDER BY id`,
		[]any{&name, &l.At, &l.Actor, &l.Action}, func() {
			if i, ok := at[name]; ok {
				list[i].Audit = append(list[i].Audit, l)
			}
		}, Actions)
	return list, wrap("read the decisions about sources", err)
}

// RestoreDecisions stores decisions of another database. Kind and address of a source come with the configuration.
func RestoreDecisions(ctx context.Context, tx pgx.Tx, list []Decision) error {
	batch := &pgx.Batch{}
	for _, d := range list {
		batch.Queue(`
			INSERT INTO sources (name, kind, address, enabled) VALUES ($1, '', '', $2)
			ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled`, d.Name, d.Enabled)
		for _, l := range d.Audit {
			batch.Queue(`INSERT INTO audit (at, actor, action, detail) VALUES ($1, $2, $3, $4)`, l.At, l.Actor,
				l.Action, d.Name)
		}
	}
	return wrap("restore the decisions about sources", tx.SendBatch(ctx, batch).Close())
}
