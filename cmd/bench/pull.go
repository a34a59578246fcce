package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
)

// pullStage measures how fast a public source is read and stored, beside psql's \copy of the same rows.
//
// The source is a server on loopback that answers as a facilitator's catalogue, 100 entries a page. Ours reads it
// without a gap between requests, as "tollbook sources pull" does. It checks each entry, stages the rows, compares them
// with what the source listed before, and lists services and endpoints. The peer copies a CSV file of the resulting
// rows into a plain table without an index. Both sides must have the same rows.
var pullStage = stage{name: "pull", short: "measure reading a public source, beside psql's copy", runs: 3,
	peers: []string{"psql.sh"}, flags: func(flags *flag.FlagSet) func(*bench) {
		rows := flags.Int("rows", 200_000, "resources of the source")
		return func(b *bench) { b.measurePull(*rows) }
	}}

func (b *bench) measurePull(rows int) {
	d := b.postgres(b.path("postgres"), false)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	s := &http.Server{Handler: catalogue(rows), ReadHeaderTimeout: time.Minute}
	b.atEnd(func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }()
	digest := func(database, table string) string {
		return d.text(database, fmt.Sprintf(`SELECT format('%%s rows of %d, sum of hashes %%s', count(*),
			sum(hashtextextended(resource || method || tool, 402))) FROM %s WHERE until IS NULL`, rows, table))
	}
	ours := func(name, take string) side {
		return side{name, func() (float64, string) {
			if name != "again" {
				d.create("ours", "")
			}
			began := time.Now()
			b.pull(d, "http://"+l.Addr().String()+"/discovery/resources", take)
			took := time.Since(began).Seconds()
			b.run(b.peer(nil, "psql.sh", d.DSNFor("ours"), "-c",
				fmt.Sprintf(`\copy source_resources TO '%s' (FORMAT csv)`, b.path("rows.csv"))))
			return float64(rows) / took, digest("ours", "source_resources")
		}}
	}
	const peer = `psql \copy`
	b.alternate(ours("alone", pull.TakeNone), ours("all", pull.TakeAll), ours("again", pull.TakeAll),
		side{peer, func() (float64, string) {
			d.create("theirs", "")
			d.execute("theirs", `CREATE TABLE plain (source_id integer, resource text, method text, tool text,
				since timestamptz, until timestamptz, missed boolean)`)
			_, took := b.run(b.peer(nil, "psql.sh", d.DSNFor("theirs"), "-c",
				fmt.Sprintf(`\copy plain FROM '%s' (FORMAT csv)`, b.path("rows.csv"))))
			return float64(rows) / took, digest("theirs", "plain")
		}})
	b.compare("resources alone (take = none)", "rows/s", "alone", peer, limit{})
	b.compare("with services and endpoints (take = all)", "rows/s", "all", peer, limit{})
	b.compare("the same again (take = all)", "rows/s", "again", peer, limit{})
}

// pull pulls the source once.
func (b *bench) pull(d *database, url, take string) {
	defer startProfile(b.profile)()
	db := must(postgres.Open(b.ctx, d.DSNFor("ours")))
	defer db.Close()
	host := url[len("http://") : len(url)-len("/discovery/resources")]
	v := crawl.New(db, crawl.Options{HostGap: time.Nanosecond, NoContact: true},
		probe.Options{Guard: &probe.Guard{AllowPrivate: []string{host}}})
	defer v.Close()
	got := must(pull.New(db.Sources, v, pull.Options{Sources: []pull.Source{{
		Source: sources.Source{Name: "bench", Kind: "x402-discovery", Address: url}, Enabled: true,
		Period: time.Hour, Take: take, Trust: true,
	}}}).Pull(b.ctx, "bench"))
	if got.Outcome != sources.Accepted {
		failf("the source is %s: %s", got.Outcome, got.Error)
	}
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
