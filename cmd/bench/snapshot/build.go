package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"time"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
)

// built is the report of a process that built a snapshot.
type built struct {
	build.Report
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`         // seconds, of this process
	Peak    float64 `json:"peak"`        // maximum resident memory of this process, in MB
	Packed  int64   `json:"packs_bytes"` // of all packs
	Server  float64 `json:"-"`           // processor time of Postgres meanwhile, in seconds
}

// runRole runs a role of ours in a process of its own and parses its report.
func runRole(ctx context.Context, report any, args ...string) error {
	cmd, err := harness.Role(ctx, nil, args...)
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.Unmarshal(out, report)
}

// buildIn builds into dir at some minutes after the moment, in a process of its own.
func buildIn(ctx context.Context, d *database, dir string, minute int, more ...string) (b built, err error) {
	before, err := d.cpu()
	if err == nil {
		err = runRole(ctx, &b,
			append([]string{"-role=build", "-database=" + d.server.DSN(), "-dir=" + dir,
				"-minute=" + strconv.Itoa(minute)}, more...)...)
	}
	if err != nil {
		return b, err
	}
	after, err := d.cpu()
	b.Server = after - before
	return b, err
}

// buildOnce is the process that builds.
func buildOnce(ctx context.Context, o options) error {
	db, err := postgres.OpenFor(ctx, o.database, postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	folder, err := output.OpenFolder(o.dir)
	if err != nil {
		return err
	}
	stop, err := harness.Profile(o.cpu)
	if err != nil {
		return err
	}
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(build.GCPercent)
	}
	began := time.Now()
	var b built
	b.Report, err = build.Run(ctx, db, folder, build.Options{
		Now: crowd.Moment.Add(time.Duration(o.minute) * time.Minute), Every: 15 * time.Minute, LogDelay: crowd.LogDelay,
		Expand: output.ExpandNone,
		Site:   render.Site{BaseURL: "https://tollbook.example"}, Program: o.program,
		NoData: o.noData, DataRows: math.MaxInt64, // one build writes all days
	})
	if err != nil {
		return err
	}
	b.Seconds = time.Since(began).Seconds()
	b.CPU = usage.Self()
	if b.Peak, err = usage.Memory(os.Getpid(), "VmHWM"); err != nil {
		return err
	}
	if b.Packed, err = packed(o.dir); err != nil {
		return err
	}
	if o.heap != "" {
		f, err := os.Create(o.heap)
		if err != nil {
			return err
		}
		runtime.GC()
		if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(b)
}
