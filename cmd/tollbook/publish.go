package main

import (
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
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site"
	"tollbook/site/postgres"
)

// targetOptions say which place is meant.
type targetOptions struct {
	dataOptions
	keyOptions
	To     string
	Expand string
	Force  bool
	Full   bool
	JSON   bool
}

// AddFlags adds --to and what else every command has that changes a place.
func (o *targetOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	f.StringVar(&o.To, "to", "", "`place` to publish to: s3://bucket/prefix, or a folder")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

// addExpand adds the flags of commands that write objects.
func (o *targetOptions) addExpand(f *pflag.FlagSet) {
	o.keyOptions.AddFlags(f)
	f.StringVar(&o.Expand, "expand", "all", "which files to write as objects of their own beside the zip: all, contract (the literal answers of the API alone), or none")
	f.BoolVar(&o.Full, "full", false, "write every such object anew, whatever the place is said to hold")
}

func (o *targetOptions) validate() error {
	if o.To == "" {
		return usagef("--to is missing: s3://bucket/prefix, or a folder")
	}
	if _, known := expansions[o.Expand]; o.Expand != "" && !known {
		return usagef("--expand %q: it is all, contract or none", o.Expand)
	}
	return nil
}

// expansions choose files, nil none.
var expansions = map[string]func(string) bool{
	"all":      func(string) bool { return true },
	"contract": func(key string) bool { return site.IsContract(key) || key == archive.KeyFile },
	"none":     nil,
}

const bucketHelp = `A bucket is found by AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, as by every
program for buckets.`

func newPublishCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Bring the folder's current snapshot to a bucket, or another folder",
		Long: `Publish sends the current snapshot of <data>/public to a place: its zip and the new packs, then the pointer
checkpoint.json, whose replacement is the moment of publication, then each file as an object of its own where it changed.
Before, it verifies every sum and that the snapshot is a legal successor of what is published: no more than 5 services, or
5 %, vanish that were not removed; numbers of changes and checks never fall. --force publishes all the same.

One publisher at a time: the database keeps the lock, and a generation that only one of two can take. When it fails, or is
killed, readers have the snapshot before or the new one, whole; run it again and it goes on.

` + bucketHelp + ` TOLLBOOK_SIGNING_KEY, or --signing-key, signs the pointer; see tollbook key.

EXIT STATUS

0 when the place has the snapshot and every object is written, 1 when not, also because another publisher was at work.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPublish(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	o.addExpand(cmd.Flags())
	cmd.Flags().BoolVar(&o.Force, "force", false, "publish also what is no legal successor, or what a rollback took back")
	return cmd
}

func newRollbackCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "rollback SNAPSHOT",
		Short: "Make an earlier snapshot the current one, of the folder or of a bucket",
		Long: `Rollback names an earlier snapshot that the place still has: its pointer moves back, and its objects, or the expanded
folder, follow. Without --to the place is <data>/public, and no database is needed. Of a bucket, what it takes back is not
published again, unless forced; the next build is. /v1/snapshots lists what is kept.

` + bucketHelp + `

EXIT STATUS

0 when the place has the snapshot and every object is written, 1 when not.`,
		Args: arguments("SNAPSHOT"),
		PreRunE: func(*cobra.Command, []string) error {
			if o.To == "" {
				o.To = o.public()
			}
			return o.validate()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if objects.SameFolder(o.To, o.public()) {
				return runLocalRollback(cmd.Context(), o, args[0], cmd.OutOrStdout())
			}
			return runRollback(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	o.addExpand(cmd.Flags())
	return cmd
}

func newPruneCommand() *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove from a bucket what nobody can ask for any more",
		Long: `Prune removes old snapshots from a place. It keeps the current and the previous one, what was current within the last
hour, the newest 10 of the last 2 hours, the newest of each hour for a day and of each day for a year, and whatever the
current one lists at /v1/snapshots. Packs go when
<data>/public has dropped them, which build does when retention has passed all that is in them. Parts of uploads that were
never completed go, too.

` + bucketHelp + `

EXIT STATUS

0 when it is done, 1 when not; then run it again.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runPublish(ctx context.Context, o targetOptions, stdout io.Writer) error {
	return o.with(ctx, func(p *output.Publisher, folder *output.Folder) error {
		r, err := p.Publish(ctx, folder)
		if err != nil {
			return err
		}
		return o.report(stdout, r)
	})
}

func runRollback(ctx context.Context, o targetOptions, id string, stdout io.Writer) error {
	return o.with(ctx, func(p *output.Publisher, _ *output.Folder) error {
		r, err := p.Rollback(ctx, id)
		if err != nil {
			return err
		}
		return o.report(stdout, r)
	})
}

func runLocalRollback(ctx context.Context, o targetOptions, id string, stdout io.Writer) error {
	key, err := o.signingKey()
	if err != nil {
		return err
	}
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return err
	}
	c, moved, err := folder.Rollback(ctx, id, key)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.report(stdout, output.Published{Checkpoint: c, Moved: moved})
	}
	_, err = fmt.Fprintf(stdout, "snapshot %s, generation %d\n", c.Snapshot, c.Generation)
	return err
}

func runPrune(ctx context.Context, o targetOptions, stdout io.Writer) error {
	return o.with(ctx, func(p *output.Publisher, folder *output.Folder) error {
		pruned, err := p.Prune(ctx, folder)
		if err != nil {
			return err
		}
		if o.JSON {
			return printJSON(stdout, struct {
				Snapshots int `json:"snapshots"`
				Packs     int `json:"packs"`
			}{pruned.Snapshots, pruned.Packs})
		}
		_, err = fmt.Fprintf(stdout, "%d snapshots and %d packs removed\n", pruned.Snapshots, pruned.Packs)
		return err
	})
}

// report prints what a publication did.
func (o *targetOptions) report(stdout io.Writer, r output.Published) error {
	if o.JSON {
		return printJSON(stdout, r)
	}
	_, err := fmt.Fprintf(stdout, "snapshot %s, generation %d: %d new packs, %d objects written, %d deleted, %d as they were, %.1f MB\n",
		r.Checkpoint.Snapshot, r.Checkpoint.Generation, r.Packs, r.Written, r.Deleted, r.Unchanged, float64(r.Bytes)/1e6)
	return err
}

// with opens what a publisher needs, for as long as do takes.
func (o *targetOptions) with(ctx context.Context, do func(*output.Publisher, *output.Folder) error) error {
	if objects.SameFolder(o.To, o.public()) {
		return fmt.Errorf("publish to %s: it is where build publishes to already", o.To)
	}
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return err
	}
	logger := newLogger(slog.LevelInfo)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	bar := newTransfer()
	defer bar.finish()
	p, err := o.publisher(ctx, db.DB, bar.set)
	if err != nil {
		return err
	}
	return do(p, folder)
}

// publisher is who changes the place, now.
func (o *targetOptions) publisher(ctx context.Context, db *postgres.DB, progress func(output.Progress)) (*output.Publisher, error) {
	key, err := o.signingKey()
	if err != nil {
		return nil, err
	}
	store, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	removed, err := db.RemovedServices(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return output.NewPublisher(store, &register{db, store.String(), now}, output.PublishOptions{
		Now: now, Force: o.Force, Full: o.Full, Key: key, Expand: expansions[o.Expand], Phase: site.ExpandPhase, Header: objectHeader,
		Check:    func(before, after archive.Files) error { return build.CheckSuccessor(before, after, removed) },
		Listed:   build.ListSnapshots,
		Progress: progress,
	}), nil
}

// objectHeader is what readers of a single object are told. Caches ask again after a minute: nothing tells an object
// when the next build is due.
func objectHeader(key string) objects.Header {
	h := objects.Header{Type: site.ContentType(key), Cache: "public, max-age=60, stale-while-revalidate=30, stale-if-error=86400"}
	if site.IsHashed(key) {
		h.Cache = "public, max-age=31536000, immutable"
	}
	return h
}

// register is a place's row in the database, and the lock beside it.
type register struct {
	db     *postgres.DB
	target string
	now    time.Time
}

// Lock implements output.Register.
func (r *register) Lock(ctx context.Context) (func(context.Context) error, func(), error) {
	l, err := r.db.LockPublication(ctx, r.target)
	if errors.Is(err, postgres.ErrLocked) {
		return nil, nil, fmt.Errorf("%w: %w", output.ErrBusy, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return l.Check, l.Release, nil
}

// Read implements output.Register.
func (r *register) Read(ctx context.Context) (output.Record, error) {
	p, err := r.db.Publication(ctx, r.target)
	return output.Record(p), err
}

// Replace implements output.Register.
func (r *register) Replace(ctx context.Context, was int64, next output.Record) error {
	err := r.db.ReplacePublication(ctx, r.target, was, postgres.Publication(next), r.now)
	if errors.Is(err, postgres.ErrConflict) {
		return fmt.Errorf("%w: %w", output.ErrConflict, err)
	}
	return err
}
