package build

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
)

// The default windows of the two logs of checks, from the route table.
var (
	serviceChecks = site.ByName("service-checks")
	allChecks     = site.ByName("checks")
)

// serviceLog is the part of a service's log that lies in the snapshot.
func serviceLog(f *postgres.ServiceFacts) site.Log[site.CheckEntry] {
	rows := make([]site.CheckEntry, len(f.Log.Tail))
	for i, c := range f.Log.Tail {
		rows[i] = checkEntry(c)
	}
	return logOf(f.Log, rows, defaultLimit(serviceChecks))
}

// globalLog is the same of the log of all services.
func globalLog(f *postgres.Facts, now time.Time) site.Log[site.GlobalCheckEntry] {
	names := namesOf(f)
	rows := make([]site.GlobalCheckEntry, len(f.Log.Tail))
	for i, c := range f.Log.Tail {
		rows[i] = globalCheckEntry(c, names)
	}
	return logOf(f.Log, rows, defaultLimit(allChecks))
}

func defaultLimit(r *site.Route) int {
	return site.Query{Route: r}.Int("limit")
}

// logOf cuts the newest rows into blocks: those that no pack holds, the open one last.
func logOf[T any](f postgres.LogFacts, tail []T, limit int) site.Log[T] {
	l := site.Log[T]{Index: site.LogIndex{First: f.First, Next: f.Next, Packs: []site.LogPack{}}, Newest: make([]T, 0, min(limit, len(tail)))}
	for _, b := range f.Blocks {
		hour := site.PackHour(b.Hour)
		if n := len(l.Index.Packs); n > 0 && l.Index.Packs[n-1].Pack == hour {
			l.Index.Packs[n-1].Last = b.Block
			continue
		}
		l.Index.Packs = append(l.Index.Packs, site.LogPack{Pack: hour, First: b.Block, Last: b.Block})
	}
	oldest := f.Next - int64(len(tail)) // number of tail[0]
	for block := f.Sealed / site.BlockSize; block*site.BlockSize < f.Next; block++ {
		first := max(block*site.BlockSize, oldest, f.First)
		end := min((block+1)*site.BlockSize, f.Next)
		l.Blocks = append(l.Blocks, site.Block[T]{Number: block, First: first, Rows: tail[first-oldest : end-oldest]})
	}
	for i := len(tail) - 1; i >= 0 && len(l.Newest) < limit && oldest+int64(i) >= f.First; i-- {
		l.Newest = append(l.Newest, tail[i])
	}
	return l
}

func checkEntry(c postgres.Check) site.CheckEntry {
	return site.CheckEntry{
		ID: c.ID.String(), CheckedAt: site.NewTime(c.CheckedAt), IsUp: c.IsUp, StatusCode: c.StatusCode,
		ResponseTimeMS: c.ResponseTimeMS, EndpointsFound: c.EndpointsFound, ErrorMessage: c.ErrorMessage,
	}
}

// globalCheckEntry judges the service's state right after the check; its name is the one of today.
// One of a service that was erased says nothing more.
func globalCheckEntry(c postgres.Check, names map[int64]name) site.GlobalCheckEntry {
	service := names[c.ServiceID]
	if service.slug == "" {
		return checkTombstone(c.ID.String(), site.NewTime(c.CheckedAt))
	}
	status := site.StatusUnknown
	if c.Status != nil {
		status = statusAfter(*c.Status, c.ConsecutiveFailures)
	}
	return site.GlobalCheckEntry{
		ID: c.ID.String(), CheckedAt: site.NewTime(c.CheckedAt), IsUp: c.IsUp, StatusCode: c.StatusCode,
		ResponseTimeMS: c.ResponseTimeMS, EndpointsFound: c.EndpointsFound,
		ServiceSlug: service.slug, ServiceName: service.name, ServiceStatus: status,
	}
}

type name struct{ slug, name string }

func namesOf(f *postgres.Facts) map[int64]name {
	names := make(map[int64]name, len(f.Services))
	for _, s := range f.Services {
		names[s.ID] = name{s.Slug, s.Name}
	}
	return names
}

// changes are a service's change records in the contract's words, as its page tells them: without the snapshots.
func changes(f *postgres.ServiceFacts) []site.ChangeRecord {
	records := make([]site.ChangeRecord, len(f.Changes))
	for i, c := range f.Changes {
		records[i] = site.ChangeRecord{Slug: f.Slug, Name: f.Name, Type: c.Type, ObservedAt: site.NewTime(c.ObservedAt), Summary: c.Summary}
	}
	return records
}

// hourPack is the pack of an hour, with what it is made of as it is read.
type hourPack struct {
	id     string
	blocks chan writeBlock
}

// writeBlock writes one block.
type writeBlock func(*packing) error

// packing is what the blocks of packs are written with, one after another: nothing is kept of their rows.
type packing struct {
	names map[int64]name
	add   func(string, []byte) error
	all   []site.GlobalCheckEntry
	own   []site.CheckEntry
}

// packBlocks are blocks that wait to be packed while the next are read.
const packBlocks = 8

// writePacks writes the pack of every sealed hour that has full blocks and that the folder does not have yet, block
// after block as they are read. needed are the packs that the snapshot's logs name, old ones with records of changes
// among them.
func writePacks(ctx context.Context, r *postgres.Reader, f *postgres.Facts, folder *output.Folder, b *output.Build) (written int, needed []string, err error) {
	hours, err := r.PackHours(ctx)
	if err != nil {
		return 0, nil, err
	}
	var fresh []time.Time
	for _, hour := range hours {
		id := site.PackHour(hour)
		if needed = append(needed, id); !folder.HasPack(id) {
			fresh = append(fresh, hour)
		}
	}
	w := &packing{names: namesOf(f)}
	g, ctx := errgroup.WithContext(ctx)
	begun := make(chan *hourPack, 1) // an hour is read while the one before is written
	g.Go(func() error {
		defer close(begun)
		for _, hour := range fresh {
			p := &hourPack{site.PackHour(hour), make(chan writeBlock, packBlocks)}
			err := send(ctx, begun, p)
			if err == nil {
				err = p.read(ctx, r, hour)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for p := range begun {
			err := b.AddPack(p.id, func(add func(string, []byte) error) error {
				w.add = add
				return p.write(ctx, w)
			})
			if err != nil {
				return fmt.Errorf("write pack %s: %w", p.id, err)
			}
			written++
		}
		return ctx.Err()
	})
	err = g.Wait()
	return written, needed, err
}

// read reads the blocks. They end only where all are read.
func (p *hourPack) read(ctx context.Context, r *postgres.Reader, hour time.Time) error {
	err := r.Pack(ctx, hour, func(block postgres.PackBlock) error {
		return send(ctx, p.blocks, func(w *packing) error { return w.checks(block) })
	})
	if err != nil {
		return err
	}
	err = r.ChangePack(ctx, hour, func(block postgres.ChangeBlock) error {
		return send(ctx, p.blocks, func(w *packing) error { return changeBlock(block, w.names, w.add) })
	})
	if err != nil {
		return err
	}
	close(p.blocks)
	return nil
}

func (p *hourPack) write(ctx context.Context, w *packing) error {
	for {
		select {
		case block, more := <-p.blocks:
			if !more {
				return nil
			}
			if err := block(w); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checks renders a full block of checks; one of a service that is listed no more is left out.
func (w *packing) checks(b postgres.PackBlock) error {
	if b.ServiceID == 0 {
		w.all = w.all[:0]
		for _, c := range b.Rows {
			w.all = append(w.all, globalCheckEntry(c, w.names))
		}
		return blockFile(site.Query{Route: allChecks}.BlockKey(b.Block), site.Block[site.GlobalCheckEntry]{Number: b.Block, First: b.First, Rows: w.all}, w.add)
	}
	n, listed := w.names[b.ServiceID]
	if !listed {
		return nil
	}
	w.own = w.own[:0]
	for _, c := range b.Rows {
		w.own = append(w.own, checkEntry(c))
	}
	return blockFile(site.Query{Route: serviceChecks, Slug: n.slug}.BlockKey(b.Block), site.Block[site.CheckEntry]{Number: b.Block, First: b.First, Rows: w.own}, w.add)
}

func blockFile[T any](key string, b site.Block[T], add func(string, []byte) error) error {
	return listFile(key, b.Rows, site.BlockMeta{First: b.First}, add)
}

// listFile frames rows with their meta.
func listFile[T any](key string, rows []T, meta any, add func(string, []byte) error) error {
	return writeFile(key, add, func(b []byte) ([]byte, error) { return site.AppendFrameOf(b, site.Framing{}, rows, meta) })
}

// logFiles are the files of a log in the snapshot: its index, its blocks and its default window.
func logFiles[T any](q site.Query, l site.Log[T], add func(string, []byte) error) error {
	if err := addLine(q.LogKey(), l.Index, add); err != nil {
		return err
	}
	for _, b := range l.Blocks {
		if err := blockFile(q.BlockKey(b.Number), b, add); err != nil {
			return err
		}
	}
	q.Bare = true
	return listFile(q.Key(), l.Newest, site.TotalMeta{Total: l.Index.Total()}, add)
}
