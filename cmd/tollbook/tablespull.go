// This part of the package has the commands for the tables of a published directory: pull copies them, query asks
// them.
//
// It must never contain a rule of what is fetched or believed (output does).

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// newTablesCommand returns the group of commands. placeHelp says how a bucket's credentials are given.
func newTablesCommand(placeHelp string) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "data",
		Short: "Copy the tables of a published directory and ask them with SQL",
		Long: `Every directory publishes what it measured as tables: Parquet, CSV and SQLite files below /data. The
commands of data copy them to this machine and query them. The page /data of a directory says what they contain.

EXIT STATUS

0 if the command succeeded, 1 if it failed.`,
	}, newTablesPullCommand(placeHelp), newQueryCommand())
}

// defaultFolder is the folder of the tables, below the working directory.
const defaultFolder = "tollbook-tables"

// tablesPullOptions are the flags of pull.
type tablesPullOptions struct {
	To, Since, Key  string
	Tables, Formats []string
	JSON            bool
}

func (o *tablesPullOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.To, "to", defaultFolder, "`folder` of the tables")
	f.StringSliceVar(&o.Tables, "tables", nil, "`names` of tables, separated by commas; all by default")
	f.StringSliceVar(&o.Formats, "formats", []string{"parquet", "sqlite"},
		"`formats` of files, separated by commas: parquet, csv, sqlite")
	f.StringVar(&o.Since, "since", "", "first `day` of tables that have a file a day, such as 2026-11-20")
	f.StringVar(&o.Key, "key", "", "`file` of the public key that must have signed the checkpoint")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

func newTablesPullCommand(placeHelp string) *cobra.Command {
	var o tablesPullOptions
	cmd := &cobra.Command{
		Use:   "pull URL|BUCKET|FOLDER",
		Short: "Copy the tables of a directory, or what is new of them",
		Long: `Pull copies the tables of a published directory into the folder --to. It fetches only files that the
folder lacks, continues an interrupted fetch, and compares every file with the sums of the snapshot. With --key it also
checks the signature of these sums. Files are replaced once all are fetched, so an interrupted pull leaves the last
ones. Days that the directory no longer publishes stay in the folder.

` + placeHelp + `

EXIT STATUS

0 if the folder has the tables of the newest snapshot, 1 if something could not be read or is damaged.`,
		Example: `  tollbook data pull https://directory.example
  tollbook data pull https://directory.example --tables checks,uptime --formats parquet --since 2026-11-01`,
		Args: arguments("URL"),
		PreRunE: func(*cobra.Command, []string) error {
			if _, err := time.Parse(time.DateOnly, o.Since); o.Since != "" && err != nil {
				return terminal.UsageErrorf("--since %.40q is not a day such as 2026-11-20", o.Since)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTablesPull(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runTablesPull(ctx context.Context, o tablesPullOptions, place string, stdout io.Writer) error {
	bar := terminal.NewTransfer()
	defer bar.Finish()
	p := output.PullOptions{To: o.To, Tables: o.Tables, Formats: o.Formats, Since: o.Since, Progress: bar.SetFiles,
		Logger: newLogger(ctx, slog.LevelWarn)}
	var err error
	if o.Key != "" {
		if p.Key, err = archive.ReadPublicKey(o.Key); err != nil {
			return err
		}
	}
	store, err := objects.OpenPlace(place, objects.StoreOptions{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	r, err := output.Pull(ctx, store, p)
	if err != nil {
		return err
	}
	bar.Finish()
	if o.JSON {
		return report.JSON(stdout, r)
	}
	return printPulled(stdout, r, filepath.Clean(o.To))
}

// printPulled prints what a pull did.
func printPulled(w io.Writer, r output.PullResult, to string) error {
	what := fmt.Sprintf("fetched %d files, %.1f MB", r.Fetched, float64(r.Bytes)/1e6)
	if r.Unchanged {
		what = "nothing is new"
	}
	signature := "signature not checked; --key FILE checks it"
	if r.Signed {
		signature = "signature valid"
	}
	_, err := fmt.Fprintf(w, "Snapshot %s: %s; %s has %d files, all sums match; %s\n", r.Snapshot, what, to, r.Files,
		signature)
	return err
}
