package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site/display"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	Key     string
	Files   bool
	Figures bool
	JSON    bool
}

// AddFlags adds the flags of verify.
func (o *verifyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Key, "key", "", "`file` of the public key that must have signed the checkpoint")
	f.BoolVar(&o.Files, "files", false,
		"request every single file too, from a place that does not list them, such as tollbook serve")
	f.BoolVar(&o.Figures, "figures", false, "instead of sums, compare published figures with queries over the tables")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

var (
	// errDamaged is returned for a publication that differs from its sums, or from its signature.
	errDamaged = errors.New("the publication is damaged")
	// errNotSigned is returned for an intact publication that has no signature, or that of another key.
	errNotSigned = errors.New("the publication is not signed with the key of --key; nothing in it is damaged")
)

func newVerifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify URL|BUCKET|FOLDER",
		Short: "Check every file of a published directory against its sums",
		Long: `Verify reads a published directory, yours or a copy, and prints a line for each fault: in the pointer
and its signature, the snapshot's zip with every file in it, each pack of the logs, each expanded object. The place
is a URL such as https://tollbook.example (a public bucket, a web server, or tollbook serve), s3://bucket/prefix, or
a folder. The last line says whether the checkpoint is signed, and by which key. With --files it also requests every
file from a running serve, within the server's limit: 200 requests a minute by default.

With --figures it downloads the tables below /data instead, runs the queries that the page /verify shows, and
prints a line for each published figure that differs from what a query says.

` + bucketHelp + `

EXIT STATUS

0 if everything is intact, 1 if something is damaged, differs, could not be read, or is not signed with the key of
--key.`,
		Example: `  tollbook verify https://tollbook.example --key tollbook-key.pem
  tollbook verify --figures https://tollbook.example`,
		Args: arguments("URL"),
		PreRunE: func(*cobra.Command, []string) error {
			if o.Files && o.Figures {
				return terminal.UsageErrorf("--files and --figures exclude each other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// A publication may have any number of faults. So many are printed and listed, each shortened.
const (
	maxFaults = 10_000
	maxFault  = 2000 // characters
)

func runVerify(ctx context.Context, o verifyOptions, place string, stdout io.Writer) error {
	v := output.VerifyOptions{Packs: build.ListPacks, Files: o.Files, Logger: newLogger(ctx, slog.LevelWarn)}
	if o.Key != "" {
		var err error
		if v.Key, err = archive.ReadPublicKey(o.Key); err != nil {
			return err
		}
	}
	store, err := objects.OpenPlace(place, objects.StoreOptions{Getenv: os.Getenv})
	if err != nil {
		return err
	}
	if o.Figures {
		return runFigures(ctx, store, v.Key, o.JSON, stdout)
	}
	faults, more := []report.Fault{}, false
	final := errNotSigned
	v.Report = func(name string, err error) {
		if !errors.Is(err, archive.ErrSignature) || errors.Is(err, archive.ErrDamaged) {
			final = errDamaged
		}
		if len(faults) == maxFaults {
			if !o.JSON && !more {
				fmt.Fprintln(stdout, "… and more")
			}
			more = true
			return
		}
		fault := report.Fault{Name: name, What: display.Line(err.Error(), maxFault)}
		faults = append(faults, fault)
		if !o.JSON {
			fmt.Fprintf(stdout, "%s: %s\n", fault.Name, fault.What)
		}
	}
	result, err := output.VerifyStore(ctx, store, v)
	if err != nil {
		return err
	}
	if err := report.Verified(stdout, result, faults, v.Key != nil, o.JSON); err != nil {
		return err
	}
	if result.Wrong > 0 {
		return final
	}
	return nil
}
