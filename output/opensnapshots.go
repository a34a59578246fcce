package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tollbook/output/archive"
)

const (
	openNewest = 3 // newest snapshots that stay open, including the current one
	maxByID    = 3 // other snapshots that stay open because readers asked for them
)

// ErrNotRetained marks a request for a snapshot that does not exist or that was pruned.
var ErrNotRetained = errors.New("no such snapshot is kept")

// ByID returns the snapshot with this id; the caller releases it. The newest snapshots are open; any other retained one
// is opened now. ByID returns an error that wraps ErrNotRetained also if id is not an id.
//
// Only one snapshot is opened at a time: its directory takes memory, and a caller who waits mostly wants the same one.
func (s *Source) ByID(id string) (*Snapshot, error) {
	if snap := s.find(id); snap != nil {
		return s.checkKept(snap)
	}
	exists := false
	if _, ok := archive.ParseSnapshotID(id); ok {
		var err error
		if exists, err = s.origin.hasSnapshot(id); err != nil {
			return nil, err
		}
	}
	if !exists {
		return nil, fmt.Errorf("snapshot %.40q: %w", id, ErrNotRetained)
	}
	s.openingByID.Lock()
	defer s.openingByID.Unlock()
	if snap := s.find(id); snap != nil {
		return snap, nil
	}
	snap, err := s.openByID(id)
	if errors.Is(err, fs.ErrNotExist) { // pruned since hasSnapshot
		return nil, fmt.Errorf("snapshot %s: %w", id, ErrNotRetained)
	}
	if err != nil {
		return nil, err
	}
	snap.retain() // for the caller
	s.mu.Lock()
	defer s.mu.Unlock()
	snap.foundAt = time.Now()
	s.byID = slices.Insert(s.byID, 0, snap)
	s.byID = releaseAfter(s.byID, maxByID)
	return snap, nil
}

// checkInterval is the time between two requests to a store whether it still has an open snapshot. A folder is asked
// each time.
const checkInterval = time.Minute

// checkKept returns an open snapshot that is not the current one, or ErrNotRetained if it was deleted because something
// in it was erased. Before the first erasure, and while the store is unreachable, an open snapshot stays in use.
func (s *Source) checkKept(snap *Snapshot) (*Snapshot, error) {
	s.mu.Lock()
	due := s.current != nil && s.current != snap && s.current.Checkpoint.Erased > 0
	if s.origin.pollInterval() >= time.Second { // a store
		due = due && time.Since(snap.foundAt) >= checkInterval
	}
	s.mu.Unlock()
	if !due {
		return snap, nil
	}
	exists, err := s.origin.hasSnapshot(snap.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists || err != nil {
		snap.foundAt = time.Now()
		return snap, nil
	}
	for _, list := range []*[]*Snapshot{&s.recent, &s.byID} {
		*list = slices.DeleteFunc(*list, func(open *Snapshot) bool {
			if open == snap {
				open.Release()
			}
			return open == snap
		})
	}
	snap.Release()
	return nil, fmt.Errorf("snapshot %s: %w", snap.ID, ErrNotRetained)
}

// find returns an open snapshot, and moves one that was opened by id to the front.
func (s *Source) find(id string) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.ID == id {
		s.current.retain()
		return s.current
	}
	isID := func(snap *Snapshot) bool { return snap.ID == id }
	if i := slices.IndexFunc(s.recent, isID); i >= 0 {
		s.recent[i].retain()
		return s.recent[i]
	}
	i := slices.IndexFunc(s.byID, isID)
	if i < 0 {
		return nil
	}
	snap := s.byID[i]
	copy(s.byID[1:i+1], s.byID[:i])
	s.byID[0] = snap
	snap.retain()
	return snap
}

// openByID opens a snapshot that the checkpoint does not name any more. Its time comes from its id. The time of the
// next build is unknown; NextAt is the same time.
func (s *Source) openByID(id string) (*Snapshot, error) {
	built, _ := archive.ParseSnapshotID(id)
	at := built.Format(archive.TimeLayout)
	snap, err := s.origin.openID(archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at})
	if err != nil {
		return nil, err
	}
	snap.source = s
	snap.Checkpoint.Digest = snap.Digest()
	if archive.SnapshotID(built, snap.Digest()) != id {
		snap.Release()
		return nil, fmt.Errorf("open snapshot %s: %w: its digest is %s", id, archive.ErrDamaged, snap.Checkpoint.Digest)
	}
	return snap, nil
}

// setCurrent makes next the current snapshot; the previous ones stay open for readers that ask for them. The caller
// holds mu.
func (s *Source) setCurrent(next *Snapshot) {
	if s.current != nil {
		s.recent = slices.Insert(s.recent, 0, s.current)
		if next.Checkpoint.Erased > s.current.Checkpoint.Erased {
			for _, snap := range slices.Concat(s.recent, s.byID) {
				snap.foundAt = time.Time{} // it may be deleted
			}
		}
	}
	s.current = next
	s.recent = slices.DeleteFunc(s.recent, func(snap *Snapshot) bool { // next is in the list after a rollback
		if snap.ID == next.ID {
			snap.Release()
			return true
		}
		return false
	})
	s.recent = releaseAfter(s.recent, openNewest-1)
}

// releaseAfter releases all snapshots but the first n.
func releaseAfter(list []*Snapshot, n int) []*Snapshot {
	for _, snap := range list[min(n, len(list)):] {
		snap.Release()
	}
	return slices.Delete(list, min(n, len(list)), len(list))
}

// Err returns why the newest snapshot could not be opened or the pointer could not be read, while an older snapshot is
// served. It returns nil if both worked.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.unreachable, s.err)
}
