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
	o.proxyOptions.AddFlags(f)
	f.BoolVar(&o.HTTP, "http", false, "answer over HTTP at "+mcp.Path+", in place of stdin and stdout")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:4021", "`address` to answer on with --http")
	f.StringSliceVar(&o.Hosts, "hosts", nil, "`names` (with commas) that clients may ask by beside this machine's own, localhost and 127.0.0.1; with --http")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, "`requests` a minute that a client may send with --http; 0 is any number")
	o.fromOptions.AddFlags(f)
}

// validate refuses what can't be meant. An address that others reach needs the names by which they ask.
func (o *mcpOptions) validate() error {
	host, _, err := net.SplitHostPort(o.Listen)
	if o.HTTP && err == nil && len(o.Hosts) == 0 {
		if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
			return usagef("--listen %s: others than this machine reach it; name what they ask for with --hosts", o.Listen)
		}
	}
	_, err = o.trusted()
	return cmp.Or(o.fromOptions.validate(), o.listenOptions.validate(), err)
}

func newMCPCommand() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer agents from the current snapshot, over the Model Context Protocol",
		Long: `Mcp gives the current snapshot to agents as tools of the Model Context Protocol: search services, one service, what to
know before paying at an address or to a recipient, changes, facilitators, networks, categories, coverage, health. A
tool's answer is that of the API to the same request, with the same parameters, limits and errors. It needs no database,
and takes up a new snapshot as "tollbook serve" does.

It speaks on stdin and stdout, for a client that starts it:

    {"mcpServers": {"tollbook": {"command": "tollbook", "args": ["mcp", "--from", "/path/to/public"]}}}

With --http it answers at /mcp on the address of --listen, each POST with one JSON answer; it keeps no session and no
stream, so any number of them can stand behind one name. Requests must name this machine (localhost, 127.0.0.1) or one of
--hosts, and no page of another site may send them. A client may send as many requests a minute as to the API.

What services wrote about themselves is untrusted: each tool says so, answers mark it as their words, and characters that
are not seen are replaced by U+FFFD. A bucket is named and asked as "tollbook serve --help" says.

EXIT STATUS

0 when its client left or it was told to stop, 1 when it could not listen or read, or the client's messages could not be
understood, 2 for a command line that cannot be understood.`,
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMCP(cmd.Context(), o, os.Stdin, os.Stdout)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// runMCP answers until ctx ends, or without --http until stdin does: then stdout is the client's, and whatever else is
// said goes to stderr.
func runMCP(ctx context.Context, o mcpOptions, stdin io.ReadCloser, stdout io.WriteCloser) error {
	logger := newLogger(slog.LevelInfo)
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
	port, err := openMetrics(o.Metrics)
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
	reader := serve.NewHandler(serve.Options{Source: source, Logger: logger, Metrics: metrics})
	server, err := mcp.New(mcp.Options{Reader: reader, Version: version(), Logger: logger})
	if err != nil {
		return fmt.Errorf("make tools: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		follow(ctx, source)
		return nil
	})
	g.Go(func() error { return port.serve(ctx, metrics, logger) })
	g.Go(func() error {
		defer cancel() // an end without an error is one, too
		if l == nil {
			return speak(ctx, server, stdin, stdout)
		}
		fmt.Fprintf(stdout, "MCP on http://%s%s over %s (Ctrl-C stops)\n", l.Addr(), mcp.Path, o.From)
		h := serve.Limit(mcp.NewHandler(server, o.Hosts), serve.Options{RateLimit: o.RateLimit, Trusted: trusted})
		return serve.Serve(ctx, l, h, logger)
	})
	return g.Wait()
}

// speak answers one client, until it closes stdin or ctx ends.
func speak(ctx context.Context, server *sdk.Server, stdin io.ReadCloser, stdout io.WriteCloser) error {
	err := server.Run(ctx, mcp.Pipe(stdin, stdout))
	if ctx.Err() != nil {
		return nil // it was told to stop
	}
	if err != nil {
		return fmt.Errorf("answer on stdin and stdout: %w", err)
	}
	return nil
}
