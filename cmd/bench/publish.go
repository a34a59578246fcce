package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/postgres"
)

// publishStage measures tollbook publish beside rclone. Both publish alternately to one MinIO with its data in memory.
//
// Both publish the same generated directory to a bucket: first everything, then the next snapshot after a visit to one
// service in fifteen. Ours is the tollbook command, a process with its database. With --expand none it sends the zip,
// with --expand all also every file as an object. The peer copies the tree of files, 64 at a time. The first time it
// does not look at the bucket; the second time it compares sums with a listing. Ours sends compressed objects, as
// readers get them; the peer cannot. Every run begins with an empty bucket. At its end, files of the bucket are
// compared with the tree.
//
// While ours publishes the second snapshot, a reader asks a tollbook serve on the bucket for its snapshot. What a month
// costs at Amazon's prices follows from the requests that publish counts, by the formula of the page hosting. 20,000
// services take 20 GB of memory.
var publishStage = stage{"publish", "measure publishing to a bucket, beside rclone",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		services := flags.Int("services", 2000, "generated services")
		runs := flags.Int("runs", 3, "runs of each side")
		zipOnly := flags.Bool("zip", false, "leave out the expanded objects, which take most of the time")
		return func(ctx context.Context, r *report) error {
			return measurePublishing(ctx, r, *services, *runs, *zipOnly)
		}
	}}

// publishing is the state that both sides share.
type publishing struct {
	dir     string // contains all files
	program string // the tollbook command
	env     []string
	store   *store
	ids     [2]string // of the snapshots in the folder
	files   int       // of the second snapshot's tree
	zip     int64     // bytes of its zip
	took    series    // seconds
	traffic map[string]output.Published
}

func measurePublishing(ctx context.Context, r *report, services, runs int, zipOnly bool) (err error) {
	if err := install(ctx, "rclone.sh", "minio.sh"); err != nil {
		return err
	}
	b := &publishing{took: series{}, traffic: map[string]output.Published{}}
	if b.dir, err = temporary(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.program, err = buildTollbook(ctx, b.dir); err != nil {
		return err
	}
	d, err := startPostgres(ctx, filepath.Join(b.dir, "postgres"), true)
	if err != nil {
		return err
	}
	defer d.end() // publish asks the database of the folder whether services were removed
	if err := b.build(ctx, d, services); err != nil {
		return err
	}
	if b.store, err = startStore(ctx, filepath.Join(b.dir, "minio")); err != nil {
		return err
	}
	defer b.store.end()
	b.env = append(b.store.env(), "DATABASE_URL="+d.DSN())
	sides := []side{b.theirs, b.ours("none")}
	if !zipOnly {
		sides = append(sides, b.ours("all"))
	}
	if _, err := alternate(ctx, runs, sides...); err != nil {
		return err
	}
	const peer = "rclone, 64 transfers"
	for i, which := range []string{"first", "later"} {
		l := []limit{atLeast(25), atLeast(20)}[i]
		r.compare("the zip, "+which, peer, "files/s", b.pace("none "+which), b.pace("rclone "+which), l)
		if !zipOnly {
			r.compare("all expanded, "+which, peer, "files/s", b.pace("all "+which), b.pace("rclone "+which),
				atLeast(1))
		}
	}
	r.add("until a reader has the zip", "s", limit{}, b.took["until read, none"]...)
	r.add("open from the bucket", "s", limit{}, b.took["open"]...)
	r.add("resident memory of serve, two snapshots open", "MB", limit{}, b.took["resident"]...)
	r.add("maximum of it", "MB", limit{}, b.took["most"]...)
	r.add("files of the tree", "", limit{}, float64(b.files))
	r.add("bytes of the zip", "MB", limit{}, float64(b.zip)/1e6)
	return b.measureCosts(ctx, r)
}

// build fills a database, builds it, records visits to one service in fifteen, and builds it again.
func (b *publishing) build(ctx context.Context, d *database, services int) (err error) {
	log.Printf("Building %d services in %s, twice …", services, b.dir)
	if _, err := d.fill(ctx, crowd.Options{Services: services, Moment: time.Now().Truncate(time.Minute),
		Days: 90}); err != nil {
		return err
	}
	for i := range b.ids {
		if i > 0 {
			db, err := postgres.OpenFor(ctx, d.DSN(), postgres.Options{Connections: crowd.Connections()})
			if err != nil {
				return err
			}
			_, err = crowd.Visit(ctx, db, services, i, time.Now())
			db.Close()
			if err != nil {
				return err
			}
		}
		if err := buildCommand(ctx, b.program, d.DSN(), b.data(), "--expand", "all"); err != nil {
			return err
		}
		if b.ids[i], err = keepPointer(b.public(), i); err != nil {
			return err
		}
	}
	info, err := os.Stat(filepath.Join(b.public(), "snapshots", b.ids[1]+".zip"))
	if err != nil {
		return err
	}
	b.zip = info.Size()
	return filepath.WalkDir(b.tree(1), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			b.files++
		}
		return err
	})
}

// buildCommand runs tollbook build.
func buildCommand(ctx context.Context, tollbook, dsn, data string, more ...string) error {
	_, _, err := run(program(ctx, []string{"DATABASE_URL=" + dsn}, tollbook, append([]string{"build", "--site-base-url",
		"https://tollbook.example", "--data", data}, more...)...))
	return err
}

func (b *publishing) data() string      { return filepath.Join(b.dir, "data") }
func (b *publishing) public() string    { return filepath.Join(b.data(), "public") }
func (b *publishing) tree(i int) string { return filepath.Join(b.public(), "tree", b.ids[i]) }

// keptPointer returns the path of a copy of the pointer to the ith snapshot of a folder.
func keptPointer(public string, i int) string { return fmt.Sprintf("%s-checkpoint-%d", public, i) }

// keepPointer copies the pointer, which names the ith snapshot, and returns the snapshot's id.
func keepPointer(public string, i int) (string, error) {
	data, err := os.ReadFile(filepath.Join(public, "checkpoint.json"))
	if err != nil {
		return "", err
	}
	var c archive.Checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	return c.Snapshot, os.WriteFile(keptPointer(public, i), data, 0o600)
}

// point makes the ith snapshot the current one of a folder, as a build does.
func point(public string, i int) error {
	data, err := os.ReadFile(keptPointer(public, i))
	if err != nil {
		return err
	}
	next := public + "-next"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(public, "checkpoint.json"))
}

// publish publishes the ith snapshot with the tollbook command and returns the time.
func (b *publishing) publish(ctx context.Context, to, expand string, i int) (float64, error) {
	if err := point(b.public(), i); err != nil {
		return 0, err
	}
	out, seconds, err := run(program(ctx, b.env, b.program, "publish", "--data", b.data(), "--publish-to", to,
		"--expand", expand, "--json"))
	if err != nil {
		return 0, err
	}
	var p output.Published
	if err := json.Unmarshal(out, &p); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	if !p.Moved || p.Checkpoint.Snapshot != b.ids[i] || expand == "all" && i == 1 && p.Written+p.Unchanged != b.files {
		return 0, fmt.Errorf("publish --expand %s sent other files: %s", expand, out)
	}
	if i == 1 {
		b.traffic[expand] = p
	}
	return seconds, nil
}

// ours publishes both snapshots to an empty bucket, serves them from it, and returns the files a second of the first.
func (b *publishing) ours(expand string) side {
	return func(ctx context.Context) (float64, error) {
		to, err := b.store.bucket(ctx)
		if err != nil {
			return 0, err
		}
		first, err := b.publish(ctx, to, expand, 0)
		if err != nil {
			return 0, err
		}
		b.took.add(expand+" first", first)
		if err := b.publishLater(ctx, to, expand); err != nil {
			return 0, err
		}
		if expand == "all" {
			err = b.store.check(ctx, to, b.tree(1))
		}
		return float64(b.files) / first, err
	}
}

// publishLater publishes the second snapshot while a serve on the bucket answers readers.
func (b *publishing) publishLater(ctx context.Context, to, expand string) error {
	s, opened, err := startServe(ctx, b.env, b.program, to)
	if err != nil {
		return err
	}
	defer s.end()
	b.took.add("open", opened)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan float64, 1)
	began := time.Now()
	go func() {
		for ctx.Err() == nil {
			response, err := get(ctx, "http://"+s.address+"/v1/stats")
			if err == nil {
				response.Body.Close()
				if response.Header.Get("X-Snapshot") == b.ids[1] {
					break
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		seen <- time.Since(began).Seconds()
	}()
	later, err := b.publish(ctx, to, expand, 1)
	if err != nil {
		return err
	}
	b.took.add(expand+" later", later)
	b.took.add("until read, "+expand, <-seen)
	if expand != "none" {
		return nil
	}
	if err := s.walk(ctx); err != nil {
		return err
	}
	for field, name := range map[string]string{"VmRSS": "resident", "VmHWM": "most"} {
		mb, err := memoryOf(s.cmd.Process.Pid, field)
		if err != nil {
			return err
		}
		b.took.add(name, mb)
	}
	return nil
}

// walk reads every page of the list and the records of one service in ten, without a cache.
func (s *server) walk(ctx context.Context) error {
	var page struct {
		Data []struct{ Slug string }
		Meta struct{ Total int }
	}
	for n := 1; n == 1 || (n-1)*100 < page.Meta.Total; n++ {
		data, err := s.plain(ctx, fmt.Sprintf("/v1/services?per_page=100&page=%d", n))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for i := 0; i < len(page.Data); i += 10 {
			slug := page.Data[i].Slug
			for _, path := range []string{"/v1/services/" + slug, "/v1/services/" + slug + "/checks",
				"/services/" + slug} {
				if _, err := s.plain(ctx, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// theirs copies both trees to an empty bucket with rclone, and returns the files a second of the first.
func (b *publishing) theirs(ctx context.Context) (float64, error) {
	to, err := b.store.bucket(ctx)
	if err != nil {
		return 0, err
	}
	for i, args := range [][]string{{"copy", "--no-check-dest"}, {"sync", "--checksum", "--fast-list"}} {
		args = append(args, b.tree(i)+"/", "bench:"+to[len("s3://"):])
		_, seconds, err := run(peer(ctx, b.store.env(), "rclone.sh", args...))
		if err != nil {
			return 0, err
		}
		b.took.add([]string{"rclone first", "rclone later"}[i], seconds)
	}
	first := b.took["rclone first"]
	return float64(b.files) / first[len(first)-1], b.store.check(ctx, to, b.tree(1))
}

// pace returns the files of the tree a second of each run.
func (b *publishing) pace(what string) (values []float64) {
	for _, seconds := range b.took[what] {
		values = append(values, float64(b.files)/seconds)
	}
	return values
}

// Prices of Amazon S3 in the United States in dollars, and what a month has, as the page hosting has them.
const (
	writePrice, readPrice, storedPrice = 5e-6, 0.4e-6, 0.023e-9
	buildsPerMonth, keptSnapshots      = 2918, 396
)

// measureCosts publishes both snapshots with the default of --expand, and reports what a month costs at the prices of
// Amazon.
func (b *publishing) measureCosts(ctx context.Context, r *report) error {
	to, err := b.store.bucket(ctx)
	if err != nil {
		return err
	}
	for i := range b.ids {
		if _, err := b.publish(ctx, to, "auto", i); err != nil {
			return err
		}
	}
	for _, expand := range []string{"auto", "none", "all"} {
		p, ok := b.traffic[expand]
		if !ok {
			continue
		}
		l := limit{}
		if expand == "auto" { // the default
			l = atMost(5)
		}
		dollars := buildsPerMonth*(float64(p.Traffic.Writes)*writePrice+float64(p.Traffic.Reads)*readPrice) +
			keptSnapshots*float64(b.zip)*storedPrice
		r.add("a month on S3 prices, a build every 15 minutes, --expand "+expand, "$", l, dollars)
	}
	return nil
}
