package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	f.BoolVar(&o.Contacts, "with-contacts", false, "also what owners wrote for you alone: e-mail addresses and notes")
}

func newExportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all that is needed to make this directory again elsewhere",
		Long: `Export writes one file of JSON lines with what people decided: facilitators with their accounts, tokens that are measured,
services with their slugs, endpoints and ownership tokens, submissions with what was decided about them, by whom and when,
and the slugs that were erased. "tollbook import" makes an empty directory of it. Without FILE it goes to stdout; a file is
written whole or not at all, and only its owner may read it.

E-mail addresses and notes of submissions are left out unless --with-contacts asks for them. Who sent a submission, as it is
counted, is never in it. What was measured is not in it either, for a crawl finds it anew: to keep history, too, back the
database up, as /operations describes.

The first line names the kind of file and its version, the last one counts the lines before it. The same directory gives the
same bytes.

EXIT STATUS

0 when all of it is written, 1 when not.`,
		Args: optional("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExport(cmd.Context(), o, args, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// optional takes one argument at most.
func optional(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return arguments(name)(cmd, args)
	}
}

func runExport(ctx context.Context, o exportOptions, args []string, stdout io.Writer) error {
	var d postgres.Directory
	err := withDatabase(ctx, o.dataOptions, func(db *database) (err error) {
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
	if err := writeWhole(args[0], b.Bytes()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%d services, %d facilitators, %d submissions, %d erased slugs in %s\n", len(d.Services), len(d.Facilitators), len(d.Submissions), len(d.Erased), args[0])
	return err
}

// writeWhole replaces a file by one that only its owner may read; killed at any moment it leaves the old one or the new
// one.
func writeWhole(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
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

func newImportCommand() *cobra.Command {
	var o dataOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make an empty directory what an export says",
		Long: `Import makes the directory of a file that "tollbook export" wrote, all of it or nothing: a wrong line refuses the file and is
named. The directory must be empty; services alone are added to another one by "tollbook services import".

Its services are due at once, and their endpoints count as seen for the first time now. Slugs that were erased stay taken.
Submissions keep their ids and what was decided; their senders' Idempotency-Keys count no more.

EXIT STATUS

0 when all of it is there, 1 when none is.`,
		Args: arguments("FILE"),
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
	err = withDatabase(ctx, o, func(db *database) error {
		if err := db.refuseSample(ctx); err != nil {
			return err
		}
		return db.Restore(ctx, d, time.Now())
	})
	if errors.Is(err, postgres.ErrNotEmpty) {
		return errors.New("nothing was imported: this directory is not empty; give another --data folder or DATABASE_URL")
	}
	if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%d services, %d facilitators, %d submissions, %d erased slugs; tollbook crawl visits them\n", len(d.Services), len(d.Facilitators), len(d.Submissions), len(d.Erased))
	return err
}
