package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// freshnessStage measures how long a reader waits for a new price. A directory is built every minute into a folder and
// published to a bucket in a MinIO, by the commands build and publish; a serve answers from each. Meanwhile visits at
// random moments find new prices. The time goes from the visit until serve answers with the price.
var freshnessStage = stage{name: "freshness", short: "measure how long a new price takes to a reader", services: 2000,
	runs: 60, peers: []string{"minio.sh"}, flags: plain((*bench).measureFreshness)}

const (
	buildEvery = time.Minute
	visitGap   = 5 * time.Second // mean time between two visits
)

func (b *bench) measureFreshness() {
	d := b.crowd(b.path("postgres"), b.services, time.Now().Truncate(time.Minute))
	s := b.startStore()
	bucket := s.bucket()
	build := func() {
		began := time.Now()
		b.build(d, "--every", buildEvery.String(), "--expand", "none")
		built := time.Now()
		b.run(b.program(append(s.env, "DATABASE_URL="+d.DSN()), b.command(), "publish", "--data", b.path("data"),
			"--publish-to", bucket, "--expand", "none"))
		log.Printf("built in %.1f s, published in %.1f s", built.Sub(began).Seconds(), time.Since(built).Seconds())
		b.note("build", built.Sub(began).Seconds())
	}
	build()
	readers := map[string]*server{"folder": b.serve(nil, b.path("data", "public")), "bucket": b.serve(s.env, bucket)}
	end, ended := make(chan bool), make(chan error)
	go func() {
		ended <- attempt(func() {
			every := time.NewTicker(buildEvery)
			defer every.Stop()
			for {
				select {
				case <-end:
					return
				case <-every.C:
					build()
				}
			}
		})
	}()
	var mu sync.Mutex
	waited := map[string][]float64{}
	var g errgroup.Group
	d.with(d.DSN(), func(db *postgres.DB) {
		b.visitNewPrices(db, func(slug string, units int, since time.Time) {
			for place, reader := range readers {
				g.Go(func() error {
					return attempt(func() {
						seconds := b.awaitPrice(reader, slug, units, since)
						mu.Lock()
						defer mu.Unlock()
						waited[place] = append(waited[place], seconds)
					})
				})
			}
		})
	})
	err := g.Wait()
	close(end)
	check(<-ended)
	check(err)
	for _, place := range []string{"folder", "bucket"} {
		b.add("a new price to a reader of a "+place+": p95", "s", atMost(75), percentile(waited[place], 95))
		b.add("all of them", "s", limit{}, waited[place]...)
	}
	b.add("time of a build", "s", limit{}, b.figures["build"]...)
}

// visitNewPrices records visits that find a new price, each of another service, and reports each.
func (b *bench) visitNewPrices(db *postgres.DB, visited func(slug string, units int, at time.Time)) {
	r := rand.New(rand.NewPCG(402, 1))
	n := 0
	for _, s := range must(db.TakeServices(b.ctx, "", time.Now().AddDate(1, 0, 0), time.Minute, b.services)) {
		if n == b.runs || len(s.Endpoints) == 0 || s.LastStatus == nil || *s.LastStatus != site.StatusOnline {
			continue
		}
		time.Sleep(time.Duration(float64(visitGap) * r.ExpFloat64()))
		check(b.ctx.Err())
		n++
		at, units := time.Now(), 1_000_000+1000*n // a price that nobody else asks: 1.001 dollars and more
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
		check(db.RecordVisits(b.ctx, []checks.Visit{v}))
		visited(s.Slug, units, at)
	}
}

// awaitPrice waits until a reader's response about a service has the price, and returns the seconds.
func (b *bench) awaitPrice(reader *server, slug string, units int, since time.Time) float64 {
	want := site.Decimal(strconv.FormatFloat(float64(units)/1e6, 'f', -1, 64))
	for ; ; time.Sleep(100 * time.Millisecond) {
		data, _ := b.read("http://" + reader.address + "/v1/services/" + slug)
		var one struct {
			Data struct {
				Price *site.Decimal `json:"min_price_usd"`
			}
		}
		check(json.Unmarshal(gunzip(bytes.NewReader(data)), &one))
		if p := one.Data.Price; p != nil && *p == want {
			return time.Since(since).Seconds()
		}
		if time.Since(since) > 10*buildEvery {
			failf("no new price of %s after %v", slug, time.Since(since))
		}
	}
}
