package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"tollbook/output/archive"
)

const (
	keepOpen  = 3 // snapshots that stay open as the newest, the current one among them
	maxPinned = 3 // others that stay open because readers named them
)

// ErrNotKept is the answer to the id of a snapshot that is not there, any more or at all.
var ErrNotKept = errors.New("no such snapshot is kept")

// Pinned answers the snapshot with this id for the caller to Release: one of the newest, which stay open, or another
// that is still kept and is opened for whoever names it. It fails with ErrNotKept for what is no id, too. One snapshot
// is opened at a time: its directory takes memory, and who waits mostly wants the same.
func (s *Source) Pinned(id string) (*Snapshot, error) {
	if snap := s.find(id); snap != nil {
		return snap, nil
	}
	kept := false
	if _, ok := archive.ParseSnapshotID(id); ok {
		var err error
		if kept, err = s.place.isKept(id); err != nil {
			return nil, err
		}
	}
	if !kept {
		return nil, fmt.Errorf("snapshot %.40q: %w", id, ErrNotKept)
	}
	s.pinning.Lock()
	defer s.pinning.Unlock()
	if snap := s.find(id); snap != nil {
		return snap, nil
	}
	snap, err := s.openPinned(id)
	if errors.Is(err, fs.ErrNotExist) { // pruned since the look
		return nil, fmt.Errorf("snapshot %s: %w", id, ErrNotKept)
	}
	if err != nil {
		return nil, err
	}
	snap.retain() // for the caller
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = slices.Insert(s.pinned, 0, snap)
	s.pinned = releaseAfter(s.pinned, maxPinned)
	return snap, nil
}

// find answers an open snapshot. One that was named moves to the front of those.
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
	i := slices.IndexFunc(s.pinned, isID)
	if i < 0 {
		return nil
	}
	snap := s.pinned[i]
	copy(s.pinned[1:i+1], s.pinned[:i])
	s.pinned[0] = snap
	snap.retain()
	return snap
}

// openPinned opens a snapshot that its checkpoint names no longer: of that it knows what the id says. When the next
// build was due is unknown, and said to be then.
func (s *Source) openPinned(id string) (*Snapshot, error) {
	built, _ := archive.ParseSnapshotID(id)
	at := built.Format(archive.TimeLayout)
	snap, err := s.place.openID(archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at})
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

// follow makes next the current snapshot; those before it stay open for who names them. It needs mu.
func (s *Source) follow(next *Snapshot) {
	if s.current != nil {
		s.recent = slices.Insert(s.recent, 0, s.current)
	}
	s.current = next
	s.recent = slices.DeleteFunc(s.recent, func(snap *Snapshot) bool { // after a step back
		if snap.ID == next.ID {
			snap.Release()
			return true
		}
		return false
	})
	s.recent = releaseAfter(s.recent, keepOpen-1)
}

// releaseAfter lets go of all but the first n.
func releaseAfter(list []*Snapshot, n int) []*Snapshot {
	for _, snap := range list[min(n, len(list)):] {
		snap.Release()
	}
	return slices.Delete(list, min(n, len(list)), len(list))
}

// Err says why the newest snapshot could not be opened, or not even be looked for, while the one before is served; nil
// where it could.
func (s *Source) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.away, s.err)
}
