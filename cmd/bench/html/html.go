// Package html measures pages beside hugo 0.160.0, a fast site generator:
//
//	go run ./cmd/bench html -services 2000 -runs 5
//
// Both sides read the same made-up services as JSON, and write the same pages as files in memory, on all cores. The
// pages are one for each service, the list in its first order, and those of categories and networks with fifty services
// each. A run is a process from start to end. Ours calls package render as a build does, without Postgres and the zip.
//
// Hugo has a content adapter and templates (site/) that show the same information. The bench compares some pages: it
// fails if a text, time, title or chart of ours is missing in hugo's page.
//
// The differences favour hugo. It receives names of networks, programs that pay, charts and the sentences above them,
// neighbours by price and JSON-LD; ours computes them. Its pages link no icons or pictures, and its lists have no
// forms. Its templates write the tables and all numbers.
package html

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tollbook/cmd/bench/harness"
	"tollbook/render"
	"tollbook/site"
)

type options struct {
	services, runs int
	role, facts    string // of the processes that the bench starts itself
	to, profile    string
}

// Command is the bench.
var Command = harness.Command{Name: "html", Short: "measure rendering pages, beside hugo",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var o options
		flags.IntVar(&o.services, "services", 2000,
			"how many `services`; hugo takes half a megabyte of memory for each")
		flags.IntVar(&o.runs, "runs", 5, "`runs` of each side")
		flags.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of our last run")
		flags.StringVar(&o.role, "role", "", "of the process that the bench starts itself")
		flags.StringVar(&o.facts, "facts", "", "`folder` that such a process reads")
		flags.StringVar(&o.to, "to", "", "`folder` that it writes")
		return func(ctx context.Context) error {
			if o.role == "ours" {
				return ours(ctx, o)
			}
			return run(ctx, o)
		}
	}}

//go:embed all:site
var hugoSite embed.FS

// bench is the state that both sides share.
type bench struct {
	options
	hugo, dir  string
	peaks, cpu map[string][]float64 // by side
	pages      map[string]int
	renderer   *render.Renderer
	items      []site.ServiceListItem
}

func run(ctx context.Context, o options) error {
	if o.services < 100 || o.runs < 1 {
		return errors.New("the bench needs at least 100 services and one run")
	}
	hugo, err := harness.GoInstall(ctx, hugoModule)
	if err != nil {
		return err
	}
	dir, err := harness.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, hugo: hugo, dir: dir, peaks: map[string][]float64{}, cpu: map[string][]float64{},
		pages: map[string]int{}}
	if err := b.prepare(); err != nil {
		return err
	}
	if err := b.same(ctx); err != nil {
		return err
	}
	results, err := harness.Alternate(ctx, o.runs, b.ours, b.peer)
	if err != nil {
		return err
	}
	report := harness.NewReport(o.runs)
	report.Compare(fmt.Sprintf("%d pages of %d services", b.pages["ours"], o.services), "hugo 0.160", "pages/s",
		results[0], results[1], harness.Bound{Target: 4, Hoped: 6})
	report.Compare("maximum memory", "hugo 0.160", "MB", b.peaks["ours"], b.peaks["hugo"], harness.Bound{})
	report.Compare("CPU", "hugo 0.160", "s", b.cpu["ours"], b.cpu["hugo"], harness.Bound{})
	return report.Print()
}

// prepare writes hugo's site and the facts.
func (b *bench) prepare() error {
	files, err := fs.Sub(hugoSite, "site")
	if err != nil {
		return err
	}
	if err := os.CopyFS(b.dir, files); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "assets"), 0o755); err != nil {
		return err
	}
	log.Printf("writing facts of %d services", b.services)
	return b.write()
}

func (b *bench) ours(ctx context.Context) (float64, error) {
	cmd, err := harness.Role(ctx, nil, "-role", "ours", "-facts", b.dir, "-to", b.out("ours"), "-profile", b.profile)
	if err != nil {
		return 0, err
	}
	cmd.Stderr = nil // the error contains it
	return b.side(ctx, "ours", cmd)
}

func (b *bench) peer(ctx context.Context) (float64, error) {
	cmd := harness.Program(ctx, nil, b.hugo, "--source", b.dir, "--destination", b.out("hugo"), "--quiet",
		"--noBuildLock", "--cacheDir", filepath.Join(b.dir, "cache"))
	return b.side(ctx, "hugo", cmd)
}

func (b *bench) out(side string) string { return filepath.Join(b.dir, "out-"+side) }

// side runs a process and returns its pages a second.
func (b *bench) side(ctx context.Context, name string, cmd *exec.Cmd) (float64, error) {
	for _, side := range []string{"ours", "hugo"} {
		if err := os.RemoveAll(b.out(side)); err != nil {
			return 0, err
		}
	}
	if err := os.MkdirAll(b.out(name), 0o755); err != nil {
		return 0, err
	}
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", name, errors.Join(err, ctx.Err()), out)
	}
	took := time.Since(began).Seconds()
	pages := 0
	err := filepath.WalkDir(b.out(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".html") {
			pages++
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	b.pages[name] = pages
	if ours, theirs := b.pages["ours"], b.pages["hugo"]; ours > 0 && theirs > 0 && ours != theirs ||
		pages < b.services {
		return 0, fmt.Errorf("ours wrote %d pages, hugo %d", ours, theirs)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("the system does not report the resources of a process")
	}
	b.peaks[name] = append(b.peaks[name], float64(usage.Maxrss)/1024)
	b.cpu[name] = append(b.cpu[name], (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	return float64(pages) / took, nil
}
