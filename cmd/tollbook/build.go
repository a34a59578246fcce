package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/output"
	"tollbook/site/postgres"
)

// buildOptions are the flags of build.
type buildOptions struct {
	dataOptions
	siteOptions
	keyOptions
	freeHostOptions
	Expand string
	Gzip   bool
	Every  time.Duration
	JSON   bool
}

// AddFlags adds the flags of build.
func (o *buildOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.siteOptions.AddFlags(f)
	o.keyOptions.AddFlags(f)
	o.freeHostOptions.AddFlags(f)
	f.StringVar(&o.Expand, "expand", string(output.ExpandAll), "which files to write out singly beside the zip: all or none")
	f.BoolVar(&o.Gzip, "gzip", false, "write name.gz beside each single file that packing makes smaller, for nginx's gzip_static")
	f.DurationVar(&o.Every, "every", 15*time.Minute, "time to the next build, which readers may cache this one for")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func (o *buildOptions) validate() error {
	if e := output.Expand(o.Expand); e != output.ExpandAll && e != output.ExpandNone {
		return usagef("--expand %q: it is all or none", o.Expand)
	}
	if o.Gzip && o.Expand == string(output.ExpandNone) {
		return usagef("--gzip packs the files that --expand all writes")
	}
	if o.Every < time.Second {
		return usagef("--every %s: it is a second or more", o.Every)
	}
	return o.siteOptions.validate()
}

// logDelay is how long after their time checks enter the logs: longer than the longest visit takes to be kept.
const logDelay = 2 * time.Minute

func newBuildCommand() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Make a snapshot of what is known, and publish it to the folder",
		Long: `Build reads Postgres at one moment, judges every service, writes every response and every page of the directory into one
zip, and makes it the current snapshot of <data>/public. When it fails, or is killed, the last snapshot stays current.

The directory has the operator's name, colours and words: --title, --description, --colours, --footer, and pages of his own
in Markdown, --pages. Each file of --templates takes the place of ours of the same name, with our names for what it shows;
an unknown name is refused, and a page or a template that is wrong fails the build with its file and line. What strangers
wrote is escaped in them all the same.

EXIT STATUS

0 when the snapshot is published, 1 when it is not.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBuild(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runBuild(ctx context.Context, o buildOptions, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	make, err := o.maker()
	if err != nil {
		return err
	}
	folder, err := openPublic(o.dataOptions)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	bar := newProgress("rendered")
	report, err := make(ctx, db.DB, folder, bar.set)
	bar.finish()
	if err != nil {
		return err
	}
	if o.JSON {
		return printJSON(stdout, struct {
			build.Report
			Seconds float64 `json:"seconds"`
		}{report, report.Took.Seconds()})
	}
	_, err = fmt.Fprintf(stdout, "snapshot %s: %d services, %d of them as before, %d files, %.1f MB, zip %.1f MB, %d new packs, %.2f s\n", report.Snapshot,
		report.Services, report.Copied, report.Files, float64(report.Bytes)/1e6, float64(report.Zip)/1e6, report.Packs, report.Took.Seconds())
	return err
}

// makeFunc makes a snapshot of what is known now, and drops what nobody can ask for any more.
type makeFunc func(ctx context.Context, db *postgres.DB, folder *output.Folder, progress func(done, total int)) (build.Report, error)

// maker reads what every build needs of files.
func (o *buildOptions) maker() (makeFunc, error) {
	free, err := o.freeHosts()
	if err != nil {
		return nil, err
	}
	key, err := o.signingKey()
	if err != nil {
		return nil, err
	}
	site, err := o.site(o.BaseURL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, db *postgres.DB, folder *output.Folder, progress func(done, total int)) (build.Report, error) {
		source, err := db.Setting(ctx, "source")
		if err != nil {
			return build.Report{}, err
		}
		site.Sample = source != ""
		if os.Getenv("GOGC") == "" {
			defer debug.SetGCPercent(debug.SetGCPercent(build.GCPercent))
		}
		now := time.Now()
		report, err := build.Run(ctx, db, folder, build.Options{
			Now: now, Every: o.Every, LogDelay: logDelay, Expand: output.Expand(o.Expand), Packed: o.Gzip, Key: key, Progress: progress, FreeHosts: free,
			Site: site, Program: programSum(),
		})
		if err != nil {
			return report, err
		}
		_, err = prune(folder, now, report.Needed)
		return report, err
	}, nil
}
