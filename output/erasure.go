package output

import (
	"context"
	"errors"
	"slices"
	"time"

	"tollbook/output/archive"
)

// ErrErased marks a snapshot that may contain what was erased since it was built, and that is not published again.
var ErrErased = errors.New("it may contain a service that was removed since; build and publish a new one")

// Erasure says which snapshots may contain something that was erased. A snapshot never changes, so these are deleted,
// whatever the retention says.
type Erasure struct {
	Since time.Time // snapshots that were built before do not contain it
	Clean string    // ID of the first snapshot without it
}

// Erasures are the erasures of a directory.
type Erasures []Erasure

// Cover reports whether a snapshot may contain something that was erased.
func (e Erasures) Cover(id string) bool {
	built, ok := archive.ParseSnapshotID(id)
	return ok && slices.ContainsFunc(e, func(e Erasure) bool {
		clean, ok := archive.ParseSnapshotID(e.Clean)
		return ok && id != e.Clean && !built.Before(e.Since) && !built.After(clean)
	})
}

// without returns the snapshots of a list that may be retained. The current one is always among them.
func (e Erasures) without(list []RetainedSnapshot, current string) []RetainedSnapshot {
	return slices.DeleteFunc(slices.Clone(list), func(s RetainedSnapshot) bool {
		return s.ID != current && e.Cover(s.ID)
	})
}

// SetErasures sets which snapshots Prune deletes because of erasures.
func (d *Folder) SetErasures(e Erasures) { d.erasures = e }

// SetErasures sets the erasures that this build handles, whose Clean may have any digest. RetainedSnapshots leaves out
// the snapshots that they cover.
func (b *Build) SetErasures(e Erasures) { b.erasures = e }

// deleteErased deletes from the store the snapshots that erasures cover, and returns how many they are. With them it
// deletes packs that the folder has no more, and the files of days that no remaining snapshot names: what was too old,
// or lost by a restored database, was not rewritten. It deletes nothing while the published snapshot is one of them, because readers would lose the others and still see what
// was erased.
func (p *Publisher) deleteErased(ctx context.Context, from *Folder, c archive.Checkpoint) (int, error) {
	if len(p.o.Erasures) == 0 || p.o.Erasures.Cover(c.Snapshot) {
		return 0, nil
	}
	list, err := p.listZips(ctx, archive.SnapshotsDir, isSnapshotID)
	if err != nil {
		return 0, err
	}
	var names []string
	for _, s := range list {
		if s.ID != c.Snapshot && p.o.Erasures.Cover(s.ID) {
			names = append(names, archive.SnapshotName(s.ID))
		}
	}
	if len(names) == 0 {
		return 0, nil
	}
	if c.Previous != nil && p.o.Erasures.Cover(*c.Previous) {
		c.Previous = nil
	}
	days, _, err := p.unneededDays(ctx, c)
	if err != nil {
		return 0, err
	}
	packs, _, err := p.unneededPacks(ctx, from)
	if err != nil {
		return 0, err
	}
	return len(names), p.store.Delete(ctx, slices.Concat(packs, days, names))
}

func isSnapshotID(name string) bool {
	_, ok := archive.ParseSnapshotID(name)
	return ok
}
