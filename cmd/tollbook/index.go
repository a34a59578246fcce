package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/x402"
)

// networkOptions say which chains are read, and from where.
type networkOptions struct {
	Networks settings.NetworkOptions
}

// AddFlags adds --rpc, --confirmations, --start and --network.
func (o *networkOptions) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.Networks.RPC, "rpc", nil,
		"`CAIP2=URL` of a JSON-RPC node to read a network from; may be repeated: if one fails, the next is asked")
	f.StringArrayVar(&o.Networks.Confirmations, "confirmations", nil,
		"`CAIP2=N` blocks below the newest that count as final; by default the block that the node calls finalized")
	f.StringArrayVar(&o.Networks.Start, "start", nil,
		"`CAIP2=DATE`, such as base=2025-10-01, before which no settlement is looked for")
	f.StringSliceVar(&o.Networks.Only, "network", nil, "`CAIP2` id of the only network to read; may be repeated")
}

// indexOptions are the flags of index.
type indexOptions struct {
	dataOptions
	networkOptions
	Once    bool
	Again   string
	From    string
	JSON    bool
	Metrics string
}

// AddFlags adds the flags of index.
func (o *indexOptions) AddFlags(f *pflag.FlagSet) {
	o.dataOptions.AddFlags(f)
	o.networkOptions.AddFlags(f)
	f.BoolVar(&o.Once, "once", false, "read up to the newest final block of each network, then exit")
	f.StringVar(&o.Again, "again", "", "`CAIP2` id of a network to read again from --from on, replacing what is stored")
	f.StringVar(&o.From, "from", "", "first UTC `DATE` that --again reads, such as 2026-11-01")
	f.BoolVar(&o.JSON, "json", false, "print the report of --once or --again as JSON")
	addMetricsFlag(f, &o.Metrics)
}

func newIndexCommand(c *settings.Configuration) *cobra.Command {
	var o indexOptions
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Read payments from blockchains",
		Long: `Index reads the payments that facilitators have settled on chain, and stores them in the database
(DATABASE_URL, or the private one of --data) with sums by day. "tollbook facilitators import" adds facilitators.
Index does not change what is published; build does.

A network is read from JSON-RPC nodes, Stellar from Horizon servers: --rpc, or rpc of its [[network]] in the
configuration file. The file may also name the tokens to measure; the default is USDC, on Tempo USDC.e
and pathUSD, on the XRP Ledger RLUSD and XRP.

    [[network]]
    caip2         = "eip155:8453"
    rpc           = ["https://base.example/rpc", "https://other.example/base"]
    confirmations = 64              # blocks; by default the block that the node calls finalized
    start         = "2025-10-01"    # no settlement is looked for before this day

    [[network.token]]
    address  = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
    symbol   = "USDC"
    decimals = 6
    usd      = true                 # one token counts as one US dollar

Each range of blocks is stored in one transaction with the progress, so index may be stopped at any time. If a node
fails, limits requests or contradicts itself, index asks it again, then the next node. If none is left, that network
waits and the others continue. After a reorganisation it rolls back to the last common block.

On Solana, Stellar and the XRP Ledger index also asks, once a day for each recipient of a current price, whether it can
receive: a payment fails without a token account or a trust line. With several nodes, two must agree.

With --once and no network, index reads nothing and says so.

--again reads one network again, from a day to where it was read, and replaces what the database has of it. It is for
a network whose node lied ("a node contradicts others and is set aside" in the log): first name nodes that you trust.
What was read is compared with what is stored, and the differences are written with all sums in one transaction, so a
kill changes nothing and a build never shows half of it. The report has the settlements before and after. If no node
has the chain back to that day, nothing is changed. Meanwhile no other process reads the network. The next build
corrects figures, and files of days that are published.

A terminal shows how many blocks each network is behind; elsewhere there are log lines.

EXIT STATUS

0 if every network was read up to its head, or index was stopped; 1 if a network failed, or --once was stopped
early; 2 for an error in the command line or the configuration.`,
		Example: `  tollbook index --once --rpc base=https://base.example/rpc
  tollbook index --again base --from 2026-11-01`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := &o.Networks
			if o.Again != "" || o.From != "" {
				return runAgain(cmd.Context(), o, c, cmd.OutOrStdout())
			}
			if o.Once && n.IsEmpty(c.Networks) && len(n.Start)+len(n.Confirmations) == 0 { // as from a crontab or a timer
				if o.JSON {
					return report.Networks(cmd.OutOrStdout(), nil, nil, true)
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "No [[network]] is configured; nothing was read")
				return err
			}
			list, err := o.Networks.Read(c.Networks)
			if err != nil {
				return err
			}
			return runIndex(cmd.Context(), o, list, cmd.OutOrStdout())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runIndex(ctx context.Context, o indexOptions, list []settings.Network, stdout io.Writer) error {
	logger := newLogger(ctx, slog.LevelInfo)
	port, err := run.OpenMetrics("--metrics", o.Metrics)
	if err != nil {
		return err
	}
	defer port.Close()
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	logger = db.LogOutages(ctx, logger)
	chains, err := settings.StoreNetworks(ctx, db.DB, list, logger)
	if err != nil {
		return err
	}
	bar := terminal.NewNetworkProgress(logger)
	metrics := chain.NewMetrics()
	indexer, err := crawl.NewIndexer(db.DB, chains, chain.Options{Now: run.Now, Logger: logger, Progress: bar.Set, Metrics: metrics})
	if err != nil {
		return err
	}
	recipients, err := crawl.NewRecipients(db.DB, chains, chain.Options{Now: run.Now, Logger: logger, Metrics: metrics})
	if err != nil {
		return err
	}
	partsCtx, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() {
		_ = port.Serve(partsCtx, run.MetricsHandler(metrics), logger)
	})
	parts.Go(func() { db.KeepRunning(partsCtx, logger) })
	defer func() {
		stop()
		parts.Wait()
	}()
	port.Announce(stdout)
	if !o.Once {
		parts.Go(func() { recipients.Run(partsCtx) })
		err := indexer.Run(ctx)
		bar.Finish()
		if errors.Is(err, context.Canceled) {
			return nil // everything that was committed is stored
		}
		return err
	}
	reports, err := indexer.Once(ctx)
	bar.Finish()
	if ctx.Err() != nil {
		return errors.Join(report.Networks(stdout, reports, nil, o.JSON), err)
	}
	counter := terminal.NewCounter("recipients asked about")
	answers, roundErr := recipients.Round(ctx, counter.Set)
	counter.Finish()
	return errors.Join(report.Networks(stdout, reports, answers, o.JSON), err, roundErr)
}

// runAgain reads one network again and replaces what is stored of it.
func runAgain(ctx context.Context, o indexOptions, c *settings.Configuration, stdout io.Writer) error {
	id, _ := x402.ResolveNetwork(o.Again)
	from, err := time.Parse(time.DateOnly, o.From)
	switch {
	case id == "":
		return terminal.UsageErrorf("--again: give the CAIP-2 id of a network, such as eip155:8453, and --from a day")
	case err != nil || from.After(run.Now()):
		return terminal.UsageErrorf("--from: give the first day to read again, such as 2026-11-01")
	case o.Once || o.Metrics != "" || len(o.Networks.Only) > 0:
		return terminal.UsageErrorf("--again reads one network once; leave out --once, --network and --metrics")
	}
	o.Networks.Only = []string{id}
	list, err := o.Networks.Read(c.Networks)
	if err != nil {
		return err
	}
	logger := newLogger(ctx, slog.LevelInfo)
	db, err := openDirectory(ctx, o.dataOptions, 0, logger)
	if err != nil {
		return err
	}
	defer db.Close()
	chains, err := settings.StoreNetworks(ctx, db.DB, list, logger)
	if err != nil {
		return err
	}
	bar := terminal.NewNetworkProgress(logger)
	done, err := crawl.ReadAgain(ctx, db.DB, chains[0], from, chain.Options{Now: run.Now, Logger: logger,
		Progress: bar.Set})
	bar.Finish()
	if err != nil {
		return err
	}
	return report.ReadAgain(stdout, done, o.JSON)
}
