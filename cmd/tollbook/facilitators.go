package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl"
	"tollbook/site/postgres/ledger"
)

// newFacilitators returns the command facilitators with its subcommands.
func newFacilitators() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "facilitators",
		Short: "Add and list facilitators, which settle payments on chain",
		Long: `Facilitators changes and shows who settles payments, and which accounts on chain identify their
settlements.` +
			groupStatus,
	}, newFacilitatorsImport(), newFacilitatorsList(), newFacilitatorsTrust(),
		newFacilitatorsCandidates(), newFacilitatorsAccept())
}

func newFacilitatorsImport() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Add facilitators from a JSON file, or from Tollbook's own list",
		Long: `Import adds every facilitator of a list, or none: an error in one entry refuses the whole list. Without
FILE it uses the list that comes with Tollbook, which was collected from public repositories. A list is an object:

    {"facilitators": [{
      "id": "acme", "name": "Acme Pay", "website_url": "https://acme.example",
      "facilitator_url": "https://x402.acme.example", "docs_url": null, "upstream_status": "merged",
      "addresses": [{
        "network": "eip155:8453", "address": "0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07",
        "tokens": ["0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"], "since": "2025-10-29"
      }]
    }]}

If website_url is missing, the origin of facilitator_url is used. facilitator_url is the base URL of its API: up,
work and crawl ask there what it settles (GET /supported), once in --schedule-facilitators. Addresses and tokens
must be valid on their network. An account that two facilitators claim is an error that names both. A facilitator
that is stored already gets the names and accounts of the list. One that is not in the list is not changed, and
settlements stay with their facilitator. So do accounts that you accepted.

Volumes count for facilitators whose upstream_status begins with "merged", and for those that you trust.

EXIT STATUS

0 if the whole list is stored, 1 if none of it is.`,
		Example: "  tollbook facilitators import\n  tollbook facilitators import own.json",
		Args:    optionalArgument("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFacilitatorsImport(cmd.Context(), o, args, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// readFacilitators reads the list that the arguments name, else the one that comes with the program.
func readFacilitators(args []string) ([]ledger.Facilitator, error) {
	if len(args) == 0 {
		return crawl.ShippedFacilitators()
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return crawl.ReadFacilitators(args[0], f)
}

func runFacilitatorsImport(ctx context.Context, o dataOptions, args []string, asJSON bool, stdout io.Writer) error {
	list, err := readFacilitators(args)
	if err != nil {
		return fmt.Errorf("nothing was imported:\n%w", err)
	}
	var r ledger.ImportReport
	err = withDatabase(ctx, o, func(db *run.Database) (err error) {
		r, err = db.ImportFacilitators(ctx, list)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	return report.FacilitatorImport(stdout, r, asJSON)
}

func newFacilitatorsList() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List facilitators with the number of their accounts",
		Long: `List prints the facilitators as a table, or as JSON with each account, its tokens and its first day.

EXIT STATUS

0 if they are printed, 1 if the database could not be read.`,
		Example: "  tollbook facilitators list --json > own.json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFacilitatorsList(cmd.Context(), o, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func runFacilitatorsList(ctx context.Context, o dataOptions, asJSON bool, stdout io.Writer) error {
	var list []ledger.Facilitator
	err := withDatabase(ctx, o, func(db *run.Database) (err error) {
		list, err = db.Facilitators(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return report.Facilitators(stdout, list, asJSON)
}

func newFacilitatorsTrust() *cobra.Command {
	var o dataOptions
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "trust ID",
		Short: "Count the volume of a facilitator whose accounts you have checked",
		Long: `Trust stores that you, the operator, vouch for the accounts of a facilitator. Without that, a
facilitator whose accounts were only proposed upstream is listed without a volume; otherwise anyone could claim the
settlements of others. The next build counts its volume. --withdraw reverses the decision.

EXIT STATUS

0 if the decision is stored, 1 if there is no such facilitator or the database could not be written.`,
		Example: "  tollbook facilitators trust acme\n  tollbook facilitators trust acme --withdraw",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFacilitatorsTrust(cmd.Context(), o, args[0], !withdraw, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "no longer trust the facilitator")
	return cmd
}

func runFacilitatorsTrust(ctx context.Context, o dataOptions, id string, trusted bool, stdout io.Writer) error {
	err := withDatabase(ctx, o, func(db *run.Database) error { return db.TrustFacilitator(ctx, id, trusted) })
	if err != nil {
		return err
	}
	effect := "counts"
	if !trusted {
		effect = "counts only if its list says merged"
	}
	_, err = fmt.Fprintf(stdout, "%s: from the next build on its volume %s\n", id, effect)
	return err
}
