package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tollbook/build/data"
	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/figures"
	"tollbook/cmd/bench/harness"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/serve"
)

// tabled is the results of builds with and without tables, a value for each run.
type tabled struct {
	with, without, withCPU, withoutCPU, peak, bare []float64
	first                                          built // that writes the days of the past
	last                                           built
}

// tables measures what tables add to a full build, their sizes, and how DuckDB recomputes published figures from them.
// Files of days and packs are written by builds before the runs, as they are once in the life of a directory.
func tables(ctx context.Context, o options, dir string) (err error) {
	if err := harness.Install(ctx, harness.Peer{Program: "node", Package: "nodejs"},
		harness.Peer{Program: "npm", Package: "npm"},
		harness.Peer{Program: "chromium", Package: "chromium"}); err != nil {
		return err
	}
	o.raw = 1 // a file of visits
	d, err := fill(ctx, o, dir, o.services)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	public, bare := filepath.Join(dir, "public"), filepath.Join(dir, "bare")
	var m tabled
	if m.first, err = buildIn(ctx, d, public, 0); err != nil {
		return err
	}
	if _, err = buildIn(ctx, d, bare, 0, "-no-data"); err != nil { // it writes the packs of the past
		return err
	}
	for i := range o.runs {
		if err := m.run(ctx, d, public, bare, i+1); err != nil {
			return err
		}
	}
	r := harness.NewReport(o.runs)
	r.Compare("full build with tables", "without tables", "s", m.with, m.without,
		harness.Bound{Target: 1.2, Hoped: 1.1, Most: true})
	r.Compare("processor time of it, with Postgres", "without tables", "s", m.withCPU, m.withoutCPU, harness.Bound{})
	r.AddBounded("maximum memory of it", "MB", harness.Bound{Target: 512, Hoped: 256, Most: true}, m.peak...)
	r.Add("maximum memory without tables", "MB", m.bare...)
	r.Add("first build, which writes all days of the past", "s", m.first.Seconds)
	r.Add("maximum memory of it", "MB", m.first.Peak)
	z, err := archive.OpenZipFile(filepath.Join(public, archive.SnapshotsDir, m.last.Snapshot+".zip"))
	if err != nil {
		return err
	}
	defer z.Close()
	whole, err := reportSizes(r, z)
	if err != nil {
		return err
	}
	if err := recompute(ctx, r, z, public, o.runs, whole); err != nil {
		return err
	}
	return r.Print()
}

// run builds with and without tables. Each process renders all files again.
func (m *tabled) run(ctx context.Context, d *database, public, bare string, minute int) (err error) {
	again := fmt.Sprintf("-program=bench %d", minute)
	without, err := buildIn(ctx, d, bare, minute, again, "-no-data")
	if err != nil {
		return err
	}
	with, err := buildIn(ctx, d, public, minute, again)
	if err != nil {
		return err
	}
	if with.Copied+without.Copied > 0 {
		return fmt.Errorf("a build copied %d services", with.Copied+without.Copied)
	}
	log.Printf("run %d: %.2f s with tables, %.2f s without; %.0f and %.0f MB", minute, with.Seconds, without.Seconds,
		with.Peak, without.Peak)
	m.with, m.without = append(m.with, with.Seconds), append(m.without, without.Seconds)
	m.withCPU = append(m.withCPU, with.CPU+with.Server)
	m.withoutCPU = append(m.withoutCPU, without.CPU+without.Server)
	m.peak, m.bare, m.last = append(m.peak, with.Peak), append(m.bare, without.Peak), with
	return errors.Join(dropOlder(public), dropOlder(bare))
}

// dropOlder removes all snapshots but the newest, because they are in memory.
func dropOlder(public string) error {
	list, err := filepath.Glob(filepath.Join(public, archive.SnapshotsDir, "*.zip"))
	if err != nil {
		return err
	}
	slices.Sort(list)
	for _, name := range list[:max(0, len(list)-1)] {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// reportSizes reports the size of each file of tables, and returns that of all Parquet files.
func reportSizes(r *harness.Report, z *archive.ZipFile) (parquet int64, err error) {
	text, err := z.ReadFile(archive.DataIndex)
	if err != nil {
		return 0, err
	}
	var index data.Package
	if err := json.Unmarshal(text, &index); err != nil {
		return 0, fmt.Errorf("read %s: %w", archive.DataIndex, err)
	}
	r.Add(archive.DataIndex, "kB", float64(len(text))/1e3)
	for _, f := range index.Resources {
		if f.Format == "parquet" {
			parquet += f.Bytes
		}
		name := fmt.Sprint(f.Path)
		if len(f.Parts) > 0 {
			name = fmt.Sprintf("%s/*.parquet, %d days", f.Name, len(f.Parts))
		}
		r.Add(archive.DataDir+"/"+name, "kB", float64(f.Bytes)/1e3)
	}
	return parquet, nil
}

// recompute serves a folder on loopback, lets DuckDB in a browser recompute figures of its snapshot by ranges over
// HTTP, and fails if any differs.
func recompute(ctx context.Context, r *harness.Report, z *archive.ZipFile, public string, minute int,
	whole int64) error {
	modules, err := os.MkdirTemp("", "tollbook-bench-modules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(modules)
	if err := figures.WriteTools(modules); err != nil {
		return err
	}
	if err := harness.Run(ctx, nil, "npm", "ci", "--prefix", modules, "--ignore-scripts", "--no-audit",
		"--no-fund"); err != nil {
		return err
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return err
	}
	source, err := output.OpenSource(public, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer source.Close()
	count := &figures.Counter{Handler: serve.NewHandler(serve.Options{Source: source})}
	server := httptest.NewServer(count)
	defer server.Close()
	queries, err := figures.Queries(z, server.URL+"/"+archive.DataDir,
		crowd.Moment.Add(time.Duration(minute)*time.Minute))
	if err != nil {
		return err
	}
	want, err := figures.Published(z)
	if err != nil {
		return err
	}
	got, seconds, err := figures.Browser{Program: chromium, Modules: filepath.Join(modules, "node_modules")}.
		Figures(ctx, queries)
	if err != nil {
		return err
	}
	r.Add("figures that DuckDB recomputes over HTTP", "", float64(len(got)))
	r.Add("time of it", "s", seconds)
	r.Add("bytes that it fetches", "kB", float64(count.Bytes.Load())/1e3)
	r.Add("of all Parquet files", "kB", float64(whole)/1e3)
	r.Add("requests, all for ranges but those for sizes", "", float64(count.Requests.Load()))
	different := differences(want, got)
	r.Add("figures that differ", "", float64(len(different)))
	if len(different) > 0 {
		return errors.Join(fmt.Errorf("figures differ: %.2000q", different), r.Print())
	}
	return nil
}

// differences returns the names of figures that differ, with both values.
func differences(want, got map[string]string) (list []string) {
	for name, value := range want {
		if got[name] != value {
			list = append(list, fmt.Sprintf("%s: published %s, recomputed %s", name, value, got[name]))
		}
	}
	for name, value := range got {
		if _, ok := want[name]; !ok {
			list = append(list, fmt.Sprintf("%s: not published, recomputed %s", name, value))
		}
	}
	slices.Sort(list)
	return list
}
