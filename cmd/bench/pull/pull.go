// Package pull measures how fast a public source is read and stored, beside psql's \copy of the same rows:
//
//	go run ./cmd/bench pull -rows 200000 -runs 3
//
// The source is a server on loopback that answers as a facilitator's catalogue, 100 entries a page. Ours reads it in a
// process of its own, without a gap between requests, as "tollbook sources pull" does. It checks each entry, stages the
// rows, compares them with what the source listed before, and lists services and endpoints. The peer copies a CSV file
// of the resulting rows into a plain table without an index. Both sides must have the same rows.
package pull

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
	"tollbook/site/postgres/sources"
)

// Command is the bench.
var Command = harness.Command{Name: "pull", Short: "measure reading a public source, beside psql's copy",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var b bench
		flags.IntVar(&b.rows, "rows", 200_000, "resources of the source")
		flags.IntVar(&b.runs, "runs", 3, "runs of each side")
		role := flags.String("role", "", "ours: the process that reads the source")
		take := flags.String("take", "", "which resources that process lists as services")
		return func(ctx context.Context) error {
			if *role == "ours" {
				return read(ctx, *take)
			}
			return b.run(ctx)
		}
	}}

// bench is the state that both sides share.
type bench struct {
	rows, runs int

	dir     string
	server  *private.Server
	address string               // of the source
	memory  map[string][]float64 // peak of ours in MB, by what it does
	digest  string               // of the rows; "" before the first run
}

func (b *bench) run(ctx context.Context) (err error) {
	if err := harness.Install(ctx, harness.Peer{Program: "psql", Package: "postgresql-client"}); err != nil {
		return err
	}
	if b.dir, err = harness.Folder(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.server, err = private.Start(ctx, private.Options{Dir: filepath.Join(b.dir, "postgres")}); err != nil {
		return err
	}
	defer b.server.Stop(context.WithoutCancel(ctx))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: catalogue(b.rows), ReadHeaderTimeout: time.Minute}
	defer s.Close()
	go func() { _ = s.Serve(l) }()
	b.address, b.memory = "http://"+l.Addr().String()+"/discovery/resources", map[string][]float64{}

	report := harness.NewReport(b.runs)
	for _, what := range []struct {
		name, take string
		again      bool
	}{
		{"resources alone (take = none)", pull.TakeNone, false},
		{"with services and endpoints (take = all)", pull.TakeAll, false},
		{"the same again (take = all)", pull.TakeAll, true},
	} {
		results, err := harness.Alternate(ctx, b.runs, b.ours(what.name, what.take, what.again), b.peer)
		if err != nil {
			return fmt.Errorf("%s: %w", what.name, err)
		}
		report.Compare(what.name, `psql \copy`, "rows/s", results[0], results[1], harness.Bound{})
		report.Add("memory of ours", "MB", b.memory[what.name]...)
	}
	return report.Print()
}

// ours reads the source into an empty database or, if again is set, a second time.
func (b *bench) ours(name, take string, again bool) harness.Side {
	return func(ctx context.Context) (float64, error) {
		if !again {
			if err := b.create(ctx, "ours"); err != nil {
				return 0, err
			}
		}
		cmd, err := harness.Role(ctx, []string{"DATABASE_URL=" + b.server.DSNFor("ours"), "SOURCE=" + b.address},
			"-role", "ours", "-take", take)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		took := time.Since(began).Seconds()
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return 0, errors.New("the system does not report the resources of a process")
		}
		b.memory[name] = append(b.memory[name], float64(usage.Maxrss)/1024)
		log.Printf("    ours: %.2f s, CPU %.2f s of the client, %d MB", took,
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), usage.Maxrss/1024)
		if err := b.compare(ctx, "ours", "source_resources"); err != nil {
			return 0, err
		}
		return float64(b.rows) / took, b.export(ctx)
	}
}

// export writes the file that the peer copies.
func (b *bench) export(ctx context.Context) error {
	if _, err := os.Stat(b.file()); err == nil {
		return nil
	}
	return harness.Run(ctx, nil, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", b.server.DSNFor("ours"), "-c",
		fmt.Sprintf(`\copy source_resources TO '%s' (FORMAT csv)`, b.file()))
}

func (b *bench) file() string { return filepath.Join(b.dir, "rows.csv") }

// peer copies the same rows into a plain table.
func (b *bench) peer(ctx context.Context) (float64, error) {
	if err := b.create(ctx, "theirs"); err != nil {
		return 0, err
	}
	err := b.on(ctx, "theirs", func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `
			CREATE TABLE plain (source_id integer, resource text, method text, tool text, since timestamptz,
				until timestamptz, missed boolean)`)
		return err
	})
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", b.server.DSNFor("theirs"), "-c",
		fmt.Sprintf(`\copy plain FROM '%s' (FORMAT csv)`, b.file()))
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("psql: %w\n%s", err, out)
	}
	took := time.Since(began).Seconds()
	log.Printf("    psql: %.2f s", took)
	return float64(b.rows) / took, b.compare(ctx, "theirs", "plain")
}

// create creates an empty database.
func (b *bench) create(ctx context.Context, name string) error {
	return b.on(ctx, "postgres", func(conn *pgx.Conn) error {
		for _, sql := range []string{`DROP DATABASE IF EXISTS ` + name + ` WITH (FORCE)`, `CREATE DATABASE ` + name,
			`CHECKPOINT`} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
}

// compare checks that a table has the rows of all runs before.
func (b *bench) compare(ctx context.Context, database, table string) error {
	return b.on(ctx, database, func(conn *pgx.Conn) error {
		var digest string
		if err := conn.QueryRow(ctx, `
			SELECT format('%s rows, sum of hashes %s', count(*), sum(hashtextextended(resource || method || tool, 402)))
			FROM `+table+` WHERE until IS NULL`).Scan(&digest); err != nil {
			return err
		}
		if b.digest == "" {
			b.digest = digest
		}
		if want := fmt.Sprintf("%d rows,", b.rows); digest != b.digest || digest[:len(want)] != want {
			return fmt.Errorf("%s has %s, want %s %s", table, digest, want, b.digest)
		}
		return nil
	})
}

// on runs f with a connection to a database.
func (b *bench) on(ctx context.Context, database string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, b.server.DSNFor(database))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return f(conn)
}

// read pulls the source once.
func read(ctx context.Context, take string) error {
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	address, err := url.Parse(os.Getenv("SOURCE"))
	if err != nil {
		return err
	}
	v := crawl.New(db, crawl.Options{HostGap: time.Nanosecond, NoContact: true},
		probe.Options{Guard: &probe.Guard{AllowPrivate: []string{address.Host}}})
	defer v.Close()
	got, err := pull.New(db.Sources, v, pull.Options{Sources: []pull.Source{{
		Source: sources.Source{Name: "bench", Kind: "x402-discovery", Address: address.String()}, Enabled: true,
		Period: time.Hour, Take: take, Trust: true,
	}}}).Pull(ctx, "bench")
	if err == nil && got.Outcome != sources.Accepted {
		err = fmt.Errorf("the source is %s: %s", got.Outcome, got.Error)
	}
	return err
}

// catalogue returns a handler of a catalogue in the shape of a facilitator's. 300 resources are on one host.
func catalogue(rows int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"x402Version":2,"pagination":{"limit":%d,"offset":%d,"total":%d},"items":[`, limit, offset,
			rows)
		for i := offset; i < min(offset+limit, rows); i++ {
			if i > offset {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"resource":"https://api%d.bench.dev/v1/resource/%d","type":"http","x402Version":2,`+
				`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",`+
				`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",`+
				`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,`+
				`"extra":{"name":"USD Coin","version":"2"}}],"serviceName":"Service %d",`+
				`"description":"Answers one question about entry %d, with sources and a date.",`+
				`"tags":["data","search"],"lastUpdated":"2026-11-01T00:00:00Z"}`, i/300, i, i/300, i)
		}
		fmt.Fprint(w, "]}")
	}
}
