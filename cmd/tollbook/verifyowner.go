package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// verifyOwnerOptions are the flags of services verify.
type verifyOwnerOptions struct {
	dataOptions
	actorOptions
	visitOptions
	All  bool
	JSON bool
}

// AddFlags adds the flags of services verify.
func (o *verifyOwnerOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	o.visitOptions.AddFlags(f)
	f.BoolVar(&o.All, "all", false, "check every service that has a token")
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

func newServicesVerifyCommand() *cobra.Command {
	var o verifyOwnerOptions
	cmd := &cobra.Command{
		Use:   "verify SLUG",
		Short: "Check whether a service shows its owner's token",
		Long: `Verify prints the token of a service, and the URL where its owner must publish it: a line of
/.well-known/tollbook on the service's own host. Then it requests that URL. If it finds the token, the service is
published as verified for 7 days. If the site answers without the token, the service is not verified any more. A service
always has the same token.

With --all it checks every service that has a token; run that once a day. As a crawl, it then needs --crawl-contact.

EXIT STATUS

0 if the token is found, 1 if not. With --all 0 if every service was checked, whatever the results.`,
		Example: "  tollbook services verify acme-quotes\n  tollbook services verify --all",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.All {
				return arguments()(cmd, args)
			}
			return arguments("SLUG")(cmd, args)
		},
		PreRunE: func(*cobra.Command, []string) error { return cmp.Or(o.Validate(), o.contactOptions.validate()) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServicesVerify(cmd.Context(), o, args, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServicesVerify(ctx context.Context, o verifyOwnerOptions, slugs []string, stdout io.Writer) error {
	guard, err := o.guard()
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, o.dataOptions, newLogger(ctx, slog.LevelInfo))
	if err != nil {
		return err
	}
	defer db.Close()
	if o.All {
		if err := o.checkContact(ctx, db, guard); err != nil {
			return err
		}
		if slugs, err = db.ClaimedServices(ctx); err != nil {
			return err
		}
	}
	fetcher := facts.New(facts.Options{Guard: guard, UserAgent: o.userAgent()})
	defer fetcher.Close()
	for _, slug := range slugs {
		r, err := o.verify(ctx, db, fetcher, slug, stdout)
		if err != nil {
			return err
		}
		if err := r.Print(stdout, o.JSON); err != nil {
			return err
		}
		if !o.All && !r.Verified {
			return fmt.Errorf("%s is not verified: %s", slug, r.Fault)
		}
	}
	return nil
}

// verify checks one service and stores that it shows its token, or that it does not.
func (o *verifyOwnerOptions) verify(
	ctx context.Context, db *run.Database, fetcher *facts.Fetcher, slug string, stdout io.Writer,
) (report.Ownership, error) {
	r := report.Ownership{Slug: slug}
	token, base, err := db.OwnershipToken(ctx, slug)
	if errors.Is(err, postgres.ErrNotFound) {
		return r, errNoService(slug)
	}
	if err != nil {
		return r, err
	}
	r.Token = token
	if r.Address, err = facts.OwnershipURL(base); err != nil {
		return r, err
	}
	if !o.All && !o.JSON {
		fmt.Fprintf(stdout, "The owner of %s publishes this line at %s:\n\n    %s\n\n", slug, r.Address, token)
	}
	if err := fetcher.CheckToken(ctx, base, token); err != nil {
		if ctx.Err() != nil {
			return r, err
		}
		r.Fault = err.Error()
		if errors.Is(err, facts.ErrNotShown) {
			return r, db.MissToken(ctx, slug, o.As, run.Now())
		}
		return r, nil
	}
	r.Verified = true
	return r, db.Verify(ctx, slug, o.As, run.Now())
}
