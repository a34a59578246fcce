package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tollbook/build/judge/directory"
	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/chain"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

func newFacilitatorsCandidates() *cobra.Command {
	var o dataOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "candidates",
		Short: "List accounts that facilitators announce as their own and no list names",
		Long: `Candidates prints the accounts on main networks that a facilitator announced in the last 30 days when
it was asked what it settles, and that are in no list. Those with the most payments to recipients of listed services
come first. The evidence is one of:

    announced_and_payments  announced over TLS, and seen paying recipients of listed services
    announced               announced over TLS
    announced_without_tls   announced over plain HTTP, which anybody on the way can change

Accounts that nobody announces, but that pay recipients of listed services, are on the page /coverage.

EXIT STATUS

0 if they are printed, also if there are none; 1 if the database could not be read.`,
		Example: "  tollbook facilitators candidates\n  tollbook facilitators candidates --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFacilitatorsCandidates(cmd.Context(), o, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func runFacilitatorsCandidates(ctx context.Context, o dataOptions, asJSON bool, stdout io.Writer) error {
	var d announced
	err := withDatabase(ctx, o, func(db *run.Database) (err error) {
		d, err = readAnnounced(ctx, db)
		return err
	})
	if err != nil {
		return err
	}
	return report.Candidates(stdout, d.candidates, d.polled, asJSON)
}

// announced is what facilitators announce, and what lists say.
type announced struct {
	polled       int // facilitators that were asked
	candidates   []directory.Candidate
	facilitators []ledger.Facilitator
	tokens       []ledger.Token
}

func readAnnounced(ctx context.Context, db *run.Database) (d announced, err error) {
	if d.facilitators, err = db.Facilitators(ctx); err != nil {
		return d, err
	}
	if err = db.Read(ctx, func(r *postgres.Reader) error {
		d.tokens, err = r.ReadTokens(ctx)
		return err
	}); err != nil {
		return d, err
	}
	now := run.Now()
	facts, err := db.Polled(ctx, now)
	d.polled = len(facts.Facilitators)
	d.candidates = directory.NewObservatory(&facts, d.facilitators, d.tokens, now).Candidates()
	return d, err
}

func newFacilitatorsAccept() *cobra.Command {
	var o dataOptions
	var withdraw, asJSON bool
	cmd := &cobra.Command{
		Use:   "accept ID ADDRESS...",
		Short: "Count the settlements of accounts that a facilitator announces as its own",
		Long: `Accept adds candidates to the accounts of a facilitator, on each network that it announces them for. An
account must be announced by this facilitator over TLS, by no other one, and be in no list: else the settlements of
one would count for another. All addresses are accepted, or none.

The next index reads the past settlements of these accounts too, as for accounts of an import. An import keeps them.
--withdraw removes accepted accounts; settlements that were read stay with the facilitator.

EXIT STATUS

0 if all accounts are accepted or withdrawn; 1 if none is, or the database could not be written.`,
		Example: "  tollbook facilitators accept acme 0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07\n" +
			"  tollbook facilitators accept acme 0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07 --withdraw",
		Args: func(cmd *cobra.Command, args []string) error {
			return arguments("ID", "ADDRESS")(cmd, args[:min(len(args), 2)])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFacilitatorsAccept(cmd.Context(), o, args[0], args[1:], withdraw, asJSON, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "remove accounts that were accepted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func runFacilitatorsAccept(ctx context.Context, o dataOptions, id string, addresses []string,
	withdraw, asJSON bool, stdout io.Writer) error {
	r := report.Acceptance{Facilitator: id, IsWithdrawn: withdraw}
	err := withDatabase(ctx, o, func(db *run.Database) error {
		d, err := readAnnounced(ctx, db)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(d.facilitators, func(f ledger.Facilitator) bool { return f.ID == id })
		if i < 0 {
			return fmt.Errorf("there is no facilitator %s; tollbook facilitators list prints all", id)
		}
		f := d.facilitators[i]
		r.Counts = f.Trusted || site.ConfirmsSettlers(f.UpstreamStatus)
		if withdraw {
			if r.Settlers, err = findAccepted(&f, addresses); err != nil {
				return err
			}
			_, err = db.WithdrawSettlers(ctx, id, normalAddresses(r.Settlers))
			return err
		}
		if r.Settlers, err = d.chooseSettlers(id, addresses); err != nil {
			return err
		}
		f.Settlers = append(f.Settlers, r.Settlers...)
		_, err = db.ImportFacilitators(ctx, []ledger.Facilitator{f})
		return err
	})
	if err != nil {
		verb := "accepted"
		if withdraw {
			verb = "withdrawn"
		}
		return fmt.Errorf("nothing was %s: %w", verb, err)
	}
	return report.Accepted(stdout, r, asJSON)
}

func normalAddresses(list []ledger.Settler) []string {
	var addresses []string
	for _, s := range list {
		addresses = append(addresses, s.Address)
	}
	return addresses
}

// findAccepted returns the accepted accounts of a facilitator with some addresses.
func findAccepted(f *ledger.Facilitator, addresses []string) ([]ledger.Settler, error) {
	var list []ledger.Settler
	for _, text := range addresses {
		n := len(list)
		for _, s := range f.Settlers {
			if s.Accepted && s.Address == x402.NormalizeAddress(s.Network, text) {
				list = append(list, s)
			}
		}
		if len(list) == n {
			return nil, fmt.Errorf("%s: no account of %s that was accepted", text, f.ID)
		}
	}
	return list, nil
}

// chooseSettlers returns the settlers that a facilitator gets with some addresses, or all errors.
func (d *announced) chooseSettlers(id string, addresses []string) ([]ledger.Settler, error) {
	var list []ledger.Settler
	var faults []error
	for _, text := range addresses {
		settlers, err := d.choose(id, text)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", text, err))
		}
		for _, s := range settlers {
			if !slices.ContainsFunc(list, func(o ledger.Settler) bool {
				return o.Network == s.Network && o.Address == s.Address
			}) {
				list = append(list, s)
			}
		}
	}
	return list, errors.Join(faults...)
}

// choose returns the settlers with one address, one for each network.
func (d *announced) choose(id, text string) (list []ledger.Settler, err error) {
	isCandidate := false
	for _, c := range d.candidates {
		if c.Address != x402.NormalizeAddress(c.Network, text) {
			continue
		}
		isCandidate = true
		if err := checkAnnounced(&c, id); err != nil {
			return nil, err
		}
		s := ledger.Settler{Network: c.Network, Address: c.Address, Accepted: true}
		for _, t := range chain.DefaultTokens(c.Network) {
			s.Tokens = append(s.Tokens, t.Address)
		}
		for _, t := range d.tokens {
			if t.Network == c.Network {
				s.Tokens = append(s.Tokens, t.Address)
			}
		}
		for _, p := range c.Payments {
			s.Tokens = append(s.Tokens, p.Token)
		}
		slices.Sort(s.Tokens)
		if s.Tokens = slices.Compact(s.Tokens); len(s.Tokens) > 0 {
			list = append(list, s)
		}
	}
	switch {
	case len(list) > 0:
		return list, nil
	case isCandidate:
		return nil, errors.New("no token is known on its networks; configure one in [[network]]")
	}
	for _, f := range d.facilitators {
		for _, s := range f.Settlers {
			if s.Address == x402.NormalizeAddress(s.Network, text) {
				return nil, fmt.Errorf("it is listed as an account of %s already", f.ID)
			}
		}
	}
	return nil, fmt.Errorf("%s does not announce it; tollbook facilitators candidates prints what may be accepted", id)
}

// checkAnnounced returns an error unless a facilitator, and no other one, announces a candidate over TLS.
func checkAnnounced(c *directory.Candidate, id string) error {
	var others []string
	own, secure := false, false
	for _, a := range c.Announcements {
		if a.FacilitatorID == id {
			own, secure = true, a.IsOverTLS()
		} else {
			others = append(others, a.FacilitatorID)
		}
	}
	names := strings.Join(others, " and ")
	switch {
	case !own:
		return fmt.Errorf("announced by %s, not by %s", names, id)
	case !secure:
		return errors.New("announced over plain HTTP, which anybody on the way can change; import a list with an " +
			"https facilitator_url")
	case len(others) > 0:
		return fmt.Errorf("%s announces it too; find out whose it is, and import a list that names it", names)
	}
	return nil
}
