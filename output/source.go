package output

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Source follows a publication for readers. It may be a store, or a Folder's root, where the checkpoint names a zip
// (or, where that is missing, a tree), or an expanded tree by itself, such as public/current. A store that can't be
// reached leaves what is open as it is. All methods may be called concurrently.
type Source struct {
	place  place
	logger *slog.Logger
	every  time.Duration
	packs  packs

	mu       sync.Mutex
	current  *Snapshot   // nil until one could be opened
	recent   []*Snapshot // those before it, the newest first
	pinned   []*Snapshot // others that readers named, the last used first
	err      error       // why the newest could not be
	away     error       // why the pointer can't be looked at
	seen     pointer     // what current, or err, was made of
	lookedAt time.Time
	triedAt  time.Time  // when err was found
	opening  sync.Mutex // held by whoever opens a snapshot to be current; before mu
	pinning  sync.Mutex // held by whoever opens another; before mu
}

// Snapshot is one open snapshot. Whoever got it from Current or Pinned must Release it; its files stay readable until
// then, whatever is published or pruned meanwhile.
type Snapshot struct {
	archive.Tree
	ID         string
	Checkpoint archive.Checkpoint
	source     *Source
	packsDir   string
	counted
}

func newSnapshot(t archive.Tree, c archive.Checkpoint, packsDir string) *Snapshot {
	snap := &Snapshot{Tree: t, ID: c.Snapshot, Checkpoint: c, packsDir: packsDir}
	snap.retain()
	return snap
}

// OpenSource follows the publication in the folder root. It need not have a snapshot yet. A snapshot that can't be
// opened is told to logger, while the one before is still served.
func OpenSource(root string, logger *slog.Logger) (*Source, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("open source %s: not a folder", abs), err)
	}
	return newSource(folder{abs}, logger), nil
}

// OpenStoreSource follows the publication in a store. It keeps up to memory bytes of it, and reads the rest by ranges;
// a snapshot of a quarter of that it reads whole, so that a store that goes away is not missed.
func OpenStoreSource(store objects.Store, memory int64, logger *slog.Logger) *Source {
	return newSource(&remotePlace{store, objects.NewBlocks(store, memory)}, logger)
}

func newSource(p place, logger *slog.Logger) *Source {
	return &Source{place: p, logger: logger, every: p.every()}
}

// Every is how long a look at the pointer is trusted: a new snapshot is seen that much later at most.
func (s *Source) Every() time.Duration { return s.every }

// Current answers the newest snapshot that could be opened, for the caller to Release. Only the first call waits for
// opening; a later one goes on with the old snapshot while a new one is opened beside it. ErrEmpty: there is none yet.
func (s *Source) Current() (*Snapshot, error) {
	s.mu.Lock()
	due := time.Since(s.lookedAt) >= s.every
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
	seen, err := s.place.look(s.seen)
	if s.tellAway(err); err != nil {
		return err
	}
	s.mu.Lock()
	err = s.err
	known := seen.same(s.seen) && (s.current != nil || err != nil)
	told := known && err != nil
	s.mu.Unlock()
	if known && (err == nil || time.Since(s.triedAt) < s.every) {
		return err
	}
	next, err := s.open(seen)
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

// open opens what a look saw.
func (s *Source) open(seen pointer) (*Snapshot, error) {
	snap, err := s.place.open(seen)
	if err != nil {
		return nil, err
	}
	snap.source = s
	if want := snap.Checkpoint.Digest; snap.Digest() != want {
		snap.Release()
		return nil, fmt.Errorf("open snapshot %s: %w: its digest is %s, not %s", snap.ID, archive.ErrDamaged,
			snap.Digest(), want)
	}
	return snap, nil
}

// tellAway remembers whether the pointer could be looked at, and logs when that changes.
func (s *Source) tellAway(err error) {
	s.mu.Lock()
	before, serving := s.away, s.current != nil
	s.away = err
	s.mu.Unlock()
	switch {
	case err != nil && before == nil && serving:
		s.logger.Error("can't look for a newer snapshot; what is open is served", "from", s.place, "err", err)
	case err == nil && before != nil:
		s.logger.Info("the store answers again", "from", s.place)
	}
}

// ReadPack reads a file out of the pack of an hour.
func (s *Snapshot) ReadPack(hour, name string) ([]byte, error) {
	if _, ok := archive.ParseHour(hour); !ok {
		return nil, fmt.Errorf("read pack %.20q: %w: not an hour", hour, archive.ErrDamaged)
	}
	data, err := s.readPack(hour, name)
	if errors.Is(err, archive.ErrCondition) { // it was written anew, without a service that was erased
		data, err = s.readPack(hour, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", hour, err)
	}
	return data, nil
}

// PackVersion names the bytes of an hour's pack: they change when a service is erased, for every snapshot.
func (s *Snapshot) PackVersion(hour string) string {
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	if c := s.source.current; c != nil && c.Checkpoint.Erased > 0 {
		return hour + "~" + strconv.FormatInt(c.Checkpoint.Erased, 10)
	}
	return hour
}

func (s *Snapshot) readPack(hour, name string) ([]byte, error) {
	of := s.source
	p, err := of.packs.open(s.packsDir+"/"+s.PackVersion(hour), func() (*archive.ZipFile, error) {
		return of.place.openPack(s.packsDir, hour)
	})
	if err != nil {
		return nil, err
	}
	defer p.Release()
	data, err := p.zip.ReadFile(name)
	if errors.Is(err, archive.ErrCondition) {
		of.packs.drop(p)
	}
	return data, err
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
