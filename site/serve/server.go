package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits for slow and hostile clients.
const (
	headerTimeout   = 10 * time.Second
	requestTimeout  = 30 * time.Second
	responseTimeout = 5 * time.Minute // for the largest file on a slow connection
	idleTimeout     = 2 * time.Minute
	drainTimeout    = 4 * time.Second // for running responses when the server stops
	maxHeader       = 16 << 10
)

// Serve serves a listener until ctx ends, then waits for running responses. It closes the listener.
func Serve(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	return serveWithin(ctx, l, h, logger, headerTimeout)
}

// serveWithin is Serve with a timeout for the header of a request.
func serveWithin(
	ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger, headerTimeout time.Duration,
) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      responseTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// OPTIONS * is passed to the handler like any other request.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(errorListener{l}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		server.Close()
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("stop serving %s: %w", l.Addr(), err)
		}
	}
	return nil
}
