package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// indexOptions are the flags of index.
type indexOptions struct {
	dataOptions
	networkOptions
	Once    bool
	JSON    bool
	Metrics string
}

// AddFlags adds the flags of index.
func (o *indexOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.networkOptions.AddFlags(f)
	f.BoolVar(&o.Once, "once", false, "read up to the confirmed heads and exit; otherwise go on reading")
	f.BoolVar(&o.JSON, "json", false, "print the report of --once as JSON")
	f.StringVar(&o.Metrics, "metrics", "", "`address` of its own to answer /metrics (Prometheus) and /healthz on; none by default")
}

func newIndexCommand(c *config) *cobra.Command {
	var o indexOptions
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Read settlements from the chains",
		Long: `Index reads from chains what known facilitators have settled, and keeps it in Postgres (DATABASE_URL, or the folder's own)
with what follows from it by day. Facilitators come from "tollbook facilitators import". It changes nothing that is
published; that is "tollbook build".

A network is read from JSON-RPC addresses: --rpc, or rpc of its [[network]] in the configuration file, which may also name
the tokens that are measured. Without, that is USDC.

    [[network]]
    caip2         = "eip155:8453"
    rpc           = ["https://base.example/rpc", "https://other.example/base"]
    confirmations = 64              # blocks; without, what the node calls finalized
    start         = "2025-10-01"    # before which nothing is looked for

    [[network.token]]
    address  = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
    symbol   = "USDC"
    decimals = 6
    usd      = true                 # a dollar each: counts in volumes

Each range of blocks is kept whole with how far the network was read, so that it may be stopped at any time. A node that
fails, limits or contradicts itself is asked again, then the next; when none is left the network waits and the others go
on. A reorganisation is rolled back to the last common block.

A terminal shows a bar with the blocks that each network is behind; elsewhere there are log lines.

EXIT STATUS

0 when every network was read up to its head, or it was told to stop; 1 when one of them could not be, or --once was told
to stop before; 2 for a command line or configuration that is wrong.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			networks, err := o.networks(c.Networks)
			if err != nil {
				return err
			}
			return runIndex(cmd.Context(), o, networks, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runIndex(ctx context.Context, o indexOptions, networks []measuredNetwork, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	port, err := openMetrics(o.Metrics)
	if err != nil {
		return err
	}
	defer port.Close()
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	chains := make([]chain.Network, len(networks))
	for i, n := range networks {
		chains[i] = n.Network
		if err := db.SetTokens(ctx, n.ID, n.tokens); err != nil {
			return err
		}
	}
	if err := warnUnsettled(ctx, db.DB, networks, logger); err != nil {
		return err
	}
	told := newIndexProgress(logger)
	metrics := chain.NewMetrics()
	x, err := crawl.NewIndexer(db.DB, chains, chain.Options{Logger: logger, Progress: told.set, Metrics: metrics})
	if err != nil {
		return err
	}
	served, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- port.serve(served, metricsHandler(indexMetrics(metrics)), logger) }()
	defer func() {
		stop()
		<-done
	}()
	port.announce(stdout)
	if !o.Once {
		err := x.Run(ctx)
		told.finish()
		if errors.Is(err, context.Canceled) {
			return nil // what was committed stays
		}
		return err
	}
	reports, err := x.Once(ctx)
	told.finish()
	return errors.Join(printIndexReports(stdout, reports, o.JSON), err)
}

// warnUnsettled tells of networks on which no settler is known, where nothing can be found.
func warnUnsettled(ctx context.Context, db *postgres.DB, networks []measuredNetwork, logger *slog.Logger) error {
	list, err := db.Facilitators(ctx)
	if err != nil {
		return err
	}
	settled := map[string]bool{}
	for _, f := range list {
		for _, s := range f.Settlers {
			settled[s.Network] = true
		}
	}
	for _, n := range networks {
		if !settled[n.ID] {
			logger.Warn("no facilitator is known to settle on this network: see tollbook facilitators import", "network", n.ID)
		}
	}
	return nil
}

// indexReport is a network's part of the report of --once.
type indexReport struct {
	Network     string  `json:"network"`
	Blocks      int64   `json:"blocks"` // on Solana, signatures
	Settlements int64   `json:"settlements"`
	RolledBack  int64   `json:"rolled_back"`
	Calls       int64   `json:"calls"`
	Errors      int64   `json:"errors"`
	Seconds     float64 `json:"seconds"`
}

func printIndexReports(w io.Writer, list []chain.Report, asJSON bool) error {
	if asJSON {
		out := struct {
			Networks []indexReport `json:"networks"`
		}{Networks: []indexReport{}}
		for _, r := range list {
			out.Networks = append(out.Networks, indexReport{r.Network, r.Blocks, r.Settlements, r.RolledBack, r.Calls, r.Errors, r.Took.Seconds()})
		}
		return printJSON(w, out)
	}
	for _, r := range list {
		name := r.Network
		if n, ok := x402.NetworkByID(r.Network); ok {
			name = n.Name + " (" + n.ID + ")"
		}
		if _, err := fmt.Fprintf(w, "%s: %d new settlements, %d taken back; %d %s read with %d calls, %d of them failed, in %.1f s\n",
			name, r.Settlements, r.RolledBack, r.Blocks, unitOf(r.Network), r.Calls, r.Errors, r.Took.Seconds()); err != nil {
			return err
		}
	}
	return nil
}
