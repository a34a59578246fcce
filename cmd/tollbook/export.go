package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/crawl"
	"tollbook/site/postgres"
)

// exportOptions are the flags of export.
type exportOptions struct {
	dataOptions
	Contacts bool
}

// AddFlags adds the flags of export.
func (o *exportOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	f.BoolVar(&o.Contacts, "with-contacts", false, "include e-mail addresses, and notes of submissions")
}

// newExport returns the command export.
func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Export the listed services and all decisions to a file",
		Long: `Export writes one file of JSON lines with everything that people decided: facilitators with their
accounts, measured tokens, services with their slugs, endpoints and ownership tokens, submissions with each
decision, its author and time, removed services, which stay removed, hosts that opted out, which public sources are
read, and suggestions. "tollbook import" restores it into an empty directory. Without FILE it writes to stdout. A file
is written completely or not at all, and only its owner may read it.

E-mail addresses, and notes of submissions, are included only with --with-contacts; who sent a submission or suggestion
never is.
Measurements are not included, because a crawl measures again. To keep history too, back up the database, as the
page /operations/repair of every directory describes.

The first line names the kind of file and its version, and the last one counts the lines before it. The same
directory gives the same bytes.

EXIT STATUS

0 if everything is written, 1 if not.`,
		Example: "  tollbook export directory.jsonl",
		Args:    optionalArgument("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExport(cmd.Context(), o, args, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runExport(ctx context.Context, o exportOptions, args []string, stdout io.Writer) error {
	var d postgres.Directory
	err := withDatabase(ctx, o.dataOptions, func(db *run.Database) (err error) {
		d, err = db.Directory(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := crawl.WriteDirectory(&b, d, o.Contacts); err != nil {
		return err
	}
	if len(args) == 0 {
		_, err := stdout.Write(b.Bytes())
		return err
	}
	if err := replaceFile(args[0], b.Bytes()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "Exported %s to %s\n", countDirectory(d), args[0])
	return err
}

func countDirectory(d postgres.Directory) string {
	return fmt.Sprintf("%d services, %d facilitators, %d submissions, %d suggestions and %d erased slugs",
		len(d.Services), len(d.Facilitators), len(d.Submissions), len(d.Suggestions), len(d.Erased))
}

// replaceFile replaces a file by one that only its owner may read. A crash here leaves the old file or the new one.
func replaceFile(path string, data []byte) (err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name a file in it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: there is no folder %s", path, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// newImport returns the command import.
func newImport() *cobra.Command {
	var o dataOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Restore an export into an empty directory",
		Long: `Import restores the directory of a file that "tollbook export" wrote, all of it or nothing: an error in
one line refuses the file and names the line. The directory must be empty. To add services to another one, use
"tollbook services import".

The services are due at once, and their endpoints count as first seen now. Removed services stay removed.
Submissions and suggestions keep their ids and decisions, but not the Idempotency-Keys of their senders.

EXIT STATUS

0 if everything is restored, 1 if nothing is.`,
		Example: "  tollbook import directory.jsonl",
		Args:    arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runImport(ctx context.Context, o dataOptions, path string, stdout io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	d, err := crawl.ReadDirectory(path, f)
	if err != nil {
		return fmt.Errorf("nothing was imported:\n%w", err)
	}
	err = withDatabase(ctx, o, func(db *run.Database) error {
		if err := db.RefuseSample(ctx); err != nil {
			return err
		}
		return db.Restore(ctx, d, run.Now())
	})
	if errors.Is(err, postgres.ErrNotEmpty) {
		return errors.New(
			"nothing was imported: this directory is not empty; use another --data folder or DATABASE_URL")
	}
	if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "Imported %s. Next: tollbook crawl visits the services\n", countDirectory(d))
	return err
}
