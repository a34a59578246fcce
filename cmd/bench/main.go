// Command bench measures Tollbook beside the tools that an operator would use instead. Each sub-command measures one
// stage, and "hold" runs all of them:
//
//	go run ./cmd/bench snapshot -services 20000 -runs 5
//	go run ./cmd/bench hold
//
// On a shared machine, a time alone means little. Both sides run alternately, and the result is the ratio of
// neighbouring runs. The peers are started by the scripts in the folder peers. README.md describes the benches and has
// their results.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

// stage is a bench: a sub-command.
type stage struct {
	name, short    string   // short is a verb phrase
	services, runs int      // defaults of the flags -services and -runs; without such a flag if 0
	peers          []string // scripts of the folder peers that install what the stage runs

	// flags declares further flags and returns the function that measures.
	flags func(*flag.FlagSet) func(*bench)
}

// plain is the flags function of a stage without further flags.
func plain(run func(*bench)) func(*flag.FlagSet) func(*bench) {
	return func(*flag.FlagSet) func(*bench) { return run }
}

var stages = []stage{chainStage, cloneStage, freshnessStage, generateStage, htmlStage, ingestStage, probeStage,
	publishStage, pullStage, readStage, relevanceStage, searchStage, snapshotStage}

// bench is one run of a stage. As with testing.T, a method that fails ends the run, so a stage contains only what it
// measures; see check.
type bench struct {
	report
	ctx            context.Context // ends with Ctrl-C
	services, runs int             // the flags
	profile        string          // file for a CPU profile of our last run
	dir            string          // a temporary folder

	work     string // of all sides so far
	ends     []func()
	tollbook string // the compiled command; "" before it is needed
}

// failure is the value of the panic that ends a run.
type failure struct{ error }

// check ends the run with an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a value, or ends the run with an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// failf ends the run.
func failf(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// attempt calls f and returns the error that ended it. Goroutines of a bench need it.
func attempt(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			failed, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = failed.error
		}
	}()
	f()
	return nil
}

// atEnd calls f when the run ends, the last one first.
func (b *bench) atEnd(f func()) { b.ends = append(b.ends, f) }

// side is a part of a run: ours or a peer's.
type side struct {
	name string
	// run does the work once. It returns a figure, and a digest of the work, which must be the same for all sides and
	// runs.
	run func() (figure float64, work string)
}

// alternate runs the sides one after the other, as often as the flag says. Neighbouring runs are compared.
func (b *bench) alternate(sides ...side) {
	for n := range b.runs {
		for _, s := range sides {
			var figure float64
			err := attempt(func() {
				var work string
				figure, work = s.run()
				b.same(s.name, work)
			})
			if err != nil {
				failf("run %d of %s: %w", n+1, s.name, err)
			}
			b.note(s.name, figure)
			log.Printf("run %d of %d, %s: %.4g", n+1, b.runs, s.name, figure)
		}
	}
}

// same checks that a side did the work of all sides before.
func (b *bench) same(side, work string) {
	switch {
	case b.work == "":
		b.work = work
	case work != "" && work != b.work:
		failf("%s did %s, want %s", side, work, b.work)
	}
}

// roles are the processes that benches start themselves, by name, because their memory or processor time is measured.
// The argument is JSON.
var roles = map[string]func(context.Context, []byte){
	"build": roleOf(buildOnce), "deflate": roleOf(deflateOnce), "chain node": roleOf(serveChain),
	"html": roleOf(renderOurs), "probe server": roleOf(serveChallenges),
}

func roleOf[T any](run func(context.Context, T)) func(context.Context, []byte) {
	return func(ctx context.Context, text []byte) {
		var args T
		check(json.Unmarshal(text, &args))
		run(ctx, args)
	}
}

// errUsage is wrapped by errors in the command line.
var errUsage = errors.New("usage")

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runCommand(ctx, os.Args[1:])
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errUsage):
		log.Print(err)
		os.Exit(2)
	}
	log.Print(err)
	os.Exit(1)
}

// runCommand runs the sub-command that the command line names. Its report is printed even if a part of it failed.
func runCommand(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "role" && roles[args[1]] != nil {
		return attempt(func() { roles[args[1]](ctx, []byte(args[2])) })
	}
	all := slices.Concat(stages, []stage{holdStage})
	i := slices.IndexFunc(all, func(s stage) bool { return len(args) > 0 && s.name == args[0] })
	if i < 0 {
		log.Print("go run ./cmd/bench COMMAND [FLAGS]; COMMAND -help lists its flags\n\n")
		for _, s := range all {
			log.Printf("  %-11s%s", s.name, s.short)
		}
		return fmt.Errorf("%w: name one of these commands", errUsage)
	}
	b := &bench{report: newReport(), ctx: ctx}
	run, err := all[i].parse(b, args[1:])
	if err != nil {
		return err
	}
	return b.measure(&all[i], run)
}

// parse parses the flags of a stage.
func (s *stage) parse(b *bench, args []string) (run func(*bench), err error) {
	flags := flag.NewFlagSet("bench "+s.name, flag.ContinueOnError)
	if s.services > 0 {
		flags.IntVar(&b.services, "services", s.services, "number of generated `services`, at least 100")
	}
	if s.runs > 0 {
		flags.IntVar(&b.runs, "runs", s.runs, "`number` of runs")
		flags.StringVar(&b.profile, "profile", "", "`file` for a CPU profile of our last run")
	}
	run = s.flags(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	case s.runs > 0 && b.runs < 1:
		return nil, fmt.Errorf("%w: -runs must be at least 1", errUsage)
	case s.services > 0 && b.services < 100:
		return nil, fmt.Errorf("%w: -services must be at least 100", errUsage)
	}
	return run, nil
}

// measure runs a stage in a temporary folder and prints its report. The folder is in memory if possible, because a disk
// would dominate the results.
func (b *bench) measure(s *stage, run func(*bench)) error {
	memory := "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		memory = ""
	}
	dir, err := os.MkdirTemp(memory, "tollbook-bench-")
	if err != nil {
		return err
	}
	var cancel context.CancelFunc
	b.dir = dir
	b.ctx, cancel = context.WithCancel(b.ctx)
	err = attempt(func() {
		defer func() {
			cancel()
			for _, end := range slices.Backward(b.ends) {
				end()
			}
		}()
		for _, script := range s.peers {
			b.run(b.peer(nil, script, "install"))
		}
		run(b)
	})
	err = errors.Join(err, os.RemoveAll(dir))
	if len(b.Results) > 0 {
		err = errors.Join(err, b.print())
	}
	return err
}

// path returns a path in the temporary folder.
func (b *bench) path(names ...string) string {
	return filepath.Join(append([]string{b.dir}, names...)...)
}
