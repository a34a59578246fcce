package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// logLines is a log that goroutines write.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// TestLogOutages checks which lines are written while the database is away for 10 s: one when it goes, one when it is
// back, and none that follows from it, nor of a connection that it broke and that is used soon after. Errors of a database
// that answers, and of others, are written.
func TestLogOutages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var isAway atomic.Bool
		log := &logLines{}
		h := slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		ctx, cancel := context.WithCancel(t.Context())
		logger := slog.New(&outageHandler{h, &outage{ctx: ctx, handler: h, connect: func(context.Context) error {
			if isAway.Load() {
				return errors.New("connection refused")
			}
			return nil
		}}}).With("job", 7)
		refused := fmt.Errorf("fetch jobs: %w", errors.New("failed to connect to `user=a database=b`: refused"))
		logger.Warn("too early", "err", refused)
		isAway.Store(true)
		for range 20 {
			logger.Error("fetch jobs", "err", refused)
			logger.Warn("as a text", "error", "FATAL: terminating connection (SQLSTATE 57P01)")
			time.Sleep(500 * time.Millisecond)
		}
		logger.Warn("read a page", "err", errors.New("404 Not Found"))
		logger.Info("built", "files", 3)
		time.Sleep(outagePoll / 2) // between two polls, so that both see the same
		isAway.Store(false)
		time.Sleep(outagePoll)
		synctest.Wait()
		broken := errors.New("write failed: broken pipe")
		logger.Warn("of a broken connection", "err", broken)
		logger.Warn("of a new connection", "err", refused)
		time.Sleep(outageTail)
		logger.Warn("late", "err", broken)
		cancel()
		want := []string{
			"level=WARN msg=\"too early\" job=7 err=\"fetch jobs: failed to connect to `user=a database=b`: refused\"",
			"level=ERROR msg=\"the database does not answer; its errors are not logged until it does\" " +
				"err=\"fetch jobs: failed to connect to `user=a database=b`: refused\"",
			`level=WARN msg="read a page" job=7 err="404 Not Found"`,
			`level=INFO msg=built job=7 files=3`,
			`level=INFO msg="the database answers again" seconds=10.5 errors=40`,
			"level=WARN msg=\"of a new connection\" job=7 " +
				"err=\"fetch jobs: failed to connect to `user=a database=b`: refused\"",
			`level=WARN msg=late job=7 err="write failed: broken pipe"`,
		}
		if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(log.b.String()), "\n")); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}
