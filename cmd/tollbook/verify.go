package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/build"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	Key   string
	Files bool
	JSON  bool
}

// AddFlags adds the flags of verify.
func (o *verifyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Key, "key", "", "`file` of the public key that the checkpoint must be signed with")
	f.BoolVar(&o.Files, "files", false, "of a place that does not list its single files, as tollbook serve, ask for each of them, too")
	f.BoolVar(&o.JSON, "json", false, "print the report as JSON")
}

// errWrong is a publication that is not what its sums say.
var errWrong = errors.New("the publication is damaged")

func newVerifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify ADDRESS|BUCKET|FOLDER",
		Short: "Read a publication as its readers do, and recompute every sum",
		Long: `Verify reads a published directory, its own or a copy, and prints a line for everything that is wrong: the pointer and its
signature, the snapshot's zip with every file in it, each pack of the logs, each object that is expanded. The place is
https://tollbook.example (a bucket's public address, a web server, or tollbook serve), s3://bucket/prefix, or a folder.
With --files a running serve is asked for every file by itself, too, no faster than it allows: 200 a minute, unless its
operator says otherwise.

` + bucketHelp + `

EXIT STATUS

0 when all is whole, 1 when something is wrong or could not be read.`,
		Args: arguments("ADDRESS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runVerify(ctx context.Context, o verifyOptions, place string, stdout io.Writer) error {
	v := output.VerifyOptions{Packs: build.ListPacks, Files: o.Files}
	if o.Key != "" {
		text, err := os.ReadFile(o.Key)
		if err != nil {
			return fmt.Errorf("read public key: %w", err)
		}
		if v.Key, err = archive.ParsePublicKey(text); err != nil {
			return err
		}
	}
	store, err := openPlace(place)
	if err != nil {
		return err
	}
	type wrong struct {
		Name string `json:"name"`
		What string `json:"what"`
	}
	list := []wrong{}
	v.Report = func(name string, err error) {
		list = append(list, wrong{name, err.Error()})
		if !o.JSON {
			fmt.Fprintf(stdout, "%s: %s\n", name, err)
		}
	}
	found, err := output.VerifyStore(ctx, store, v)
	if err != nil {
		return err
	}
	if o.JSON {
		err = printJSON(stdout, struct {
			output.Verified
			List []wrong `json:"list"`
		}{found, list})
	} else {
		_, err = fmt.Fprintf(stdout, "snapshot %s, digest %s: %d files, %d packs, %d objects, %d wrong\n", found.Snapshot, found.Digest, found.Files, found.Packs, found.Objects, found.Wrong)
	}
	if err == nil && found.Wrong > 0 {
		err = errWrong
	}
	return err
}

// openPlace opens what can be read.
func openPlace(place string) (objects.Store, error) {
	if strings.HasPrefix(place, "http://") || strings.HasPrefix(place, "https://") {
		return objects.OpenWeb(place)
	}
	return objects.OpenStore(place, objects.StoreOptions{Getenv: os.Getenv})
}
