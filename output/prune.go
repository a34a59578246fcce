package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Retention says which snapshots stay beside the current and the previous one.
type Retention struct {
	Daily int   // newest snapshots of a UTC day each; 0 for none
	Size  int64 // largest number of bytes of all snapshots, packs and files of days; 0 for any
}

// DefaultRetention keeps one snapshot a day for a year.
var DefaultRetention = Retention{Daily: 365}

// Limits of the retention that nobody configures.
const (
	retainNewest   = 10 // within retainRecent
	retainRecent   = 2 * time.Hour
	retainHourly   = 24 * time.Hour
	retainReplaced = time.Hour // after its successor was built, for readers that still page through it
	maxReplaced    = 60        // maximum of these: with builds less than a minute apart, they cover less than an hour
)

// Retain returns the ids of those snapshots of list that are retained, oldest first. It ignores names that are not ids.
// shared is the number of bytes of all packs and files of days. It retains:
//
//   - the current and the previous snapshot
//   - the snapshots that were current within the last hour, at most the newest 60 of them
//   - the newest 10 of the last 2 hours
//   - the newest of each UTC hour of the last 24 hours
//   - the newest of each UTC day, for the last Daily days that have a snapshot, also if the clock is a year wrong
//
// If these and the shared files have more bytes than Size, it drops the oldest of them, but none of the first two
// kinds. Applying Retain to its own result changes nothing until time passes.
func (r Retention) Retain(list []RetainedSnapshot, shared int64, now time.Time, current, previous string) []string {
	bytes := map[string]int64{}
	for _, s := range list {
		bytes[s.ID] = s.Bytes
	}
	ids := slices.Sorted(maps.Keys(bytes))
	slices.Reverse(ids)
	var retained []string
	needed := map[string]bool{}
	total := shared
	recent, justReplaced, days, hour, day := 0, 0, 0, "", ""
	replaced := now // when the next newer snapshot was built
	for _, id := range ids {
		built, ok := archive.ParseSnapshotID(id)
		if !ok {
			continue
		}
		retain := id == current || id == previous
		age := now.Sub(built)
		if now.Sub(replaced) <= retainReplaced && justReplaced < maxReplaced {
			retain, justReplaced = true, justReplaced+1
		}
		needed[id] = retain
		replaced = built
		if age <= retainRecent && recent < retainNewest {
			retain, recent = true, recent+1
		}
		if h := id[:len("20060102T15")]; age <= retainHourly && h != hour {
			retain, hour = true, h
		}
		if d := id[:len("20060102")]; days < r.Daily && d != day {
			retain, day, days = true, d, days+1
		}
		if retain {
			retained = append(retained, id)
			total += bytes[id]
		}
	}
	slices.Reverse(retained)
	if r.Size == 0 {
		return retained
	}
	return slices.DeleteFunc(retained, func(id string) bool {
		drop := total > r.Size && !needed[id]
		if drop {
			total -= bytes[id]
		}
		return drop
	})
}

// Pruned counts what Prune removed.
type Pruned struct {
	Snapshots, Trees, Packs, Days int
	Erased                        int // snapshots that may contain what was erased, not counted in Snapshots
}

// Prune removes the snapshots that the folder's retention does not retain or that its erasures cover, and all trees but
// the current and the previous one. It removes the packs of hours before packsBefore ("2026112023"; "" for none) except
// the needed ones, the files of days that neither the current nor the previous snapshot names, and remains of
// interrupted publishers. It locks the folder. Files with other names stay.
func (d *Folder) Prune(now time.Time, packsBefore string, needed ...string) (Pruned, error) {
	var p Pruned
	if err := d.prepare(); err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	lock, err := lockDisk(filepath.Join(d.root, lockName))
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	defer unlock(lock)
	if err := d.prune(now, packsBefore, needed, &p); err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	return p, nil
}

func (d *Folder) prune(now time.Time, packsBefore string, needed []string, p *Pruned) error {
	if err := d.sweep(); err != nil {
		return err
	}
	c, err := d.Checkpoint()
	if err != nil && !errors.Is(err, ErrEmpty) {
		return err
	}
	var previous string
	if c.Previous != nil {
		previous = *c.Previous
	}
	if err := d.prunePacks(packsBefore, needed, p); err != nil {
		return err
	}
	list, err := d.Snapshots()
	if err != nil {
		return err
	}
	if err := d.pruneDays(c.Snapshot, previous, p); err != nil {
		return err
	}
	shared, err := d.sharedBytes()
	if err != nil {
		return err
	}
	retained := d.retention.Retain(d.erasures.without(list, c.Snapshot), shared, now, c.Snapshot, previous)
	for _, s := range list {
		if slices.Contains(retained, s.ID) {
			continue
		}
		if err := d.disk.Remove(d.snapshotPath(s.ID)); err != nil {
			return err
		}
		if d.erasures.Cover(s.ID) {
			p.Erased++
		} else {
			p.Snapshots++
		}
	}
	// A crash between two deletions leaves the rest of the snapshots; the next Prune deletes them.

	seals, err := d.list(archive.SnapshotsDir, zipSumExt, isSnapshotID)
	if err != nil {
		return err
	}
	for _, id := range seals {
		if slices.Contains(retained, id) {
			continue
		}
		if err := d.disk.Remove(d.zipSumPath(id)); err != nil {
			return err
		}
	}
	trees, err := d.list(treeDir, "", isSnapshotID)
	if err != nil {
		return err
	}
	for _, id := range trees {
		erased := id != c.Snapshot && d.erasures.Cover(id)
		if !erased && (id == c.Snapshot || id == previous || id == d.treeID()) {
			continue
		}
		if erased && id == d.treeID() { // builds write no trees any more
			if err := d.disk.Remove(filepath.Join(d.root, currentLink)); err != nil {
				return err
			}
		}
		if err := d.removeTree(id); err != nil {
			return err
		}
		p.Trees++
	}
	return nil
}

// prunePacks removes the packs of hours before packsBefore except the needed ones.
func (d *Folder) prunePacks(packsBefore string, needed []string, p *Pruned) error {
	hours, err := d.Packs()
	if err != nil {
		return err
	}
	for _, hour := range hours {
		if hour >= packsBefore || slices.Contains(needed, hour) {
			continue
		}
		if err := d.disk.Remove(d.packPath(hour)); err != nil {
			return err
		}
		p.Packs++
	}
	return nil
}

// pruneDays removes the files of days that neither of two snapshots names.
func (d *Folder) pruneDays(current, previous string, p *Pruned) error {
	names, err := d.dataDayNames()
	if err != nil || len(names) == 0 || current == "" {
		return err
	}
	needed, has, err := d.namedDays(current)
	if err != nil || !has { // an older program built this snapshot; the next one may name the files again
		return err
	}
	if previous != "" {
		more, _, err := d.namedDays(previous)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		needed = append(needed, more...)
	}
	stays := map[string]bool{}
	for _, f := range needed {
		stays[f.Name] = true
	}
	for _, name := range names {
		if stays[name] {
			continue
		}
		for _, path := range []string{d.dataPath(name), d.dataSumPath(name)} {
			if err := d.disk.Remove(path); err != nil {
				return err
			}
		}
		p.Days++
	}
	return nil
}

// namedDays returns the files of days that a snapshot names, and false if it has no index of them.
func (d *Folder) namedDays(id string) ([]archive.DataFile, bool, error) {
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if err != nil {
		return nil, false, err
	}
	defer z.Close()
	return archive.ReadDataDays(z)
}

// list returns the valid names in a folder of the publication, without their extension.
func (d *Folder) list(dir, ext string, valid func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.root, dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok && valid(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

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
	packs, packBytes, err := p.unneededPacks(ctx, from)
	if err != nil {
		return pruned, err
	}
	days, dayBytes, err := p.unneededDays(ctx, t.checkpoint)
	if err != nil {
		return pruned, err
	}
	pruned.Packs, pruned.Days = len(packs), len(days)
	gone, shared := slices.Concat(days, packs), packBytes+dayBytes
	if pruned.Erased, err = p.deleteErased(ctx, from, t.checkpoint); err != nil {
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

// unneededPacks returns the packs that the folder has no more, and the number of bytes of the others. It returns none if
// the folder has no packs at all.
func (p *Publisher) unneededPacks(ctx context.Context, from *Folder) (gone []string, bytes int64, err error) {
	needed, err := from.Packs()
	if err != nil {
		return nil, 0, err
	}
	hours, err := p.listZips(ctx, archive.PacksDir, func(name string) bool {
		_, ok := archive.ParseHour(name)
		return ok
	})
	for _, pack := range hours {
		if len(needed) > 0 && !slices.Contains(needed, pack.ID) {
			gone = append(gone, archive.PackName(pack.ID))
		} else {
			bytes += pack.Bytes
		}
	}
	return gone, bytes, err
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
