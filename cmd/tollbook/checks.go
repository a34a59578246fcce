package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/listing"
	"tollbook/site/postgres/checks"
)

func newChecks() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "checks",
		Short: "Take the checks of a bad night out of all judgments",
		Long: `The directory itself can be at fault for failed checks, for example while its own line or DNS was down. Void takes
the checks of such a time out of status, uptime, response times and incidents, with a record of it.` + groupStatus,
	}, newVoid(), newUnvoid())
}

// voidOptions are the flags of both commands.
type voidOptions struct {
	dataOptions
	actorOptions
	JSON bool
}

// AddFlags adds the flags.
func (o *voidOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

func newVoid() *cobra.Command {
	var o struct {
		voidOptions
		From, To string
		Reason   string
		List     bool
	}
	var v checks.Void
	cmd := &cobra.Command{
		Use:   "void {--from TIME --to TIME --reason SENTENCE | --list}",
		Short: "Let the checks of a time count in nothing, with a record of it",
		Long: `Void is for a time in which this directory was at fault and not the services. Checks of this time stay in the logs and
say "void" there, but count in no status, uptime, response time or incident. Coverage tells readers the time, the
number of checks and your reason. Who decided is stored, and not published.

The time is from --from up to --to, which is excluded. Both are in UTC, such as 2026-11-29T23:10Z. Checks are stored
for 30 days; the sums of earlier days cannot be computed again. Visits wait while the command runs, which takes some
seconds. The next build publishes the result. Run "tollbook crawl --all" after it if the newest visits are void.

EXIT STATUS

0 if the checks are void or the list is printed, 1 if no check of that time counts or is stored.`,
		Example: `  tollbook checks void --from 2026-11-29T23:10Z --to 2026-11-30T04:00Z --reason "Our line was down"
  tollbook checks void --list`,
		Args: arguments(),
		PreRunE: func(*cobra.Command, []string) error {
			if o.List {
				if cmp.Or(o.From, o.To, o.Reason) != "" {
					return terminal.UsageErrorf("--list goes with no other time or reason")
				}
				return nil
			}
			if o.Reason == "" {
				return terminal.UsageErrorf("--reason is missing; readers see it")
			}
			if err := listing.CheckText(o.Reason, maxReason); err != nil {
				return terminal.UsageErrorf("--reason %w", err)
			}
			var err error
			if v.From, err = parseMinute("--from", o.From); err != nil {
				return err
			}
			if v.To, err = parseMinute("--to", o.To); err != nil {
				return err
			}
			if !v.From.Before(v.To) {
				return terminal.UsageErrorf("--to %s is not after --from %s", o.To, o.From)
			}
			return o.Validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				if o.List {
					return runVoids(cmd.Context(), db, o.JSON, cmd.OutOrStdout())
				}
				v.VoidedAt, v.Actor, v.Reason = run.Now(), o.As, o.Reason
				done, err := db.Void(cmd.Context(), v)
				if err != nil {
					return err
				}
				if o.JSON {
					return report.JSON(cmd.OutOrStdout(), done)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s of %s count in nothing; the next build publishes it. "+
					"To undo it: tollbook checks unvoid %d\n", count(done.Checks, "check"),
					count(done.Services, "service"), done.ID)
				return err
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.From, "from", "", "`time` at which it begins, in UTC")
	cmd.Flags().StringVar(&o.To, "to", "", "`time` at which it ends, in UTC")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`sentence` that says why; it is published")
	cmd.Flags().BoolVar(&o.List, "list", false, "list the times that are void or were")
	return cmd
}

// parseMinute reads a time in UTC with or without seconds.
func parseMinute(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, terminal.UsageErrorf("%s is missing, such as 2026-11-29T23:10Z", flag)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, terminal.UsageErrorf("%s %q is not a time such as 2026-11-29T23:10Z", flag, text)
}

func newUnvoid() *cobra.Command {
	var o voidOptions
	cmd := &cobra.Command{
		Use:   "unvoid ID",
		Short: "Let the checks of a time count again",
		Long: `Unvoid undoes a void, which the id names that "tollbook checks void --list" prints. Checks that another void covers
stay void.

EXIT STATUS

0 if the checks count again, 1 if there is no such void or its checks are no longer stored.`,
		Example: "  tollbook checks unvoid 3",
		Args:    arguments("ID"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return terminal.UsageErrorf("%q is not the id of a void; tollbook checks void --list lists all",
					args[0])
			}
			return withDatabase(cmd.Context(), o.dataOptions, func(db *run.Database) error {
				v, err := db.LiftVoid(cmd.Context(), id, o.As, run.Now())
				if errors.Is(err, site.ErrNotFound) {
					return fmt.Errorf("no void has the id %d; tollbook checks void --list lists all", id)
				}
				if err != nil {
					return err
				}
				if o.JSON {
					return report.JSON(cmd.OutOrStdout(), v)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Checks from %s to %s count again; the next build publishes "+
					"it\n", v.From.UTC().Format(time.RFC3339), v.To.UTC().Format(time.RFC3339))
				return err
			})
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runVoids(ctx context.Context, db *run.Database, asJSON bool, w io.Writer) error {
	list, err := db.Voids(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return report.JSONList(w, list)
	}
	active := 0
	for _, v := range slices.Backward(list) {
		text := fmt.Sprintf("%d %s to %s: %s of %s, on %s by %s: %s", v.ID, v.From.UTC().Format(time.RFC3339),
			v.To.UTC().Format(time.RFC3339), count(v.Checks, "check"), count(v.Services, "service"),
			v.VoidedAt.UTC().Format(time.DateOnly), v.Actor, v.Reason)
		if v.LiftedAt == nil {
			active++
		} else {
			text += " (undone on " + v.LiftedAt.UTC().Format(time.DateOnly) + " by " + v.LiftedBy + ")"
		}
		if _, err := fmt.Fprintln(w, invisible.Drop(text)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s void\n", count(active, "time"))
	return err
}
