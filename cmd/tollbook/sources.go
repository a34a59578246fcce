// This part of the package contains the commands on public sources of services. It must never contain a rule: package
// pull decides what is believed.

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/pull"
	"tollbook/site/display"
	"tollbook/site/postgres/sources"
)

// newSourcesCommand returns the command sources with its subcommands. pullCommand is its subcommand pull, which needs
// settings of visits.
func newSourcesCommand(c *settings.Configuration, pullCommand *cobra.Command) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "sources",
		Short: "Follow public directories and catalogues of paid services",
		Long: `Sources are public directories and catalogues of paid services. Up and work read each enabled one every
six hours, list the services that it names, and store which source lists what. Each build publishes that as listed_by
of a service, as change records, and on the page /sources.

The sources that come with Tollbook are off until "tollbook sources enable NAME". Others are [[source]] tables of the
configuration file.` + groupStatus,
	}, newListCommand(c), newDecideCommand(c, true), newDecideCommand(c, false), newAcceptCommand(c), pullCommand)
}

// storeSources stores the configured sources in the database, and returns them.
func storeSources(ctx context.Context, db *run.Database, c *settings.Configuration) ([]pull.Source, error) {
	list, err := settings.ReadSources(c.Sources)
	if err != nil {
		return nil, err
	}
	of := make([]sources.Source, len(list))
	for i, s := range list {
		of[i] = s.Source
	}
	return list, db.Sources.Configure(ctx, of)
}

// errNoSource returns the error for a name that is not configured.
func errNoSource(name string, list []pull.Source) error {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return fmt.Errorf("no source %.60q is configured%s; tollbook sources list shows all, and a [[source]] in "+
		"tollbook.toml adds one", name, display.Hint(name, names))
}
