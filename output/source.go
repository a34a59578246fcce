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

// Source follows a publication for readers. The publication may be in a store or in a folder. A folder is either the
// root of a Folder, where the checkpoint names a zip (or a tree, if the zip is missing), or an expanded tree by itself,
// such as public/current. While a store is unreachable, the open snapshots stay in use. All methods may be called
// concurrently.
type Source struct {
	origin       origin
	logger       *slog.Logger
	pollInterval time.Duration
	packs        packCache
	tags         contentTags

	mu          sync.Mutex
	current     *Snapshot   // nil until a snapshot was opened
	recent      []*Snapshot // the snapshots before it, the newest first
	byID        []*Snapshot // others that readers asked for, the last used first
	err         error       // why the newest snapshot could not be opened
	unreachable error       // why the pointer could not be read
	seen        pointer     // the pointer of current or err
	lookedAt    time.Time
	triedAt     time.Time  // when err happened
	opening     sync.Mutex // locked while a new current snapshot is opened; before mu
	openingByID sync.Mutex // locked while a snapshot is opened by id; before mu
}

// Snapshot is one open snapshot. The caller of Current or ByID must Release it. Its files stay readable until then,
// even if it is pruned meanwhile.
type Snapshot struct {
	archive.Tree
	ID         string
	Checkpoint archive.Checkpoint
	source     *Source
	foundAt    time.Time // when the origin last had it; Source.mu protects it
	packsDir   string
	refCount
}

func newSnapshot(t archive.Tree, c archive.Checkpoint, packsDir string) *Snapshot {
	snap := &Snapshot{Tree: t, ID: c.Snapshot, Checkpoint: c, packsDir: packsDir}
	snap.retain()
	return snap
}

// OpenSource follows the publication in the folder root, which may not have a snapshot yet. If a new snapshot cannot be
// opened, the source logs it and serves the previous one.
func OpenSource(root string, logger *slog.Logger) (*Source, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("open source %s: not a folder", abs), err)
	}
	return newSource(folderOrigin{abs}, logger), nil
}

// OpenStoreSource follows the publication in a store. It caches up to memory bytes and reads the rest by ranges. It
// caches a snapshot of up to a quarter of memory completely, so that readers do not notice that the store is
// unreachable.
func OpenStoreSource(store objects.Store, memory int64, logger *slog.Logger) *Source {
	return newSource(&storeOrigin{store, objects.NewBlockCache(store, memory)}, logger)
}

func newSource(from origin, logger *slog.Logger) *Source {
	return &Source{origin: from, logger: logger, pollInterval: from.pollInterval()}
}

// PollInterval returns the time between two reads of the pointer, which is the maximum delay of a new snapshot.
func (s *Source) PollInterval() time.Duration { return s.pollInterval }

// Current returns the newest snapshot that could be opened; the caller releases it. Only the first call waits for
// opening. Later calls return the old snapshot while a new one is opened. The error wraps ErrEmpty if there is no
// snapshot yet.
func (s *Source) Current() (*Snapshot, error) {
	s.mu.Lock()
	due := time.Since(s.lookedAt) >= s.pollInterval
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

// Refresh reads the pointer and waits until its snapshot is open.
func (s *Source) Refresh() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.refresh()
}

// first opens the first snapshot, once for all callers.
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

// refresh opens the snapshot of the pointer if the pointer changed, or retries what failed. The caller holds opening.
func (s *Source) refresh() error {
	seen, err := s.origin.readPointer(s.seen)
	if s.setUnreachable(err); err != nil {
		return err
	}
	s.mu.Lock()
	err = s.err
	unchanged := seen.equal(s.seen) && (s.current != nil || err != nil)
	logged := unchanged && err != nil
	s.mu.Unlock()
	if unchanged && (err == nil || time.Since(s.triedAt) < s.pollInterval) {
		return err
	}
	next, err := s.open(seen)
	s.mu.Lock()
	old := s.current
	s.seen, s.err, s.triedAt = seen, err, time.Now()
	if err == nil {
		s.setCurrent(next)
	}
	s.mu.Unlock()
	if err != nil && old != nil && !logged {
		s.logger.Error("cannot open the newest snapshot; serving the previous one", "snapshot", old.ID, "err", err)
	}
	return err
}

// open opens the snapshot of a pointer and compares its digest.
func (s *Source) open(seen pointer) (*Snapshot, error) {
	snap, err := s.origin.open(seen)
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

// setUnreachable stores the error of reading the pointer, and logs when that changes.
func (s *Source) setUnreachable(err error) {
	s.mu.Lock()
	before, serving := s.unreachable, s.current != nil
	s.unreachable = err
	s.mu.Unlock()
	switch {
	case err != nil && before == nil && serving:
		s.logger.Error("cannot read the pointer; serving the open snapshots", "from", s.origin, "err", err)
	case err == nil && before != nil:
		s.logger.Info("the store answers again", "from", s.origin)
	}
}

// ReadPack reads a file of the pack of an hour.
func (s *Snapshot) ReadPack(hour, name string) ([]byte, error) {
	if _, ok := archive.ParseHour(hour); !ok {
		return nil, fmt.Errorf("read pack %.20q: %w: not an hour", hour, archive.ErrDamaged)
	}
	data, err := s.readPack(hour, name)
	if errors.Is(err, archive.ErrCondition) { // the pack was replaced because a service was erased
		data, err = s.readPack(hour, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", hour, err)
	}
	return data, nil
}

// PackVersion returns a name for the bytes of an hour's pack. It changes for every snapshot when a service is erased.
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
		return of.origin.openPack(s.packsDir, hour)
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

// Close releases the open snapshots and packs. No other method may be called after it.
func (s *Source) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.Release()
		s.current = nil
	}
	s.recent, s.byID = releaseAfter(s.recent, 0), releaseAfter(s.byID, 0)
	s.packs.close()
}

// refCount closes something when its last user releases it.
type refCount struct {
	users atomic.Int64
	close func() error
}

func (c *refCount) retain() { c.users.Add(1) }

// Release ends a use. It ignores an error of closing, because the files were only read.
func (c *refCount) Release() {
	if c.users.Add(-1) == 0 && c.close != nil {
		_ = c.close()
	}
}
