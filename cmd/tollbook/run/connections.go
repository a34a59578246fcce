package run

import (
	"log/slog"
	"math"
	"syscall"

	"tollbook/site/serve"
)

// NewConnections returns the limiter of a server's connections. It allows fewer, with a warning, if the process may
// not open as many files: a quarter of its files is left for everything else.
func NewConnections(l serve.ConnectionLimits, logger *slog.Logger) *serve.ConnectionLimiter {
	most := maxOpenFiles() / 4 * 3
	if l.Connections > most {
		logger.Warn("the limit of open files allows fewer connections than serve.max_connections; raise it with "+
			"ulimit -n, or LimitNOFILE in systemd", "set", l.Connections, "allowed", most)
	}
	if l.Connections == 0 || l.Connections > most {
		l.Connections = most
	}
	return serve.NewConnectionLimiter(l)
}

// maxOpenFiles returns how many files the process may open at the same time. The Go runtime raises the soft limit to
// the hard one when the process starts.
func maxOpenFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
