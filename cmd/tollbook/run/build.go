// This part of the package makes snapshots of a directory and publishes them: one build into the published folder, one
// publisher for a place beyond it. It must never know when that is due.

package run

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"tollbook/build"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/version"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/webbotauth"
)

// LogDelay is the time from a check to its entry in the logs. It is longer than a visit takes to be stored.
const LogDelay = 2 * time.Minute

// BuildOptions are the settings of a build.
type BuildOptions struct {
	Appearance settings.Appearance
	BaseURL    string             // where readers find the directory
	Key        ed25519.PrivateKey // signs checkpoints; nil for none
	Signer     *webbotauth.Signer // of the crawler, whose key directory is published; nil for none
	ChangeKey  bool               // replace a checkpoint that is signed with another key
	Logger     *slog.Logger       // logs each step; nil logs none
	FreeHosts  listing.FreeHosts
	Expand     output.Expand
	Gzip       bool          // write name.gz beside each expanded file
	Every      time.Duration // to the next build
	Force      bool          // replace a snapshot of another database, or of services that vanish
}

// Builder makes snapshots.
type Builder struct {
	options BuildOptions
	site    render.Site
}

// NewBuilder reads the operator's folders.
func NewBuilder(o BuildOptions) (*Builder, error) {
	s, err := o.Appearance.Read(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Signer != nil {
		s.KeyDirectory = o.Signer.Directory()
	}
	return &Builder{o, s}, nil
}

// Build makes a snapshot of what db contains now, publishes it to folder, which is in the data folder of db, and prunes
// it. The data folder then belongs to db. progress may be nil.
func (b *Builder) Build(
	ctx context.Context, db *Database, folder *output.Folder, progress func(done, total int),
) (build.Report, error) {
	source, err := db.Setting(ctx, "source")
	if err != nil {
		return build.Report{}, err
	}
	s := b.site
	s.Sample = source != ""
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(build.GCPercent))
	}
	now := Now()
	report, err := build.Run(ctx, db.DB, folder, build.Options{
		Now: now, Every: b.options.Every, LogDelay: LogDelay, Expand: b.options.Expand, Packed: b.options.Gzip,
		Key: b.options.Key, Progress: progress, FreeHosts: b.options.FreeHosts, Site: s, Program: version.ProgramSum(),
		Force: b.options.Force, ChangeKey: b.options.ChangeKey, Logger: b.options.Logger,
	})
	if errors.Is(err, output.ErrSuccessor) {
		return report, fmt.Errorf("%w; set DATABASE_URL and --data as the service that runs this directory has them; to "+
			"replace what is published on purpose, run `tollbook build --force` once", err)
	}
	if err == nil {
		err = db.RecordFolder(ctx)
	}
	if err != nil {
		return report, err
	}
	steps := output.NewSteps(b.options.Logger)
	pruned, err := Prune(folder, now, report.Needed)
	if err == nil {
		steps.Done(ctx, "folder pruned", "snapshots", pruned.Snapshots, "packs", pruned.Packs, "days", pruned.Days,
			"erased", pruned.Erased)
	}
	report.Erased = pruned.Erased
	return report, err
}

// Prune removes snapshots and packs that no reader can request any more from the published folder.
func Prune(folder *output.Folder, now time.Time, needed []string) (output.Pruned, error) {
	oldest := site.PackHour(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -site.LogDays))
	pruned, err := folder.Prune(now, oldest, needed...)
	if err != nil {
		return pruned, fmt.Errorf("prune published folder: %w", err)
	}
	return pruned, nil
}
