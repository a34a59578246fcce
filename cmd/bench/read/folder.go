package read

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// generate builds a generated directory as an operator would; with -swap it builds two snapshots.
func (b *bench) generate(ctx context.Context) error {
	log.Printf("Building %d services in %s …", b.services, b.dir)
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(b.dir, "postgres"), Throwaway: true})
	if err != nil {
		return err
	}
	defer server.Stop(context.WithoutCancel(ctx))
	if err := b.fill(ctx, server.DSN()); err != nil {
		return err
	}
	b.public = filepath.Join(b.dir, "data", "public")
	expand := [][]string{{"--expand", "all", "--gzip"}}
	switch {
	case b.searches:
		expand = [][]string{{"--expand", "none"}}
	case b.swap:
		expand = [][]string{{"--expand", "none"}, {"--expand", "none"}}
	}
	for i, flags := range expand {
		args := append([]string{"build", "--site-base-url", "https://tollbook.example", "--data",
			filepath.Dir(b.public)},
			flags...)
		if err := harness.Run(ctx, []string{"DATABASE_URL=" + server.DSN()}, b.program, args...); err != nil {
			return err
		}
		if !b.swap {
			continue
		}
		if err := os.Link(filepath.Join(b.public, "checkpoint.json"), b.checkpoint(i)); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint returns the path of a copy of the pointer to the first or second snapshot.
func (b *bench) checkpoint(i int) string {
	return filepath.Join(b.public, fmt.Sprintf("checkpoint-%d", i))
}

func (b *bench) fill(ctx context.Context, dsn string) error {
	db, err := postgres.OpenFor(ctx, dsn, postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = crowd.Load(ctx, db, crowd.Options{Services: b.services, Seed: 1, Moment: time.Now().Truncate(time.Minute),
		Days: 90})
	return err
}
