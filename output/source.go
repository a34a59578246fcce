package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// origin is where a source reads a publication from. All methods may be called concurrently.
type origin interface {
	// readPointer returns the state of the pointer; before is the last one.
	readPointer(before pointer) (pointer, error)
	// open opens the snapshot of a pointer, retained once.
	open(p pointer) (*Snapshot, error)
	// openID opens a snapshot by its id, retained once. It returns an error that wraps fs.ErrNotExist if there is none.
	openID(c archive.Checkpoint) (*Snapshot, error)
	// hasSnapshot reports whether a snapshot with an id exists.
	hasSnapshot(id string) (bool, error)
	// openPack opens the pack of an hour; dir is the folder of the snapshot's packs.
	openPack(dir, hour string) (*archive.ZipFile, error)
	// objects returns the store that contains the zips of the publication.
	objects() objects.Store
	// pollInterval is the time between two reads of the pointer.
	pollInterval() time.Duration
	String() string
}

// pointer is the state of a publication's pointer. In a folder it consists of the metadata of the checkpoint's file or
// of a tree's files, in a store of the ETag and the checkpoint.
type pointer struct {
	files      []os.FileInfo
	etag       string
	checkpoint archive.Checkpoint
	err        error // why the checkpoint is invalid
}

func (p pointer) equal(q pointer) bool {
	if len(p.files) != len(q.files) || p.etag != q.etag {
		return false
	}
	for i := range p.files {
		if !os.SameFile(p.files[i], q.files[i]) || !p.files[i].ModTime().Equal(q.files[i].ModTime()) ||
			p.files[i].Size() != q.files[i].Size() {
			return false
		}
	}
	return true
}

// folderOrigin is an origin on disk: a Folder's root, or a tree by itself.
type folderOrigin struct{ root string }

func (f folderOrigin) String() string              { return f.root }
func (f folderOrigin) pollInterval() time.Duration { return 250 * time.Millisecond }
func (f folderOrigin) objects() objects.Store      { return objects.StoreDirAt(f.root) }

func (f folderOrigin) readPointer(pointer) (pointer, error) {
	if info, err := os.Stat(filepath.Join(f.root, archive.CheckpointFile)); err == nil {
		return pointer{files: []os.FileInfo{info}}, nil
	}
	var p pointer
	for _, path := range []string{f.root, filepath.Join(f.root, archive.SumsFile)} {
		if info, err := os.Stat(path); err == nil {
			p.files = append(p.files, info)
		}
	}
	return p, nil
}

func (f folderOrigin) open(pointer) (*Snapshot, error) {
	c, err := archive.ReadCheckpoint(filepath.Join(f.root, archive.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f.openTree()
	}
	if err != nil {
		return nil, err
	}
	snap, err := f.openID(c)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, dirErr := archive.OpenDir(f.root); dirErr == nil { // the tree has its checkpoint beside it
			return newSnapshot(dir, c, filepath.Join(f.root, archive.PacksDir)), nil
		}
	}
	return snap, err
}

// openTree opens a tree without a checkpoint. The id is the name of the tree, or is made of the time and digest of its
// SHA256SUMS. The time of the next build is unknown; NextAt is the time of this one.
func (f folderOrigin) openTree() (*Snapshot, error) {
	dir, err := archive.OpenDir(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f.root, ErrEmpty)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir.Path(archive.SumsFile))
	if err != nil {
		return nil, err
	}
	id, packs := filepath.Base(dir.Root()), filepath.Join(f.root, archive.PacksDir)
	built, ok := archive.ParseSnapshotID(id)
	if ok { // public/tree/<id>
		packs = filepath.Join(dir.Root(), "..", "..", archive.PacksDir)
	} else {
		built = info.ModTime()
		id = archive.SnapshotID(built, dir.Digest())
	}
	at := built.UTC().Format(archive.TimeLayout)
	return newSnapshot(dir, archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at, Digest: dir.Digest()}, packs), nil
}

// openID opens the zip of a snapshot, or its tree if the zip is missing.
func (f folderOrigin) openID(c archive.Checkpoint) (*Snapshot, error) {
	packs := filepath.Join(f.root, archive.PacksDir)
	z, err := archive.OpenZipFile(filepath.Join(f.root, archive.SnapshotsDir, c.Snapshot+".zip"))
	if err == nil {
		snap := newSnapshot(z, c, packs)
		snap.close = z.Close
		return snap, nil
	}
	if errors.Is(err, fs.ErrNotExist) { // return the error of the zip unless the tree exists
		if dir, dirErr := archive.OpenDir(filepath.Join(f.root, treeDir, c.Snapshot)); dirErr == nil {
			return newSnapshot(dir, c, packs), nil
		}
	}
	return nil, err
}

func (f folderOrigin) hasSnapshot(id string) (bool, error) {
	for _, path := range []string{filepath.Join(f.root, archive.SnapshotsDir, id+".zip"),
		filepath.Join(f.root, treeDir, id, archive.SumsFile)} {
		if _, err := os.Stat(path); err == nil {
			return true, nil
		}
	}
	return false, nil
}

func (f folderOrigin) openPack(dir, hour string) (*archive.ZipFile, error) {
	return archive.OpenZipFile(filepath.Join(dir, hour+".zip"))
}

// storeOrigin is an origin in a store, read by ranges.
type storeOrigin struct {
	store  objects.Store
	blocks *objects.BlockCache
}

func (r *storeOrigin) String() string         { return r.store.String() }
func (r *storeOrigin) objects() objects.Store { return r.store }

// pollInterval: each poll is one request. A million requests cost a few tenths of a dollar.
func (r *storeOrigin) pollInterval() time.Duration { return 2 * time.Second }

func (r *storeOrigin) readPointer(before pointer) (pointer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objects.FetchTime)
	defer cancel()
	obj, data, err := objects.ReadObject(ctx, r.store, archive.CheckpointFile, objects.GetOptions{IfNone: before.etag},
		archive.MaxCheckpoint)
	switch {
	case errors.Is(err, objects.ErrSame):
		return before, nil
	case errors.Is(err, fs.ErrNotExist):
		return pointer{etag: "none", err: fmt.Errorf("%s: %w", r.store, ErrEmpty)}, nil
	case err != nil:
		return pointer{}, objects.Unreachable(err)
	}
	p := pointer{etag: obj.ETag}
	if p.checkpoint, p.err = archive.ParseCheckpoint(data); p.err != nil {
		p.err = fmt.Errorf("%s: %w", r.store, p.err)
	}
	return p, nil
}

func (r *storeOrigin) open(p pointer) (*Snapshot, error) {
	if p.err != nil {
		return nil, p.err
	}
	return r.openID(p.checkpoint)
}

func (r *storeOrigin) openID(c archive.Checkpoint) (*Snapshot, error) {
	z, err := objects.OpenZip(r.blocks, archive.SnapshotName(c.Snapshot))
	if err != nil {
		return nil, err
	}
	return newSnapshot(z, c, ""), nil
}

func (r *storeOrigin) hasSnapshot(id string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objects.FetchTime)
	defer cancel()
	_, err := r.store.Stat(ctx, archive.SnapshotName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, objects.Unreachable(err)
}

func (r *storeOrigin) openPack(_, hour string) (*archive.ZipFile, error) {
	return objects.OpenZip(r.blocks, archive.PackName(hour))
}

// maxPacks is the number of packs that stay open. A window of a log reads at most two, nearly always the newest.
const maxPacks = 8

// packCache keeps the last used packs open. Packs never change, so snapshots share them.
type packCache struct {
	mu   sync.Mutex
	list []*openPack // the last used first
}

// openPack is one open pack. The caller of open must Release it.
type openPack struct {
	name string
	zip  *archive.ZipFile
	refCount
}

// open returns the pack with a name, and calls do to open it if necessary. It does not lock meanwhile: two callers may
// open the same pack at once.
func (p *packCache) open(name string, do func() (*archive.ZipFile, error)) (*openPack, error) {
	if k := p.find(name); k != nil {
		return k, nil
	}
	z, err := do()
	if err != nil {
		return nil, err
	}
	k := &openPack{name: name, zip: z}
	k.close = z.Close
	k.retain() // for the list
	k.retain() // for the caller
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.Insert(p.list, 0, k)
	for len(p.list) > maxPacks {
		last := len(p.list) - 1
		p.list[last].Release()
		p.list = slices.Delete(p.list, last, last+1)
	}
	return k, nil
}

// find returns an open pack and moves it to the front.
func (p *packCache) find(name string) *openPack {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(k *openPack) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	k := p.list[i]
	copy(p.list[1:i+1], p.list[:i])
	p.list[0] = k
	k.retain()
	return k
}

// drop removes a pack that was replaced.
func (p *packCache) drop(k *openPack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.list, k); i >= 0 {
		k.Release()
		p.list = slices.Delete(p.list, i, i+1)
	}
}

func (p *packCache) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		k.Release()
	}
	p.list = nil
}
