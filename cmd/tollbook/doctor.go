package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/doctor"
)

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

func runDoctor(ctx context.Context, o doctorOptions, c *config, stdout io.Writer) error {
	components, err := o.components(c)
	if err != nil {
		return err
	}
	bar := newProgress("looked at")
	found := doctor.Examine(ctx, doctor.Checks(components), o.Timeout, bar.set)
	bar.finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	unwell := false
	for _, f := range found {
		unwell = unwell || f.State == doctor.Wrong
	}
	if err := printFindings(stdout, found, o.JSON); err != nil {
		return err
	}
	if unwell {
		return errUnwell
	}
	return nil
}

// components returns what the configuration names.
func (o *doctorOptions) components(c *config) (doctor.Options, error) {
	key, err := o.signingKey()
	if err != nil {
		return doctor.Options{}, usageError{err}
	}
	rpc := map[string][]string{}
	if len(c.Networks)+len(o.RPC) > 0 {
		list, err := o.networks(c.Networks)
		if err != nil {
			return doctor.Options{}, err
		}
		for _, n := range list {
			rpc[n.ID] = n.RPC
		}
	}
	return doctor.Options{
		Data: o.Data, Public: o.public(), DatabaseURL: os.Getenv("DATABASE_URL"), To: o.To, BaseURL: o.BaseURL, Key: key, RPC: rpc,
		Configuration: func() (string, error) {
			return cmp.Or(c.path, "no file, variables alone"), unknownVariables(c, os.Environ())
		},
		Getenv: os.Getenv, Logger: newLogger(slog.LevelInfo),
	}, nil
}

func printFindings(stdout io.Writer, found []doctor.Finding, asJSON bool) error {
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
