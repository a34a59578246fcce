package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// pastVisits records some days of visits to five services, the same ones for the same seed, and seals their hours as
// builds do. The checks of the given time do not count. It returns the time of the last build.
func pastVisits(t *testing.T, db *postgres.DB, seed uint64, from, to time.Time) time.Time {
	t.Helper()
	const services, days = 5, 9
	var list []postgres.Listing
	for i := range services {
		list = append(list, listing(fmt.Sprintf("s%d", i)))
	}
	if err := db.AddListings(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	type state struct {
		status   *string
		next     time.Time
		known    time.Time
		failures int
		failing  *time.Time
		up       bool
	}
	states := make([]state, services)
	end := start.AddDate(0, 0, days)
	sealed := start
	for now := start; now.Before(end); now = now.Add(5 * time.Minute) {
		var visits []checks.Visit
		for i := range states {
			s := &states[i]
			if now.Before(s.next) {
				continue
			}
			if r.IntN(12) == 0 {
				s.up = !s.up
			}
			at := now.Add(time.Duration(r.IntN(60_000_000)) * time.Microsecond)
			interval := []int{0, 300, 900, 3600, 86400}[r.IntN(5)]
			c := checks.Check{ServiceID: int64(i + 1), CheckedAt: at, ID: uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(i, at))),
				Counted: r.IntN(10) != 0, IsUp: s.up, IntervalS: interval, EndpointsFound: 1}
			if !c.Counted {
				c.UncountedReason = new("auth")
			}
			if r.IntN(4) != 0 {
				c.ResponseTimeMS = new(r.IntN(5000))
			}
			if !s.up {
				c.StatusCode, c.ErrorMessage = new(500+r.IntN(4)), new(fmt.Sprint("no. ", r.IntN(3)))
			}
			if c.Counted && !at.Before(from) && at.Before(to) {
				c.Counted, c.UncountedReason = false, new(site.VoidCheck)
			}
			if c.Counted {
				switch {
				case s.up:
					s.status, s.failures, s.failing = new("online"), 0, nil
				case s.failures > 0 && !at.Truncate(time.Millisecond).After(s.known):
					s.status, s.failures = new("offline"), s.failures+1
				default:
					s.status, s.failures, s.failing = new("offline"), 1, &at
				}
				s.known = c.KnownUntil()
			}
			c.Status, c.ConsecutiveFailures = s.status, s.failures
			s.next = now.Add(time.Duration(5+r.IntN(60)) * time.Minute)
			if r.IntN(40) == 0 {
				s.next = now.Add(time.Duration(r.IntN(40)) * time.Hour)
			}
			visits = append(visits, checks.Visit{Check: c, NextCheckAt: s.next, FailingSince: s.failing})
		}
		if len(visits) > 0 {
			if err := db.RecordVisits(t.Context(), visits); err != nil {
				t.Fatal(err)
			}
		}
		if now.Sub(sealed) > 7*time.Hour {
			sealed = now
			if err := db.SealLogs(t.Context(), now, 2*time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	return end
}

// voidTables are what follows from the checks that count, and the numbers of all checks.
var voidTables = []string{
	`SELECT c::text FROM (SELECT service_id, id, number, service_number, counted, uncounted_reason FROM checks) AS c ORDER BY 1`,
	`SELECT h::text FROM check_hours h ORDER BY 1`,
	`SELECT d::text FROM check_days d ORDER BY 1`,
	`SELECT r::text FROM (SELECT * FROM failure_runs) AS r ORDER BY 1`,
	`SELECT s::text FROM (SELECT s.* FROM sealed_states s) AS s ORDER BY 1`,
	`SELECT (service_id, last_status, consecutive_failures, failing_since)::text FROM service_states ORDER BY 1`,
}

func readTables(t *testing.T, conn *pgx.Conn) (all [][]string) {
	t.Helper()
	for _, sql := range voidTables {
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list)
	}
	return all
}

// TestVoid checks that voiding checks gives the sums, runs and states that there would be if these checks had never
// counted, and that lifting the void gives those from before.
func TestVoid(t *testing.T) {
	t.Parallel()
	for seed, window := range [][2]time.Duration{
		{50 * time.Hour, 61 * time.Hour}, {10 * time.Hour, 110 * time.Hour}, {0, 9 * time.Hour},
		{8*24*time.Hour + 5*time.Hour, 9 * 24 * time.Hour}, {100*time.Hour + 7*time.Minute, 100*time.Hour + 50*time.Minute},
		{0, 9 * 24 * time.Hour},
	} {
		t.Run(window[0].String()+" "+window[1].String(), func(t *testing.T) {
			t.Parallel()
			dsn, wanted := template.Database(t), template.Database(t)
			db, err := postgres.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			want, err := postgres.Open(t.Context(), wanted)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			from, to := start.Add(window[0]), start.Add(window[1])
			now := pastVisits(t, db, uint64(seed), time.Time{}, time.Time{})
			pastVisits(t, want, uint64(seed), from, to)
			conn := postgrestest.Connect(t, dsn)
			before := readTables(t, conn)
			v, err := db.Void(t.Context(), checks.Void{From: from, To: to, VoidedAt: now, Actor: "anna",
				Reason: "our line was down"})
			if err != nil {
				t.Fatal(err)
			}
			if cmp.Equal(before, readTables(t, conn)) {
				t.Error("the void changes nothing")
			}
			if v.Checks == 0 || v.Services == 0 || v.ID == 0 {
				t.Errorf("void %+v", v)
			}
			if diff := cmp.Diff(readTables(t, postgrestest.Connect(t, wanted)), readTables(t, conn)); diff != "" {
				t.Errorf("tables (-never counted +void):\n%s", diff)
			}
			if _, err := db.LiftVoid(t.Context(), v.ID, "bert", now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, readTables(t, conn)); diff != "" {
				t.Errorf("tables (-before +lifted):\n%s", diff)
			}
			if _, err := db.LiftVoid(t.Context(), v.ID, "bert", now); !errors.Is(err, site.ErrNotFound) {
				t.Errorf("lifted twice: %v", err)
			}
		})
	}
}
