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
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	drainTimeout   = 4 * time.Second // for running responses when the server stops
	maxHeader      = 16 << 10
)

// Serve serves a listener within limits, until ctx ends. Then it waits for running responses. It closes the listener. A
// nil limiter means no limits.
func Serve(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger,
	limiter *ConnectionLimiter) error {
	return serveWithin(ctx, l, h, logger, limiter, headerTimeout)
}

// serveWithin is Serve with a timeout for the header of a request.
func serveWithin(
	ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger, limiter *ConnectionLimiter,
	headerTimeout time.Duration,
) error {
	if limiter == nil {
		limiter = NewConnectionLimiter(ConnectionLimits{})
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// OPTIONS * is passed to the handler like any other request.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	limited := limiter.attach(server, l, ctx.Done())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
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
