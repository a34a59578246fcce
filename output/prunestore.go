package output

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Prune removes from the store the snapshots that neither Retain returns nor the current snapshot lists. It removes the
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
	ids, err := p.listNames(ctx, archive.SnapshotsDir, func(name string) bool {
		_, ok := archive.ParseSnapshotID(name)
		return ok
	})
	if err != nil {
		return pruned, err
	}
	retained := Retain(ids, p.o.Now, t.checkpoint.Snapshot, previous)
	listed, err := p.listed(t.checkpoint.Snapshot)
	if err != nil {
		return pruned, err
	}
	var gone []string
	for _, id := range ids {
		if !slices.Contains(retained, id) && !slices.Contains(listed, id) {
			gone = append(gone, archive.SnapshotName(id))
		}
	}
	pruned.Snapshots = len(gone)
	hours, err := p.listNames(ctx, archive.PacksDir, func(name string) bool {
		_, ok := archive.ParseHour(name)
		return ok
	})
	if err != nil {
		return pruned, err
	}
	needed, err := from.Packs()
	if err != nil {
		return pruned, err
	}
	for _, hour := range hours {
		if len(needed) > 0 && !slices.Contains(needed, hour) {
			gone = append(gone, archive.PackName(hour))
			pruned.Packs++
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

// listNames returns the valid names of zips in a folder of the store, without their extension.
func (p *Publisher) listNames(ctx context.Context, dir string, valid func(string) bool) ([]string, error) {
	list, err := p.store.List(ctx, dir+"/")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, obj := range list {
		name, ok := strings.CutSuffix(strings.TrimPrefix(obj.Name, dir+"/"), ".zip")
		if ok && valid(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
