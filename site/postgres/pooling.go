package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrPooling says that a pooler, such as pgbouncer, gives each transaction another connection to the server. Advisory
// locks, prepared statements and LISTEN belong to a connection, so workers would look dead, and queries would fail.
var ErrPooling = errors.New("the database is reached through a pooler in transaction mode (pgbouncer, or one like it), " +
	"which takes away locks and prepared statements between two transactions: set pool_mode = session for this database, " +
	"or name Postgres itself in DATABASE_URL, at its own port")

// checkPooling returns ErrPooling if the connections that config describes do not keep their connection to the server.
//
// Behind a pooler the process id that a connection was given is not that of the server's process. In session mode two
// open connections have two processes of the server; in transaction mode they take turns on one, or one of them changes
// its process.
func checkPooling(ctx context.Context, first *pgx.Conn, config *pgx.ConnConfig) error {
	process, err := serverProcess(ctx, first)
	if err != nil || process == first.PgConn().PID() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, poolerWait)
	defer cancel()
	second, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("get a second connection of the pooler before the database; let it give out more: %w", err)
	}
	defer second.Close(context.WithoutCancel(ctx))
	for range 3 {
		other, err := serverProcess(ctx, second)
		if err != nil {
			return err
		}
		again, err := serverProcess(ctx, first)
		if err != nil {
			return err
		}
		if other == process || again != process {
			return ErrPooling
		}
	}
	return nil
}

// poolerWait is how long a pooler may take to give out a second connection.
const poolerWait = 15 * time.Second

// serverProcess returns the id of the server's process that answers a connection. It prepares no statement.
func serverProcess(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	if err != nil {
		return 0, fmt.Errorf("ask the database for its process: %w", err)
	}
	return pid, nil
}
