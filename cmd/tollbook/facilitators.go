package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tollbook/crawl"
	"tollbook/site/postgres/ledger"
)

func newFacilitatorsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "facilitators",
		Short: "Import and list who settles payments",
		Long: `Facilitators changes and shows who settles payments, and by which accounts their settlements are told on chain.

EXIT STATUS

That of the command that is given: 0 done, 1 failed, 2 for a command line that cannot be understood.`,
	}, newFacilitatorsImportCommand(), newFacilitatorsListCommand(), newFacilitatorsTrustCommand())
}

func newFacilitatorsImportCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take the facilitators of a JSON file, or of the list that comes with Tollbook",
		Long: `Import takes every facilitator of a list, or none: a wrong entry refuses the whole list and is named. Without FILE it
takes the list that comes with Tollbook, which was collected from public repositories. A list is an object:

    {"facilitators": [{
      "id": "acme", "name": "Acme Pay", "website_url": "https://acme.example",
      "facilitator_url": "https://x402.acme.example", "docs_url": null, "upstream_status": "merged",
      "addresses": [{
        "network": "eip155:8453", "address": "0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07",
        "tokens": ["0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"], "since": "2025-10-29"
      }]
    }]}

A facilitator without a website takes the origin of its facilitator_url. Addresses and tokens are checked by the rules
of their networks; an account that two facilitators claim is refused with both names. A facilitator that is known takes
the list's words and accounts; one that the list does not name stays as it is, and settlements keep whose they were.

Volumes count for facilitators whose upstream_status begins with "merged", and for those that the operator trusts.

EXIT STATUS

0 when the whole list is taken, 1 when none of it is.`,
		Args: optional("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFacilitatorsImport(cmd.Context(), o, args, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// readFacilitators reads the list that the arguments name, else the shipped one.
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
	var report ledger.ImportReport
	err = withDatabase(ctx, o, func(db *database) (err error) {
		report, err = db.ImportFacilitators(ctx, list)
		return err
	})
	if err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	if asJSON {
		return printJSON(stdout, map[string]any{
			"added": orEmpty(report.Added), "changed": orEmpty(report.Changed), "left": orEmpty(report.Left),
			"accounts_added": report.SettlersAdded, "accounts_removed": report.SettlersRemoved, "others": report.Others,
		})
	}
	for _, part := range []struct {
		word string
		ids  []string
	}{{"added", report.Added}, {"changed", report.Changed}, {"left as they were", report.Left}} {
		fmt.Fprintf(stdout, "%d %s", len(part.ids), part.word)
		if len(part.ids) > 0 && part.word != "left as they were" {
			fmt.Fprintf(stdout, ": %s", strings.Join(part.ids, " "))
		}
		fmt.Fprintln(stdout)
	}
	_, err = fmt.Fprintf(stdout, "%d accounts added, %d removed; %d facilitators are not in this list and stay\n",
		report.SettlersAdded, report.SettlersRemoved, report.Others)
	return err
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

func newFacilitatorsListCommand() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the facilitators",
		Long: `List prints the facilitators with the number of their accounts, or as JSON with each account, its tokens and its start.

EXIT STATUS

0 when they are printed, 1 when the database could not be asked.`,
		Args: arguments(),
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
	err := withDatabase(ctx, o, func(db *database) (err error) {
		list, err = db.Facilitators(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return printFacilitators(stdout, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(stdout, "No facilitators are known: tollbook facilitators import")
		return err
	}
	t := newTable(stdout, "ID", "STATUS", "TRUSTED", "ACCOUNTS", "NAME", "WEBSITE")
	for _, f := range list {
		trusted := "no"
		if f.Trusted {
			trusted = "yes"
		}
		t.row(f.ID, f.UpstreamStatus, trusted, len(f.Settlers), f.Name, f.WebsiteURL)
	}
	return t.flush()
}

// printFacilitators writes the list with the names of an import's file.
func printFacilitators(w io.Writer, list []ledger.Facilitator) error {
	type account struct {
		Network    string   `json:"network"`
		Address    string   `json:"address"`
		Tokens     []string `json:"tokens"`
		Since      *string  `json:"since"`
		Deprecated bool     `json:"deprecated"`
	}
	type line struct {
		ID             string    `json:"id"`
		Name           string    `json:"name"`
		WebsiteURL     string    `json:"website_url"`
		DocsURL        *string   `json:"docs_url"`
		FacilitatorURL *string   `json:"facilitator_url"`
		UpstreamStatus string    `json:"upstream_status"`
		Trusted        bool      `json:"trusted"`
		Addresses      []account `json:"addresses"`
	}
	lines := make([]line, len(list))
	for i, f := range list {
		lines[i] = line{f.ID, f.Name, f.WebsiteURL, f.DocsURL, f.FacilitatorURL, f.UpstreamStatus, f.Trusted, make([]account, len(f.Settlers))}
		for j, s := range f.Settlers {
			lines[i].Addresses[j] = account{s.Network, s.Address, s.Tokens, nil, s.Deprecated}
			if s.Since != nil {
				lines[i].Addresses[j].Since = new(s.Since.Format(time.DateOnly))
			}
		}
	}
	return printLines(w, lines)
}

func newFacilitatorsTrustCommand() *cobra.Command {
	var o dataOptions
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "trust ID",
		Short: "Vouch for a facilitator's accounts, so that its volume counts",
		Long: `Trust keeps the operator's word that the accounts listed for a facilitator are its own. A facilitator whose accounts are
only claimed, in a proposal that nobody has accepted, is listed without a volume until then: else anyone could rank by
the settlements of others. The next build counts; --withdraw takes the word back.

EXIT STATUS

0 when the word is kept, 1 when there is no such facilitator or the database could not be asked.`,
		Args: arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFacilitatorsTrust(cmd.Context(), o, args[0], !withdraw, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "take the word back")
	return cmd
}

func runFacilitatorsTrust(ctx context.Context, o dataOptions, id string, trusted bool, stdout io.Writer) error {
	err := withDatabase(ctx, o, func(db *database) error { return db.TrustFacilitator(ctx, id, trusted) })
	if err != nil {
		return err
	}
	word := "counts"
	if !trusted {
		word = "counts only if its list says merged"
	}
	_, err = fmt.Fprintf(stdout, "%s: its volume %s from the next build on\n", id, word)
	return err
}
