package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
	"tollbook/site/serve"
	"tollbook/site/serve/mcp"
)

// mcpOptions are the flags of mcp.
type mcpOptions struct {
	listenOptions
	proxyOptions
	HTTP  bool
	Hosts []string
	fromOptions
}

// AddFlags adds the flags of mcp.
func (o *mcpOptions) AddFlags(f *pflag.FlagSet) {
	o.listenOptions.AddFlags(f, "127.0.0.1:4021", settings.DefaultRateLimit)
	o.proxyOptions.AddFlags(f)
	f.BoolVar(&o.HTTP, "http", false, "answer over HTTP at "+mcp.Path+" in place of stdin and stdout")
	f.StringSliceVar(&o.Hosts, "hosts", nil,
		"`names` (with commas) of this server that clients may use with --http, beside localhost and 127.0.0.1")
	o.fromOptions.AddFlags(f)
}

// validate refuses an address that others reach if no name of the server is set.
func (o *mcpOptions) validate() error {
	host, _, err := net.SplitHostPort(o.Listen)
	if o.HTTP && err == nil && len(o.Hosts) == 0 {
		if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
			return terminal.UsageErrorf("--listen %s: other machines can reach this address; add --hosts with the names that "+
				"clients use", o.Listen)
		}
	}
	_, err = o.trusted()
	return cmp.Or(o.fromOptions.validate(), o.listenOptions.validate(), err)
}

func newMCPCommand() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the current snapshot to AI agents (Model Context Protocol)",
		Long: `Mcp offers the current snapshot to agents as tools of the Model Context Protocol: recommend a service
for a need, search services, get one service, compare services, get what to know before paying an address or a
recipient, changes, facilitators, networks, categories, coverage, health. Services and their evidence are
also resources, such as tollbook://services/SLUG. The prompt choose_service leads from a need to a payment.

A tool asks the API with the same parameters and limits. Its result is short enough for a model, at most 4 kB for 10
rows; with detail=full it is what the API returns. It needs no database and uses a new snapshot as "tollbook serve"
does.

By default it speaks on stdin and stdout, for a client that starts it:

    {"mcpServers": {"tollbook": {"command": "tollbook", "args": ["mcp", "--from", "/path/to/public"]}}}

With --http it answers at /mcp on the address of --listen, with one JSON response to each POST. It keeps no session,
so any number of instances can share one name. A request must be addressed to this machine (localhost, 127.0.0.1) or
to one of --hosts, and must not come from a page of another site. A client may send as many requests a minute as to
the API.

Words that services wrote about themselves are untrusted. Each tool says so, responses mark them, and invisible
characters are replaced by U+FFFD. "tollbook serve --help" describes how a bucket is read.

EXIT STATUS

0 if the client left or the program was stopped, 1 if it could not listen or read or the client's messages were
invalid, 2 for an error in the command line.`,
		Example: "  tollbook mcp --from /srv/tollbook/public\n  tollbook mcp --http --hosts mcp.tollbook.example",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMCP(cmd.Context(), o, os.Stdin, os.Stdout)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runMCP answers until ctx ends or, without --http, until stdin ends. Then only the client's messages go to stdout.
func runMCP(ctx context.Context, o mcpOptions, stdin io.ReadCloser, stdout io.WriteCloser) error {
	logger := newLogger(ctx, slog.LevelInfo)
	trusted, err := o.trusted()
	if err != nil {
		return err
	}
	var l net.Listener
	if o.HTTP {
		if l, err = o.listen(); err != nil {
			return err
		}
		defer l.Close()
	}
	port, err := o.openMetrics()
	if err != nil {
		return err
	}
	defer port.Close()
	source, err := o.open(logger)
	if err != nil {
		return err
	}
	defer source.Close()
	metrics := serve.NewMetrics()
	connections := run.NewConnections(defaultConnections().limits(trusted), logger)
	reader := serve.NewHandler(serve.Options{Source: source, Logger: logger, Metrics: metrics,
		Connections: connections})
	tools, err := mcp.New(mcp.Options{Reader: reader, Version: version.Version(), Logger: logger})
	if err != nil {
		return fmt.Errorf("create tools: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		run.Follow(ctx, source)
		return nil
	})
	g.Go(func() error { return port.Serve(ctx, metrics, logger) })
	g.Go(func() error {
		defer cancel() // also if it ends without an error
		if l == nil {
			return answerClient(ctx, tools, stdin, stdout)
		}
		fmt.Fprintf(stdout, "MCP on http://%s%s over %s (Ctrl-C stops)\n", l.Addr(), mcp.Path, o.place())
		h := serve.Limit(mcp.NewHandler(tools, o.Hosts), serve.Options{RateLimit: o.RateLimit, Trusted: trusted})
		return serve.Serve(ctx, l, h, logger, connections)
	})
	return g.Wait()
}

// answerClient answers one client until it closes stdin or ctx ends.
func answerClient(ctx context.Context, tools *sdk.Server, stdin io.ReadCloser, stdout io.WriteCloser) error {
	err := tools.Run(ctx, mcp.Pipe(stdin, stdout))
	if ctx.Err() != nil {
		return nil // it was stopped
	}
	if err != nil {
		return fmt.Errorf("answer on stdin and stdout: %w", err)
	}
	return nil
}
