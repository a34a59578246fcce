package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/list"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// editOptions are the flags of services add and edit.
type editOptions struct {
	dataOptions
	actorOptions
	applyMode
	NewCategories bool
	entry         entryFields
}

// entryFields is an entry of a JSON list.
type entryFields struct {
	Slug        string   `json:"slug,omitempty"`
	Name        string   `json:"service_name"`
	Description string   `json:"description"`
	URL         string   `json:"url"`
	WebsiteURL  string   `json:"website_url"`
	Category    string   `json:"category"`
	Endpoints   []string `json:"endpoints"`
	Source      string   `json:"source,omitempty"`
}

// AddFlags adds the flags of services add and edit.
func (o *editOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	e := &o.entry
	f.StringVar(&e.Name, "name", "", "`name` of the service")
	f.StringVar(&e.Description, "description", "", "what it does, in a `sentence`")
	f.StringVar(&e.URL, "url", "", "base `URL` of the service")
	f.StringVar(&e.WebsiteURL, "website", "", "`URL` of its website")
	f.StringVar(&e.Category, "category", "", "`category`, such as AI, Data or Finance")
	f.StringArrayVar(&e.Endpoints, "endpoint", nil,
		"`path` of an endpoint, such as /quote or \"POST /search\"; repeat it for each")
	f.BoolVar(&o.NewCategories, "new-categories", false, "accept a category that no service has yet")
	f.BoolVar(&o.DryRun, "dry-run", false, "print what would change, and change nothing")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask before prices of an endpoint are erased")
	f.BoolVar(&o.JSON, "json", false, "print the plan as JSON")
}

func newAddCommand() *cobra.Command {
	var o editOptions
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Add one service",
		Long: `Add lists one service, as an entry of a file does. For more than a few services keep a file and use
"tollbook services apply".

EXIT STATUS

0 if the service is listed, 1 if it is not, or was listed before.`,
		Example: "  tollbook services add --name \"Acme Quotes\" --url https://api.acme.example --category \\\n" +
			"    Finance --description \"Share prices.\" --endpoint /quote --endpoint \"POST /search\"",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), streamsOf(cmd), func(postgres.Listed) (entryFields, error) {
				e := o.entry
				e.Source = "imported:operator" // no file may retire it
				return e, nil
			}, func(p *list.Plan) error {
				if len(p.Notes) > 0 && (p.Notes[0].OptOut != nil || p.Notes[0].Removed != nil) {
					return errors.New(strings.TrimSpace(p.Notes[0].Slug + " " + p.Notes[0].Text))
				}
				if len(p.Add) == 0 {
					return errors.New("the service is listed already; tollbook services list shows its slug, and " +
						"tollbook services edit changes it")
				}
				return nil
			})
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.entry.Slug, "slug", "", "`slug` of the service, for good; by default made of its name")
	return cmd
}

func newEditCommand() *cobra.Command {
	var o editOptions
	cmd := &cobra.Command{
		Use:   "edit SLUG",
		Short: "Change the fields of one service",
		Long: `Edit changes the fields that are given as flags, and prints each with its old and new value. The service
keeps its slug and its history. --endpoint replaces the endpoints that people declared; endpoints that the service's
own documents declare stay. If the service came from a file, edit says so: write the change there, too, or the next
"services apply" of that file undoes it. A service that has asked for payment stays on its domain: list an address on
another domain as a service of its own.

EXIT STATUS

0 if the service has these values, 1 if nothing was changed.`,
		Example: "  tollbook services edit acme-quotes --name \"Acme Quotes\"",
		Args:    arguments("SLUG"),
		PreRunE: func(*cobra.Command, []string) error { return o.Validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streamsOf(cmd), func(has postgres.Listed) (entryFields, error) {
				for i := range has.Services {
					if has.Services[i].Slug == args[0] {
						return o.merge(&has.Services[i], cmd.Flags()), nil
					}
				}
				return entryFields{}, errNoService(args[0])
			}, nil)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// merge returns the entry of a service with the flags that were given.
func (o *editOptions) merge(s *postgres.DueService, flags *pflag.FlagSet) entryFields {
	e := entryFields{Slug: s.Slug, Name: s.Name, Description: s.Description, URL: s.BaseURL, Category: s.Category}
	if s.WebsiteURL != nil {
		e.WebsiteURL = *s.WebsiteURL
	}
	for _, k := range s.Endpoints {
		if !list.IsDeclared(k) {
			continue
		}
		d := listing.DeclaredPath{Path: k.Path}
		if k.MethodDeclared {
			d.Method = k.Method
		}
		e.Endpoints = append(e.Endpoints, d.String())
	}
	for name, field := range map[string]*string{
		"name": &e.Name, "description": &e.Description, "url": &e.URL, "website": &e.WebsiteURL,
		"category": &e.Category,
	} {
		if flags.Changed(name) {
			*field = flags.Lookup(name).Value.String()
		}
	}
	if flags.Changed("endpoint") {
		e.Endpoints = o.entry.Endpoints
	}
	return e
}

// run applies the entry that make returns for a directory. check may refuse the plan.
func (o *editOptions) run(ctx context.Context, s streams, make func(postgres.Listed) (entryFields, error),
	check func(*list.Plan) error) error {
	return withDirectory(ctx, o.dataOptions, func(db *run.Database) error {
		has, err := db.Listed(ctx)
		if err != nil {
			return err
		}
		entry, err := make(has)
		if err != nil {
			return err
		}
		data, err := json.Marshal([]entryFields{entry})
		if err != nil {
			return err
		}
		l := &listServices{Name: "command line", Data: data, NewCategories: o.NewCategories, Actor: o.As, One: true}
		plan, err := l.plan(has)
		if err == nil && check != nil {
			err = check(plan)
		}
		if err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		return l.Run(ctx, db, o.applyMode, s)
	})
}
