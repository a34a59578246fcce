package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/doctor"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	dataOptions
	keyOptions
	crawlerKeyOptions
	contactOptions
	networkOptions
	retentionOptions
	To      string
	BaseURL string
	Timeout time.Duration
	JSON    bool
}

// AddFlags adds the flags of doctor.
func (o *doctorOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	o.crawlerKeyOptions.AddFlags(f)
	o.contactOptions.AddFlags(f)
	o.retentionOptions.AddFlags(f)
	settings.AddFlag(f, "publish.to", &o.To)
	settings.AddFlag(f, "site.base_url", &o.BaseURL)
	f.StringArrayVar(&o.Networks.RPC, "rpc", nil,
		"`CAIP2=URL` of a JSON-RPC node to check beside those of the configuration; may be repeated")
	f.DurationVar(&o.Timeout, "timeout", 15*time.Second, "longest `time` of each check")
	f.BoolVar(&o.JSON, "json", false, "print the findings as a JSON list")
}

// errFaults is returned if a check found a fault.
var errFaults = errors.New("doctor found a fault")

func newDoctorCommand(c *settings.Configuration) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check every configured component and suggest fixes",
		Long: `Doctor checks everything that a directory needs, all at once, and prints a line for each with what to do
about it:

    configuration  which file is read; like every command, doctor refuses an unknown key or TOLLBOOK_ variable
    contact        the owners of services can ask who visits; without one, hosts of others are not visited
    crawler key    it is another one than that of snapshots, and site.base_url publishes it
    database       it answers, has the schema of this program, can be written, and is the one of the data folder and of
                   its snapshot
    disk           the data folder has free space, and for how many days at the present rate
    snapshot       <data>/public has a snapshot, on time, and signed if there is a key
    bucket         the place of publish.to can be written, read and deleted from, and supports conditional writes, which
                   keep two publishers apart; doctor deletes the object that it wrote
    published      that place has the snapshot of <data>/public
    cost           what the last publication there sent, and what that costs a day at list prices
    nodes          each node of a network serves that chain and is up to date
    readers        site.base_url answers, with a certificate that is valid for two weeks more
    clock          this machine, the database, the bucket and site.base_url have the same time

Doctor changes nothing: it does not migrate the database, and stops a private Postgres that it had to start. A check
that takes longer than --timeout is a fault. It prints no secrets; of URLs that may contain one, only scheme and
host.

EXIT STATUS

0 without a fault, 1 with one, 2 for a configuration that every command refuses.`,
		Example: "  tollbook doctor\n  tollbook doctor --json --timeout 5s",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if o.Timeout < time.Second {
				return terminal.UsageErrorf("--timeout %s: use 1s or more", o.Timeout)
			}
			return o.contactOptions.validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), o, c, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runDoctor(ctx context.Context, o doctorOptions, c *settings.Configuration, stdout io.Writer) error {
	components, err := o.components(ctx, c)
	if err != nil {
		return err
	}
	bar := terminal.NewCounter("checked")
	findings := doctor.Examine(ctx, doctor.Checks(components), o.Timeout, bar.Set)
	bar.Finish()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := printFindings(stdout, findings, o.JSON); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.State == doctor.Wrong }) {
		return errFaults
	}
	return nil
}

// components returns what the configuration names.
func (o *doctorOptions) components(ctx context.Context, c *settings.Configuration) (doctor.Options, error) {
	key, err := o.signingKey()
	if err != nil {
		return doctor.Options{}, terminal.UsageError{Err: err}
	}
	signer, signerErr := o.signer(o.BaseURL, key)
	rpc := map[string][]string{}
	if !o.Networks.IsEmpty(c.Networks) {
		list, err := o.Networks.Read(c.Networks)
		if err != nil {
			return doctor.Options{}, err
		}
		for _, n := range list {
			rpc[n.ID] = n.RPC
		}
	}
	baseURL := o.BaseURL
	if baseURL == settings.DefaultBaseURL {
		baseURL = "" // not configured
	}
	return doctor.Options{
		Contact: o.Contact, HasContact: o.hasContact(), Data: o.Data, Public: o.Public(), DatabaseURL: os.Getenv("DATABASE_URL"), To: o.To,
		BaseURL: baseURL, Key: key, Signer: signer, SignerErr: signerErr,
		Retention: o.retention(), RPC: rpc, Configuration: cmp.Or(c.Path, "no file, only variables"), Getenv: os.Getenv,
		Logger: newLogger(ctx, slog.LevelInfo),
	}, nil
}

func printFindings(stdout io.Writer, findings []doctor.Finding, asJSON bool) error {
	if asJSON {
		return report.JSONList(stdout, findings)
	}
	t := report.NewTable(stdout)
	for _, f := range findings {
		t.Row(f.State, f.Check, f.Found)
		if f.Do != "" {
			t.Row("", "", "→ "+f.Do)
		}
	}
	return t.Flush()
}
