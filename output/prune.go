package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"tollbook/output/archive"
)

// What Keep keeps beside the current and the previous snapshot.
const (
	keepNewest = 10 // of the last keepRecent
	keepRecent = 2 * time.Hour
	keepHourly = 24 * time.Hour
	keepDays   = 365
	keepPins   = time.Hour // after another took its place, for readers whose walk began while it was current
	maxPins    = 60        // so many at most: with builds less than a minute apart, less than an hour
)

// Keep answers which of ids stay, oldest first: the current and the previous, what was current within the last hour
// (the newest 60 of these), the newest 10 of the last 2 hours, the newest of each UTC hour for a day and of each of the
// last 365 UTC days that have one: a clock that is a year ahead leaves the days. What is no id is never among them.
// Keeping again what was kept changes nothing until time passes.
func Keep(ids []string, now time.Time, current, previous string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Reverse(ids)
	var kept []string
	recent, pins, days, hour, day := 0, 0, 0, "", ""
	replaced := now // when the next newer one was built
	for _, id := range ids {
		built, ok := archive.ParseSnapshotID(id)
		if !ok {
			continue
		}
		keep := id == current || id == previous
		age := now.Sub(built)
		if age <= keepRecent && recent < keepNewest {
			keep, recent = true, recent+1
		}
		if now.Sub(replaced) <= keepPins && pins < maxPins {
			keep, pins = true, pins+1
		}
		replaced = built
		if h := id[:len("20060102T15")]; age <= keepHourly && h != hour {
			keep, hour = true, h
		}
		if d := id[:len("20060102")]; days < keepDays && d != day {
			keep, day, days = true, d, days+1
		}
		if keep {
			kept = append(kept, id)
		}
	}
	slices.Reverse(kept)
	return kept
}

// Pruned counts what Prune removed.
type Pruned struct{ Snapshots, Trees, Packs int }

// Prune removes the snapshots that Keep does not keep, the trees of all but the current and the previous one, the packs
// of hours before packsBefore ("2026112023"; "" for none) but for the needed ones, and what killed publishers left. It
// takes the lock. A file that it does not know by its name stays.
func (d *Folder) Prune(now time.Time, packsBefore string, needed ...string) (Pruned, error) {
	var p Pruned
	if err := d.prepare(); err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	lock, err := lockFile(filepath.Join(d.root, lockName))
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	defer unlockFile(lock)
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
	isID := func(name string) bool { _, ok := archive.ParseSnapshotID(name); return ok }
	isHour := func(name string) bool { _, ok := archive.ParseHour(name); return ok }

	ids, err := d.list(archive.SnapshotsDir, ".zip", isID)
	if err != nil {
		return err
	}
	kept := Keep(ids, now, c.Snapshot, previous)
	for _, id := range ids {
		if slices.Contains(kept, id) {
			continue
		}
		if err := d.disk.remove(d.snapshotPath(id)); err != nil {
			return err
		}
		p.Snapshots++
	}
	seals, err := d.list(archive.SnapshotsDir, sealExt, isID)
	if err != nil {
		return err
	}
	for _, id := range seals {
		if slices.Contains(kept, id) {
			continue
		}
		if err := d.disk.remove(d.sealPath(id)); err != nil {
			return err
		}
	}
	trees, err := d.list(treeDir, "", isID)
	if err != nil {
		return err
	}
	for _, id := range trees {
		if id == c.Snapshot || id == previous || id == d.treeID() {
			continue
		}
		if err := d.removeTree(id); err != nil {
			return err
		}
		p.Trees++
	}
	hours, err := d.list(archive.PacksDir, ".zip", isHour)
	if err != nil {
		return err
	}
	for _, hour := range hours {
		if hour >= packsBefore || slices.Contains(needed, hour) {
			continue
		}
		if err := d.disk.remove(d.packPath(hour)); err != nil {
			return err
		}
		p.Packs++
	}
	return nil
}

// list answers the names in a folder of the publication, without their extension, that are what they should be.
func (d *Folder) list(dir, ext string, valid func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.root, dir))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok && valid(name) {
			found = append(found, name)
		}
	}
	return found, nil
}
