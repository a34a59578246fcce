package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tollbook/cmd/bench/harness"
)

// grown is the results of builds of a directory of one size, a value for each run.
type grown struct {
	services                            int
	database                            *database
	seconds, cpu, server, peak, deflate []float64
	last                                built
	bytes                               int64 // of files, before compression
}

// scale builds a directory of each size in turn, runs times. The peer of each is all cores that only compress what it
// wrote.
func scale(ctx context.Context, o options, dir string) (err error) {
	sizes, err := o.sizes()
	if err != nil {
		return err
	}
	list := make([]*grown, len(sizes))
	for i, services := range sizes {
		d, err := fill(ctx, o, dir, services)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		list[i] = &grown{services: services, database: d}
	}
	if err := touch(dir, int64(sizes[len(sizes)-1])*perService); err != nil {
		return err
	}
	for i := range o.runs {
		for _, g := range list {
			if err := g.run(ctx, o, filepath.Join(dir, "public"), i); err != nil {
				return err
			}
		}
	}
	r := harness.NewReport(o.runs)
	for i, g := range list[1:] {
		g.compare(r, list[i])
	}
	for _, g := range list {
		g.report(r)
	}
	return r.Print()
}

// run builds once, and compresses what the build wrote.
func (g *grown) run(ctx context.Context, o options, public string, i int) error {
	defer os.RemoveAll(public)
	b, err := buildIn(ctx, g.database, public, i, "-cpuprofile="+o.cpu, "-memprofile="+o.heap)
	if err != nil {
		return err
	}
	var peer deflated
	if err := runRole(ctx, &peer, "-role=deflate", "-dir="+public); err != nil {
		return err
	}
	log.Printf("%d services: %.1f s, %.1f s of processor, %.0f MB of memory; compressing %.1f s", g.services, b.Seconds,
		b.CPU, b.Peak, peer.Seconds)
	g.seconds, g.cpu, g.server = append(g.seconds, b.Seconds), append(g.cpu, b.CPU), append(g.server, b.Server)
	g.peak, g.deflate = append(g.peak, b.Peak), append(g.deflate, peer.Seconds)
	g.last, g.bytes = b, peer.Bytes
	return nil
}

// compare reports the growth from a smaller size. Ten times the services may take twelve times the time and memory.
func (g *grown) compare(r *harness.Report, from *grown) {
	times := float64(g.services) / float64(from.services)
	bound, peer := harness.Bound{Target: 1.2 * times, Hoped: times, Most: true},
		fmt.Sprintf("%d services", from.services)
	r.Compare(fmt.Sprintf("time of a build of %d", g.services), peer, "s", g.seconds, from.seconds, bound)
	r.Compare("maximum memory of it", peer, "MB", g.peak, from.peak, bound)
	r.Compare("processor time of it, without Postgres", peer, "s", g.cpu, from.cpu, harness.Bound{})
	r.Compare("compressing the same bytes", peer, "s", g.deflate, from.deflate, harness.Bound{})
}

func (g *grown) report(r *harness.Report) {
	each := func(values []float64, factor float64) []float64 { return scaled(values, factor/float64(g.services)) }
	r.Add(fmt.Sprintf("processor time per service, %d services", g.services), "ms", each(g.cpu, 1e3)...)
	r.Add(fmt.Sprintf("processor time of Postgres per service, %d services", g.services), "ms",
		each(g.server, 1e3)...)
	r.Add(fmt.Sprintf("memory per service, %d services", g.services), "kB", each(g.peak, 1e3)...)
	g.last.report(r, g.database, g.services, g.bytes)
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
