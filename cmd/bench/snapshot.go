package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site/postgres"
)

// snapshotStage measures builds of a generated directory beside the minimum work that they contain, with files and
// database in memory. Each build is a process, so that its memory and processor time can be measured. The first is a
// full build. The second follows a visit to one service in fifteen and reuses the previous snapshot. The third is a
// full build of the same facts.
//
// The peer of a full build is the time in which all cores compress what it wrote, snapshot and packs, by the same
// library and level. Reading is not timed. Postgres has processes of its own on the same cores.
//
// With -scale, a directory of each size is built in turn. The report says how time and memory grow.
var snapshotStage = stage{name: "snapshot", short: "measure builds, beside compressing the same bytes",
	services: 20_000, runs: 5,
	flags: func(flags *flag.FlagSet) func(*bench) {
		var sizes []int
		flags.Func("scale", "`sizes` to build, the smallest first: 20000,200000", func(text string) error {
			for part := range strings.SplitSeq(text, ",") {
				n, err := strconv.Atoi(part)
				if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
					return fmt.Errorf("%q: want ascending numbers", text)
				}
				sizes = append(sizes, n)
			}
			return nil
		})
		data := flags.String("data", "", "`folder` for the databases; default in memory")
		return func(b *bench) {
			if *data == "" {
				*data = b.dir
			}
			if len(sizes) > 0 {
				b.measureGrowth(*data, sizes)
			} else {
				b.measureSnapshot(*data)
			}
		}
	}}

// buildJob is what a process that builds gets. Its minute counts from crowd.Moment.
type buildJob struct {
	Database, Dir, Profile string
	Minute                 int
}

// built is the report of such a process.
type built struct {
	build.Report
	Seconds, CPU, Peak float64 // CPU in seconds, maximum resident memory in MB
}

// buildOnce is the process that builds.
func buildOnce(ctx context.Context, o buildJob) {
	db := must(postgres.OpenFor(ctx, o.Database, postgres.Options{Connections: crowd.Connections()}))
	defer db.Close()
	folder := must(output.OpenFolder(o.Dir))
	stop := startProfile(o.Profile)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(build.GCPercent)
	}
	began := time.Now()
	report := must(build.Run(ctx, db, folder, build.Options{
		Now: crowd.Moment.Add(time.Duration(o.Minute) * time.Minute), Every: 15 * time.Minute, LogDelay: crowd.LogDelay,
		Expand: output.ExpandNone, Site: render.Site{BaseURL: "https://tollbook.example"}, Program: "bench",
		DataRows: math.MaxInt64, // one build writes all days
	}))
	stop()
	check(json.NewEncoder(os.Stdout).Encode(built{report, time.Since(began).Seconds(), selfCPU(),
		maxMemory(os.Getpid())}))
}

// buildOf builds into the folder "public" at some minutes after the moment, in a process of its own.
func (b *bench) buildOf(d *database, minute int) (report built) {
	out, _ := b.run(b.role("build", buildJob{d.DSN(), b.path("public"), b.profile, minute}))
	check(json.Unmarshal(out, &report))
	return report
}

// measureSnapshot measures one directory.
func (b *bench) measureSnapshot(data string) {
	d := b.crowd(filepath.Join(data, "postgres"), b.services, crowd.Moment)
	for i := range b.runs {
		check(os.RemoveAll(b.path("public")))
		full := b.buildOf(d, 2*i)
		out, _ := b.run(b.role("deflate", b.path("public")))
		b.note("compressing the same bytes", must(strconv.ParseFloat(string(out), 64)))
		d.visit(b.services, i, crowd.Moment.Add(time.Duration(2*i+1)*time.Minute))
		later := b.buildOf(d, 2*i+1)
		check(os.RemoveAll(b.path("public")))
		again := b.buildOf(d, 2*i+1)
		if later.Files != again.Files { // the bytes differ in the list of previous snapshots
			failf("a build after visits wrote %d files, a full build %d", later.Files, again.Files)
		}
		for what, value := range map[string]float64{"full": full.Seconds, "cpu": full.CPU, "peak": full.Peak,
			"zip": float64(full.Zip) / 1e6, "later": later.Seconds, "full build of the same": again.Seconds} {
			b.note(what, value)
		}
		log.Printf("run %d of %d: full %.2f s, after visits %.2f s, full again %.2f s, %.0f MB", i+1, b.runs,
			full.Seconds, later.Seconds, again.Seconds, full.Peak)
	}
	b.compare("full build", "s", "full", "compressing the same bytes", atMost(3.7))
	b.compare("build after visits to 1 in 15", "s", "later", "full build of the same", atMost(0.75))
	b.add("maximum memory of a full build", "MB", atMost(512), b.figures["peak"]...)
	b.add("processor time of a full build, without Postgres", "s", limit{}, b.figures["cpu"]...)
	b.add("snapshot", "MB", limit{}, b.figures["zip"]...)
}

// measureGrowth builds a directory of each size in turn. Ten times the services may take twelve times the time and
// memory.
func (b *bench) measureGrowth(data string, sizes []int) {
	var databases []*database
	for _, n := range sizes {
		databases = append(databases, b.crowd(filepath.Join(data, fmt.Sprint("postgres-", n)), n, crowd.Moment))
	}
	b.touch(int64(sizes[len(sizes)-1]) * 50_000)
	name := func(n int) string { return fmt.Sprintf("%d services", n) }
	for i := range b.runs {
		for k, d := range databases {
			report := b.buildOf(d, i)
			log.Printf("%s: %.1f s, %.1f s of processor, %.0f MB", name(sizes[k]), report.Seconds, report.CPU, report.Peak)
			b.note(name(sizes[k]), report.Seconds)
			b.note(name(sizes[k])+", memory", report.Peak)
			check(os.RemoveAll(b.path("public")))
		}
	}
	for k := 1; k < len(sizes); k++ {
		l, large, small := atMost(1.2*float64(sizes[k])/float64(sizes[k-1])), name(sizes[k]), name(sizes[k-1])
		b.compare("time of a build of "+large, "s", large, small, l)
		b.compare("maximum memory of it", "MB", large+", memory", small+", memory", l)
	}
}

// touch writes so many bytes and removes them. The host of a virtual machine allocates memory at the first write, which
// takes several times as long as later writes. Without touch, the largest directory would pay for that.
func (b *bench) touch(size int64) {
	f := must(os.Create(b.path("touched")))
	for zeros := make([]byte, 1<<20); size > 0; size -= int64(len(zeros)) {
		must(f.Write(zeros))
	}
	check(f.Close())
	check(os.Remove(f.Name()))
}

// deflateOnce is the process of the peer. All cores compress every file in a folder's zips as output does: by the same
// library and level, with a reused compressor and buffer for each. It prints the seconds. Reading is not timed.
func deflateOnce(_ context.Context, dir string) {
	var took time.Duration
	for _, file := range must(filepath.Glob(filepath.Join(dir, "*", "*.zip"))) {
		z := must(archive.OpenZipFile(file))
		for names := z.Names(); len(names) > 0; {
			var files [][]byte
			for size := 0; len(names) > 0 && size < 64<<20; names = names[1:] {
				files = append(files, must(z.ReadFile(names[0])))
				size += len(files[len(files)-1])
			}
			began := time.Now()
			check(deflateAll(files))
			took += time.Since(began)
		}
		check(z.Close())
	}
	fmt.Print(took.Seconds())
}

func deflateAll(files [][]byte) error {
	var next atomic.Int64
	var g errgroup.Group
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			var b bytes.Buffer
			w, err := flate.NewWriter(&b, archive.DeflateLevel)
			for i := next.Add(1) - 1; err == nil && i < int64(len(files)); i = next.Add(1) - 1 {
				b.Reset()
				w.Reset(&b)
				if _, err = w.Write(files[i]); err == nil {
					err = w.Close()
				}
			}
			return err
		})
	}
	return g.Wait()
}
