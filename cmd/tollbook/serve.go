package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/serve"
)

// listenOptions say where to answer.
type listenOptions struct {
	Listen string
}

// AddFlags adds --listen.
func (o *listenOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:4020", "`address` to answer on")
}

// listen opens the address, or says who else may have it.
func (o *listenOptions) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", o.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program answers there already; stop it or choose another --listen", o.Listen)
	}
	if invalid := new(net.AddrError); errors.As(err, &invalid) {
		return nil, usagef("--listen %q: %s; it is an address such as 127.0.0.1:4020", o.Listen, invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	return l, nil
}

// serveOptions are the flags of serve.
type serveOptions struct {
	listenOptions
	From string
}

// AddFlags adds the flags of serve.
func (o *serveOptions) AddFlags(f *pflag.FlagSet) {
	o.listenOptions.AddFlags(f)
	f.StringVar(&o.From, "from", filepath.Join("tollbook-data", "public"), "`folder` that snapshots are published to, or one expanded tree")
}

func newServeCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer readers from the current snapshot",
		Long: `Serve answers GET requests for the API under /v1 and for pages from the files of the current snapshot. It needs no
database. A new snapshot is taken up within a second, without a slow or torn answer.

EXIT STATUS

0 when it was told to stop, 1 when it could not listen or read.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServe(ctx context.Context, o serveOptions, stdout io.Writer) error {
	logger := newLogger(slog.LevelInfo)
	l, err := o.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	source, err := output.OpenSource(o.From, logger)
	if err != nil {
		return err
	}
	defer source.Close()
	if s, err := source.Current(); err == nil {
		s.Release()
	} else if !errors.Is(err, output.ErrEmpty) {
		return err
	} else {
		logger.Warn("nothing is published yet: run tollbook build", "folder", o.From)
	}
	fmt.Fprintf(stdout, "Serving %s on http://%s/ (Ctrl-C stops)\n", o.From, l.Addr())
	return serveSource(ctx, l, source, logger)
}

// lookEvery is how old the pointer to the current snapshot is at most when a reader comes after a silence.
const lookEvery = time.Second

// serveSource answers readers on l until ctx ends. It follows the publication also while nobody reads: else the first
// reader after a silence would be given what was current when it began, and that snapshot's file could not go.
func serveSource(ctx context.Context, l net.Listener, source *output.Source, logger *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	var follower sync.WaitGroup
	defer follower.Wait()
	defer cancel()
	follower.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = source.Refresh() // it logs what can't be opened, once
			case <-ctx.Done():
				return
			}
		}
	})
	return serve.Serve(ctx, l, serve.NewHandler(serve.Options{Source: source, Logger: logger}), logger)
}

// prune drops snapshots and packs that nobody can ask for any more.
func prune(folder *output.Folder, now time.Time) (output.Pruned, error) {
	pruned, err := folder.Prune(now, site.PackHour(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -site.LogDays)))
	if err != nil {
		return pruned, fmt.Errorf("prune published folder: %w", err)
	}
	return pruned, nil
}
