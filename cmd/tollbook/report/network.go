package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/x402"
)

// Network is what was read of one network.
type Network struct {
	Network     string  `json:"network"`
	Blocks      int64   `json:"blocks"` // on Solana signatures, on Stellar and the XRP Ledger transactions
	Settlements int64   `json:"settlements"`
	RolledBack  int64   `json:"rolled_back"`
	Calls       int64   `json:"calls"`
	Errors      int64   `json:"errors"`
	Seconds     float64 `json:"seconds"`
}

// Networks prints how much of each network was read, and what nodes answered about recipients.
func Networks(w io.Writer, list []chain.Report, recipients []crawl.RecipientsReport, asJSON bool) error {
	if asJSON {
		out := struct {
			Networks   []Network                `json:"networks"`
			Recipients []crawl.RecipientsReport `json:"recipients"`
		}{Networks: []Network{}, Recipients: slices.Concat([]crawl.RecipientsReport{}, recipients)}
		for _, r := range list {
			out.Networks = append(out.Networks, Network{
				r.Network, r.Blocks, r.Settlements, r.RolledBack, r.Calls, r.Errors, r.Took.Seconds(),
			})
		}
		return JSON(w, out)
	}
	for _, r := range list {
		if _, err := fmt.Fprintf(w, "%s: %d new settlements, %d rolled back; %d %s read in %.1f s with %d calls, "+
			"of which %d failed\n", nameOf(r.Network), r.Settlements, r.RolledBack, r.Blocks, unit(r.Network),
			r.Took.Seconds(), r.Calls, r.Errors); err != nil {
			return err
		}
	}
	for _, r := range recipients {
		left := ""
		if r.Left > 0 {
			left = fmt.Sprintf("; %d more are due", r.Left)
		}
		if _, err := fmt.Fprintf(w, "%s: asked about %d recipients: %d can receive, %d cannot, %d unknown%s\n",
			nameOf(r.Network), r.Can+r.Cannot+r.Unknown, r.Can, r.Cannot, r.Unknown, left); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of a network with its id, or the id alone.
func nameOf(network string) string {
	if n, ok := x402.NetworkByID(network); ok {
		return n.Name + " (" + n.ID + ")"
	}
	return network
}

// unit returns what is read of a network: blocks of EVM chains, signatures of settlers on Solana, transactions of
// settlers on Stellar, and of recipients on the XRP Ledger.
func unit(network string) string {
	switch namespace, _, _ := strings.Cut(network, ":"); namespace {
	case "solana":
		return "signatures"
	case "stellar", "xrpl":
		return "transactions"
	}
	return "blocks"
}
