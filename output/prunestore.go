package output

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Prune removes from the store the snapshots that neither Keep keeps nor the current one lists, the packs that the
// folder does not have any more, and what killed publishers left. A folder without packs says nothing about them. An
// object that it does not know by its name stays. What it removes nobody's pointer names, so that a crash leaves the
// rest for the next run.
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
	if err := p.store.Sweep(ctx); err != nil {
		return pruned, err
	}
	t, err := p.look(ctx)
	if err != nil {
		return pruned, err
	}
	if t.checkpoint.Snapshot == "" {
		return pruned, fmt.Errorf("%w; nothing is pruned", ErrEmpty)
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
	kept := Keep(ids, p.o.Now, t.checkpoint.Snapshot, previous)
	listed, err := p.listed(t.checkpoint.Snapshot)
	if err != nil {
		return pruned, err
	}
	var gone []string
	for _, id := range ids {
		if !slices.Contains(kept, id) && !slices.Contains(listed, id) {
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

// listed are the ids that a snapshot tells readers of: they can have them as long as it is the current one, though time
// passes.
func (p *Publisher) listed(id string) ([]string, error) {
	if p.o.Listed == nil {
		return nil, nil
	}
	tree, err := objects.OpenZip(objects.NewBlocks(p.store, 0), archive.SnapshotName(id))
	if err != nil {
		return nil, err
	}
	return p.o.Listed(tree)
}

// listNames answers the names of zips in a folder of the store, without their extension, that are what they should be.
func (p *Publisher) listNames(ctx context.Context, dir string, valid func(string) bool) ([]string, error) {
	list, err := p.store.List(ctx, dir+"/")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, obj := range list {
		name, ok := strings.CutSuffix(strings.TrimPrefix(obj.Name, dir+"/"), ".zip")
		if ok && valid(name) {
			found = append(found, name)
		}
	}
	return found, nil
}
