package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/site/postgres/sources"
)

func newDecideCommand(c *settings.Configuration, enable bool) *cobra.Command {
	var o struct {
		dataOptions
		actorOptions
		JSON bool
	}
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Read a source from now on",
		Long: `Enable lets up and work read a source. It is due at once; "tollbook sources pull NAME" reads it now.

EXIT STATUS

0 if the source is enabled, 1 if there is no such source.`,
		Example: "  tollbook sources enable cdp",
	}
	if !enable {
		cmd.Use, cmd.Short = "disable NAME", "Stop reading a source"
		cmd.Long = `Disable stops the requests to a source, also to one that the configuration file names. The services
that it listed stay, and so does what is stored about it: the last answer stays in force, with its time.

EXIT STATUS

0 if the source is disabled, 1 if there is no such source.`
		cmd.Example = "  tollbook sources disable cdp"
	}
	cmd.Args = arguments("NAME")
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.Validate() }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, name := cmd.Context(), args[0]
		return withDatabase(ctx, o.dataOptions, func(db *run.Database) error {
			list, err := storeSources(ctx, db, c)
			if err != nil {
				return err
			}
			changed, err := db.Sources.SetEnabled(ctx, name, enable, o.As, run.Now())
			if errors.Is(err, sources.ErrUnknown) {
				return errNoSource(name, list)
			}
			if err != nil {
				return err
			}
			if o.JSON {
				return report.JSON(cmd.OutOrStdout(), map[string]any{"source": name, "enabled": enable,
					"changed": changed})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), decisionText(name, enable, changed))
			return err
		})
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the result as JSON")
	return cmd
}

func decisionText(name string, enable, changed bool) string {
	switch {
	case enable && changed:
		return name + " is enabled. Next: tollbook up or work reads it; tollbook sources pull " + name + " does at once"
	case enable:
		return name + " is enabled already; nothing was changed"
	case changed:
		return name + " is disabled; what it listed stays"
	}
	return name + " is disabled already; nothing was changed"
}

func newAcceptCommand(c *settings.Configuration) *cobra.Command {
	var o struct {
		dataOptions
		actorOptions
		JSON bool
	}
	cmd := &cobra.Command{
		Use:   "accept NAME",
		Short: "Believe an answer that was held back",
		Long: `Accept believes the answer of a source that is held back because it lacks more than half of what the
source listed. Each resource that it lacks counts as dropped. A listed service gets a change record. Accept lists no
new service.

EXIT STATUS

0 if the answer is believed, 1 if none is held back.`,
		Example: "  tollbook sources accept cdp",
		Args:    arguments("NAME"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				return runAccept(cmd.Context(), db, c, args[0], o.As, o.JSON, cmd.OutOrStdout())
			})
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print what changed as JSON")
	return cmd
}

func runAccept(ctx context.Context, db *run.Database, c *settings.Configuration, name, actor string, asJSON bool,
	w io.Writer) error {
	list, err := storeSources(ctx, db, c)
	if err != nil {
		return err
	}
	state, err := db.Sources.Find(ctx, name)
	if errors.Is(err, sources.ErrUnknown) {
		return errNoSource(name, list)
	}
	if err != nil {
		return err
	}
	counts, err := db.Sources.AcceptHeld(ctx, state, actor, run.Now())
	if errors.Is(err, sources.ErrNotHeld) {
		return fmt.Errorf("accept the answer of %s: no answer is held back; tollbook sources list shows what is", name)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSON(w, struct {
			Source string `json:"source"`
			sources.Counts
		}{name, counts})
	}
	_, err = fmt.Fprintf(w, "%s lists %d resources now: %d new, %d dropped. Next: tollbook build publishes this\n",
		name,
		counts.Resources, counts.New+counts.Merged, counts.Dropped)
	return err
}
