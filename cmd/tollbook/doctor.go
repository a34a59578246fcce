package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What a check comes to.
const (
	stateGood    = "ok"
	stateWarning = "warning" // worth a look; nothing is wrong yet
	stateWrong   = "wrong"
	stateNone    = "none" // not configured
)

// finding is what one check found, and what to do about it.
type finding struct {
	Check string `json:"check"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

func good(format string, args ...any) finding {
	return finding{State: stateGood, Found: fmt.Sprintf(format, args...)}
}

func none(format string, args ...any) finding {
	return finding{State: stateNone, Found: fmt.Sprintf(format, args...)}
}

func wrongly(do, format string, args ...any) finding {
	return finding{State: stateWrong, Found: fmt.Sprintf(format, args...), Do: do}
}

func warning(do, format string, args ...any) finding {
	return finding{State: stateWarning, Found: fmt.Sprintf(format, args...), Do: do}
}

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	dataOptions
	keyOptions
	networkOptions
	To      string
	BaseURL string
	Timeout time.Duration
	JSON    bool
}

// AddFlags adds the flags of doctor.
func (o *doctorOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	f.StringArrayVar(&o.RPC, "rpc", nil, "`CAIP2=URL` of a JSON-RPC address to look at, beside those of the configuration")
	f.StringVar(&o.To, "to", "", "`place` that snapshots are published to: s3://bucket/prefix, or a folder")
	f.StringVar(&o.BaseURL, "base-url", "", "`address` at which readers reach the directory")
	f.DurationVar(&o.Timeout, "timeout", 15*time.Second, "time that each check may take")
	f.BoolVar(&o.JSON, "json", false, "print the findings as a JSON list")
}

// errUnwell is a doctor that found something wrong.
var errUnwell = errors.New("something is wrong")

func newDoctorCommand(c *config) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether all that is configured answers, and say what to do where it does not",
		Long: `Doctor looks at everything that a directory stands on, all at once, and prints a line for each with what to do about it:

    configuration  every key and TOLLBOOK_ variable is known
    database       it answers, its schema is that of this program, it can be written to
    disk           the data folder has room
    snapshot       <data>/public has one, built in time, signed where there is a key
    bucket         the place of publish.to takes, gives back, and deletes an object, and keeps the conditions that hold two
                   publishers apart; what is tried with is removed
    published      that place has the snapshot of <data>/public
    nodes          each address of a network serves that chain, and is not behind
    readers        base_url answers, from a certificate that is good for two weeks more
    clock          ours is that of the database, the bucket and base_url

Nothing is changed: the database is not migrated, and a private one that does not run is started for the moment only. What
can't be looked at within --timeout is said to be wrong. No secret is printed, of addresses that may hold one scheme and host.

EXIT STATUS

0 when nothing is wrong, 1 when something is, 2 for a configuration that no command would take.`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if o.Timeout < time.Second {
				return usagef("--timeout %s: it is a second or more", o.Timeout)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), o, c, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// check looks at one thing. It may be slow to notice that its time is over: nobody waits for it then.
type check struct {
	name string
	look func(ctx context.Context) []finding
}

func runDoctor(ctx context.Context, o doctorOptions, c *config, stdout io.Writer) error {
	checks, err := o.checks(c)
	if err != nil {
		return err
	}
	bar := newProgress("looked at")
	found := examine(ctx, checks, o.Timeout, bar.set)
	bar.finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	unwell := false
	for _, f := range found {
		unwell = unwell || f.State == stateWrong
	}
	if err := printFindings(stdout, found, o.JSON); err != nil {
		return err
	}
	if unwell {
		return errUnwell
	}
	return nil
}

// examine makes all checks at once, each within its time, and gives what they found in their order.
func examine(ctx context.Context, checks []check, timeout time.Duration, progress func(done, total int)) []finding {
	type result struct {
		at    int
		found []finding
	}
	results := make(chan result, len(checks))
	for i, c := range checks {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			looked := make(chan []finding, 1)
			go func() { looked <- c.look(ctx) }()
			var found []finding
			select {
			case found = <-looked:
			case <-ctx.Done():
				select { // what it says itself, if it notices the end as we do
				case found = <-looked:
				case <-time.After(timeout / 10):
					found = []finding{wrongly("look whether it answers at all, or give it more time: --timeout", "no answer within %s", timeout)}
				}
			}
			for j := range found {
				if found[j].Check == "" {
					found[j].Check = c.name
				}
			}
			results <- result{i, found}
		}()
	}
	list := make([][]finding, len(checks))
	for done := range checks {
		r := <-results
		list[r.at] = r.found
		progress(done+1, len(checks))
	}
	var all []finding
	for _, found := range list {
		all = append(all, found...)
	}
	return all
}

func printFindings(stdout io.Writer, found []finding, asJSON bool) error {
	if asJSON {
		return printLines(stdout, found)
	}
	t := newTable(stdout)
	for _, f := range found {
		t.row(f.State, f.Check, f.Found)
		if f.Do != "" {
			t.row("", "", "→ "+f.Do)
		}
	}
	return t.flush()
}

// quiet hears what a look at the database takes long over.
func quiet() func(string) {
	logger := newLogger(slog.LevelInfo)
	return func(line string) { logger.Info(line) }
}
