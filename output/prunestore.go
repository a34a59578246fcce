package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Prune removes from the store the snapshots that neither the folder's retention nor the list in the current snapshot
// names. It removes the packs that the folder does not have any more, unless the folder has no packs at all. It removes
// the files of days that neither the current nor the previous snapshot names, the snapshots that erasures cover, which
// a publication may have left when it was interrupted, and remains of interrupted publishers.
// Objects with other names stay. No pointer names a removed object, so after a crash the next run removes
// the rest.
func (p *Publisher) Prune(ctx context.Context, from *Folder) (pruned Pruned, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune %s: %w", p.store, err)
		}
	}()
	steps := NewSteps(p.o.Logger)
	_, release, err := p.register.Lock(ctx)
	if err != nil {
		return pruned, err
	}
	defer release()
	if err := p.store.Sweep(ctx, ""); err != nil {
		return pruned, err
	}
	t, err := p.readTarget(ctx)
	if err != nil {
		return pruned, err
	}
	if t.checkpoint.Snapshot == "" {
		return pruned, errNothingThere
	}
	steps.Done(ctx, "place locked and read", "generation", t.checkpoint.Generation)
	previous := ""
	if t.checkpoint.Previous != nil {
		previous = *t.checkpoint.Previous
	}
	needed, err := from.Packs()
	if err != nil {
		return pruned, err
	}
	hours, err := p.listZips(ctx, archive.PacksDir, func(name string) bool {
		_, ok := archive.ParseHour(name)
		return ok
	})
	if err != nil {
		return pruned, err
	}
	gone, shared, err := p.unneededDays(ctx, t.checkpoint)
	if err != nil {
		return pruned, err
	}
	pruned.Days = len(gone)
	for _, pack := range hours {
		if len(needed) == 0 || slices.Contains(needed, pack.ID) {
			shared += pack.Bytes
			continue
		}
		gone = append(gone, archive.PackName(pack.ID))
		pruned.Packs++
	}
	if pruned.Erased, err = p.deleteErased(ctx, t.checkpoint.Snapshot); err != nil {
		return pruned, err
	}
	list, err := p.listZips(ctx, archive.SnapshotsDir, isSnapshotID)
	if err != nil {
		return pruned, err
	}
	retained := from.retention.Retain(list, shared, p.o.Now, t.checkpoint.Snapshot, previous)
	listed, err := p.listed(t.checkpoint.Snapshot)
	if err != nil {
		return pruned, err
	}
	for _, s := range list {
		if !slices.Contains(retained, s.ID) && !slices.Contains(listed, s.ID) {
			gone = append(gone, archive.SnapshotName(s.ID))
			pruned.Snapshots++
		}
	}
	steps.Done(ctx, "snapshots, packs and days listed", "retained", len(retained), "old", len(gone), "erased", pruned.Erased)
	if err := p.store.Delete(ctx, gone); err != nil {
		return pruned, err
	}
	steps.Done(ctx, "old objects deleted", "snapshots", pruned.Snapshots, "packs", pruned.Packs, "days", pruned.Days)
	return pruned, nil
}

// listed returns the ids that a snapshot lists for readers. They must stay while that snapshot is current, however old
// they are.
func (p *Publisher) listed(id string) ([]string, error) {
	if p.o.Listed == nil {
		return nil, nil
	}
	tree, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), archive.SnapshotName(id))
	if err != nil {
		return nil, err
	}
	return p.o.Listed(tree)
}

// unneededDays returns the files of days that neither the current nor the previous snapshot names, and the number of
// bytes of the others. It returns no files if the current snapshot has no index of them.
func (p *Publisher) unneededDays(ctx context.Context, c archive.Checkpoint) (gone []string, bytes int64, err error) {
	list, err := p.store.List(ctx, archive.DataDir+"/")
	if err != nil {
		return nil, 0, err
	}
	list = slices.DeleteFunc(list, func(obj objects.Object) bool {
		_, _, isDay := archive.ParseDataDay(obj.Name)
		return !isDay
	})
	if len(list) == 0 {
		return nil, 0, nil
	}
	needed, has, err := p.daysOf(c.Snapshot)
	if err == nil && has && c.Previous != nil {
		var more map[string]bool
		if more, _, err = p.daysOf(*c.Previous); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		maps.Copy(needed, more)
	}
	if err != nil {
		return nil, 0, err
	}
	for _, obj := range list {
		if has && !needed[obj.Name] {
			gone = append(gone, obj.Name)
		} else {
			bytes += obj.Size
		}
	}
	return gone, bytes, nil
}

// daysOf returns the names of the files of days that a snapshot of the store names, and false if it has no index.
func (p *Publisher) daysOf(id string) (map[string]bool, bool, error) {
	tree, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), archive.SnapshotName(id))
	if err != nil {
		return nil, false, err
	}
	days, has, err := archive.ReadDataDays(tree)
	names := map[string]bool{}
	for _, day := range days {
		names[day.Name] = true
	}
	return names, has, err
}

// listZips returns the zips with valid names in a folder of the store.
func (p *Publisher) listZips(ctx context.Context, dir string, valid func(string) bool) ([]RetainedSnapshot, error) {
	list, err := p.store.List(ctx, dir+"/")
	if err != nil {
		return nil, err
	}
	var zips []RetainedSnapshot
	for _, obj := range list {
		name, ok := strings.CutSuffix(strings.TrimPrefix(obj.Name, dir+"/"), ".zip")
		if ok && valid(name) {
			zips = append(zips, RetainedSnapshot{name, obj.Size})
		}
	}
	return zips, nil
}
