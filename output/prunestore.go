package output

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Prune removes from the store the snapshots that neither the folder's retention nor the list in the current snapshot
// names. It removes the
// packs that the folder does not have any more, unless the folder has no packs at all, and remains of interrupted
// publishers. Objects with other names stay. No pointer names a removed object, so after a crash the next run removes
// the rest.
func (p *Publisher) Prune(ctx context.Context, from *Folder) (pruned Pruned, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune %s: %w", p.store, err)
		}
	}()
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
	var gone []string
	packs := int64(0)
	for _, pack := range hours {
		if len(needed) == 0 || slices.Contains(needed, pack.ID) {
			packs += pack.Bytes
			continue
		}
		gone = append(gone, archive.PackName(pack.ID))
		pruned.Packs++
	}
	list, err := p.listZips(ctx, archive.SnapshotsDir, func(name string) bool {
		_, ok := archive.ParseSnapshotID(name)
		return ok
	})
	if err != nil {
		return pruned, err
	}
	retained := from.retention.Retain(list, packs, p.o.Now, t.checkpoint.Snapshot, previous)
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
	return pruned, p.store.Delete(ctx, gone)
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
