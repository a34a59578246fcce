package build

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/build/judge"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/routes"
)

// pendingBlocks is how many blocks of a pack may be read ahead of the one that is written.
const pendingBlocks = 8

// hourPack is the pack of an hour while its blocks are read.
type hourPack struct {
	id     string
	blocks chan writeBlock
}

// writeBlock writes one block.
type writeBlock func(*packWriter) error

// packWriter writes the blocks of packs one after another. It reuses its rows for each block.
type packWriter struct {
	names judge.Names
	add   addFunc
	all   []site.GlobalCheckEntry
	own   []site.CheckEntry
}

// packRewrite says which published packs are written again.
type packRewrite struct {
	all  bool      // the numbers of their rows may belong to others
	from time.Time // the first hour with rows that count no more, or again; zero for none
}

func (p *packRewrite) includes(hour time.Time) bool {
	return p.all || !p.from.IsZero() && !hour.Before(p.from)
}

// addVoids adds the packs whose checks were voided, or counted again, since the previous snapshot. It returns the ID of
// the last such change, 0 for none. No other check of a pack changes, and blocks are never in a pack before the hour of
// their first row.
func (p *packRewrite) addVoids(voids []checks.Void, handled int64) (last int64) {
	for _, v := range voids {
		if v.ChangeID <= handled {
			continue
		}
		last = max(last, v.ChangeID)
		if hour := v.From.UTC().Truncate(time.Hour); p.from.IsZero() || hour.Before(p.from) {
			p.from = hour
		}
	}
	return last
}

// writePacks writes the pack of every sealed hour that has full blocks, if the folder lacks it or it is written again.
// Blocks are written as
// they are read. It returns how many packs it wrote and the hours of all packs that the snapshot's logs name.
func writePacks(ctx context.Context, r *postgres.Reader, names judge.Names, rewrite *packRewrite,
	folder *output.Folder, b *output.Build) (written int, needed []string, err error) {
	hours, err := r.PackHours(ctx)
	if err != nil {
		return 0, nil, err
	}
	var missing []time.Time
	for _, hour := range hours {
		id := site.PackHour(hour)
		if needed = append(needed, id); !folder.HasPack(id) || rewrite.includes(hour) {
			missing = append(missing, hour)
		}
	}
	w := &packWriter{names: names}
	g, ctx := errgroup.WithContext(ctx)
	packs := make(chan *hourPack, 1) // one hour is read while the hour before it is written
	goGuarded(g, func() error {
		defer close(packs)
		for _, hour := range missing {
			p := &hourPack{site.PackHour(hour), make(chan writeBlock, pendingBlocks)}
			err := send(ctx, packs, p)
			if err == nil {
				err = p.read(ctx, r, hour)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	goGuarded(g, func() error {
		for p := range packs {
			err := b.ReplacePack(p.id, func(add func(string, []byte) error) error {
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

// read reads the blocks of the pack. It closes the channel only if all of them were read.
func (p *hourPack) read(ctx context.Context, r *postgres.Reader, hour time.Time) error {
	err := r.Pack(ctx, hour, func(block checks.PackBlock) error {
		return send(ctx, p.blocks, func(w *packWriter) error { return w.writeChecks(block) })
	})
	if err != nil {
		return err
	}
	err = r.ChangePack(ctx, hour, func(block checks.ChangeBlock) error {
		return send(ctx, p.blocks, func(w *packWriter) error { return w.writeChanges(block) })
	})
	if err != nil {
		return err
	}
	close(p.blocks)
	return nil
}

// write writes the blocks of the pack until the channel is closed or ctx ends.
func (p *hourPack) write(ctx context.Context, w *packWriter) error {
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

// writeChecks writes a full block of checks. It leaves out a block of a service that is no longer listed.
func (w *packWriter) writeChecks(b checks.PackBlock) error {
	if b.ServiceID == 0 {
		w.all = w.all[:0]
		for _, c := range b.Rows {
			w.all = append(w.all, w.names.GlobalCheck(c))
		}
		block := site.Block[site.GlobalCheckEntry]{Number: b.Block, First: b.First, Rows: w.all}
		return addBlock(routes.Query{Route: routes.ByName("checks")}.BlockKey(b.Block), block, w.add)
	}
	slug, listed := w.names.Slug(b.ServiceID)
	if !listed {
		return nil
	}
	w.own = w.own[:0]
	for _, c := range b.Rows {
		w.own = append(w.own, judge.Check(c))
	}
	block := site.Block[site.CheckEntry]{Number: b.Block, First: b.First, Rows: w.own}
	return addBlock(routes.Query{Route: routes.ByName("service-checks"), Slug: slug}.BlockKey(b.Block), block, w.add)
}

// writeChanges writes a full block of changes. It leaves out a block of a service that is no longer listed, and one of
// an unknown type, which only a damaged row can have.
func (w *packWriter) writeChanges(b checks.ChangeBlock) error {
	if b.Type != "" && !slices.Contains(site.ChangeTypes, b.Type) {
		return nil
	}
	q := bare("changes", "")
	if b.ServiceID != 0 {
		slug, listed := w.names.Slug(b.ServiceID)
		if !listed {
			return nil
		}
		q = ofService(slug)
	}
	rows := make([]*site.ChangeRecord, len(b.Rows))
	for i, c := range b.Rows {
		rows[i] = w.names.Change(c)
	}
	block := site.Block[*site.ChangeRecord]{Number: b.Block, First: b.Block * site.BlockSize, Rows: rows}
	return addBlock(q.With("type", b.Type).BlockKey(b.Block), block, w.add)
}
