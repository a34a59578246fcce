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
	"slices"
	"syscall"
)

// stage is a bench: a sub-command.
type stage struct {
	name  string
	short string // describes in a verb phrase what it measures

	// flags declares the flags and returns the function that runs after they are parsed.
	flags func(*flag.FlagSet) func(context.Context, *report) error
}

var stages = []stage{chainStage, cloneStage, freshnessStage, generateStage, htmlStage, ingestStage, probeStage,
	publishStage, pullStage, readStage, relevanceStage, searchStage, snapshotStage}

// roles are the processes that benches start themselves, by name. The argument is JSON.
var roles = map[string]func(context.Context, []byte) error{
	"build": roleOf(buildOnce), "deflate": roleOf(deflateOnce), "chain node": roleOf(serveChain),
	"indexer": roleOf(indexOnce), "html": roleOf(renderOurs), "probe server": roleOf(serveChallenges),
	"crawler": roleOf(crawlRounds), "puller": roleOf(pullOnce),
}

func roleOf[T any](run func(context.Context, T) error) func(context.Context, []byte) error {
	return func(ctx context.Context, text []byte) error {
		var args T
		if err := json.Unmarshal(text, &args); err != nil {
			return err
		}
		return run(ctx, args)
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
		return roles[args[1]](ctx, []byte(args[2]))
	}
	var of *stage
	all := slices.Concat(stages, []stage{holdStage})
	for i := range all {
		if len(args) > 0 && all[i].name == args[0] {
			of = &all[i]
		}
	}
	if of == nil {
		log.Print("go run ./cmd/bench COMMAND [FLAGS]; COMMAND -help lists its flags\n\n")
		for _, s := range all {
			log.Printf("  %-11s%s", s.name, s.short)
		}
		return fmt.Errorf("%w: name one of these commands", errUsage)
	}
	flags := flag.NewFlagSet("bench "+of.name, flag.ContinueOnError)
	run := of.flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	r := newReport()
	err := run(ctx, r)
	if len(r.Results) > 0 {
		err = errors.Join(err, r.print())
	}
	return err
}
