package postgres

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Times of an outage.
const (
	outageCheck = 3 * time.Second        // limit for a new connection that tells an outage from another error
	outagePoll  = 500 * time.Millisecond // from one new connection to the next while the database is away
	outageTail  = 10 * time.Second       // after it, in which connections that it broke are first used
)

// LogOutages returns a logger that writes one line when the database stops answering and one when it answers again. In
// between it drops the errors that follow from it, of whichever part of the program, and counts them. When ctx ends it
// stops waiting for the database.
func (db *DB) LogOutages(ctx context.Context, logger *slog.Logger) *slog.Logger {
	h := logger.Handler()
	return slog.New(&outageHandler{h, &outage{ctx: ctx, handler: h, connect: func(ctx context.Context) error {
		c, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig) // not of the pool, which may be in use
		if err != nil {
			return err
		}
		return c.Close(ctx)
	}}})
}

// outage is the state of the database as a logger knows it.
type outage struct {
	ctx     context.Context
	handler slog.Handler // for its own two lines
	connect func(context.Context) error

	mu      sync.Mutex
	began   time.Time // zero while the database answers
	ended   time.Time // of the last outage
	dropped int
}

// covers reports whether an error only says that the database is away, or was when the connection broke. It begins an
// outage if that is new.
func (o *outage) covers(ctx context.Context, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.began.IsZero() {
		o.dropped++
		return true
	}
	checking, cancel := context.WithTimeout(context.WithoutCancel(ctx), outageCheck)
	defer cancel()
	if o.connect(checking) == nil { // then this error needs its line, unless it came late
		return time.Since(o.ended) < outageTail && !strings.Contains(text, connectMark)
	}
	o.began, o.dropped = time.Now(), 1
	o.log(slog.LevelError, "the database does not answer; its errors are not logged until it does",
		slog.String("err", text))
	go o.await()
	return true
}

// await waits until the database answers.
func (o *outage) await() {
	tick := time.NewTicker(outagePoll)
	defer tick.Stop()
	for isAway := true; isAway; {
		select {
		case <-tick.C:
		case <-o.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(o.ctx, outageCheck)
		isAway = o.connect(ctx) != nil
		cancel()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log(slog.LevelInfo, "the database answers again", slog.Float64("seconds", time.Since(o.began).Seconds()),
		slog.Int("errors", o.dropped))
	o.began, o.ended = time.Time{}, time.Now()
}

func (o *outage) log(level slog.Level, message string, attrs ...slog.Attr) {
	ctx := context.Background()
	if !o.handler.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	_ = o.handler.Handle(ctx, r) // a log that can't be written has no other place
}

// outageHandler is a slog.Handler that leaves out the errors of an outage.
type outageHandler struct {
	slog.Handler
	of *outage
}

// Handle implements slog.Handler.
func (h *outageHandler) Handle(ctx context.Context, r slog.Record) error {
	if text := unreachableText(r); r.Level >= slog.LevelWarn && text != "" && h.of.covers(ctx, text) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &outageHandler{h.Handler.WithAttrs(attrs), h.of}
}

// WithGroup implements slog.Handler.
func (h *outageHandler) WithGroup(name string) slog.Handler {
	return &outageHandler{h.Handler.WithGroup(name), h.of}
}

// unreachableText returns the text of an error in a record that may come from a database that is away, "" for none.
// River logs its errors as texts.
func unreachableText(r slog.Record) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		v := a.Value.Resolve()
		err, isError := v.Any().(error)
		switch {
		case isError:
			text = err.Error()
		case v.Kind() == slog.KindString && (a.Key == "err" || a.Key == "error"):
			text = v.String()
		default:
			return true
		}
		for _, mark := range unreachableMarks {
			if strings.Contains(text, mark) {
				return false
			}
		}
		text = ""
		return true
	})
	return text
}

// connectMark is the part of pgx's error of a connection that could not be made.
const connectMark = "failed to connect to `"

// unreachableMarks are parts of pgx's errors about a server that is away: of a new connection, of one that the server
// ended (57P01 to 57P03) or that broke (class 08), and of one that was used after that.
var unreachableMarks = []string{connectMark, "(SQLSTATE 57P0", "(SQLSTATE 08", "conn closed",
	"write failed: ", "receive message failed: ", "unexpected EOF", site.ErrNoDatabase.Error()}
