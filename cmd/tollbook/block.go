package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/listing"
	"tollbook/site/postgres/consent"
)

// blockOptions are the flags of services block and services unblock.
type blockOptions struct {
	dataOptions
	actorOptions
	Reason string
	JSON   bool
	host   string
}

// AddFlags adds the flags of both commands.
func (o *blockOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

func (o *blockOptions) validate(host string) (err error) {
	if err := listing.CheckText(o.Reason, maxReason); o.Reason != "" && err != nil {
		return terminal.UsageErrorf("--reason %w", err)
	}
	if o.host, err = consent.BlockedHost(host); err != nil {
		return terminal.UsageErrorf("%w", err)
	}
	return o.Validate()
}

// blocked is the result of both commands.
type blocked struct {
	Host   string   `json:"host"`
	Hidden []string `json:"hidden,omitempty"` // slugs
	Shown  []string `json:"shown,omitempty"`
}

func newBlockCommand() *cobra.Command {
	var o blockOptions
	cmd := &cobra.Command{
		Use:   "block HOST",
		Short: "Keep a host from being listed",
		Long: `Block keeps a host out of the directory: no file, catalogue, source or submission lists a service of it, and
nothing of it is visited. Its listed services are hidden at once, and are not in the next build. *.example.com means
example.com and every host below it. "tollbook services opt-outs" lists the blocks with those hosts whose owners opted
out. Tollbook stores who blocked a host, when and why. A submitter learns only that the directory lists no
service of the host.

A block erases nothing: what is stored of its services stays, and so do earlier snapshots. "tollbook services remove"
erases a service, with every snapshot that contains it, and keeps its slug and URL from being listed, too.

EXIT STATUS

0 if the host is blocked, 1 if not.`,
		Example: "  tollbook services block api.spam.example --reason \"sells lists of strangers\"\n" +
			"  tollbook services block '*.spam.example'",
		Args:    arguments("HOST"),
		PreRunE: func(_ *cobra.Command, args []string) error { return o.validate(args[0]) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runBlock(cmd.Context(), db, o, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`sentence` that says why, for the record")
	return cmd
}

func runBlock(ctx context.Context, db *run.Database, o blockOptions, w io.Writer) error {
	hidden, err := db.Block(ctx, o.host, o.As, o.Reason, run.Now())
	if err != nil {
		return err
	}
	if o.JSON {
		return report.JSON(w, blocked{Host: o.host, Hidden: hidden})
	}
	text := "No service of it is listed"
	if len(hidden) > 0 {
		text = fmt.Sprintf("Hidden: %s. Next: tollbook build publishes the directory without them", strings.Join(hidden, ", "))
	}
	_, err = fmt.Fprintf(w, "Blocked %s. %s\n", o.host, text)
	return err
}

func newUnblockCommand() *cobra.Command {
	var o blockOptions
	cmd := &cobra.Command{
		Use:   "unblock HOST",
		Short: "Let a blocked host be listed again",
		Long: `Unblock ends the block of a host, which is given as "tollbook services opt-outs" prints it. Services that the
block hid get the states that they had before, and are due at once. If the owner of the host opted out, too, that holds
on until the owner takes it back.

EXIT STATUS

0 if the block ended, 1 if there was none.`,
		Example: "  tollbook services unblock api.spam.example",
		Args:    arguments("HOST"),
		PreRunE: func(_ *cobra.Command, args []string) error { return o.validate(args[0]) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runUnblock(cmd.Context(), db, o, cmd.OutOrStdout())
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runUnblock(ctx context.Context, db *run.Database, o blockOptions, w io.Writer) error {
	shown, ok, err := db.Unblock(ctx, o.host, o.As, run.Now())
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is not blocked; tollbook services opt-outs lists what is", o.host)
	}
	if o.JSON {
		return report.JSON(w, blocked{Host: o.host, Shown: shown})
	}
	text := "No service of it was hidden"
	if len(shown) > 0 {
		text = "As before the block: " + strings.Join(shown, ", ")
	}
	_, err = fmt.Fprintf(w, "%s may be listed again. %s\n", o.host, text)
	return err
}
