package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
)

// snapshotStage measures builds of a generated directory beside the minimum work that they contain, with files and
// database in memory. Each build is a process, so that its memory and processor time can be measured. The first is a
// full build. The second follows a visit to one service in fifteen and reuses the previous snapshot. The third is a
// full build of the same facts.
//
// The peer of a full build is the time in which all cores compress what it wrote, snapshot and packs, by the same
// library and level. Reading is not timed. Equal contents are compressed once for each of their names; a second line
// reports the time for each content once. Postgres has processes of its own on the same cores.
//
// With -scale, a directory of each size is built in turn. The report says how time and memory grow.
var snapshotStage = stage{"snapshot", "measure builds, beside compressing the same bytes",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var o snapshotOptions
		flags.IntVar(&o.services, "services", 20_000, "number of `services`")
		flags.IntVar(&o.runs, "runs", 5, "`runs` of each")
		flags.IntVar(&o.days, "days", 90, "UTC `days` of history")
		scale := flags.String("scale", "", "`sizes` to build, the smallest first: 20000,200000")
		flags.StringVar(&o.data, "data", "", "`folder` for the database; default in memory")
		flags.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of our last full build")
		return func(ctx context.Context, r *report) error {
			if o.runs < 1 || o.services < crowd.Every || o.days < 1 {
				return fmt.Errorf("%w: -runs, -services or -days is too small", errUsage)
			}
			if *scale != "" {
				return o.measureGrowth(ctx, r, *scale)
			}
			return o.measure(ctx, r)
		}
	}}

// snapshotOptions are the flags.
type snapshotOptions struct {
	services, runs, days int
	data, profile        string
}

// buildJob is what a process that builds gets. Its minute counts from crowd.Moment.
type buildJob struct {
	Database, Dir, Profile string
	Minute                 int
}

// built is the report of such a process.
type built struct {
	build.Report
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`  // seconds, of this process
	Peak    float64 `json:"peak"` // maximum resident memory of this process, in MB
	Server  float64 `json:"-"`    // processor time of Postgres meanwhile, in seconds
}

// buildOnce is the process that builds.
func buildOnce(ctx context.Context, o buildJob) error {
	db, err := postgres.OpenFor(ctx, o.Database, postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	folder, err := output.OpenFolder(o.Dir)
	if err != nil {
		return err
	}
	stop, err := profile(o.Profile)
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(build.GCPercent)
	}
	began := time.Now()
	var b built
	b.Report, err = build.Run(ctx, db, folder, build.Options{
		Now: crowd.Moment.Add(time.Duration(o.Minute) * time.Minute), Every: 15 * time.Minute, LogDelay: crowd.LogDelay,
		Expand: output.ExpandNone, Site: render.Site{BaseURL: "https://tollbook.example"}, Program: "bench",
		DataRows: math.MaxInt64, // one build writes all days
	})
	stop()
	if err != nil {
		return err
	}
	b.Seconds, b.CPU = time.Since(began).Seconds(), selfCPU()
	if b.Peak, err = memoryOf(os.Getpid(), "VmHWM"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(b)
}

// runJob runs a role and parses its report.
func runJob(ctx context.Context, report any, name string, args any) error {
	cmd, err := role(ctx, nil, name, args)
	if err != nil {
		return err
	}
	out, _, err := run(cmd)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, report)
}

// buildIn builds into dir at some minutes after the moment, in a process of its own.
func (d *database) buildIn(ctx context.Context, dir string, minute int, profile string) (b built, err error) {
	before := d.cpu()
	err = runJob(ctx, &b, "build", buildJob{d.DSN(), dir, profile, minute})
	b.Server = d.cpu() - before
	return b, err
}

// start starts a server in dir, or in the folder of the flag, and fills it with a directory.
func (o *snapshotOptions) start(ctx context.Context, dir string, services int) (*database, error) {
	if o.data != "" {
		dir = o.data
	}
	d, err := startPostgres(ctx, filepath.Join(dir, "postgres-"+strconv.Itoa(services)), true)
	if err != nil {
		return nil, err
	}
	log.Printf("generating %d services …", services)
	if _, err := d.fill(ctx, crowd.Options{Services: services, Moment: crowd.Moment, Days: o.days}); err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

// measure measures one directory.
func (o *snapshotOptions) measure(ctx context.Context, r *report) error {
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := o.start(ctx, dir, o.services)
	if err != nil {
		return err
	}
	defer d.end()
	m := series{}
	for i := range o.runs {
		if err := o.run(ctx, m, d, filepath.Join(dir, "public"), i); err != nil {
			return err
		}
		log.Printf("run %d of %d: full %.2f s, compressing %.2f s, after visits %.2f s, full again %.2f s, %.0f MB",
			i+1, o.runs, m["full"][i], m["deflate"][i], m["later"][i], m["again"][i], m["peak"][i])
	}
	r.compare("full build", "compressing the same bytes", "s", m["full"], m["deflate"], atMost(3.7))
	r.compare("full build", "compressing each content once", "s", m["full"], m["distinct"], limit{})
	r.compare("build after visits to 1 in 15", "full build of the same", "s", m["later"], m["again"], atMost(0.75))
	r.compare("processor time of it, with Postgres", "full build of the same", "s", m["later cpu"], m["again cpu"],
		limit{})
	r.add("maximum memory of a full build", "MB", atMost(512), m["peak"]...)
	r.add("processor time of a full build, without Postgres", "s", limit{}, m["cpu"]...)
	r.add("processor time of Postgres meanwhile", "s", limit{}, m["server"]...)
	r.add("snapshot", "MB", limit{}, m["zip"]...)
	r.add("files", "", limit{}, m["files"]...)
	return nil
}

// run is one run: a full build and the peer, a build after some visits, and a full build of the same facts.
func (o *snapshotOptions) run(ctx context.Context, m series, d *database, public string, i int) error {
	if err := os.RemoveAll(public); err != nil {
		return err
	}
	profile := ""
	if i == o.runs-1 {
		profile = o.profile
	}
	full, err := d.buildIn(ctx, public, 2*i, profile)
	if err != nil {
		return err
	}
	var compressed deflated
	if err := runJob(ctx, &compressed, "deflate", public); err != nil {
		return err
	}
	db, err := postgres.OpenFor(ctx, d.DSN(), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	_, err = crowd.Visit(ctx, db, o.services, i, crowd.Moment.Add(time.Duration(2*i+1)*time.Minute))
	db.Close()
	if err != nil {
		return err
	}
	later, err := d.buildIn(ctx, public, 2*i+1, "")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(public); err != nil {
		return err
	}
	again, err := d.buildIn(ctx, public, 2*i+1, "")
	if err != nil {
		return err
	}
	if later.Files != again.Files { // the bytes differ in the list of previous snapshots
		return fmt.Errorf("a build after visits wrote %d files, a full build %d", later.Files, again.Files)
	}
	for what, value := range map[string]float64{"full": full.Seconds, "cpu": full.CPU, "peak": full.Peak,
		"server": full.Server, "zip": float64(full.Zip) / 1e6, "files": float64(full.Files),
		"deflate": compressed.Seconds, "distinct": compressed.Distinct, "later": later.Seconds, "again": again.Seconds,
		"later cpu": later.CPU + later.Server, "again cpu": again.CPU + again.Server} {
		m.add(what, value)
	}
	return nil
}

// measureGrowth builds a directory of each size in turn. Ten times the services may take twelve times the time and
// memory.
func (o *snapshotOptions) measureGrowth(ctx context.Context, r *report, scale string) error {
	var sizes []int
	for text := range strings.SplitSeq(scale, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return fmt.Errorf("%w: -scale %q: want ascending numbers", errUsage, scale)
		}
		sizes = append(sizes, n)
	}
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var databases []*database
	for _, services := range sizes {
		d, err := o.start(ctx, dir, services)
		if err != nil {
			return err
		}
		defer d.end()
		databases = append(databases, d)
	}
	if err := touch(dir, int64(sizes[len(sizes)-1])*perService); err != nil {
		return err
	}
	of := make([]series, len(sizes))
	public := filepath.Join(dir, "public")
	for i := range o.runs {
		for k, d := range databases {
			if i == 0 {
				of[k] = series{}
			}
			b, err := d.buildIn(ctx, public, i, o.profile)
			if err != nil {
				return err
			}
			log.Printf("%d services: %.1f s, %.1f s of processor, %.0f MB of memory", sizes[k], b.Seconds, b.CPU,
				b.Peak)
			of[k].add("seconds", b.Seconds)
			of[k].add("peak", b.Peak)
			of[k].add("cpu", b.CPU)
			of[k].add("server", b.Server)
			if err := os.RemoveAll(public); err != nil {
				return err
			}
		}
	}
	for k := 1; k < len(sizes); k++ {
		l, peer := atMost(1.2*float64(sizes[k])/float64(sizes[k-1])), fmt.Sprintf("%d services", sizes[k-1])
		r.compare(fmt.Sprintf("time of a build of %d", sizes[k]), peer, "s", of[k]["seconds"], of[k-1]["seconds"], l)
		r.compare("maximum memory of it", peer, "MB", of[k]["peak"], of[k-1]["peak"], l)
		r.compare("processor time of it, without Postgres", peer, "s", of[k]["cpu"], of[k-1]["cpu"], limit{})
		r.compare("processor time of Postgres meanwhile", peer, "s", of[k]["server"], of[k-1]["server"], limit{})
	}
	return nil
}

// perService is the approximate memory of a build for a service: its share of a snapshot's files, and its own data.
const perService = 50_000 // bytes

// touch writes so many bytes and removes them. The host of a virtual machine allocates memory at the first write, which
// takes several times as long as later writes. Without touch, the largest directory would pay for that.
func touch(dir string, size int64) error {
	name := filepath.Join(dir, "touched")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer os.Remove(name)
	zeros := make([]byte, 1<<20)
	for ; size > 0; size -= int64(len(zeros)) {
		if _, err := f.Write(zeros); err != nil {
			return errors.Join(fmt.Errorf("touch %s: %w", name, err), f.Close())
		}
	}
	return f.Close()
}
