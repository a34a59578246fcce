package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Command is a bench: a sub-command of cmd/bench.
type Command struct {
	Name  string
	Short string // describes in a verb phrase what it measures

	// Flags declares the command's flags and returns the function that runs after they are parsed.
	Flags func(*flag.FlagSet) func(context.Context) error
}

// ErrUsage is wrapped by errors in the command line.
var ErrUsage = errors.New("usage")

// Main runs the sub-command that the command line names and returns the exit status: 0 for success, 1 for a failure, 2
// for a wrong command line. Ctrl-C and SIGTERM end a command's context.
func Main(commands ...Command) int {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.Name == os.Args[1] {
				return c.main(os.Args[2:])
			}
		}
	}
	log.Print("usage: go run ./cmd/bench COMMAND [FLAGS]; COMMAND -help lists its flags\n\n")
	for _, c := range commands {
		log.Printf("  %-10s%s", c.Name, c.Short)
	}
	return 2
}

func (c Command) main(args []string) int {
	flags := flag.NewFlagSet("bench "+c.Name, flag.ContinueOnError)
	run := c.Flags(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		log.Printf("unexpected argument %q", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrUsage):
		log.Print(err)
		return 2
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted: %w", err)
	}
	log.Print(err)
	return 1
}

// commandLine returns the command line in a form that a reader can repeat.
func commandLine() string {
	return strings.Join(append([]string{"go run ./cmd/bench"}, os.Args[1:]...), " ")
}
