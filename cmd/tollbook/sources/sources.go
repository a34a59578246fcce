// Package sources contains the commands on public sources of services. It must never contain a rule: package pull
// decides what is believed.
package sources

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/cli"
	"tollbook/cmd/tollbook/database"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/sourcelist"
	"tollbook/crawl/pull"
	"tollbook/site/nearest"
	"tollbook/site/postgres/sources"
)

// NewCommand returns the command sources with its subcommands. pullCommand is its subcommand pull, which needs settings
// of visits.
func NewCommand(c *settings.Configuration, pullCommand *cobra.Command) *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:   "sources",
		Short: "Follow public directories and catalogues of paid services",
		Long: `Sources are public directories and catalogues of paid services. Up and work read each enabled one every
six hours, list the services that it names, and store which source lists what. Each build publishes that as listed_by
of a service, as change records, and on the page /sources.

The sources that come with Tollbook are off until "tollbook sources enable NAME". Others are [[source]] tables of the
configuration file.` + cli.GroupStatus,
	}, newListCommand(c), newDecideCommand(c, true), newDecideCommand(c, false), newAcceptCommand(c), pullCommand)
}

// storeSources stores the configured sources in the database, and returns them.
func storeSources(ctx context.Context, db *database.DB, c *settings.Configuration) ([]pull.Source, error) {
	list, err := sourcelist.Read(c.Sources)
	if err != nil {
		return nil, err
	}
	of := make([]sources.Source, len(list))
	for i, s := range list {
		of[i] = s.Source
	}
	return list, db.Sources.Configure(ctx, of)
}

// ErrNoSource returns the error for a name that is not configured.
func ErrNoSource(name string, list []pull.Source) error {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return fmt.Errorf("no source %.60q is configured%s; tollbook sources list shows all, and a [[source]] in "+
		"tollbook.toml adds one", name, nearest.Hint(name, names))
}
