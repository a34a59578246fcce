package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
)

// built is what a process that built tells.
type built struct {
	build.Report
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`         // seconds of this process
	Peak    int64   `json:"peak"`        // most resident bytes of this process
	Packed  int64   `json:"packs_bytes"` // of all packs
	Server  float64 `json:"-"`           // seconds of processor that Postgres used meanwhile
}

// child runs a role of ours in a process of its own and reads what it tells.
func child(ctx context.Context, told any, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.Unmarshal(out, told)
}

// buildIn builds into dir as of some minutes after the moment, in a process of its own.
func buildIn(ctx context.Context, d *database, dir string, minute int, more ...string) (b built, err error) {
	before, err := d.cpu(ctx)
	if err == nil {
		err = child(ctx, &b, append([]string{"-role=build", "-database=" + d.server.DSN(), "-dir=" + dir, "-minute=" + strconv.Itoa(minute)}, more...)...)
	}
	if err != nil {
		return b, err
	}
	after, err := d.cpu(ctx)
	b.Server = after - before
	return b, err
}

// buildOnce is the process that builds.
func buildOnce(ctx context.Context, o options) error {
	db, err := postgres.OpenFor(ctx, o.database, crowd.Connections())
	if err != nil {
		return err
	}
	defer db.Close()
	folder, err := output.OpenFolder(o.dir)
	if err != nil {
		return err
	}
	if o.cpu != "" {
		f, err := os.Create(o.cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	began := time.Now()
	var b built
	b.Report, err = build.Run(ctx, db, folder, build.Options{
		Now: crowd.Moment.Add(time.Duration(o.minute) * time.Minute), Every: 15 * time.Minute, LogDelay: crowd.LogDelay, Expand: output.ExpandNone,
		Site: render.Site{BaseURL: "https://tollbook.example"}, Program: "bench",
	})
	if err != nil {
		return err
	}
	b.Seconds = time.Since(began).Seconds()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	b.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	if b.Peak, err = peak(); err != nil {
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

// peak is the most that was resident of this process, as Linux tells it: what Getrusage says counts that of the process
// which started it, too.
func peak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		var kib int64
		if n, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &kib); n == 1 && err == nil {
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}
