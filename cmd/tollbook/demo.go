package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/demo"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	dataOptions
	listenOptions
	appearanceOptions
	Interval time.Duration

	isDefaultFolder bool             // another folder may be used if it can't be written
	now             func() time.Time // clock of the sample services; nil for time.Now
	stopLimit       time.Duration    // how long to wait for the parts to end; 0 is the default
}

// demoRateLimit is so high that scripts which try the API see the limit in the headers and do not reach it.
const demoRateLimit = 6000

// AddFlags adds the flags of demo.
func (o *demoOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.listenOptions.AddFlags(f, "127.0.0.1:4020", demoRateLimit)
	o.appearanceOptions.AddFlags(f)
	f.DurationVar(&o.Interval, "interval", 15*time.Second, "`time` between two visits to a sample service")
}

func (o *demoOptions) validate() error {
	if o.Interval < time.Second {
		return terminal.UsageErrorf("--interval %s: use 1s or more", o.Interval)
	}
	return o.listenOptions.validate()
}

func newDemoCommand(c *settings.Configuration) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try Tollbook offline, with sample services",
		Long: `Demo runs a whole directory on this machine alone. It starts a private Postgres, more than forty sample
services and a sample chain on loopback, and writes ninety days of made-up history once. Then it visits the services
and reads the chain for real every few seconds, rebuilds the directory after changes, and serves it. Ctrl-C stops
all of it. The next start continues with the same data.

The data folder may be deleted when the demo does not run. If the default folder can't be written, as in a read-only
checkout, the demo uses a folder in the user's cache and prints its name.

The settings of the section [site] change its pages as they do for "tollbook build". The folders are read again for
each build, so you can edit templates while the demo runs.

EXIT STATUS

0 if it was stopped, 1 if something failed.`,
		Example: "  tollbook demo\n  tollbook demo --listen 127.0.0.1:8080 --site-templates templates/",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.isDefaultFolder = c.IsDefault(cmd.Flags(), "data", os.Getenv)
			err := runDemo(cmd.Context(), o, cmd.OutOrStdout())
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // stopped during the start
			}
			return err
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runDemo(ctx context.Context, o demoOptions, stdout io.Writer) error {
	l, err := o.listen() // first, because a used port must stop the demo before it starts anything
	if err != nil {
		return err
	}
	defer l.Close()
	if o.isDefaultFolder {
		o.Data = demo.WritableFolder(o.Data)
	}
	return demo.Run(ctx, l, demo.Options{
		Database: run.DatabaseOptions{
			URL: os.Getenv("DATABASE_URL"), Data: o.Data, Program: version.Version(), Directory: "demo",
			Fetch: o.Fetch,
		},
		Appearance: o.Appearance, Interval: o.Interval, RateLimit: o.RateLimit,
		Limits: defaultConnections().limits(nil), Stdout: stdout, Now: o.now, StopLimit: o.stopLimit,
	})
}
