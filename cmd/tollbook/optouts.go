package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres/consent"
)

// optOutsOptions are the flags of services opt-outs.
type optOutsOptions struct {
	dataOptions
	visitOptions
	Ask  string
	JSON bool
}

// AddFlags adds the flags of services opt-outs.
func (o *optOutsOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	f.StringVar(&o.Ask, "ask", "", "ask the host of this `URL` now, instead of within a day")
	f.BoolVar(&o.JSON, "json", false, "print a JSON list")
}

func newServicesOptOutsCommand() *cobra.Command {
	var o optOutsOptions
	cmd := &cobra.Command{
		Use:   "opt-outs",
		Short: "List the hosts that are left out, by their owners' wish or by a block",
		Long: `Opt-outs prints each host that is left out: since when, and who blocked it or the document in which its owner
says so. That is a line "opt-out" in /.well-known/tollbook, or a robots.txt that disallows everything to Tollbook by
name. The crawl reads both once a day. Services on such a host are hidden: not visited, and not in the next build. No
file, catalogue or submission lists them again. When the owner takes the document back, they get the states that they
had before.

With --ask it asks one host now, and prints the result of that host alone.

EXIT STATUS

0 if the hosts are printed, 1 if not. With --ask 1 too if the host did not answer.`,
		Example: "  tollbook services opt-outs\n  tollbook services opt-outs --ask https://api.acme.example",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServicesOptOuts(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *optOutsOptions) validate() error {
	if u, err := url.Parse(o.Ask); o.Ask != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		return terminal.UsageErrorf("--ask %q: give a URL that begins with https:// or http://", o.Ask)
	}
	return o.contactOptions.validate()
}

func runServicesOptOuts(ctx context.Context, o optOutsOptions, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	logger := newLogger(ctx, slog.LevelWarn)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if o.Ask == "" {
		list, err := db.OptOuts(ctx)
		if err != nil {
			return err
		}
		return report.OptOuts(stdout, list, o.JSON)
	}
	if err := db.RefuseSample(ctx); err != nil {
		return fmt.Errorf("nothing was asked: %w", err)
	}
	c := crawl.New(db.DB, crawl.Options{Now: run.Now, Logger: logger}, probe.Options{Guard: guard, UserAgent: o.userAgent()})
	defer c.Close()
	optOut, err := c.AskOptOut(ctx, strings.ToLower(o.Ask))
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if o.JSON {
		list := []consent.OptOut{}
		if optOut != nil {
			list = append(list, *optOut)
		}
		return report.JSONList(stdout, list)
	}
	text := "The host did not opt out. Its services may be listed"
	if optOut != nil {
		text = "Nothing of the host is listed, because " + optOut.String()
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}
