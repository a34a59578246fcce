package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// identitySchema is the first schema with the table identity.
const identitySchema = 8

// Identity returns the UUID of the database, "" if somebody deleted it. It was made with the database and is no secret.
// A restored dump has the same one; a database that "tollbook import" filled has its own.
func (db *DB) Identity(ctx context.Context) (string, error) { return readIdentity(ctx, db.pool) }

// readIdentity returns the identity as Identity does.
func readIdentity(ctx context.Context, from interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (id string, err error) {
	err = from.QueryRow(ctx, `SELECT id::text FROM identity`).Scan(&id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("read the identity of the database: %w", err)
	}
	return id, nil
}
