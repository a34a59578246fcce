package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/list"
	"tollbook/site/postgres"
)

// stateCommand is a command that gives a service a state.
type stateCommand struct {
	name, short, long string
	aliases           []string
	to                string
	said              string // of the service, in reports
}

// stateCommands are the commands that change the state of a service.
var stateCommands = []stateCommand{
	{
		name: "pause", to: postgres.StatePaused, said: "is paused; it is not visited, and pages say so",
		short: "Stop the visits to a service, and keep it listed",
		long: "" +
			`Pause stops all requests to a service. It stays listed with its last facts, and the next build says since
when it is paused. After three check intervals its status is unknown. "tollbook services resume" ends the pause.`,
	},
	{
		name: "hide", to: postgres.StateHidden, said: "is hidden; the next build does not contain it",
		short: "Take a service out of publication, and keep what is stored",
		long: "" +
			`Hide stops all requests to a service and takes it out of the next build: its pages and API answers are 404.
Everything stays in the database. Rows that the logs published before stay in their packs; only "tollbook services
remove" empties them. "tollbook services resume" publishes it again.`,
	},
	{
		name: "retire", to: postgres.StateRetired, said: "is retired; the next build marks it as delisted",
		short: "Mark a service as delisted, and keep its history",
		long: "" +
			`Retire is for a service that has ended. It is not visited any more. Its page, its history and its slug
stay, and the next build marks it as delisted. "tollbook services resume" lists it again. If a file lists the
service, take it out of the file too.`,
	},
	{
		name: "resume", to: postgres.StateListed, aliases: []string{"unhide"}, said: "is listed, and due for a visit",
		short: "List and visit a service again after pause, hide or retire",
		long: "" +
			`Resume lists a service again that was paused, hidden or retired. It is due for a visit at once. The service
keeps its slug and its history.`,
	},
}

func (c stateCommand) newCommand() *cobra.Command {
	var o struct {
		dataOptions
		actorOptions
		JSON bool
	}
	cmd := &cobra.Command{
		Use:     c.name + " SLUG",
		Aliases: c.aliases,
		Short:   c.short,
		Long: c.long + `

EXIT STATUS

0 if the service has that state now, 1 if not.`,
		Example: "  tollbook services " + c.name + " acme-quotes",
		Args:    arguments("SLUG"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withDirectory(ctx, o.dataOptions, func(db *run.Database) error {
				changed, err := c.run(ctx, db, args[0], o.As)
				if err != nil {
					return err
				}
				return c.print(cmd.OutOrStdout(), args[0], changed, o.JSON)
			})
		},
	}
	o.dataOptions.AddFlags(cmd.Flags())
	o.actorOptions.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the result as JSON")
	return cmd
}

// run gives a service the state, and reports whether it had another one.
func (c stateCommand) run(ctx context.Context, db *run.Database, slug, actor string) (changed bool, err error) {
	err = db.ChangeListings(ctx, actor, run.Now(), func(has postgres.Listed) (all postgres.ListingChanges, err error) {
		for i := range has.Services {
			if has.Services[i].Slug != slug {
				continue
			}
			change, changes, err := list.ChangeState(&has.Services[i], c.to, c.name)
			if changed = changes; changes {
				all.Change = append(all.Change, change)
			}
			return all, err
		}
		return all, errNoService(slug)
	})
	return changed && err == nil, err
}

func (c stateCommand) print(w io.Writer, slug string, changed, asJSON bool) error {
	if asJSON {
		return report.JSON(w, map[string]any{"slug": slug, "listing_state": c.to, "changed": changed})
	}
	text := c.said
	if !changed {
		text = "is " + c.to + " already; nothing was changed"
	}
	_, err := fmt.Fprintf(w, "%s %s\n", slug, text)
	return err
}
