// Command snapshot measures builds of a crowd beside the least that they could take, in turn, on one machine, with the files
// and the database in memory:
//
//	go run ./cmd/bench/snapshot -services 20000 -runs 5
//
// Each build is a process of its own, whose memory and processor time are its own: first from nothing, then, after a visit to
// one service in fifteen, beside the snapshot before, then the same again from nothing. What a whole build is held to is the
// time in which all cores deflate what it wrote, snapshot and packs, with the same library at the same level, and do nothing
// else: reading is not timed. Contents that stand under several names are deflated under each; what it would take without
// them is told, too. Postgres, which has its own processes, runs on the same cores.
//
//	go run ./cmd/bench/snapshot -scale 20000,200000 -runs 2
//
// builds a directory of each size in turn, and tells how time and memory grow, and how deflating alone does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/turns"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// options are the flags.
type options struct {
	services, runs, days int
	scale                string
	data                 string
	cpu, heap            string

	role          string // of the processes that the bench starts itself, and what they work on
	database, dir string
	minute        int
}

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.services, "services", 20_000, "how many `services`")
	flag.IntVar(&o.runs, "runs", 5, "`runs` of each")
	flag.IntVar(&o.days, "days", 90, "UTC `days` of history")
	flag.StringVar(&o.scale, "scale", "", "`sizes` that are built in turn, the smallest first: 20000,200000")
	flag.StringVar(&o.data, "data", "", "`folder` for the database; default in memory")
	flag.StringVar(&o.cpu, "cpuprofile", "", "`file` for a CPU profile of our last whole build")
	flag.StringVar(&o.heap, "memprofile", "", "`file` for a heap profile at its end")
	flag.StringVar(&o.role, "role", "", "of the processes that the bench starts itself")
	flag.StringVar(&o.database, "database", "", "likewise")
	flag.StringVar(&o.dir, "dir", "", "likewise")
	flag.IntVar(&o.minute, "minute", 0, "likewise")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch o.role {
	case "build":
		err = buildOnce(ctx, o)
	case "deflate":
		err = deflateOnce(o.dir)
	default:
		err = run(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		log.Fatal(err)
	}
}

// sizes are those of -scale.
func (o *options) sizes() ([]int, error) {
	var list []int
	for _, text := range strings.Split(o.scale, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(list) > 0 && n <= list[len(list)-1] {
			return nil, fmt.Errorf("-scale %q: want ascending numbers", o.scale)
		}
		list = append(list, n)
	}
	return list, nil
}

func run(ctx context.Context, o options) error {
	if o.runs < 1 || o.services < crowd.Every || o.days < 1 {
		return errors.New("-runs, -services or -days is too small")
	}
	dir, err := turns.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.scale != "" {
		return scale(ctx, o, dir)
	}
	return inTurn(ctx, o, dir)
}

// database is a throwaway server with one filled database.
type database struct {
	server *private.Server
	dir    string
	report crowd.Report
	bytes  int64 // of the database
}

// fill starts a server and fills its database with a crowd.
func fill(ctx context.Context, o options, dir string, services int) (*database, error) {
	if o.data != "" {
		dir = o.data
	}
	dir, err := os.MkdirTemp(dir, "postgres-")
	if err != nil {
		return nil, err
	}
	d := &database{dir: dir}
	d.server, err = private.Start(ctx, private.Options{Dir: filepath.Join(dir, "server"), Throwaway: true})
	if err == nil {
		log.Printf("%d services are made …", services)
		err = d.fill(ctx, o, services)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	log.Printf("%d services, %d rows, %.1f MB, made in %.1f s", services, d.report.Rows, float64(d.bytes)/1e6, d.report.Took.Seconds())
	return d, nil
}

func (d *database) fill(ctx context.Context, o options, services int) error {
	db, err := postgres.OpenFor(ctx, d.server.DSN(), crowd.Connections())
	if err != nil {
		return err
	}
	defer db.Close()
	if d.report, err = crowd.Load(ctx, db, crowd.Options{Services: services, Seed: 1, Moment: crowd.Moment, Days: o.days}); err != nil {
		return err
	}
	d.bytes, err = db.Size(ctx)
	return err
}

// close stops the server and removes its data.
func (d *database) close() (err error) {
	if d.server != nil {
		err = d.server.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// cpu is the processor time that the server has used so far, in seconds: of processes that have ended, which Linux adds to the
// one that made them. It waits until the server has seen that every connection is closed: what filled the database would
// count as the build's.
func (d *database) cpu(ctx context.Context) (float64, error) {
	text, err := os.ReadFile(filepath.Join(d.dir, "server", "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	pid, _, _ := strings.Cut(string(text), "\n")
	process := filepath.Join("/proc", strings.TrimSpace(pid))
	for {
		if open, err := connections(process); err != nil {
			return 0, err
		} else if open == 0 {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	stat, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if len(fields) < 15 {
		return 0, fmt.Errorf("%s/stat ends early", process)
	}
	var ticks int64
	for _, field := range fields[13:15] { // cutime and cstime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return float64(ticks) / 100, nil // USER_HZ
}

// connections counts the processes of a server that each serve one of its clients, by what they call themselves.
func connections(server string) (n int, err error) {
	children, err := os.ReadFile(filepath.Join(server, "task", filepath.Base(server), "children"))
	if err != nil {
		return 0, err
	}
	for _, pid := range strings.Fields(string(children)) {
		title, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
		if strings.Contains(string(title), "[local]") || len(title) == 0 { // one that ends has no name any more
			n++
		}
	}
	return n, nil
}
