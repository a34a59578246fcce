package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// verifyOwnerOptions are the flags of services verify.
type verifyOwnerOptions struct {
	dataOptions
	actorOptions
	All          bool
	AllowPrivate []string
	Contact      string
	JSON         bool
}

// AddFlags adds the flags of services verify.
func (o *verifyOwnerOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.actorOptions.AddFlags(f)
	f.BoolVar(&o.All, "all", false, "look again at every service that was ever given a token")
	f.StringSliceVar(&o.AllowPrivate, "allow-private", nil, "`HOST[:PORT]` that may be visited although it is private; for tests")
	f.StringVar(&o.Contact, "contact", "https://tollbook.example/bot", "`address` that the user agent names for questions")
	f.BoolVar(&o.JSON, "json", false, "print the result as JSON")
}

func newServicesVerifyCommand() *cobra.Command {
	var o verifyOwnerOptions
	cmd := &cobra.Command{
		Use:   "verify SLUG",
		Short: "See whether the owner of a service shows its token",
		Long: `Verify prints the token of a service and where its owner is to place it, a line of /.well-known/tollbook on the service's
own host, then looks whether it is there. If so the service is published as verified for 30 days from now. The token stays
the same however often it is asked for.

With --all, made for a daily cron, it looks again at every service that was ever given a token.

EXIT STATUS

0 when the token is there, 1 when it is not. With --all 0 when every service was looked at, whatever was found.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.All {
				return arguments()(cmd, args)
			}
			return arguments("SLUG")(cmd, args)
		},
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServicesVerify(cmd.Context(), o, args, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// ownership is what a look for a token found.
type ownership struct {
	Slug     string `json:"slug"`
	Address  string `json:"address"`
	Token    string `json:"token"`
	Verified bool   `json:"verified"`
	Fault    string `json:"fault,omitempty"`
}

func runServicesVerify(ctx context.Context, o verifyOwnerOptions, slugs []string, stdout io.Writer) error {
	guard := &probe.Guard{AllowPrivate: o.AllowPrivate}
	if err := guard.Validate(); err != nil {
		return usagef("%w", err)
	}
	logger := newLogger(slog.LevelInfo)
	db, err := openDatabase(ctx, o.dataOptions, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	if o.All {
		if slugs, err = db.ClaimedServices(ctx); err != nil {
			return err
		}
	}
	fetcher := facts.New(facts.Options{Guard: guard, UserAgent: userAgent(o.Contact)})
	defer fetcher.Close()
	var last error
	for _, slug := range slugs {
		token, base, err := db.OwnershipToken(ctx, slug)
		if errors.Is(err, postgres.ErrNotFound) {
			return fmt.Errorf("no service %q is listed; tollbook services list shows all", slug)
		}
		if err != nil {
			return err
		}
		address, err := facts.OwnershipURL(base)
		if err != nil {
			return err
		}
		if !o.All && !o.JSON {
			fmt.Fprintf(stdout, "The owner of %s places this line at %s:\n\n    %s\n\n", slug, address, token)
		}
		found := ownership{Slug: slug, Address: address, Token: token}
		if last = fetcher.CheckToken(ctx, base, token); last != nil {
			if ctx.Err() != nil {
				return last
			}
			found.Fault = last.Error()
		} else if err := db.Verify(ctx, slug, o.As, time.Now()); err != nil {
			return err
		} else {
			found.Verified = true
		}
		if err := found.print(stdout, o.JSON); err != nil {
			return err
		}
	}
	if o.All {
		return nil
	}
	if last != nil {
		return fmt.Errorf("%s is not verified: %w", slugs[0], last)
	}
	return nil
}

// print writes a line, of a failure only as JSON or among others.
func (f ownership) print(w io.Writer, asJSON bool) (err error) {
	switch {
	case asJSON:
		err = printJSON(w, f)
	case f.Verified:
		_, err = fmt.Fprintf(w, "%s is verified, for 30 days from now\n", f.Slug)
	default:
		_, err = fmt.Fprintf(w, "%s is not verified now\n", f.Slug)
	}
	return err
}
