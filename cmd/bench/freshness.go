package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tollbook/cmd/bench/crowd"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// freshnessStage measures how long a reader waits for a new price. A directory is built every minute into a folder and
// published to a bucket in a MinIO, by the commands build and publish; a serve answers from each. Meanwhile visits at
// random moments find new prices. The time goes from the visit until serve answers with the price.
var freshnessStage = stage{"freshness", "measure how long a new price takes to a reader",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var b freshness
		flags.IntVar(&b.services, "services", 2000, "generated `services`")
		flags.DurationVar(&b.every, "every", time.Minute, "`time` between the starts of two builds")
		flags.IntVar(&b.visits, "visits", 60, "`number` of visits that find a new price")
		flags.DurationVar(&b.gap, "gap", 5*time.Second, "mean `time` between two visits")
		return b.measure
	}}

// freshness is the state of the builder, the visitor and the readers.
type freshness struct {
	services, visits int
	every, gap       time.Duration

	dir, program string
	database     *database
	store        *store
	bucket       string

	mu   sync.Mutex
	took series // seconds, by place
}

func (b *freshness) measure(ctx context.Context, r *report) (err error) {
	if err := install(ctx, "minio.sh"); err != nil {
		return err
	}
	if b.dir, err = temporary(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.program, err = buildTollbook(ctx, b.dir); err != nil {
		return err
	}
	if b.database, err = startPostgres(ctx, filepath.Join(b.dir, "postgres"), true); err != nil {
		return err
	}
	defer b.database.end()
	if _, err := b.database.fill(ctx, crowd.Options{Services: b.services, Moment: time.Now().Truncate(time.Minute),
		Days: 90}); err != nil {
		return err
	}
	if b.store, err = startStore(ctx, filepath.Join(b.dir, "minio")); err != nil {
		return err
	}
	defer b.store.end()
	if b.bucket, err = b.store.bucket(ctx); err != nil {
		return err
	}
	b.took = series{}
	if err := b.build(ctx); err != nil {
		return err
	}
	folder, _, err := startServe(ctx, nil, b.program, filepath.Join(b.dir, "data", "public"))
	if err != nil {
		return err
	}
	defer folder.end()
	bucket, _, err := startServe(ctx, b.store.env(), b.program, b.bucket)
	if err != nil {
		return err
	}
	defer bucket.end()

	g, ctx := errgroup.WithContext(ctx)
	building, stop := context.WithCancel(ctx)
	g.Go(func() error {
		every := time.NewTicker(b.every)
		defer every.Stop()
		for {
			select {
			case <-building.Done():
				return nil
			case <-every.C:
			}
			if err := b.build(building); err != nil && building.Err() == nil {
				return err
			}
		}
	})
	g.Go(func() error {
		defer stop()
		return b.visit(ctx, map[string]*server{"folder": folder, "bucket": bucket})
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for _, place := range []string{"folder", "bucket"} {
		values := b.took[place]
		r.add("a new price to a reader of a "+place+": p95", "s", atMost(75), percentile(values, 95))
		r.add("all of them", "s", limit{}, values...)
	}
	r.add("time of a build", "s", limit{}, b.took["build"]...)
	r.add("time of a publication", "s", limit{}, b.took["publish"]...)
	return nil
}

// build builds the directory into the folder and publishes it to the bucket.
func (b *freshness) build(ctx context.Context) error {
	data := filepath.Join(b.dir, "data")
	began := time.Now()
	if err := buildCommand(ctx, b.program, b.database.DSN(), data, "--every", b.every.String(), "--expand",
		"none"); err != nil {
		return err
	}
	built := time.Now()
	if _, _, err := run(program(ctx, append(b.store.env(), "DATABASE_URL="+b.database.DSN()), b.program, "publish",
		"--data", data, "--publish-to", b.bucket, "--expand", "none")); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took.add("build", built.Sub(began).Seconds())
	b.took.add("publish", time.Since(built).Seconds())
	log.Printf("built in %.1f s, published in %.1f s", built.Sub(began).Seconds(), time.Since(built).Seconds())
	return nil
}

// visit records visits that find a new price, each of another service, and waits until both readers have all prices.
func (b *freshness) visit(ctx context.Context, readers map[string]*server) error {
	db, err := postgres.OpenFor(ctx, b.database.DSN(), postgres.Options{Connections: 4})
	if err != nil {
		return err
	}
	defer db.Close()
	due, err := db.TakeServices(ctx, time.Now().AddDate(1, 0, 0), time.Minute, b.services)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(402, 1))
	g, ctx := errgroup.WithContext(ctx)
	n := 0
	for _, s := range due {
		if n == b.visits {
			break
		}
		if len(s.Endpoints) == 0 || s.LastStatus == nil || *s.LastStatus != site.StatusOnline {
			continue
		}
		select {
		case <-ctx.Done():
			return errors.Join(g.Wait(), ctx.Err())
		case <-time.After(time.Duration(float64(b.gap) * r.ExpFloat64())):
		}
		n++
		units := 1_000_000 + 1000*n // a price that nobody else asks: 1.001 dollars and more
		at := time.Now()
		if err := db.RecordVisits(ctx, []checks.Visit{newPrice(&s, at, units)}); err != nil {
			return fmt.Errorf("record a visit: %w", err)
		}
		for place, reader := range readers {
			g.Go(func() error { return b.await(ctx, place, reader, s.Slug, units, at) })
		}
	}
	return g.Wait()
}

// newPrice returns a visit after which each endpoint costs so many millionths of a dollar.
func newPrice(s *postgres.DueService, at time.Time, units int) checks.Visit {
	v := checks.Visit{Check: checks.Check{ServiceID: s.ID, CheckedAt: at, ID: uuid.New(), Counted: true,
		Status: s.LastStatus, IsUp: true, StatusCode: new(402), ResponseTimeMS: new(90),
		EndpointsFound: len(s.Endpoints)}, NextCheckAt: at.Add(s.CheckInterval), LastSuccessAt: &at}
	for _, e := range s.Endpoints {
		v.Endpoints = append(v.Endpoints, checks.EndpointVisit{ID: e.ID, ProbedAt: at, Verdict: new("paid"),
			Class: "paid-x402", ResponseTimeMS: new(90), Paid: true, Fingerprint: new(fmt.Sprint("bench ", units)),
			PricesChanged: true, Prices: []checks.Price{{EndpointID: e.ID, Since: at, Scheme: "exact",
				Network: "eip155:8453", NetworkCAIP2: new("eip155:8453"),
				Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Amount: strconv.Itoa(units), X402Version: 2}}})
	}
	return v
}

// await waits until a reader's response about a service has the price, and records how long that took.
func (b *freshness) await(ctx context.Context, place string, reader *server, slug string, units int,
	since time.Time) error {
	want := site.Decimal(strconv.FormatFloat(float64(units)/1e6, 'f', -1, 64))
	for {
		data, err := reader.plain(ctx, "/v1/services/"+slug)
		if err != nil {
			return err
		}
		var one struct {
			Data struct {
				Price *site.Decimal `json:"min_price_usd"`
			}
		}
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		if p := one.Data.Price; p != nil && *p == want {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.took.add(place, time.Since(since).Seconds())
			return nil
		}
		if waited := time.Since(since); waited > 10*b.every {
			return fmt.Errorf("the %s has no new price of %s after %v: %.300s", place, slug, waited, data)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// percentile returns the value that this many of a hundred values do not exceed.
func percentile(values []float64, n int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*n+99)/100-1]
}
