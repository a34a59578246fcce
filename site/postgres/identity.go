package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/migration"
)

// identitySchema is the first schema with the table identity.
const identitySchema = 8

// Identity returns the UUID of the database, "" if somebody deleted it. It was made with the database and is no secret.
// A restored dump has the same one; a database that "tollbook import" filled has its own.
func (db *DB) Identity(ctx context.Context) (string, error) { return readIdentity(ctx, db.pool) }

// Identify returns what Identity would return of a database, without migrating or changing it; "" for a newer schema. ok
// is false if the database has no identity yet, because it is empty or only older programs have used it.
func Identify(ctx context.Context, dsn string) (id string, ok bool, err error) {
	pool, err := newPool(ctx, dsn, applicationName, Options{})
	if err != nil {
		return "", false, err
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return "", false, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	schema, _, err := migration.ReadSchema(ctx, conn.Conn())
	if err != nil || schema < identitySchema {
		return "", false, err
	}
	if schema > migration.NewestSchema() {
		return "", true, nil // OpenFor refuses it, and names the program that knows it
	}
	id, err = readIdentity(ctx, conn)
	return id, true, err
}

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
