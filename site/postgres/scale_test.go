//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/private"
)

// These constants define a world of settlements with 20,000 listed recipients and 5,000 unlisted ones. Two million
// payers pay them through twenty facilitators on two networks. Each pair of payer and payee settles five times on a
// day.
const (
	scaleListed       = 20_000
	scalePayees       = 25_000
	scalePayers       = 2_000_000
	scaleFacilitators = 20
	scaleMeeting      = 5
)

var scaleNetworks = []string{base, "eip155:137"}

// BenchmarkFactsAtScale reads the facts on facilitators and traction that a build needs from a generated history:
//
//	TOLLBOOK_BENCH_SETTLEMENTS=10000000 go test ./site/postgres -run - -bench FactsAtScale -timeout 0
//
// TOLLBOOK_BENCH_PER_DAY is the number of settlements a day, by default 100,000. It determines the length of the
// history. The server stores its data under TMPDIR: a hundred million settlements need about 40 GB.
func BenchmarkFactsAtScale(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("TOLLBOOK_BENCH_SETTLEMENTS"))
	if err != nil {
		b.Skip("TOLLBOOK_BENCH_SETTLEMENTS says how many settlements to generate; it is not set")
	}
	perDay := 100_000
	if text := os.Getenv("TOLLBOOK_BENCH_PER_DAY"); text != "" {
		if perDay, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	srv, err := private.Start(ctx, private.Options{Dir: b.TempDir() + "/postgres", Throwaway: true, Settings: []string{
		"wal_level=minimal", "max_wal_senders=0", "max_wal_size=8GB", "autovacuum=off"}})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Stop(context.WithoutCancel(ctx))
	db, err := postgres.Open(ctx, srv.DSN())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	began := time.Now()
	if err := generateScale(ctx, db, srv.DSN(), n, perDay); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d settlements over %d days generated in %v", n, n/perDay, time.Since(began).Round(time.Second))

	var recipients []ledger.Recipient
	for i := range int64(scaleListed) {
		for _, network := range scaleNetworks {
			recipients = append(recipients, ledger.Recipient{ServiceID: i + 1, Network: network,
				Address: scaleAddress(i + 1)})
		}
	}
	var tokens []ledger.CountedToken
	for i := range scaleFacilitators {
		for _, network := range scaleNetworks {
			tokens = append(tokens, ledger.CountedToken{Facilitator: fmt.Sprintf("f%02d", i), Network: network,
				Token: "usdc", Unit: "0.000001"})
		}
	}
	var facts *postgres.Facts
	var revenue *ledger.Revenue
	read := func() {
		if err := db.Read(ctx, func(r *postgres.Reader) (err error) {
			at := time.Now()
			if facts, err = r.Facts(ctx, start, 0); err == nil {
				b.Logf("facts %v", time.Since(at).Round(time.Millisecond))
				at = time.Now()
				revenue, err = r.ReadRevenue(ctx, start, recipients, tokens)
				b.Logf("takings %v", time.Since(at).Round(time.Millisecond))
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	began, wasServer, wasClient := time.Now(), serverTime(), selfTime(b)
	read()
	b.Logf("first read: %v, %v of client, %v of server", time.Since(began).Round(time.Millisecond),
		selfTime(b)-wasClient, serverTime()-wasServer)
	facts, revenue = nil, nil
	runtime.GC()
	var peak atomic.Uint64
	done := watchHeap(&peak)
	var client, server time.Duration
	for b.Loop() {
		wasServer, wasClient := serverTime(), selfTime(b)
		read()
		client += selfTime(b) - wasClient
		server += serverTime() - wasServer
	}
	close(done)
	days, all := 0, int64(0)
	began = time.Now()
	for i := range revenue.Payees {
		p := &revenue.Payees[i]
		past, err := p.Past()
		if err != nil {
			b.Fatal(err)
		}
		days += len(p.Days) + len(past)
	}
	b.Logf("unfolded %d days in %v", days, time.Since(began).Round(time.Millisecond))
	for _, f := range facts.Facilitators {
		for _, w := range f.Tokens {
			all += w.All.Settlements
		}
	}
	if all != int64(n) || len(revenue.Services) == 0 {
		b.Fatalf("%d settlements, %d services", all, len(revenue.Services))
	}
	b.ReportMetric(client.Seconds()/float64(b.N), "client-cpu-s/op")
	b.ReportMetric(server.Seconds()/float64(b.N), "server-cpu-s/op")
	b.ReportMetric(float64(peak.Load())/(1<<20), "heap-MB")
	b.ReportMetric(float64(days), "payee-days")
}

// selfTime returns the CPU time of this process, and serverTime that of the servers that it started. On a busy machine
// wall-clock time says little.
func selfTime(b *testing.B) time.Duration {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano())
}

func serverTime() (sum time.Duration) {
	parents := map[string]bool{strconv.Itoa(os.Getpid()): true}
	for range 2 { // the server is a child, its connections are grandchildren
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range stats {
			data, err := os.ReadFile(name)
			if err != nil {
				continue // the process has ended
			}
			_, rest, _ := strings.Cut(string(data), ") ")
			fields := strings.Fields(rest)
			if id := filepath.Base(filepath.Dir(name)); len(fields) > 14 && parents[fields[1]] && !parents[id] {
				parents[id] = true
				for _, field := range fields[11:15] { // its own time, and that of ended children
					ticks, _ := strconv.Atoi(field)
					sum += time.Duration(ticks) * 10 * time.Millisecond
				}
			}
		}
	}
	return sum
}

// watchHeap records the peak size of the heap until the channel is closed.
func watchHeap(peak *atomic.Uint64) chan struct{} {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	return done
}

func scaleAddress(n int64) string { return fmt.Sprintf("0x%040x", n) }

// generateScale fills the tables with the rows that an index would write, a day at a time, over three connections at
// once.
func generateScale(ctx context.Context, db *postgres.DB, dsn string, n, perDay int) error {
	var list []ledger.Facilitator
	for i := range scaleFacilitators {
		list = append(list, facilitator(fmt.Sprintf("f%02d", i)))
	}
	if _, err := db.ImportFacilitators(ctx, list); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range []string{
		fmt.Sprintf(
			`INSERT INTO accounts (address) SELECT '0x' || lpad(to_hex(n), 40, '0') FROM generate_series(1, %d) n`,
			scalePayees+scalePayers),
		fmt.Sprintf(`INSERT INTO chains (network) VALUES ('%s'), ('%s')`, scaleNetworks[0], scaleNetworks[1]),
		`INSERT INTO facilitator_tokens (facilitator_id, chain_id, token) SELECT f.id, c.id, 'usdc'
			FROM facilitators f, chains c
			ORDER BY f.id, c.id`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	days := make(chan int)
	group.Go(func() error {
		defer close(days)
		for day := n/perDay - 1; day >= 0; day-- {
			select {
			case days <- day:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range 3 {
		group.Go(func() error {
			conn, err := pgx.Connect(ctx, dsn+"&timezone=UTC")
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			for day := range days {
				if err := generateDay(ctx, conn, day, perDay); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, sql := range []string{
		`SET maintenance_work_mem = '1GB'`, `SET work_mem = '1GB'`,
		`INSERT INTO token_payers SELECT token_id, payer_id, max(day) FROM payer_days GROUP BY 1, 2 ORDER BY 1, 2`,
		`INSERT INTO token_totals SELECT token_id, sum(settlements), sum(amount), (SELECT count(*) FROM token_payers p
			WHERE p.token_id = d.token_id), min(day), max(last_at)
			FROM token_days d GROUP BY token_id`,
		`INSERT INTO payee_totals SELECT payee_id, token_id, sum(settlements), sum(amount), min(first_at), max(last_at)
			FROM payee_days GROUP BY 1, 2 ORDER BY 1, 2`,
		`VACUUM ANALYZE token_totals, token_hours, token_days, token_payers, payee_days, payee_totals, payer_days,
			amount_days`, `ANALYZE`,
	} {
		if _, err := conn.Exec(context.WithoutCancel(ctx), sql); err != nil {
			return err
		}
	}
	return nil
}

// generateDay generates one day, back days before start. Payees and payers with small numbers are drawn more often. The
// roll-ups use the indexers' own statements.
func generateDay(ctx context.Context, conn *pgx.Conn, back, perDay int) error {
	day := start.Truncate(24*time.Hour).AddDate(0, 0, -back).Format(time.DateOnly)
	for _, sql := range []string{
		`CREATE TEMPORARY TABLE IF NOT EXISTS drawn (settled_at timestamptz, token_id integer, payee_id bigint,
			payer_id bigint, amount numeric, n bigint)`,
		`TRUNCATE drawn`,
		fmt.Sprintf(`SELECT setseed(%g)`, float64(back%1000)/1000),
		fmt.Sprintf(`
			INSERT INTO drawn SELECT date '%s' + m * interval '86399 seconds' / %d, flow, payee, payer,
				price * (1 + (k = 1)::int), m * %d + k FROM (
				SELECT m, 1 + floor(%d * power(random(), 3))::bigint AS payee,
					%d + 1 + floor(%d * power(random(), 2))::bigint AS payer, random() AS r
					FROM generate_series(0, %d) m
			) pair, LATERAL (SELECT (1 + payee %% 37) * 1000 AS price,
				1 + (payee + floor(r * 2)::int) %% %d AS flow) of, generate_series(1, %d) k`,
			day, perDay/scaleMeeting, scaleMeeting, scalePayees, scalePayees, scalePayers, perDay/scaleMeeting-1,
			scaleFacilitators*len(scaleNetworks), scaleMeeting),
		fmt.Sprintf(`
			INSERT INTO settlements SELECT settled_at, extract(epoch FROM settled_at)::bigint / 2, payee_id, payer_id,
				payee_id, token_id, n, NULL, 1 + (token_id - 1) %% 2,
				decode(lpad(to_hex(%d * 10000000::bigint + n), 64, '0'), 'hex'),
				decode(lpad(to_hex(n), 64, '0'), 'hex'), 'eip3009', amount FROM drawn ORDER BY 9, 2, 10`, back),
		`INSERT INTO token_days SELECT token_id, settled_at::date, count(*), sum(amount), 0, 0, max(settled_at)
			FROM drawn
			GROUP BY 1, 2 ORDER BY 1, 2`,
		`INSERT INTO payee_days SELECT payee_id, token_id, settled_at::date, count(*), sum(amount), min(settled_at),
			max(settled_at) FROM drawn GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
		`INSERT INTO payer_days SELECT settled_at::date, token_id, payee_id, payer_id, count(*), sum(amount) FROM drawn
			GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 4, 2`,
		`INSERT INTO amount_days SELECT settled_at::date, token_id, payee_id, amount, count(*) FROM drawn
			GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 2, 4`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	if back > 7 {
		return nil
	}
	_, err := conn.Exec(ctx,
		`INSERT INTO token_hours SELECT token_id, date_trunc('hour', settled_at), count(*), sum(amount) FROM drawn
			GROUP BY 1, 2 ORDER BY 2, 1`)
	return err
}
