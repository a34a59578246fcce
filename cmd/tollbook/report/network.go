package report

import (
	"fmt"
	"io"
	"strings"

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

// Networks prints how much of each network was read.
func Networks(w io.Writer, list []chain.Report, asJSON bool) error {
	if asJSON {
		out := struct {
			Networks []Network `json:"networks"`
		}{Networks: []Network{}}
		for _, r := range list {
			out.Networks = append(out.Networks, Network{
				r.Network, r.Blocks, r.Settlements, r.RolledBack, r.Calls, r.Errors, r.Took.Seconds(),
			})
		}
		return JSON(w, out)
	}
	for _, r := range list {
		name := r.Network
		if n, ok := x402.NetworkByID(r.Network); ok {
			name = n.Name + " (" + n.ID + ")"
		}
		if _, err := fmt.Fprintf(w, "%s: %d new settlements, %d rolled back; %d %s read in %.1f s with %d calls, "+
			"of which %d failed\n", name, r.Settlements, r.RolledBack, r.Blocks, unit(r.Network),
			r.Took.Seconds(), r.Calls, r.Errors); err != nil {
			return err
		}
	}
	return nil
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
