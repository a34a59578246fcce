package output

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// recheck is how long a look at the pointer is trusted: a new snapshot is seen that much later at most.
const recheck = 250 * time.Millisecond

// Source follows a publication for readers. It may be a Folder's root, where the checkpoint names a zip (or, where that
// is missing, a tree), or an expanded tree by itself, such as public/current. All methods may be called concurrently.
type Source struct {
	root   string
	logger *slog.Logger
	packs  packs

	mu       sync.Mutex
	current  *Snapshot   // nil until one could be opened
	recent   []*Snapshot // those before it, the newest first
	pinned   []*Snapshot // others that readers named, the last used first
	err      error       // why the newest could not be
	seen     pointer     // what current, or err, was made of
	lookedAt time.Time
	triedAt  time.Time  // when err was found
	opening  sync.Mutex // held by whoever opens a snapshot to be current; before mu
	pinning  sync.Mutex // held by whoever opens another; before mu
}

// Snapshot is one open snapshot. Whoever got it from Current or Pinned must Release it; its files stay readable until then,
// whatever is published or pruned meanwhile.
type Snapshot struct {
	Tree
	ID         string
	Checkpoint Checkpoint
	source     *Source
	packsDir   string
	counted
}

// OpenSource follows the publication at root. It need not have a snapshot yet. A snapshot that can't be opened is told
// to logger, while the one before is still served.
func OpenSource(root string, logger *slog.Logger) (*Source, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("open source %s: not a folder", abs), err)
	}
	return &Source{root: abs, logger: logger}, nil
}

// Current answers the newest snapshot that could be opened, for the caller to Release. Only the first call waits for
// opening; a later one goes on with the old snapshot while a new one is opened beside it. ErrEmpty: there is none yet.
func (s *Source) Current() (*Snapshot, error) {
	s.mu.Lock()
	due := time.Since(s.lookedAt) >= recheck
	if due {
		s.lookedAt = time.Now()
	}
	snap := s.current
	if snap != nil {
		snap.retain()
	}
	s.mu.Unlock()
	switch {
	case snap == nil:
		return s.first()
	case due && s.opening.TryLock():
		go func() {
			defer s.opening.Unlock()
			s.refresh()
		}()
	}
	return snap, nil
}

// Refresh looks at the pointer now and waits until what it names is open.
func (s *Source) Refresh() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.refresh()
}

// first opens the first snapshot, once for all who wait.
func (s *Source) first() (*Snapshot, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	err := s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, err
	}
	s.current.retain()
	return s.current, nil
}

// refresh opens what the pointer names, if that changed, or tries again what failed. It needs opening.
func (s *Source) refresh() error {
	seen := s.look()
	s.mu.Lock()
	err := s.err
	known := seen.same(s.seen) && (s.current != nil || err != nil)
	told := known && err != nil
	s.mu.Unlock()
	if known && (err == nil || time.Since(s.triedAt) < recheck) {
		return err
	}
	next, err := s.open()
	s.mu.Lock()
	old := s.current
	s.seen, s.err, s.triedAt = seen, err, time.Now()
	if err == nil {
		s.follow(next)
	}
	s.mu.Unlock()
	if err != nil && old != nil && !told {
		s.logger.Error("can't open the newest snapshot; the one before is served", "snapshot", old.ID, "err", err)
	}
	return err
}

// open opens the snapshot that the pointer names now.
func (s *Source) open() (*Snapshot, error) {
	c, err := readCheckpoint(filepath.Join(s.root, checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s.openTree()
	}
	if err != nil {
		return nil, err
	}
	snap, err := s.openID(c)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, dirErr := OpenDir(s.root); dirErr == nil { // a tree with its checkpoint beside it
			snap, err = &Snapshot{Tree: dir, ID: c.Snapshot, Checkpoint: c, source: s, packsDir: filepath.Join(s.root, packsDir)}, nil
			snap.retain()
		}
	}
	if err != nil {
		return nil, err
	}
	if snap.Digest() != c.Digest {
		snap.Release()
		return nil, fmt.Errorf("open snapshot %s: %w: its digest is %s, not %s", c.Snapshot, ErrDamaged, snap.Digest(), c.Digest)
	}
	return snap, nil
}

// openTree opens a tree without a checkpoint. Its name tells its id, or else the time and digest of its sums do; the
// time of the next build is unknown and said to be now.
func (s *Source) openTree() (*Snapshot, error) {
	dir, err := OpenDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", s.root, ErrEmpty)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir.path(SumsFile))
	if err != nil {
		return nil, err
	}
	id := filepath.Base(dir.root)
	built, ok := ParseSnapshotID(id)
	if !ok {
		built = info.ModTime()
		id = SnapshotID(built, dir.Digest())
	}
	at := built.UTC().Format(TimeLayout)
	snap := &Snapshot{
		Tree: dir, ID: id, source: s, packsDir: filepath.Join(s.root, packsDir),
		Checkpoint: Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at, Digest: dir.Digest()},
	}
	if ok { // public/tree/<id>
		snap.packsDir = filepath.Join(dir.root, "..", "..", packsDir)
	}
	snap.retain()
	return snap, nil
}

// ReadPack reads a file out of the pack of an hour.
func (s *Snapshot) ReadPack(hour, name string) ([]byte, error) {
	if _, ok := parseHour(hour); !ok {
		return nil, fmt.Errorf("read pack %.20q: %w: not an hour", hour, ErrDamaged)
	}
	p, err := s.source.packs.open(filepath.Join(s.packsDir, hour+".zip"))
	if err != nil {
		return nil, fmt.Errorf("read pack: %w", err)
	}
	defer p.Release()
	data, err := p.zip.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", hour, err)
	}
	return data, nil
}

// Close lets go of the current snapshot and of the packs. It is called when no more calls come.
func (s *Source) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.Release()
		s.current = nil
	}
	s.recent, s.pinned = releaseAfter(s.recent, 0), releaseAfter(s.pinned, 0)
	s.packs.close()
}

// counted closes something when its last user is done.
type counted struct {
	users atomic.Int64
	close func() error
}

func (c *counted) retain() { c.users.Add(1) }

// Release says that a user is done. The files were only read: an error of closing them means nothing to anybody.
func (c *counted) Release() {
	if c.users.Add(-1) == 0 && c.close != nil {
		_ = c.close()
	}
}

// pointer is how a publication's pointer looked: the checkpoint, or the folder and sums of a tree.
type pointer []os.FileInfo

func (s *Source) look() pointer {
	if info, err := os.Stat(filepath.Join(s.root, checkpointFile)); err == nil {
		return pointer{info}
	}
	var p pointer
	for _, path := range []string{s.root, filepath.Join(s.root, SumsFile)} {
		if info, err := os.Stat(path); err == nil {
			p = append(p, info)
		}
	}
	return p
}

func (p pointer) same(q pointer) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !os.SameFile(p[i], q[i]) || !p[i].ModTime().Equal(q[i].ModTime()) || p[i].Size() != q[i].Size() {
			return false
		}
	}
	return true
}
