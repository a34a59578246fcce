//go:build !unix

package private

import (
	"context"
	"errors"
	"runtime"
)

var errNoUnix = errors.New("Tollbook runs its own Postgres on Linux, macOS and other Unix systems only, not on " +
	runtime.GOOS +
	": set DATABASE_URL to a server of yours")

// Server is a running Postgres server. On this system there is none.
type Server struct{}

func start(context.Context, Options) (*Server, error) { return nil, errNoUnix }

func remove(context.Context, string) error { return errNoUnix }

func (s *Server) DSN() string                { return "" }
func (s *Server) DSNFor(string) string       { return "" }
func (s *Server) Others() []User             { return nil }
func (s *Server) Stop(context.Context) error { return nil }
func (s *Server) Done() <-chan struct{}      { return nil }
func (s *Server) Err() error                 { return nil }
