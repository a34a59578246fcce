package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres/checks"
)

// checkColumns are those of checks, in the order of the file.
const checkColumns = `service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms, ` +
	`endpoints_found, error_message, consecutive_failures, uncounted_reason`

// firstRound is the beginning of the first round.
var firstRound = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// checkPeriod is the time between two checks of a service.
const checkPeriod = 15 * time.Minute

// checkOrder is a sequence of all rows. It maps n to the service and the round of the nth check.
type checkOrder struct {
	name string
	row  func(n int) (service, round int)
	late bool // checks of an hour come after those of later hours
}

func (b *ingest) crawled(n int) (service, round int)   { return n % b.services, n / b.services }
func (b *ingest) inArrears(n int) (service, round int) { return n / b.rounds, n % b.rounds }

// check is a function of service and round. One service in twenty is slow, one in forty is down for a while, and one
// response in a hundred is inconclusive.
func (b *ingest) check(service, round int) checks.Check {
	var seed [16]byte
	binary.BigEndian.PutUint64(seed[:], uint64(service))
	binary.BigEndian.PutUint64(seed[8:], uint64(round))
	r := rand.New(rand.NewPCG(binary.BigEndian.Uint64(seed[:8]), binary.BigEndian.Uint64(seed[8:])))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	at := firstRound.Add(time.Duration(round)*checkPeriod +
		time.Duration(service)*(checkPeriod/time.Duration(b.services)) +
		time.Duration(r.IntN(1000))*time.Microsecond)
	c := checks.Check{ServiceID: b.ids[service], CheckedAt: at.Truncate(time.Microsecond), ID: id, Counted: true,
		Status: &online, IsUp: true, StatusCode: new(402), EndpointsFound: 1 + service%4}
	ms := 40 + r.IntN(400)
	if service%20 == 7 {
		ms += 5000
		c.Status = &degraded
	}
	if down := round - 20; service%40 == 3 && down >= 0 && down < 8 {
		c.Status, c.IsUp, c.StatusCode, c.EndpointsFound, c.ErrorMessage, c.ConsecutiveFailures = &offline, false, nil,
			0, &timedOut, down+1
		return c
	}
	if r.IntN(100) == 0 {
		c.Counted, c.StatusCode, c.EndpointsFound, c.ErrorMessage = false, new(429), 0, &limited
		c.UncountedReason = new("rate_limited")
	}
	c.ResponseTimeMS = &ms
	return c
}

var (
	online, degraded, offline = "online", "degraded", "offline"
	timedOut, limited         = "connecting timed out after 5 s", "answers 429 Too Many Requests"
)

// visit returns the nth visit of an order, as the crawler records one without new prices.
func (b *ingest) visit(o checkOrder, n int) checks.Visit {
	c := b.check(o.row(n))
	v := checks.Visit{Check: c, NextCheckAt: c.CheckedAt.Add(checkPeriod)}
	if c.IsUp {
		v.LastSuccessAt = &c.CheckedAt
	} else {
		v.FailingSince = new(c.CheckedAt.Add(-checkPeriod * time.Duration(c.ConsecutiveFailures-1)))
	}
	return v
}

func (b *ingest) file(o checkOrder) string {
	return filepath.Join(b.dir, strings.ReplaceAll(o.name, " ", "-")+".csv")
}

// write writes the peer's file.
func (b *ingest) write(o checkOrder) error {
	f, err := os.Create(b.file(o))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for n := range b.services * b.rounds {
		writeCheck(w, b.check(o.row(n)))
	}
	return w.Flush()
}

// writeCheck writes a row of CSV; no field needs quotes.
func writeCheck(w io.Writer, c checks.Check) {
	fmt.Fprintf(w, "%d,%s,%s,%t,%s,%t,%s,%s,%d,%s,%d,%s\n", c.ServiceID,
		c.CheckedAt.Format("2006-01-02 15:04:05.999999+00"), c.ID, c.Counted, text(c.Status), c.IsUp,
		text(c.StatusCode), text(c.ResponseTimeMS), c.EndpointsFound, text(c.ErrorMessage), c.ConsecutiveFailures,
		text(c.UncountedReason))
}

func text[T any](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
