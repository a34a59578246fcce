package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
)

// pullStage measures how fast a public source is read and stored, beside psql's \copy of the same rows.
//
// The source is a server on loopback that answers as a facilitator's catalogue, 100 entries a page. Ours reads it in a
// process of its own, without a gap between requests, as "tollbook sources pull" does. It checks each entry, stages the
// rows, compares them with what the source listed before, and lists services and endpoints. The peer copies a CSV file
// of the resulting rows into a plain table without an index. Both sides must have the same rows.
var pullStage = stage{"pull", "measure reading a public source, beside psql's copy",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var b pulling
		flags.IntVar(&b.rows, "rows", 200_000, "resources of the source")
		flags.IntVar(&b.runs, "runs", 3, "runs of each side")
		return b.measure
	}}

// pulling is the state that both sides share.
type pulling struct {
	rows, runs int
	dir        string
	server     *database
	address    string // of the source
	memory     series // peak of ours in MB, by what it does
	digest     string // of the rows; "" before the first run
}

func (b *pulling) measure(ctx context.Context, r *report) (err error) {
	if err := install(ctx, "psql.sh"); err != nil {
		return err
	}
	if b.dir, err = temporary(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.server, err = startPostgres(ctx, filepath.Join(b.dir, "postgres"), false); err != nil {
		return err
	}
	defer b.server.end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: catalogue(b.rows), ReadHeaderTimeout: time.Minute}
	defer s.Close()
	go func() { _ = s.Serve(l) }()
	b.address, b.memory = "http://"+l.Addr().String()+"/discovery/resources", series{}
	for _, what := range []struct {
		name, take string
		again      bool
	}{
		{"resources alone (take = none)", pull.TakeNone, false},
		{"with services and endpoints (take = all)", pull.TakeAll, false},
		{"the same again (take = all)", pull.TakeAll, true},
	} {
		results, err := alternate(ctx, b.runs, b.ours(what.name, what.take, what.again), b.peer)
		if err != nil {
			return fmt.Errorf("%s: %w", what.name, err)
		}
		r.compare(what.name, `psql \copy`, "rows/s", results[0], results[1], limit{})
		r.add("memory of ours", "MB", limit{}, b.memory[what.name]...)
	}
	return nil
}

// ours reads the source into an empty database or, if again is set, a second time.
func (b *pulling) ours(name, take string, again bool) side {
	return func(ctx context.Context) (float64, error) {
		if !again {
			if err := b.server.create(ctx, "ours", ""); err != nil {
				return 0, err
			}
		}
		cmd, err := role(ctx, []string{"DATABASE_URL=" + b.server.DSNFor("ours"), "SOURCE=" + b.address}, "puller",
			take)
		if err != nil {
			return 0, err
		}
		_, took, err := run(cmd)
		if err != nil {
			return 0, err
		}
		seconds, peak := used(cmd)
		b.memory.add(name, peak)
		log.Printf("    ours: %.2f s, CPU %.2f s of the client, %.0f MB", took, seconds, peak)
		if err := b.compare(ctx, "ours", "source_resources"); err != nil {
			return 0, err
		}
		if _, err := os.Stat(b.file()); os.IsNotExist(err) { // what the peer copies
			if _, _, err := run(peer(ctx, nil, "psql.sh", b.server.DSNFor("ours"), "-c",
				fmt.Sprintf(`\copy source_resources TO '%s' (FORMAT csv)`, b.file()))); err != nil {
				return 0, err
			}
		}
		return float64(b.rows) / took, nil
	}
}

func (b *pulling) file() string { return filepath.Join(b.dir, "rows.csv") }

// peer copies the same rows into a plain table.
func (b *pulling) peer(ctx context.Context) (float64, error) {
	if err := b.server.create(ctx, "theirs", ""); err != nil {
		return 0, err
	}
	if err := b.server.execute(ctx, "theirs", `CREATE TABLE plain (source_id integer, resource text, method text,
		tool text, since timestamptz, until timestamptz, missed boolean)`); err != nil {
		return 0, err
	}
	_, took, err := run(peer(ctx, nil, "psql.sh", b.server.DSNFor("theirs"), "-c",
		fmt.Sprintf(`\copy plain FROM '%s' (FORMAT csv)`, b.file())))
	if err != nil {
		return 0, err
	}
	log.Printf("    psql: %.2f s", took)
	return float64(b.rows) / took, b.compare(ctx, "theirs", "plain")
}

// compare checks that a table has the rows of all runs before.
func (b *pulling) compare(ctx context.Context, database, table string) error {
	return b.server.on(ctx, database, func(conn *pgx.Conn) error {
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

// pullOnce pulls the source once.
func pullOnce(ctx context.Context, take string) error {
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
