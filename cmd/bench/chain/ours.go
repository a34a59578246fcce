package chain

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/postgres"
)

// ours runs a process that indexes the chain.
func (b *bench) ours(ctx context.Context) (float64, error) {
	return b.measure(ctx, "ours", `SELECT count(*), sum(amount)::text FROM settlements`, func(dsn string) error {
		cmd, err := harness.Role(ctx, []string{"DATABASE_URL=" + dsn, "RPC=" + b.rpc}, "-role", "ours", "-profile",
			b.profile)
		if err != nil {
			return err
		}
		before, err := b.meanwhile()
		if err == nil {
			err = cmd.Run()
		}
		if err != nil {
			return err
		}
		after, err := b.meanwhile()
		b.cpu = append(b.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		b.nodeCPU = append(b.nodeCPU, after.node-before.node)
		b.serverCPU = append(b.serverCPU, after.server-before.server)
		return err
	})
}

// used is the processor time of the node and Postgres so far, in seconds.
type used struct{ node, server float64 }

func (b *bench) meanwhile() (u used, err error) {
	if u.node, err = usage.CPU(b.node.Process.Pid); err != nil {
		return u, err
	}
	u.server, err = usage.CPU(b.postmaster)
	return u, err
}

// index reads the chain once into an empty database.
func index(ctx context.Context, profile string) error {
	stop, err := harness.Profile(profile)
	if err != nil {
		return err
	}
	defer stop()
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ImportFacilitators(ctx, listed()); err != nil {
		return err
	}
	x, err := crawl.NewIndexer(db,
		[]chain.Network{{ID: network, RPC: []string{os.Getenv("RPC")}, Confirmations: confirmations}}, chain.Options{})
	if err != nil {
		return err
	}
	reports, err := x.Once(ctx)
	if err == nil {
		fmt.Fprintf(os.Stderr, "    %+v\n", reports[0])
	}
	return err
}

// measure times a job with a database of its own, and compares its rows with those of previous runs.
func (b *bench) measure(ctx context.Context, name, check string, job func(dsn string) error) (float64, error) {
	events, want := expected(b.blocks)
	conn, err := pgx.Connect(ctx, b.server.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := job(b.server.DSNFor(name)); err != nil {
		return 0, err
	}
	took := time.Since(begun).Seconds()
	result, err := pgx.Connect(ctx, b.server.DSNFor(name))
	if err != nil {
		return 0, err
	}
	defer result.Close(ctx)
	var count int64
	var sum string
	if err := result.QueryRow(ctx, check).Scan(&count, &sum); err != nil {
		return 0, err
	}
	if count != want || b.sum != "" && sum != b.sum {
		return 0, fmt.Errorf("%s: %d settlements of %s, want %d of %s", name, count, sum, want, b.sum)
	}
	b.sum = sum
	return float64(events) / took, nil
}
