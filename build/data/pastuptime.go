package data

import (
	"context"
	"errors"
	"iter"
	"time"

	"tollbook/site/postgres/bulk"
)

// maxSpan is the maximum number of days that pastUptime reads at once.
const maxSpan = 16

// pastUptime reads the sums of visits of days that are over. Reading a day takes Postgres as long as reading all of
// them, so after the first day it reads two at once, then four, and so on.
type pastUptime struct {
	days int       // that the last statement reads
	from time.Time // the first of them
	next func() (*bulk.Uptime, error, bool)
	stop func()
	row  *bulk.Uptime // the next one; nil after the last
}

// each calls do with the sums of a day, by slug. Each day is before that of the last call.
func (p *pastUptime) each(ctx context.Context, r *bulk.Reader, day time.Time, do func(*bulk.Uptime) error) error {
	if p.stop == nil || day.Before(p.from) {
		if err := p.begin(ctx, r, day); err != nil {
			return err
		}
	}
	for p.row != nil && !p.row.Day.Before(day) {
		if p.row.Day.Equal(day) {
			if err := do(p.row); err != nil {
				return err
			}
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins to read the days that end with one.
func (p *pastUptime) begin(ctx context.Context, r *bulk.Reader, last time.Time) error {
	p.close()
	p.days = min(max(1, 2*p.days), maxSpan)
	p.from = last.AddDate(0, 0, 1-p.days)
	p.next, p.stop = iter.Pull2(func(yield func(*bulk.Uptime, error) bool) {
		errStopped := errors.New("stopped")
		err := r.UptimeOfDays(ctx, p.from, last, func(u *bulk.Uptime) error {
			if !yield(u, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	})
	return p.advance()
}

// advance reads the next row.
func (p *pastUptime) advance() (err error) {
	p.row, err, _ = p.next()
	return err
}

// close ends reading. The transaction is free then.
func (p *pastUptime) close() {
	if p.stop != nil {
		p.stop()
		p.stop, p.row = nil, nil
	}
}
