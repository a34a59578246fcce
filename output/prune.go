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

// Retention beside the current and the previous snapshot.
const (
	retainNewest   = 10 // within retainRecent
	retainRecent   = 2 * time.Hour
	retainHourly   = 24 * time.Hour
	retainDays     = 365
	retainReplaced = time.Hour // after its successor was built, for readers that still page through it
	maxReplaced    = 60        // maximum of these: with builds less than a minute apart, they cover less than an hour
)

// Retain returns those of ids that are retained, oldest first. It ignores names that are not ids. It retains:
//
//   - the current and the previous snapshot
//   - the snapshots that were current within the last hour, at most the newest 60 of them
//   - the newest 10 of the last 2 hours
//   - the newest of each UTC hour of the last 24 hours
//   - the newest of each UTC day, for the last 365 days that have a snapshot, also if the clock is a year wrong
//
// Applying Retain to its own result changes nothing until time passes.
func Retain(ids []string, now time.Time, current, previous string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Reverse(ids)
	var retained []string
	recent, justReplaced, days, hour, day := 0, 0, 0, "", ""
	replaced := now // when the next newer snapshot was built
	for _, id := range ids {
		built, ok := archive.ParseSnapshotID(id)
		if !ok {
			continue
		}
		retain := id == current || id == previous
		age := now.Sub(built)
		if age <= retainRecent && recent < retainNewest {
			retain, recent = true, recent+1
		}
		if now.Sub(replaced) <= retainReplaced && justReplaced < maxReplaced {
			retain, justReplaced = true, justReplaced+1
		}
		replaced = built
		if h := id[:len("20060102T15")]; age <= retainHourly && h != hour {
			retain, hour = true, h
		}
		if d := id[:len("20060102")]; days < retainDays && d != day {
			retain, day, days = true, d, days+1
		}
		if retain {
			retained = append(retained, id)
		}
	}
	slices.Reverse(retained)
	return retained
}

// Pruned counts what Prune removed.
type Pruned struct{ Snapshots, Trees, Packs int }

// Prune removes the snapshots that Retain does not return, and all trees but the current and the previous one. It
// removes the packs of hours before packsBefore ("2026112023"; "" for none) except the needed ones, and remains of
// interrupted publishers. It locks the folder. Files with other names stay.
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
	retained := Retain(ids, now, c.Snapshot, previous)
	for _, id := range ids {
		if slices.Contains(retained, id) {
			continue
		}
		if err := d.disk.remove(d.snapshotPath(id)); err != nil {
			return err
		}
		p.Snapshots++
	}
	seals, err := d.list(archive.SnapshotsDir, zipSumExt, isID)
	if err != nil {
		return err
	}
	for _, id := range seals {
		if slices.Contains(retained, id) {
			continue
		}
		if err := d.disk.remove(d.zipSumPath(id)); err != nil {
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
