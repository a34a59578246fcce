package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/list"
)

// applyMode say how a list is applied.
type applyMode struct {
	DryRun bool
	JSON   bool
	Yes    bool
}

// applyOptions are the flags of services apply.
type applyOptions struct {
	dataOptions
	actorOptions
	applyMode
	Prune         bool
	NewCategories bool
}

// AddFlags adds the flags of services apply.
func (o *applyOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.Prune, "prune", false,
		"retire services of an earlier file that this file lacks, and remove endpoints that it lacks")
	f.BoolVar(&o.NewCategories, "new-categories", false, "accept categories that no service has yet")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan, and change nothing")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask before something is removed")
	f.BoolVar(&o.JSON, "json", false, "print the plan as JSON")
}

func newApplyCommand() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Make the directory list the services of a file",
		Long: `Apply compares a file with the directory, prints a plan, and carries it out: services to add, services to
change, field by field, and with --prune services to retire. Keep the file, change it, and apply it again; the same
file again changes nothing. A fault in one entry refuses the whole file. All faults are printed at once, each with its
line and column.

    [[service]]
    service_name = "Acme Quotes"
    description  = "Share prices, one request at a time."
    url          = "https://api.acme.example"
    website_url  = "https://acme.example"
    category     = "Finance"
    endpoints    = ["/quote", "POST /search"]

The fields website_url, slug and source are optional. A file whose name does not end in .toml is a JSON list of
objects with the same fields. FILE - is stdin, in TOML.

An entry means the listed service that has its slug, if it names one; else the service at its url; else the service
that came from a file and has its service_name. So a name or a URL may change, and the service keeps its history and
its slug. To change both at once, name the slug.

Services that were submitted or came from a catalogue are never retired by --prune. A service that "services remove"
erased stays removed: the plan has a line that says so, and the other entries are applied. Before something is
removed, apply asks; without a terminal it needs --yes.

EXIT STATUS

0 if the directory lists what the file says, or with --dry-run would; 1 if nothing was changed.`,
		Example: "  tollbook services apply services.toml\n  tollbook services apply --prune --dry-run services.toml",
		Args:    arguments("FILE"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			l := &listServices{Name: args[0], Prune: o.Prune, NewCategories: o.NewCategories, Actor: o.As}
			return l.RunFile(cmd.Context(), o.dataOptions, o.applyMode, streamsOf(cmd))
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// streams are where a command asks and prints.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
}

func streamsOf(cmd *cobra.Command) streams {
	return streams{cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()}
}

// RunFile reads the file of the list's name, "-" for stdin, and runs the list.
func (l *listServices) RunFile(ctx context.Context, data dataOptions, o applyMode, s streams) (err error) {
	if l.Name == "-" {
		l.Name = "stdin.toml"
		l.Data, err = io.ReadAll(io.LimitReader(s.In, list.MaxBytes+1))
	} else {
		l.Data, err = settings.ReadFile(l.Name, list.MaxBytes)
	}
	if err != nil {
		return fail(err)
	}
	return withDirectory(ctx, data, func(db *run.Database) error { return l.Run(ctx, db, o, s) })
}

// withDirectory opens the database of a real directory for the time of do.
func withDirectory(ctx context.Context, o dataOptions, do func(*run.Database) error) error {
	return withDatabase(ctx, o, func(db *run.Database) error {
		if err := db.RefuseSample(ctx); err != nil {
			return fail(err)
		}
		return do(db)
	})
}
