package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// ingestStage measures how fast checks are stored, beside psql's \copy of the same rows.
//
// Ours calls postgres.RecordVisits with the batches of a busy crawler. It stores each check as a row and updates the
// state of its service. Then postgres.SealLogs numbers the checks and adds them to the sums by hour and day.
//
// The peer copies a CSV file of the same rows into a table with the same columns, except the numbers. The table has
// indexes by time and by service, and partitions by day. Both sides set synchronous_commit to off. The peer does
// nothing else. Each run begins with a copy of one database with the services and that table. The rows must be equal on
// both sides, and our sums must count all of them.
//
// Rows come in two orders. "As crawled" is round by round with each service once a round, so no two checks of a batch
// share a roll-up. "In arrears" is service by service, as an import or a backlog sends them.
var ingestStage = stage{name: "ingest", short: "measure storing checks, beside psql's copy", services: 20_000, runs: 5,
	peers: []string{"psql.sh"}, flags: plain((*bench).measureIngest)}

const (
	checkRounds = 50   // checks of each service
	checkBatch  = 5000 // visits stored in one transaction
	checkPeriod = 15 * time.Minute

	// checkColumns are the columns of checks, without the numbers.
	checkColumns = `service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms, ` +
		`endpoints_found, error_message, consecutive_failures, uncounted_reason, interval_s`
)

// firstRound is the beginning of the first round.
var firstRound = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

func (b *bench) measureIngest() {
	defer debug.SetGCPercent(debug.SetGCPercent(crawl.GCPercent))
	d := b.postgres(b.path("postgres"), false)
	d.create("prepared", "")
	d.with(d.DSNFor("prepared"), func(db *postgres.DB) {
		check(db.AddListings(b.ctx, numberedListings(b.services, firstRound.Add(-time.Hour))))
	})
	d.execute("prepared", `CREATE TABLE plain_checks (LIKE checks INCLUDING DEFAULTS) PARTITION BY RANGE (checked_at)`,
		`CREATE TABLE plain_checks_20 PARTITION OF plain_checks FOR VALUES FROM ('2026-11-20Z') TO ('2026-11-21Z')`,
		`CREATE INDEX ON plain_checks USING brin (checked_at) WITH (pages_per_range = 16)`,
		`CREATE INDEX ON plain_checks (service_id, checked_at)`, `VACUUM ANALYZE`)
	n := b.services * checkRounds
	for _, order := range []struct {
		name    string
		arrears bool
		check   func(n int) checks.Visit
	}{
		{"as crawled", false, func(n int) checks.Visit { return b.visit(n%b.services, n/b.services) }},
		{"in arrears", true, func(n int) checks.Visit { return b.visit(n/checkRounds, n%checkRounds) }},
	} {
		ours, peer := order.name, `psql \copy of what comes `+order.name
		file := b.path(order.name + ".csv")
		digest := func(database, table string) string {
			return d.text(database, fmt.Sprintf(`SELECT format('%%s rows of %d, sum of hashes %%s', count(*),
				sum(hashtextextended(c::text, 402)::numeric)) FROM (SELECT %s FROM %s) c`, n, checkColumns, table))
		}
		b.alternate(side{ours, func() (float64, string) {
			took := 0.0
			d.create("ours", "prepared")
			d.with(d.DSNFor("ours"), func(db *postgres.DB) { took = b.storeChecks(d, db, n, order.check, order.arrears) })
			if got := d.text("ours", `SELECT format('%s in hours, %s in days, %s in logs', (SELECT sum(checks) FROM
				check_hours), (SELECT sum(checks) FROM check_days), (SELECT sum(rows) FROM log_positions WHERE
				service_id > 0))`); got != fmt.Sprintf("%[1]d in hours, %[1]d in days, %[1]d in logs", n) {
				failf("the sums count %s checks of %d", got, n)
			}
			b.run(b.peer(nil, "psql.sh", d.DSNFor("ours"), "-c",
				fmt.Sprintf(`\copy (SELECT %s FROM checks) TO '%s' (FORMAT csv)`, checkColumns, file)))
			return float64(n) / took, digest("ours", "checks")
		}}, side{peer, func() (float64, string) {
			d.create("theirs", "prepared")
			idle := d.cpu()
			cmd := b.peer(nil, "psql.sh", d.DSNFor("theirs"), "-c", "SET synchronous_commit = off", "-c",
				fmt.Sprintf(`\copy plain_checks (%s) FROM '%s' (FORMAT csv)`, checkColumns, file))
			_, took := b.run(cmd)
			log.Printf("    CPU %.2f s of psql and %.2f s of the server", used(cmd), d.cpu()-idle)
			return float64(n) / took, digest("theirs", "plain_checks")
		}})
		check(os.Remove(file))
		b.compare("checks with roll-ups, "+order.name, "checks/s", ours, peer, limit{})
		b.add("the same, rate", "checks/s", atLeast(5000), b.figures[ours]...)
	}
}

// storeChecks records n visits batch by batch and returns the seconds. As crawled, it sums each hour when it is over,
// as a build does, and in arrears everything at the end.
func (b *bench) storeChecks(d *database, db *postgres.DB, n int, visit func(n int) checks.Visit,
	arrears bool) (took float64) {
	defer startProfile(b.profile)()
	used, idle, sealed := selfCPU(), d.cpu(), firstRound
	visits := make([]checks.Visit, checkBatch)
	for first := 0; first < n; first += checkBatch {
		visits = visits[:min(checkBatch, n-first)]
		for i := range visits {
			visits[i] = visit(first + i)
		}
		now, last := visits[len(visits)-1].Check.CheckedAt, first+len(visits) == n
		began := time.Now() // visits are ready in memory, as the peer's file is on disk
		check(db.RecordVisits(b.ctx, visits))
		if last {
			now = now.Add(time.Hour)
		}
		if last || !arrears && !now.Before(sealed.Add(time.Hour)) {
			sealed = now.Truncate(time.Hour)
			check(db.SealLogs(b.ctx, now, 0))
		}
		took += time.Since(began).Seconds()
	}
	log.Printf("    CPU %.2f s of the client and %.2f s of the server", selfCPU()-used, d.cpu()-idle)
	return took
}

// numberedListings returns services with an endpoint each. Their ids begin at 1.
func numberedListings(n int, created time.Time) []postgres.Listing {
	listings := make([]postgres.Listing, n)
	for i := range listings {
		name := fmt.Sprintf("service-%06d", i)
		listings[i] = postgres.Listing{
			Slug: name, Name: name, Description: "The last price of a share.",
			BaseURL: "https://" + name + "." + probeDomain, Category: "Finance", Source: "submitted",
			CreatedAt: created, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/quote"}},
		}
	}
	return listings
}

// visit returns a visit as the crawler records one without new prices. It is a function of service and round. One
// service in twenty is slow, one in forty is down for a while, and one response in a hundred is inconclusive.
func (b *bench) visit(service, round int) checks.Visit {
	r := rand.New(rand.NewPCG(uint64(service), uint64(round)))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	at := firstRound.Add(time.Duration(round)*checkPeriod +
		time.Duration(service)*(checkPeriod/time.Duration(b.services)) +
		time.Duration(r.IntN(1000))*time.Microsecond).Truncate(time.Microsecond)
	v := checks.Visit{NextCheckAt: at.Add(checkPeriod), LastSuccessAt: &at,
		Check: checks.Check{ServiceID: int64(service) + 1, CheckedAt: at, ID: id, Counted: true, Status: new("online"),
			IsUp: true, StatusCode: new(402), EndpointsFound: 1 + service%4, ResponseTimeMS: new(40 + r.IntN(400))}}
	c := &v.Check
	switch down := round - 20; {
	case service%40 == 3 && down >= 0 && down < 8:
		c.Status, c.IsUp, c.StatusCode, c.EndpointsFound, c.ResponseTimeMS = new("offline"), false, nil, 0, nil
		c.ErrorMessage, c.ConsecutiveFailures = new("connecting timed out after 5 s"), down+1
		v.LastSuccessAt, v.FailingSince = nil, new(at.Add(-checkPeriod*time.Duration(down)))
	case r.IntN(100) == 0:
		c.Counted, c.StatusCode, c.EndpointsFound = false, new(429), 0
		c.ErrorMessage, c.UncountedReason = new("answers 429 Too Many Requests"), new("rate_limited")
	case service%20 == 7:
		c.Status, c.ResponseTimeMS = new("degraded"), new(5000+r.IntN(400))
	}
	return v
}
