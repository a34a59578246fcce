package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
)

// buildOptions are the flags of build.
type buildOptions struct {
	dataOptions
	siteOptions
	keyOptions
	crawlerKeyOptions
	changeKeyOption
	freeHostOptions
	retentionOptions
	Expand string
	Gzip   bool
	Every  time.Duration
	Force  bool
	JSON   bool
}

// AddFlags adds the flags of build.
func (o *buildOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.siteOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	o.crawlerKeyOptions.AddFlags(f)
	o.changeKeyOption.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	o.retentionOptions.AddFlags(f)
	f.StringVar(&o.Expand, "expand", string(output.ExpandAll),
		"write every file beside the zip, for other web servers: all or none")
	f.BoolVar(&o.Gzip, "gzip", false,
		"write name.gz beside each single file that compression makes smaller, for nginx's gzip_static")
	f.DurationVar(&o.Every, "every", 15*time.Minute, "`time` to the next build, for which readers may cache this one")
	f.BoolVar(&o.Force, "force", false,
		"replace a snapshot of another database, or one with services or rows that nobody removed, too")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func (o *buildOptions) validate() error {
	if e := output.Expand(o.Expand); e != output.ExpandAll && e != output.ExpandNone {
		return terminal.UsageErrorf("--expand %q: use all or none", o.Expand)
	}
	if o.Gzip && o.Expand == string(output.ExpandNone) {
		return terminal.UsageErrorf("--gzip compresses the files that --expand all writes; use both")
	}
	if o.Every < time.Second {
		return terminal.UsageErrorf("--every %s: use 1s or more", o.Every)
	}
	return cmp.Or(o.siteOptions.validate(), o.retentionOptions.validate())
}

func newBuildCommand() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build a snapshot of the directory from the database",
		Long: `Build reads the database at one moment, judges every service, writes every response and every page of
the directory into one zip, and makes it the current snapshot of <data>/public. If it fails or is killed, the last
snapshot stays current. Old snapshots are deleted as tollbook prune does in a bucket, and so
are all that contain removed services.

Build refuses a database that is not the one of the current snapshot or of the data folder, and a snapshot in which
more than 5 services, or 5 %, or all are missing that nobody removed. --force builds it all the same; the data folder
then belongs to that database. If the current snapshot is signed, the same key must sign the next one, unless
--change-key says otherwise. With --crawl-key the snapshot contains the key directory of the crawler.

The settings of the section [site] give the directory its name, colours, words and pages of its own. A file in
--site-templates replaces Tollbook's template of the same name. An error in a page or a template fails the build,
with the file and line. What strangers wrote is escaped in your templates, too.

EXIT STATUS

0 if the snapshot is published, 1 if not.`,
		Example: "  tollbook build\n  tollbook build --site-title \"Acme Directory\" --site-pages pages/",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBuild(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runBuild(ctx context.Context, o buildOptions, stdout io.Writer) error {
	builder, err := o.newBuilder(newLogger(ctx, slog.LevelWarn))
	if err != nil {
		return err
	}
	folder, err := o.OpenPublic()
	if err != nil {
		return err
	}
	folder.SetRetention(o.retention())
	opening := o.Database(newLogger(ctx, slog.LevelInfo))
	opening.Adopt = o.Force
	db, err := run.OpenDatabase(ctx, opening)
	if err != nil {
		return err
	}
	defer db.Close()
	bar := terminal.NewCounter("rendered")
	r, err := builder.Build(ctx, db, folder, bar.Set)
	bar.Finish()
	if err != nil {
		return err
	}
	return report.Build(stdout, r, o.JSON)
}

// newBuilder reads the files that every build needs.
func (o *buildOptions) newBuilder(logger *slog.Logger) (*run.Builder, error) {
	free, err := o.freeHosts()
	if err != nil {
		return nil, err
	}
	key, err := o.signingKey()
	if err != nil {
		return nil, err
	}
	signer, err := o.signer(o.BaseURL, key)
	if err != nil {
		return nil, err
	}
	return run.NewBuilder(run.BuildOptions{
		Appearance: o.Appearance, BaseURL: o.BaseURL, Key: key, Signer: signer, FreeHosts: free,
		Expand: output.Expand(o.Expand), Gzip: o.Gzip, Every: o.Every, Force: o.Force, ChangeKey: o.ChangeKey, Logger: logger,
	})
}
