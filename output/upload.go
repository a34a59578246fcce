package output

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tollbook/output/archive"
	"tollbook/output/objects"

	"golang.org/x/sync/errgroup"
)

// packsAtOnce is the number of packs that are sent concurrently.
const packsAtOnce = 4

// uploadPacks sends the packs that the store does not have. After a service was erased, it compares all packs, because
// some were replaced.
func (p *Publisher) uploadPacks(ctx context.Context, from *Folder, erased bool) (uploaded int, err error) {
	there, err := p.store.List(ctx, archive.PacksDir+"/")
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	for _, obj := range there {
		sizes[obj.Name] = obj.Size
	}
	hours, err := from.Packs()
	if err != nil {
		return 0, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(packsAtOnce)
	for _, hour := range hours {
		body, err := objects.OpenBody(from.packPath(hour))
		if err != nil {
			return uploaded, errors.Join(err, g.Wait())
		}
		if size, ok := sizes[archive.PackName(hour)]; ok && size == body.Size() &&
			(!erased || objects.Compare(ctx, p.store, archive.PackName(hour), body) == nil) {
			body.Close()
			continue
		}
		uploaded++
		g.Go(func() error {
			defer body.Close()
			return p.upload(gctx, archive.PackName(hour), body, nil)
		})
	}
	return uploaded, g.Wait()
}

// uploadDays sends the files of days that a snapshot names. It keeps an object if the published snapshot names it with
// the same sum, or if its bytes are the same.
func (p *Publisher) uploadDays(ctx context.Context, t target, from *Folder, tree archive.Tree) (uploaded int,
	err error) {
	days, _, err := archive.ReadDataDays(tree)
	if err != nil || len(days) == 0 {
		return 0, err
	}
	there, err := p.store.List(ctx, archive.DataDir+"/")
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	for _, obj := range there {
		sizes[obj.Name] = obj.Size
	}
	published, err := p.publishedDays(t, from)
	if err != nil {
		return 0, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(packsAtOnce)
	for _, day := range days {
		size, exists := sizes[day.Name]
		exists = exists && size == day.Bytes
		if exists && published[day.Name] == day.Sum {
			continue
		}
		body, err := from.openDataDay(day)
		if err != nil {
			return uploaded, errors.Join(err, g.Wait())
		}
		if exists && objects.Compare(gctx, p.store, day.Name, body) == nil {
			body.Close()
			continue
		}
		uploaded++
		g.Go(func() error {
			defer body.Close()
			return p.upload(gctx, day.Name, body, nil)
		})
	}
	return uploaded, g.Wait()
}

// publishedDays returns the sums of the files of days that the published snapshot names; none if it can't be read.
func (p *Publisher) publishedDays(t target, from *Folder) (map[string]archive.Sum, error) {
	sums := map[string]archive.Sum{}
	if t.checkpoint.Snapshot == "" {
		return sums, nil
	}
	before, err := p.openPublished(t.checkpoint, from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, archive.ErrDamaged) {
		return sums, nil
	}
	if err != nil {
		return nil, err
	}
	defer before.Close()
	days, _, err := archive.ReadDataDays(before)
	if errors.Is(err, archive.ErrDamaged) {
		return sums, nil
	}
	for _, day := range days {
		sums[day.Name] = day.Sum
	}
	return sums, err
}

// openDataDay opens a file of a day and compares it with its sum.
func (d *Folder) openDataDay(day archive.DataFile) (*objects.FileBody, error) {
	path := d.dataPath(day.Name)
	body, err := objects.OpenBody(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.NewSectionReader(body, 0, body.Size()))
	if err == nil && archive.Sum(sum.Sum(nil)) != day.Sum {
		err = fmt.Errorf("%w: its bytes do not match their sum; delete it and build again", archive.ErrDamaged)
	}
	if err != nil {
		body.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return body, nil
}

// uploadSnapshot sends the zip unless the store already has the same files under its name, makes it visible when it is
// checked, and reads it back. A zip that the pointer names was read back before.
func (p *Publisher) uploadSnapshot(ctx context.Context, t target, c archive.Checkpoint, zip objects.Body,
	checked <-chan struct{}) error {
	name := archive.SnapshotName(c.Snapshot)
	obj, err := p.store.Stat(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if obj.Size == zip.Size() {
			if t.checkpoint.Snapshot == c.Snapshot && t.checkpoint.Digest == c.Digest && !p.o.Full {
				return nil
			}
			if objects.Compare(ctx, p.store, name, zip) == nil {
				return nil
			}
		} else if z, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), name); err == nil &&
			archive.Verify(ctx, z, c.Digest) == nil {
			return nil // the same files, compressed in another way
		}
	}
	return p.upload(ctx, name, zip, checked)
}

// upload puts an immutable object, which becomes visible when after is closed, and reads it back.
func (p *Publisher) upload(ctx context.Context, name string, body objects.Body, after <-chan struct{}) error {
	p.progress.addTotal(1, body.Size())
	header := immutableHeader
	if _, _, isDay := archive.ParseDataDay(name); isDay && p.o.Header != nil {
		header.Type = p.o.Header(name).Type
	}
	if _, err := p.store.Put(ctx, name, body, objects.PutOptions{Header: header, After: after,
		ReadBack: true}); err != nil {
		return err
	}
	if err := objects.Compare(ctx, p.store, name, body); err != nil {
		if errors.Is(err, archive.ErrDamaged) { // otherwise the next run would keep a pack of the right size
			err = errors.Join(err, p.store.Delete(ctx, []string{name}))
		}
		return err
	}
	// A crash before leaves an object that was not read back: the next run compares a zip, and keeps a pack of the
	// right size.

	p.progress.addDone(1, body.Size())
	return nil
}
