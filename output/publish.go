package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"time"
	"tollbook/output/archive"
	"tollbook/output/objects"

	"golang.org/x/sync/errgroup"
)

var (
	// ErrOutrun is the answer to a publisher after which another was first.
	ErrOutrun = errors.New("another publisher was first")
	// ErrSuccessor is the answer to a snapshot that may not follow the one that is published.
	ErrSuccessor = errors.New("not a legal successor")
)

// Record is what the register says of a place: the snapshot that its pointer names, or is about to.
type Record struct {
	Generation       int64 // 0 before the first
	Snapshot, Digest string
	Withdrawn        string // the newest snapshot that a rollback took back, "" for none
}

// Register is where publishers to one place agree who is next. It is the lock where a store has no conditions, and it
// is as durable as its database.
type Register interface {
	// Lock keeps other publishers out until release, or answers ErrBusy. held says whether it still does: a lock is
	// lost with the connection that it lies on.
	Lock(ctx context.Context) (held func(context.Context) error, release func(), err error)
	// Read answers the record, zero before the first.
	Read(ctx context.Context) (Record, error)
	// Replace writes a record in place of the one with generation was, 0 for none, or answers ErrOutrun.
	Replace(ctx context.Context, was int64, next Record) error
}

// PublishOptions are what a publication depends on beside its files.
type PublishOptions struct {
	Now   time.Time
	Check func(before, after archive.Files) error // whether after may follow before; nil is always
	// ids of the earlier snapshots that a tree says are kept; nil is none
	Listed func(archive.Tree) ([]string, error)
	Force  bool                   // publish what is no legal successor, too
	Key    ed25519.PrivateKey     // signs the checkpoint; nil for no signature
	Expand func(name string) bool // which files are objects of their own, too; nil is none
	// expanded objects of a lower one are written before those of a higher; nil is one for all
	Phase    func(name string) int
	Header   func(name string) objects.Header // type and cache policy of an expanded object
	Full     bool                             // write every expanded object, whatever the store is said to hold
	Progress func(Progress)                   // called from several goroutines; nil for none
}

// Published says what a publication did.
type Published struct {
	Checkpoint archive.Checkpoint `json:"checkpoint"`
	Moved      bool               `json:"moved"` // false: the pointer named the snapshot already
	Packs      int                `json:"packs"` // uploaded
	Written    int                `json:"written"`
	Deleted    int                `json:"deleted"`
	Unchanged  int                `json:"unchanged"` // expanded objects
	Bytes      int64              `json:"bytes"`     // sent
}

// Publisher publishes snapshots to a store. One that was killed leaves the snapshot before or the new one, whole, and
// running it again finishes the work: there is no other code for that.
type Publisher struct {
	store    objects.Store
	register Register
	o        PublishOptions
	progress progress
}

// NewPublisher publishes to a store of which register keeps the record.
func NewPublisher(store objects.Store, register Register, o PublishOptions) *Publisher {
	return &Publisher{store: store, register: register, o: o, progress: progress{tell: o.Progress}}
}

// Of what every publication holds, for readers and the caches between.
var (
	pointerHeader   = objects.Header{Type: "application/json; charset=utf-8", Cache: "public, max-age=5"}
	immutableHeader = objects.Header{Type: "application/zip", Cache: "public, max-age=31536000, immutable"}
)

// target is how a store is found.
type target struct {
	record     Record
	checkpoint archive.Checkpoint // zero before the first
	etag       string             // of the pointer, "" before the first
}

// Publish makes the current snapshot of a folder the store's. Each step may be the last one that is done.
func (p *Publisher) Publish(ctx context.Context, from *Folder) (r Published, err error) {
	defer func() { err = p.wrap(err) }()
	local, err := from.Checkpoint()
	if err != nil {
		return r, err
	}
	zip, err := objects.OpenBody(from.snapshotPath(local.Snapshot))
	if err != nil {
		return r, err
	}
	defer zip.Close()
	held, release, err := p.register.Lock(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	// A crash here leaves nothing: the lock goes with its connection.

	if err := p.store.Sweep(ctx); err != nil {
		return r, err
	}
	t, err := p.look(ctx)
	if err != nil {
		return r, err
	}
	var tree *archive.Zip
	checked := make(chan struct{}) // closed when the zip may show, which is sent meanwhile
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if tree, err = p.check(gctx, t, from, local, zip); err != nil {
			return err
		}
		if r.Packs, err = p.uploadPacks(gctx, from, local.Erased > t.checkpoint.Erased); err != nil {
			return err
		}
		close(checked)
		return nil
	})
	g.Go(func() error { return p.uploadSnapshot(gctx, t, local, zip, checked) })
	if err := g.Wait(); err != nil {
		return r, err
	}
	// A crash before leaves packs before the snapshot that names them, a whole zip that nothing names, or parts of one
	// that nobody sees. The next run finds and keeps the former, and sweeps the parts; Prune removes what no run comes
	// for.

	r.Checkpoint, r.Moved, err = p.name(ctx, held, t, local)
	if err != nil {
		return r, err
	}
	// A crash here leaves the new snapshot published, with expanded objects of the one before, each whole. The next run
	// goes on with these.

	err = p.expand(ctx, tree, t.etag == "" && t.record.Generation == 0, &r)
	r.Bytes = p.progress.sent()
	return r, err
}

// check opens the zip of a snapshot, when all of it is as it was built and may follow what is published.
func (p *Publisher) check(ctx context.Context, t target, from *Folder, next archive.Checkpoint,
	zip objects.Body) (tree *archive.Zip, err error) {
	sealed := false
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		sealed, err = from.isSealed(gctx, next.Snapshot, zip, zip.Size())
		return err
	})
	g.Go(func() (err error) {
		if tree, err = archive.OpenZip(zip, zip.Size()); err != nil {
			return fmt.Errorf("%s: %w", from.snapshotPath(next.Snapshot), err)
		}
		return p.checkSuccessor(t, from, next, tree)
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if !sealed || tree.Digest() != next.Digest {
		if err := archive.Verify(ctx, tree, next.Digest); err != nil {
			return nil, fmt.Errorf("%s: %w", from.snapshotPath(next.Snapshot), err)
		}
	}
	return tree, nil
}

// Rollback makes an earlier snapshot, which the store still has, the current one, by the same steps. What it takes back
// is not published again unless forced.
func (p *Publisher) Rollback(ctx context.Context, id string) (r Published, err error) {
	defer func() { err = p.wrap(err) }()
	built, ok := archive.ParseSnapshotID(id)
	if !ok {
		return r, fmt.Errorf("snapshot %.40q: %w", id, ErrNotKept)
	}
	held, release, err := p.register.Lock(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	t, err := p.look(ctx)
	if err != nil {
		return r, err
	}
	tree, err := objects.OpenZip(objects.NewBlocks(p.store, 0), archive.SnapshotName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("snapshot %s: %w", id, ErrNotKept)
	}
	if err != nil {
		return r, err
	}
	if archive.SnapshotID(built, tree.Digest()) != id {
		return r, fmt.Errorf("snapshot %s: %w: its digest is %s", id, archive.ErrDamaged, tree.Digest())
	}
	if err := archive.Verify(ctx, tree, ""); err != nil {
		return r, fmt.Errorf("snapshot %s: %w", id, err)
	}
	if t.checkpoint.Snapshot > id {
		t.record.Withdrawn = max(t.record.Withdrawn, t.checkpoint.Snapshot)
	}
	// When the next build was due then means nothing now.
	at := built.Format(archive.TimeLayout)
	r.Checkpoint, r.Moved, err = p.name(ctx, held, t,
		archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at, Digest: tree.Digest()})
	if err != nil {
		return r, err
	}
	err = p.expand(ctx, tree, false, &r)
	r.Bytes = p.progress.sent()
	return r, err
}

func (p *Publisher) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("publish to %s: %w", p.store, err)
	}
	return nil
}

// look reads what the register and the store say now.
func (p *Publisher) look(ctx context.Context) (t target, err error) {
	if t.record, err = p.register.Read(ctx); err != nil {
		return t, err
	}
	obj, data, err := objects.ReadObject(ctx, p.store, archive.CheckpointFile, objects.GetOptions{},
		archive.MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t.etag = obj.ETag
	t.checkpoint, err = archive.ParseCheckpoint(data)
	if err != nil && p.o.Force {
		return t, nil // it is overwritten, with the register's generation
	}
	return t, err
}

// checkSuccessor says whether a snapshot may follow what is published.
func (p *Publisher) checkSuccessor(t target, from *Folder, next archive.Checkpoint, tree archive.Tree) error {
	if p.o.Force || t.checkpoint.Snapshot == "" || t.checkpoint.Digest == next.Digest {
		return nil
	}
	switch was := t.checkpoint; {
	case next.Snapshot <= t.record.Withdrawn:
		return fmt.Errorf("%w: snapshot %s was taken back by a rollback; build anew", ErrSuccessor, next.Snapshot)
	case next.Snapshot < was.Snapshot:
		return fmt.Errorf("%w: snapshot %s is older than %s, which is published; a rollback goes back", ErrSuccessor,
			next.Snapshot, was.Snapshot)
	case p.o.Check == nil:
		return nil
	}
	before, err := p.openPublished(t.checkpoint, from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, archive.ErrDamaged) {
		return nil // readers have nothing that they could lose
	}
	if err != nil {
		return err
	}
	defer before.Close()
	if err := p.o.Check(before, tree); err != nil {
		return fmt.Errorf("%w of %s: %w", ErrSuccessor, t.checkpoint.Snapshot, err)
	}
	return nil
}

// openPublished opens what is published: from the folder, which mostly still has it, else from the store.
func (p *Publisher) openPublished(c archive.Checkpoint, from *Folder) (*archive.ZipFile, error) {
	// an id has a part of the digest in it
	if z, err := archive.OpenZipFile(from.snapshotPath(c.Snapshot)); err == nil {
		return z, nil
	}
	return objects.OpenZip(objects.NewBlocks(p.store, 0), archive.SnapshotName(c.Snapshot))
}

// name makes a snapshot the one that register and pointer name. What names it already stays.
func (p *Publisher) name(ctx context.Context, held func(context.Context) error, t target,
	c archive.Checkpoint) (archive.Checkpoint, bool, error) {
	if was := t.checkpoint; was.Snapshot == c.Snapshot && was.Digest == c.Digest &&
		was.Generation >= t.record.Generation && was.Erased >= c.Erased && p.isSigned(was) {
		if was.Generation > t.record.Generation { // the register is another than the one that was published with
			rec := Record{Generation: was.Generation, Snapshot: was.Snapshot, Digest: was.Digest,
				Withdrawn: t.record.Withdrawn}
			return was, false, p.register.Replace(ctx, t.record.Generation, rec)
		}
		return was, false, nil
	}
	c.Generation, c.Previous, c.Signature = max(t.record.Generation, t.checkpoint.Generation)+1, nil, nil
	c.Erased = max(c.Erased, t.checkpoint.Erased) // a rollback brings no pack back
	switch was := t.checkpoint; {
	case was.Snapshot == c.Snapshot:
		c.Previous = was.Previous
	case was.Snapshot != "":
		c.Previous = &was.Snapshot
	}
	next := Record{Generation: c.Generation, Snapshot: c.Snapshot, Digest: c.Digest, Withdrawn: t.record.Withdrawn}
	if p.o.Key != nil {
		c = c.Sign(p.o.Key)
	}
	if err := p.register.Replace(ctx, t.record.Generation, next); err != nil {
		// An answer that was lost says nothing: the register does.
		if now, readErr := p.register.Read(ctx); readErr != nil || now != next {
			return c, false, err
		}
	}
	// A crash here leaves the register a generation ahead of the pointer, which names the snapshot before. The next run
	// takes the generation after.

	if err := held(ctx); err != nil {
		return c, false, err
	}
	now, err := p.register.Read(ctx)
	if err != nil {
		return c, false, err
	}
	if now != next {
		return c, false, fmt.Errorf("%w: the register is at generation %d", ErrOutrun, now.Generation)
	}
	// Who is stopped here for a while, and loses the lock, is stopped by the store's condition, where it has any.

	return c, true, p.movePointer(ctx, t.etag, c)
}

func (p *Publisher) isSigned(c archive.Checkpoint) bool {
	return p.o.Key == nil || c.VerifySignature(p.o.Key.Public().(ed25519.PublicKey)) == nil
}

// movePointer is the moment of publication: the pointer is replaced as a whole, and read back.
func (p *Publisher) movePointer(ctx context.Context, etag string, c archive.Checkpoint) error {
	data := c.Encode()
	o := objects.PutOptions{Header: pointerHeader, IfMatch: etag, IfNone: etag == ""}
	_, err := p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	if errors.Is(err, errors.ErrUnsupported) {
		o.IfMatch, o.IfNone = "", false // the register alone is the lock
		_, err = p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	}
	if err != nil && !errors.Is(err, archive.ErrCondition) && !errors.Is(err, archive.ErrUnreachable) {
		return err
	}
	// It may be there in spite of an error, which came of an answer that was lost.
	_, got, readErr := objects.ReadObject(ctx, p.store, archive.CheckpointFile, objects.GetOptions{},
		archive.MaxCheckpoint)
	switch {
	case readErr == nil && bytes.Equal(got, data):
		return nil
	case errors.Is(err, archive.ErrCondition):
		return fmt.Errorf("%w: the checkpoint was moved", ErrOutrun)
	case err != nil:
		return err
	case readErr != nil:
		return fmt.Errorf("read the checkpoint back: %w", readErr)
	}
	return fmt.Errorf("read the checkpoint back: %w: it is not what was sent", ErrOutrun)
}
