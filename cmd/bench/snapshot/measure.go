package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/site/postgres"
)

// measured is the results of the runs, a value for each run.
type measured struct {
	full, deflate, distinct, rebuild, again, cpu, server, peak []float64
	rebuildCPU, againCPU                                       []float64 // ours and Postgres'
	last                                                       built
	bytes                                                      int64 // of files, before compression
	visited                                                    int
}

// alternate measures one directory, runs times.
func alternate(ctx context.Context, o options, dir string) (err error) {
	d, err := fill(ctx, o, dir, o.services)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	var m measured
	for i := range o.runs {
		if err := m.run(ctx, o, d, filepath.Join(dir, "public"), i); err != nil {
			return err
		}
		log.Printf("run %d of %d: full %.2f s, compressing %.2f s, after visits %.2f s, full again %.2f s, %.0f MB",
			i+1,
			o.runs,
			m.full[i], m.deflate[i], m.rebuild[i], m.again[i], m.peak[i])
	}
	r := harness.NewReport(o.runs)
	r.Compare("full build", "compressing the same bytes", "s", m.full, m.deflate,
		harness.Bound{Target: 3.7, Hoped: 2, Most: true})
	r.Compare("full build", "compressing each content once", "s", m.full, m.distinct, harness.Bound{})
	r.Compare("build after visits to 1 in 15", "full build of the same", "s", m.rebuild, m.again, rebuildBound)
	r.Compare("processor time of it, with Postgres", "full build of the same", "s", m.rebuildCPU, m.againCPU,
		rebuildBound)
	r.AddBounded("maximum memory of a full build", "MB", harness.Bound{Target: 512, Hoped: 256, Most: true}, m.peak...)
	r.Add("processor time of a full build, without Postgres", "s", m.cpu...)
	r.Add("the same, per service", "ms", scaled(m.cpu, 1e3/float64(o.services))...)
	r.Add("processor time of Postgres meanwhile, per service", "ms", scaled(m.server, 1e3/float64(o.services))...)
	m.last.report(r, d, o.services, m.bytes)
	r.Add("services visited between two builds", "", float64(m.visited))
	return r.Print()
}

// rebuildBound is the maximum ratio of a build after few visits to a full one.
var rebuildBound = harness.Bound{Target: 0.75, Hoped: 0.5, Most: true}

// scaled returns every value times a factor.
func scaled(values []float64, factor float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = v * factor
	}
	return list
}

// report adds the sizes of a directory of services.
func (b *built) report(r *harness.Report, d *database, services int, bytes int64) {
	of := func(what string) string { return fmt.Sprintf("%s, %d services", what, services) }
	r.Add(of("files"), "", float64(b.Files))
	if bytes > 0 {
		r.Add(of("uncompressed bytes of snapshot and packs"), "MB", float64(bytes)/1e6)
	}
	r.Add(of("snapshot"), "MB", float64(b.Zip)/1e6)
	r.Add(of("packs"), "MB", float64(b.Packed)/1e6)
	r.Add(of("database"), "MB", float64(d.bytes)/1e6)
	r.Add(of("rows generated a second"), "", float64(d.report.Rows)/d.report.Took.Seconds())
	r.Add(of("time of generating them"), "s", d.report.Took.Seconds())
}

// run is one run: a full build and the peer, a build after some visits, and a full build of the same facts.
func (m *measured) run(ctx context.Context, o options, d *database, public string, i int) error {
	fresh := func() error { return os.RemoveAll(public) }
	if err := fresh(); err != nil {
		return err
	}
	var profiles []string
	if i == o.runs-1 {
		profiles = []string{"-cpuprofile=" + o.cpu, "-memprofile=" + o.heap}
	}
	full, err := buildIn(ctx, d, public, 2*i, profiles...)
	if err != nil {
		return err
	}
	var peer deflated
	if err := runRole(ctx, &peer, "-role=deflate", "-dir="+public); err != nil {
		return err
	}
	db, err := postgres.OpenFor(ctx, d.server.DSN(), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	m.visited, err = crowd.Visit(ctx, db, o.services, i, crowd.Moment.Add(time.Duration(2*i+1)*time.Minute))
	db.Close()
	if err != nil {
		return err
	}
	rebuild, err := buildIn(ctx, d, public, 2*i+1)
	if err != nil {
		return err
	}
	if err := fresh(); err != nil {
		return err
	}
	again, err := buildIn(ctx, d, public, 2*i+1)
	if err != nil {
		return err
	}
	if rebuild.Files != again.Files { // the bytes differ in the list of previous snapshots
		return fmt.Errorf("a build after visits wrote %d files, a full build %d", rebuild.Files, again.Files)
	}
	m.full, m.cpu, m.peak = append(m.full, full.Seconds), append(m.cpu, full.CPU), append(m.peak, full.Peak)
	m.deflate, m.distinct = append(m.deflate, peer.Seconds), append(m.distinct, peer.Distinct)
	m.rebuild, m.again = append(m.rebuild, rebuild.Seconds), append(m.again, again.Seconds)
	m.rebuildCPU, m.againCPU = append(m.rebuildCPU, rebuild.CPU+rebuild.Server),
		append(m.againCPU, again.CPU+again.Server)
	m.server = append(m.server, full.Server)
	m.last, m.bytes = full, peer.Bytes
	return nil
}
