package data

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"tollbook/output/archive"
	"tollbook/site/postgres/bulk"
)

const day = 24 * time.Hour

// daily is a table by day: its days that are over, and how rows are read.
type daily struct {
	table *Table
	days  []bulk.Day // that are over, by day
	open  time.Time  // first day that is not over
	first time.Time  // of the days in the SQLite file

	write func(ctx context.Context, day time.Time, to rowFunc) error     // rows of a day that is over
	rest  func(ctx context.Context, from time.Time, to dayRowFunc) error // rows from a day on; nil for none
	close func()                                                         // ends what write began; nil for nothing
}

// rowFunc receives a row, which is valid until it returns.
type rowFunc func(Row) error

// dayRowFunc receives a row, as a rowFunc, and a time on its day.
type dayRowFunc func(time.Time, Row) error

// writeDays writes the tables by day.
func (w *writer) writeDays(ctx context.Context) error {
	list, err := w.listDaily(ctx)
	if err != nil {
		return err
	}
	has, err := w.dayNames()
	if err != nil {
		return err
	}
	before := w.previousParts()
	rows := int64(0)
	for _, d := range list {
		if err := w.writePast(ctx, d, has, before, &rows); err != nil {
			return err
		}
		if d.rest != nil {
			if err := w.writeRest(ctx, d); err != nil {
				return err
			}
		}
	}
	return w.addParts(list)
}

// listDaily lists the tables by day.
func (w *writer) listDaily(ctx context.Context) ([]daily, error) {
	today := w.options.Now.UTC().Truncate(day)
	sealed, checksFrom, err := w.reader.Sealed(ctx)
	if err != nil {
		return nil, err
	}
	open := sealed.Truncate(day) // visits and changes of earlier days never change
	if open.After(today) {
		open = today
	}
	list := []daily{w.checks(open), w.uptime(open), w.changes(open), w.settlements(today), w.assessments(today)}
	if from := today.Add(-time.Duration(Checks.Retention) * day); checksFrom.Before(from) {
		checksFrom = from
	}
	for i, read := range []func() ([]bulk.Day, error){
		func() ([]bulk.Day, error) { return w.reader.CheckDays(ctx, checksFrom, open) },
		func() ([]bulk.Day, error) { return w.reader.UptimeDays(ctx, open) },
		func() ([]bulk.Day, error) { return w.reader.ChangeDays(ctx, open) },
		func() ([]bulk.Day, error) { return w.reader.SettledDays(ctx, today) },
		func() ([]bulk.Day, error) { return w.reader.AssessedDays(ctx, today) },
	} {
		if list[i].days, err = read(); err != nil {
			return nil, err
		}
		list[i].first = today.AddDate(0, 0, 1-RecentDays)
	}
	return list, nil
}

func (w *writer) checks(open time.Time) daily {
	return daily{table: &Checks.Table, open: open,
		write: func(ctx context.Context, day time.Time, to rowFunc) error {
			return w.reader.Checks(ctx, day, rowsOf(w, Checks, to))
		}}
}

func (w *writer) uptime(open time.Time) daily {
	var past pastUptime
	return daily{table: &Uptime.Table, open: open, close: past.close,
		write: func(ctx context.Context, day time.Time, to rowFunc) error {
			return past.each(ctx, w.reader, day, rowsOf(w, Uptime, to))
		},
		rest: func(ctx context.Context, from time.Time, to dayRowFunc) error {
			return w.reader.Uptime(ctx, from, w.options.Now, dayRowsOf(w, Uptime,
				func(u *bulk.Uptime) time.Time { return u.Day }, to))
		}}
}

func (w *writer) changes(open time.Time) daily {
	return daily{table: &Changes.Table, open: open,
		write: func(ctx context.Context, from time.Time, to rowFunc) error {
			return w.reader.Changes(ctx, from, from.Add(day), rowsOf(w, Changes, to))
		},
		rest: func(ctx context.Context, from time.Time, to dayRowFunc) error {
			return w.reader.Changes(ctx, from, w.options.Now.Add(day), dayRowsOf(w, Changes,
				func(c *bulk.Change) time.Time { return c.ObservedAt }, to))
		}}
}

func (w *writer) settlements(today time.Time) daily {
	read := func(ctx context.Context, from, until time.Time, to func(Settlement) error) error {
		return w.reader.Settlements(ctx, from, until, func(s *bulk.Settlement) error {
			decimals, counts := w.decimals[token{s.Facilitator, s.Network, s.Token}]
			if !counts {
				decimals = -1
			}
			return to(Settlement{Settlement: s, Decimals: decimals})
		})
	}
	return daily{table: &Settlements.Table, open: today,
		write: func(ctx context.Context, from time.Time, to rowFunc) error {
			return read(ctx, from, from.Add(day), rowsOf(w, Settlements, to))
		},
		rest: func(ctx context.Context, from time.Time, to dayRowFunc) error {
			return read(ctx, from, today.Add(day), dayRowsOf(w, Settlements,
				func(s Settlement) time.Time { return s.Day }, to))
		}}
}

// assessments are recorded after each build, so those of today are not published before tomorrow.
func (w *writer) assessments(today time.Time) daily {
	return daily{table: &Assessments.Table, open: today,
		write: func(ctx context.Context, from time.Time, to rowFunc) error {
			return w.reader.Assessments(ctx, from, from.Add(day), rowsOf(w, Assessments, to))
		},
		rest: func(ctx context.Context, from time.Time, to dayRowFunc) error {
			return w.reader.Assessments(ctx, from, today, dayRowsOf(w, Assessments,
				func(a *bulk.Assessment) time.Time { return a.Day }, to))
		}}
}

// rowsOf returns a function that makes a row and gives it to another.
func rowsOf[T any](w *writer, m *Maker[T], to rowFunc) func(T) error {
	return func(v T) error {
		w.row = m.Append(w.row[:0], v)
		return to(w.row)
	}
}

// dayRowsOf returns a function that makes a row and gives it with its time to another.
func dayRowsOf[T any](w *writer, m *Maker[T], at func(T) time.Time, to dayRowFunc) func(T) error {
	return func(v T) error {
		w.row = m.Append(w.row[:0], v)
		return to(at(v), w.row)
	}
}

// writePast writes the files of days that are over and are not among those that has names, the newest first, until the
// rows of this build are too many. A file is written again if rows were added to its facts.
func (w *writer) writePast(ctx context.Context, d daily, has map[string]bool, before map[string]Part,
	rows *int64) (err error) {
	if d.close != nil {
		defer d.close()
	}
	for _, of := range slices.Backward(d.days) {
		date := of.Day.Format(time.DateOnly)
		name := archive.DataDayName(d.table.Name, date)
		if has[name] && before[name].MadeFrom == of.MadeFrom && !w.options.Again {
			continue
		}
		if *rows >= w.options.DayRows {
			if has[name] && w.options.Again {
				w.stale[name] = "a database before this one"
			} else if has[name] {
				w.stale[name] = before[name].MadeFrom
			}
			continue
		}
		write := func(to io.Writer) error {
			file := NewParquetWriter(to, d.table)
			if err := d.write(ctx, of.Day, file.Write); err != nil {
				return err
			}
			*rows += file.Rows()
			return file.Close()
		}
		if has[name] {
			err = w.to.RewriteDataDay(d.table.Name, date, func(_ io.ReaderAt, _ int64, to io.Writer) (bool, error) {
				return true, write(to)
			})
		} else {
			err = w.to.AddDataDay(d.table.Name, date, write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dayNames returns the names of all files of days.
func (w *writer) dayNames() (map[string]bool, error) {
	files, err := w.to.DataDays()
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(files))
	for _, f := range files {
		has[f.Name] = true
	}
	return has, nil
}

// writeRest writes the rows of days that are not over, and those of the last days to the SQLite file. It reads a row
// for both once.
func (w *writer) writeRest(ctx context.Context, d daily) (err error) {
	var open *spool
	if d.table.Open {
		if open, err = w.begin(d.table); err != nil {
			return err
		}
	}
	recent, from := w.sqlite.Appender(d.table), d.first
	if d.open.Before(from) {
		from = d.open
	}
	err = d.rest(ctx, from, func(at time.Time, row Row) error {
		if open != nil && !at.Before(d.open) {
			if err := open.write(ctx, row); err != nil {
				return err
			}
		}
		if !at.Before(d.first) {
			return recent.Write(ctx, row)
		}
		return nil
	})
	if err != nil || open == nil {
		return err
	}
	return w.publish(open)
}

// previousParts returns the files of days that the previous snapshot names, by name. Without a readable index all facts
// of a day that may change count as changed.
func (w *writer) previousParts() map[string]Part {
	parts := map[string]Part{}
	var index Package
	if text, err := w.to.ReadPrevious(archive.DataIndex); err != nil || json.Unmarshal(text, &index) != nil {
		return parts
	}
	for _, r := range index.Resources {
		for _, p := range r.Parts {
			parts[archive.DataDir+"/"+p.Path] = p
		}
	}
	return parts
}

// isStale reports whether a file lacks rows that a later build adds.
func (w *writer) isStale(name string) bool { _, ok := w.stale[name]; return ok }

// addParts adds the files of days to the index, as long as they are published.
func (w *writer) addParts(list []daily) error {
	files, err := w.to.DataDays()
	if err != nil {
		return err
	}
	for _, d := range list {
		madeFrom := map[string]string{}
		for _, of := range d.days {
			madeFrom[archive.DataDayName(d.table.Name, of.Day.Format(time.DateOnly))] = of.MadeFrom
		}
		var parts []Part
		for _, f := range files {
			if facts, ok := madeFrom[f.Name]; ok {
				p := NewPart(File{Name: f.Name[len(archive.DataDir)+1:], Bytes: f.Bytes,
					SHA256: f.Sum.String()})
				if p.MadeFrom = facts; w.isStale(f.Name) {
					p.MadeFrom = w.stale[f.Name]
				}
				parts = append(parts, p)
			}
		}
		w.index.AddDays(d.table, parts)
	}
	return nil
}
