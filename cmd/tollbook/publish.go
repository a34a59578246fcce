package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
	"tollbook/output/objects"
	"tollbook/site/display"
)

// targetOptions say which place is changed.
type targetOptions struct {
	dataOptions
	keyOptions
	changeKeyOption
	retentionOptions // of prune
	To               string
	Expand           string
	Every            time.Duration
	Force            bool
	Full             bool
	JSON             bool
}

// AddFlags adds the flags of all commands that change a place.
func (o *targetOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	settings.AddFlag(f, "publish.to", &o.To)
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

// expandMeaning is the text of --expand.
var expandMeaning = "files to write as objects of their own beside the zip: all, contract (responses of the API), " +
	"none, or auto: all while that is at most " + display.Number(run.MaxDailyWrites) + " writes a day, else none"

// addExpandFlags adds the flags of commands that write objects.
func (o *targetOptions) addExpandFlags(f *pflag.FlagSet) {
	o.keyOptions.AddFlags(f)
	o.changeKeyOption.AddFlags(f)
	f.StringVar(&o.Expand, "expand", "auto", expandMeaning)
	f.BoolVar(&o.Full, "full", false, "write all of these objects again, even those that have not changed")
}

func (o *targetOptions) validate() error {
	if o.To == "" {
		return terminal.UsageErrorf("--publish-to is missing: give s3://bucket/prefix, or a folder")
	}
	if _, ok := run.Expansions[o.Expand]; o.Expand != "" && !ok {
		return terminal.UsageErrorf("--expand %q: use auto, all, contract or none", o.Expand)
	}
	return nil
}

const bucketHelp = `These variables give access to a bucket, as for other programs: AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.`

func newPublishCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Publish the current snapshot to a bucket or another folder",
		Long: `Publish sends the current snapshot of <data>/public to the place of --publish-to. First it sends the zip
and the new packs. Then it replaces the pointer checkpoint.json, which is the moment of publication. Last it writes
each changed file as an object of its own, and deletes earlier snapshots that contain removed services.

Before it sends anything it verifies every sum, and compares the snapshot with the published one. It refuses a
snapshot of another database, one in which more than 5 services, or 5 %, are missing that nobody removed, or one in
which a number of changes or checks is lower. For a bucket of another machine it refuses a snapshot whose base_url
leads to this one. --force publishes it all the same.

Only one publisher changes a place at a time: it holds a lock in the database, and takes the next generation number.
If it fails or is killed, readers see the old snapshot or the new one, complete; run it again to finish. It repeats a
request that the line cut, and the next run continues with the parts of the zip that arrived.

The report counts the requests and bytes of this publication, and says what they cost a day at list prices. The time
from one publication to the next is that from the snapshot's build to the next one, or --schedule-publish if that is
longer. --expand auto writes all files as objects while they are at most ` + display.Number(run.MaxDailyWrites) +
			` writes a day, and none above
that: "tollbook serve" and the Cloudflare Worker read the zip. So 200 services cost less than a dollar a month. A place
that has objects keeps them, because readers may use them; --expand none deletes them. Use --expand all for a web
server or CDN that sends pages from single objects.

` + bucketHelp + `
--publish-key or TOLLBOOK_SIGNING_KEY signs the pointer; see tollbook key. A signed pointer is not replaced without
that key, unless --change-key says so.

EXIT STATUS

0 if the place has the snapshot and every object, 1 if not, for example because another publisher was running.`,
		Example: "  tollbook publish --publish-to s3://bucket/directory\n" +
			"  tollbook publish --publish-to /srv/www --expand contract",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPublish(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	o.addExpandFlags(cmd.Flags())
	settings.AddFlag(cmd.Flags(), "schedule.publish", &o.Every)
	cmd.Flags().BoolVar(&o.Force, "force", false,
		"publish a snapshot that lacks services or rows, was rolled back or is of another database, too")
	return cmd
}

func newRollbackCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "rollback [SNAPSHOT]",
		Short: "Return to an earlier snapshot",
		Long: `Rollback makes an earlier snapshot the current one: it moves the pointer back, then restores the objects
or the expanded folder. It lasts until the next build, or the next publication of one: stop up, work and timers first,
and mend what was wrong. Without SNAPSHOT it changes nothing and lists the snapshots to choose from.

Without --publish-to it changes <data>/public and needs no database. A snapshot that was rolled back from a bucket is
not published there again without --force; the next build is. Rollback refuses a snapshot that contains a service
removed since. A signed pointer is not replaced without its key, unless --change-key says so.

` + bucketHelp + `

EXIT STATUS

0 if the place has the snapshot and every object, or the snapshots are listed; 1 if not.`,
		Example: "  tollbook rollback\n  tollbook rollback 20261120T000000Z-0123ab",
		Args:    optionalArgument("SNAPSHOT"),
		PreRunE: func(*cobra.Command, []string) error {
			if o.To == "" {
				o.To = o.Public()
			}
			return o.validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSnapshots(cmd.Context(), o, cmd.OutOrStdout())
			}
			if objects.SameFolder(o.To, o.Public()) {
				return runLocalRollback(cmd.Context(), o, args[0], cmd.OutOrStdout())
			}
			return runRollback(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	o.addExpandFlags(cmd.Flags())
	return cmd
}

func newPruneCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old snapshots and packs from a bucket",
		Long: `Prune deletes old snapshots from the place of --publish-to. It keeps the current and the previous one,
each that was current within the last hour, the newest 10 of the last 2 hours, the newest of each hour for a day and
of each of --publish-keep-daily days, and all that the current one lists at /v1/snapshots. If snapshots and packs
have more than --publish-keep-size MB together, it deletes the oldest snapshots, but none of the first two kinds and
none that the current one lists. It deletes a pack after build has deleted it from <data>/public, which is when all
its rows are past their retention. It also deletes parts of unfinished uploads, and snapshots that contain
removed services, which an interrupted publication leaves.

` + bucketHelp + `

EXIT STATUS

0 if everything old is deleted, 1 if not; then run it again.`,
		Example: "  tollbook prune --publish-to s3://bucket/directory",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return cmp.Or(o.validate(), o.retentionOptions.validate()) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	o.retentionOptions.AddFlags(cmd.Flags())
	return cmd
}

func runPublish(ctx context.Context, o targetOptions, stdout io.Writer) error {
	if objects.SameFolder(o.To, o.Public()) {
		return fmt.Errorf("publish to %s: builds are published to this folder already", o.To)
	}
	return o.withPublisher(ctx, func(p *output.Publisher, folder *output.Folder) error {
		r, err := p.Publish(ctx, folder)
		if err != nil {
			return err
		}
		return report.Publication(stdout, r, o.JSON)
	})
}

func runRollback(ctx context.Context, o targetOptions, id string, stdout io.Writer) error {
	return o.withPublisher(ctx, func(p *output.Publisher, _ *output.Folder) error {
		r, err := p.Rollback(ctx, id)
		if err != nil {
			return explainRollback(err)
		}
		if err := report.Publication(stdout, r, o.JSON); err != nil || o.JSON {
			return err
		}
		_, err = fmt.Fprintln(stdout, "It stays current until the next build is published there")
		return err
	})
}

// listSnapshots prints the snapshots of a place that a rollback may name, the newest first.
func listSnapshots(ctx context.Context, o targetOptions, stdout io.Writer) error {
	store, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	list, err := output.ListSnapshots(ctx, store)
	if err != nil {
		return err
	}
	return report.Snapshots(stdout, list, o.JSON)
}

func runLocalRollback(ctx context.Context, o targetOptions, id string, stdout io.Writer) error {
	key, err := o.signingKey()
	if err != nil {
		return err
	}
	folder, err := o.OpenPublic()
	if err != nil {
		return err
	}
	c, moved, err := folder.Rollback(ctx, id,
		output.RollbackOptions{Key: key, ChangeKey: o.ChangeKey, ListSnapshots: build.ListSnapshots,
			Logger: newLogger(ctx, slog.LevelWarn)})
	if err != nil {
		return explainRollback(err)
	}
	if o.JSON {
		return report.Publication(stdout, output.Published{Checkpoint: c, Moved: moved}, true)
	}
	_, err = fmt.Fprintf(stdout, "Published snapshot %s, generation %d\nIt stays current until the next build, which up and "+
		"work make every --schedule-build: stop them first to keep it\n", c.Snapshot, c.Generation)
	return err
}

// explainRollback adds where the ids of snapshots are listed to an error about an id.
func explainRollback(err error) error {
	if errors.Is(err, output.ErrNotRetained) {
		return fmt.Errorf("%w; tollbook rollback without an id lists those that are", err)
	}
	return err
}

func runPrune(ctx context.Context, o targetOptions, stdout io.Writer) error {
	if objects.SameFolder(o.To, o.Public()) {
		return fmt.Errorf("prune %s: tollbook build deletes what is old in this folder; prune is for other places",
			o.To)
	}
	return o.withPublisher(ctx, func(p *output.Publisher, folder *output.Folder) error {
		folder.SetRetention(o.retention())
		pruned, err := p.Prune(ctx, folder)
		if err != nil {
			return err
		}
		return report.Pruned(stdout, pruned, o.JSON)
	})
}

// withPublisher opens a publisher and the published folder for the time of do.
func (o *targetOptions) withPublisher(
	ctx context.Context, do func(*output.Publisher, *output.Folder) error,
) error {
	key, err := o.signingKey()
	if err != nil {
		return err
	}
	folder, err := o.OpenPublic()
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, o.dataOptions, newLogger(ctx, slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	bar := terminal.NewTransfer()
	defer bar.Finish()
	p, err := run.NewPublisher(ctx, db.DB, run.PublishOptions{
		To: o.To, Key: key, ChangeKey: o.ChangeKey, Expand: o.Expand, Every: o.Every, Force: o.Force, Full: o.Full,
		Progress: bar.Set, Logger: newLogger(ctx, slog.LevelWarn),
	})
	if err != nil {
		return err
	}
	return do(p, folder)
}
