package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

var (
	// ErrConflict marks a publication that failed because another publisher was first.
	ErrConflict = errors.New("another publisher was first")
	// ErrSuccessor marks a snapshot that may not follow the published one.
	ErrSuccessor = errors.New("not a legal successor")
)

// Record is the register's entry for a place: the snapshot that its pointer names, or will name.
type Record struct {
	Generation       int64 // 0 before the first publication
	Snapshot, Digest string
	Withdrawn        string // the newest snapshot that a rollback replaced, "" for none
}

// Register decides which of several publishers to one place is next. It is the only lock for a store without
// conditions. Records are as durable as the register's database.
type Register interface {
	// Lock excludes other publishers until release, or returns an error that wraps ErrBusy. held returns an error if
	// the lock was lost, which happens with its connection.
	Lock(ctx context.Context) (held func(context.Context) error, release func(), err error)
	// Read returns the record, zero before the first.
	Read(ctx context.Context) (Record, error)
	// Replace replaces the record that has generation was, 0 for none. It returns an error that wraps ErrConflict if
	// the record has another generation.
	Replace(ctx context.Context, was int64, next Record) error
}

// PublishOptions are the inputs of a publication beside its files.
type PublishOptions struct {
	Now time.Time
	// Accept returns an error if a snapshot may not be published at this place, whatever it follows; nil accepts all.
	Accept func(archive.Files) error
	// Check returns an error if after may not follow before; nil accepts everything.
	Check func(before, after archive.Files) error
	// Listed returns the ids of previous snapshots that a tree lists; nil returns none.
	Listed func(archive.Tree) ([]string, error)
	Force  bool // publish although Accept or Check returns an error
	// Erasures name the snapshots that are deleted, and that are not published again.
	Erasures Erasures
	Key      ed25519.PrivateKey // signs the checkpoint; nil for no signature
	// ChangeKey replaces a checkpoint that is signed with another key than Key.
	ChangeKey bool
	// Expand reports whether a file also becomes a single object; nil means no file does.
	Expand func(name string) bool
	// AllBelow is the largest number of writes a day for which every file becomes an object of a place without objects.
	// A place keeps what it has: all files, or those of Expand. 0 for those of Expand in any case.
	AllBelow int
	Every    time.Duration // shortest time between two publications; 0 to publish each build
	// Phase orders expanded objects: those of a lower phase are written first. nil puts all in one phase.
	Phase    func(name string) int
	Header   func(name string) objects.Header // content type and cache policy of an expanded object
	Full     bool                             // write every expanded object, without regard to the store's list
	Progress func(Progress)                   // called from several goroutines; nil for none
	Logger   *slog.Logger                     // logs each step; nil logs none
}

// Published describes what a publication did.
type Published struct {
	Checkpoint archive.Checkpoint `json:"checkpoint"`
	Moved      bool               `json:"moved"` // false: the pointer already named the snapshot
	Packs      int                `json:"packs"` // uploaded
	Days       int                `json:"days"`  // files of days, uploaded
	Written    int                `json:"written"`
	Deleted    int                `json:"deleted"`
	Unchanged  int                `json:"unchanged"` // expanded objects
	Erased     int                `json:"erased_snapshots"`
	Bytes      int64              `json:"bytes"` // sent
	Traffic    objects.Traffic    `json:"traffic"`
	PerDay     float64            `json:"per_day"`             // publications at this schedule; 0 if it is unknown
	Expansion  *Expansion         `json:"expansion,omitempty"` // nil if nothing was chosen
}

// Publisher publishes snapshots to a store. If it is killed, the store has the previous snapshot or the new one,
// complete. Running it again finishes the work; recovery has no other code.
type Publisher struct {
	store    objects.Store
	register Register
	o        PublishOptions
	progress progress
}

// NewPublisher returns a publisher to a store whose records are in register.
func NewPublisher(store objects.Store, register Register, o PublishOptions) *Publisher {
	return &Publisher{store: store, register: register, o: o, progress: progress{report: o.Progress}}
}

// Headers for readers and the caches between.
var (
	pointerHeader   = objects.Header{Type: "application/json; charset=utf-8", Cache: "public, max-age=5"}
	immutableHeader = objects.Header{Type: "application/zip", Cache: "public, max-age=31536000, immutable"}
)

// target is the state of a store before a publication.
type target struct {
	record     Record
	checkpoint archive.Checkpoint // zero before the first publication
	etag       string             // of the pointer, "" before the first publication
}

// Publish publishes the current snapshot of a folder to the store. A crash is possible after every step.
func (p *Publisher) Publish(ctx context.Context, from *Folder) (r Published, err error) {
	defer func() { err = p.wrap(err) }()
	before, steps := p.store.Traffic(), NewSteps(p.o.Logger)
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
	// A crash here leaves nothing: the lock ends with its connection.

	if err := p.store.Sweep(ctx, archive.SnapshotName(local.Snapshot)); err != nil {
		return r, err
	}
	t, err := p.readTarget(ctx)
	if err != nil {
		return r, err
	}
	if err := p.checkKey(t); err != nil {
		return r, err
	}
	steps.Done(ctx, "place locked and read", "generation", t.checkpoint.Generation)
	var tree *archive.Zip
	// The zip is sent while it is checked. It becomes visible when checked is closed.
	checked := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if tree, err = p.check(gctx, t, from, local, zip); err != nil {
			return err
		}
		if r.Packs, err = p.uploadPacks(gctx, from, p.o.Force || local.Erased > t.checkpoint.Erased); err != nil {
			return err
		}
		if r.Days, err = p.uploadDays(gctx, t, from, tree); err != nil {
			return err
		}
		close(checked)
		return nil
	})
	g.Go(func() error { return p.uploadSnapshot(gctx, t, local, zip, checked) })
	if err := g.Wait(); err != nil {
		if !errors.Is(err, archive.ErrUnreachable) && ctx.Err() == nil {
			_ = p.store.Sweep(ctx, "") // the same zip will not be sent again
		}
		return r, err
	}
	// A crash before leaves packs and files of days without their snapshot, a complete zip that no pointer names, or
	// invisible parts of a zip. The next run finds and keeps them, or removes the parts if they are another zip's;
	// Prune removes what no run needs.

	steps.Done(ctx, "snapshot checked and sent", "bytes", zip.Size(), "packs", r.Packs, "days", r.Days)

	r.Checkpoint, r.Moved, err = p.commit(ctx, held, t, local)
	if err != nil {
		return r, err
	}
	steps.Done(ctx, "pointer written", "generation", r.Checkpoint.Generation)
	// A crash here leaves the new snapshot published, with expanded objects of the previous one, each complete. The
	// next run continues with them.

	err = p.expand(ctx, tree, t.etag == "" && t.record.Generation == 0, &r)
	if err == nil {
		steps.Done(ctx, "objects expanded", "written", r.Written, "deleted", r.Deleted, "unchanged", r.Unchanged)
		r.Erased, err = p.deleteErased(ctx, from, r.Checkpoint)
	}
	if err == nil && r.Erased > 0 {
		steps.Done(ctx, "erased snapshots deleted", "snapshots", r.Erased)
	}
	// A crash between two deletions leaves the rest of the snapshots that contain what was erased. No pointer names
	// them; the next Publish or Prune deletes them.

	r.Bytes, r.Traffic = p.progress.bytesSent(), p.store.Traffic().Since(before)
	r.PerDay = perDay(p.o.period(local))
	if err == nil && r.Moved {
		from.storePublished(p.store.String(), r)
	}
	return r, err
}

// check opens the zip of a snapshot, and checks that its bytes are those that were built and that it may follow the
// published one.
func (p *Publisher) check(ctx context.Context, t target, from *Folder, next archive.Checkpoint,
	zip objects.Body) (tree *archive.Zip, err error) {
	sealed := false
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		sealed, err = from.matchesZipSum(gctx, next.Snapshot, zip, zip.Size())
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

// Rollback makes an older snapshot of the store the current one, by the same steps. The snapshot that it replaces is
// not published again without Force.
func (p *Publisher) Rollback(ctx context.Context, id string) (r Published, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("roll %s back: %w", p.store, err)
		}
	}()
	before, steps := p.store.Traffic(), NewSteps(p.o.Logger)
	built, ok := archive.ParseSnapshotID(id)
	if !ok {
		return r, fmt.Errorf("snapshot %.40q: %w", id, ErrNotRetained)
	}
	if p.o.Erasures.Cover(id) {
		return r, fmt.Errorf("snapshot %s: %w", id, ErrErased)
	}
	held, release, err := p.register.Lock(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	t, err := p.readTarget(ctx)
	if err != nil {
		return r, err
	}
	if t.checkpoint.Snapshot == "" {
		return r, errNothingThere
	}
	if err := p.checkKey(t); err != nil {
		return r, err
	}
	steps.Done(ctx, "place locked and read", "generation", t.checkpoint.Generation)
	tree, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), archive.SnapshotName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("snapshot %s: %w", id, ErrNotRetained)
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
	gate, err := tree.Gate()
	if err != nil {
		return r, fmt.Errorf("snapshot %s: %w", id, err)
	}
	steps.Done(ctx, "snapshot checked", "files", len(tree.Names()))
	if t.checkpoint.Snapshot > id {
		t.record.Withdrawn = max(t.record.Withdrawn, t.checkpoint.Snapshot)
	}
	// The next build was due at a time that is now past.
	at := built.Format(archive.TimeLayout)
	r.Checkpoint, r.Moved, err = p.commit(ctx, held, t,
		archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at, Digest: tree.Digest(), Gate: gate})
	if err != nil {
		return r, err
	}
	steps.Done(ctx, "pointer written", "generation", r.Checkpoint.Generation)
	if err = p.expand(ctx, tree, false, &r); err == nil {
		steps.Done(ctx, "objects expanded", "written", r.Written, "deleted", r.Deleted, "unchanged", r.Unchanged)
	}
	r.Bytes, r.Traffic = p.progress.bytesSent(), p.store.Traffic().Since(before)
	return r, err
}

func (p *Publisher) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("publish to %s: %w", p.store, err)
	}
	return nil
}

// readTarget reads the register and the store's pointer.
func (p *Publisher) readTarget(ctx context.Context) (t target, err error) {
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
		return t, nil // it is overwritten; the generation comes from the register
	}
	return t, err
}

// checkSuccessor returns an error unless the place accepts a snapshot, and one that wraps ErrSuccessor unless the
// snapshot may follow the published one.
func (p *Publisher) checkSuccessor(t target, from *Folder, next archive.Checkpoint, tree archive.Tree) error {
	if p.o.Force || t.checkpoint.Digest == next.Digest {
		return nil
	}
	if p.o.Accept != nil {
		if err := p.o.Accept(tree); err != nil {
			return err
		}
	}
	if t.checkpoint.Snapshot == "" {
		return nil
	}
	switch was := t.checkpoint; {
	case p.o.Erasures.Cover(next.Snapshot):
		return fmt.Errorf("%w: snapshot %s: %w", ErrSuccessor, next.Snapshot, ErrErased)
	case next.Snapshot <= t.record.Withdrawn:
		return fmt.Errorf("%w: snapshot %s was taken back by a rollback; build anew", ErrSuccessor, next.Snapshot)
	case builtSecond(next).Before(builtSecond(was)):
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

// builtSecond returns the second in which a snapshot was built. The rest of its id does not say which of two snapshots
// of a second is newer.
func builtSecond(c archive.Checkpoint) time.Time {
	at, _ := archive.ParseSnapshotID(c.Snapshot) // a checkpoint's id is valid
	return at
}

// openPublished opens the published snapshot from the folder, which mostly still has it, or else from the store.
func (p *Publisher) openPublished(c archive.Checkpoint, from *Folder) (*archive.ZipFile, error) {
	// an id contains a part of the digest
	if z, err := archive.OpenZipFile(from.snapshotPath(c.Snapshot)); err == nil {
		return z, nil
	}
	return objects.OpenZip(objects.NewBlockCache(p.store, 0), archive.SnapshotName(c.Snapshot))
}

// commit makes the register and the pointer name a snapshot. It changes neither of them if it already does.
func (p *Publisher) commit(ctx context.Context, held func(context.Context) error, t target,
	c archive.Checkpoint) (archive.Checkpoint, bool, error) {
	if was := t.checkpoint; was.Snapshot == c.Snapshot && was.Digest == c.Digest &&
		was.Generation >= t.record.Generation && was.Erased >= c.Erased && p.isSigned(was) {
		if was.Generation > t.record.Generation { // the register is not the one of the last publication
			rec := Record{Generation: was.Generation, Snapshot: was.Snapshot, Digest: was.Digest,
				Withdrawn: t.record.Withdrawn}
			return was, false, p.register.Replace(ctx, t.record.Generation, rec)
		}
		return was, false, nil
	}
	c.Generation, c.Previous = max(t.record.Generation, t.checkpoint.Generation)+1, nil
	c.Erased = max(c.Erased, t.checkpoint.Erased) // a rollback restores no pack
	switch was := t.checkpoint; {
	case was.Snapshot == c.Snapshot:
		c.Previous = was.Previous
	case was.Snapshot != "":
		c.Previous = &was.Snapshot
	}
	next := Record{Generation: c.Generation, Snapshot: c.Snapshot, Digest: c.Digest, Withdrawn: t.record.Withdrawn}
	c = c.Sign(p.o.Key)
	if err := p.register.Replace(ctx, t.record.Generation, next); err != nil {
		// If the response was lost, the register says whether the record was written.
		if now, readErr := p.register.Read(ctx); readErr != nil || now != next {
			return c, false, err
		}
	}
	// A crash here leaves the register one generation newer than the pointer, which names the previous snapshot. The
	// next run uses the generation after that.

	if err := held(ctx); err != nil {
		return c, false, err
	}
	now, err := p.register.Read(ctx)
	if err != nil {
		return c, false, err
	}
	if now != next {
		return c, false, fmt.Errorf("%w: the register is at generation %d", ErrConflict, now.Generation)
	}
	// If the process pauses here and loses the lock, the store's condition stops it, if the store supports conditions.

	return c, true, p.movePointer(ctx, t.etag, c)
}

// isSigned reports whether a checkpoint is signed with the publisher's key, or has no signature if there is no key.
func (p *Publisher) isSigned(c archive.Checkpoint) bool {
	if p.o.Key == nil {
		return c.Signature == nil
	}
	return c.VerifySignature(p.o.Key.Public().(ed25519.PublicKey)) == nil
}

// checkKey returns an error that wraps archive.ErrSigned if the target's pointer is signed with another key than ours.
func (p *Publisher) checkKey(t target) error {
	if p.o.ChangeKey {
		return nil
	}
	return t.checkpoint.CheckSuccessorKey(p.o.Key)
}

// movePointer publishes: it replaces the whole pointer, and reads it back.
func (p *Publisher) movePointer(ctx context.Context, etag string, c archive.Checkpoint) error {
	data := c.Encode()
	o := objects.PutOptions{Header: pointerHeader, IfMatch: etag, IfNone: etag == ""}
	_, err := p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	if errors.Is(err, errors.ErrUnsupported) {
		o.IfMatch, o.IfNone = "", false // without conditions, the register is the only lock
		_, err = p.store.Put(ctx, archive.CheckpointFile, bytes.NewReader(data), o)
	}
	if err != nil && !errors.Is(err, archive.ErrCondition) && !errors.Is(err, archive.ErrUnreachable) {
		return err
	}
	// The pointer may be written in spite of an error, if the response was lost.
	_, got, readErr := objects.ReadObject(ctx, p.store, archive.CheckpointFile, objects.GetOptions{},
		archive.MaxCheckpoint)
	switch {
	case readErr == nil && bytes.Equal(got, data):
		return nil
	case errors.Is(err, archive.ErrCondition):
		return fmt.Errorf("%w: the checkpoint was moved", ErrConflict)
	case err != nil:
		return err
	case readErr != nil:
		return fmt.Errorf("read the checkpoint back: %w", readErr)
	}
	return fmt.Errorf("read the checkpoint back: %w: it is not what was sent", ErrConflict)
}

// packsAtOnce is the number of packs that are sent concurrently.
const packsAtOnce = 4

// uploadPacks sends the packs that the store does not have. With compare it compares all packs, because some may have
// been replaced.
func (p *Publisher) uploadPacks(ctx context.Context, from *Folder, compare bool) (uploaded int, err error) {
	there, err := p.store.List(ctx, archive.PacksDir+"/")
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	for _, obj := range there {
		sizes[obj.Name] = obj.Size
	}
	hours, err := from.Packs()
	if err != nil {
		return 0, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(packsAtOnce)
	for _, hour := range hours {
		body, err := objects.OpenBody(from.packPath(hour))
		if err != nil {
			return uploaded, errors.Join(err, g.Wait())
		}
		if size, ok := sizes[archive.PackName(hour)]; ok && size == body.Size() &&
			(!compare || objects.Compare(ctx, p.store, archive.PackName(hour), body) == nil) {
			body.Close()
			continue
		}
		uploaded++
		g.Go(func() error {
			defer body.Close()
			return p.upload(gctx, archive.PackName(hour), body, nil)
		})
	}
	return uploaded, g.Wait()
}

// uploadDays sends the files of days that a snapshot names. It keeps an object if the published snapshot names it with
// the same sum, or if its bytes are the same.
func (p *Publisher) uploadDays(ctx context.Context, t target, from *Folder, tree archive.Tree) (uploaded int,
	err error) {
	days, _, err := archive.ReadDataDays(tree)
	if err != nil || len(days) == 0 {
		return 0, err
	}
	there, err := p.store.List(ctx, archive.DataDir+"/")
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	for _, obj := range there {
		sizes[obj.Name] = obj.Size
	}
	published, err := p.publishedDays(t, from)
	if err != nil {
		return 0, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(packsAtOnce)
	for _, day := range days {
		size, exists := sizes[day.Name]
		exists = exists && size == day.Bytes
		if exists && published[day.Name] == day.Sum {
			continue
		}
		body, err := from.openDataDay(day)
		if err != nil {
			return uploaded, errors.Join(err, g.Wait())
		}
		if exists && objects.Compare(gctx, p.store, day.Name, body) == nil {
			body.Close()
			continue
		}
		uploaded++
		g.Go(func() error {
			defer body.Close()
			return p.upload(gctx, day.Name, body, nil)
		})
	}
	return uploaded, g.Wait()
}

// publishedDays returns the sums of the files of days that the published snapshot names; none if it can't be read.
func (p *Publisher) publishedDays(t target, from *Folder) (map[string]archive.Sum, error) {
	sums := map[string]archive.Sum{}
	if t.checkpoint.Snapshot == "" {
		return sums, nil
	}
	before, err := p.openPublished(t.checkpoint, from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, archive.ErrDamaged) {
		return sums, nil
	}
	if err != nil {
		return nil, err
	}
	defer before.Close()
	days, _, err := archive.ReadDataDays(before)
	if errors.Is(err, archive.ErrDamaged) {
		return sums, nil
	}
	for _, day := range days {
		sums[day.Name] = day.Sum
	}
	return sums, err
}

// openDataDay opens a file of a day and compares it with its sum.
func (d *Folder) openDataDay(day archive.DataFile) (*objects.FileBody, error) {
	path := d.dataPath(day.Name)
	body, err := objects.OpenBody(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.NewSectionReader(body, 0, body.Size()))
	if err == nil && archive.Sum(sum.Sum(nil)) != day.Sum {
		err = fmt.Errorf("%w: its bytes do not match their sum; delete it and build again", archive.ErrDamaged)
	}
	if err != nil {
		body.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return body, nil
}

// uploadSnapshot sends the zip unless the store already has the same files under its name, makes it visible when it is
// checked, and reads it back. A zip that the pointer names was read back before.
func (p *Publisher) uploadSnapshot(ctx context.Context, t target, c archive.Checkpoint, zip objects.Body,
	checked <-chan struct{}) error {
	name := archive.SnapshotName(c.Snapshot)
	obj, err := p.store.Stat(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if obj.Size == zip.Size() {
			if t.checkpoint.Snapshot == c.Snapshot && t.checkpoint.Digest == c.Digest && !p.o.Full {
				return nil
			}
			if objects.Compare(ctx, p.store, name, zip) == nil {
				return nil
			}
		} else if z, err := objects.OpenZip(objects.NewBlockCache(p.store, 0), name); err == nil &&
			archive.Verify(ctx, z, c.Digest) == nil {
			return nil // the same files, compressed in another way
		}
	}
	return p.upload(ctx, name, zip, checked)
}

// upload puts an immutable object, which becomes visible when after is closed, and reads it back.
func (p *Publisher) upload(ctx context.Context, name string, body objects.Body, after <-chan struct{}) error {
	p.progress.addTotal(1, body.Size())
	header := immutableHeader
	if _, _, isDay := archive.ParseDataDay(name); isDay && p.o.Header != nil {
		header.Type = p.o.Header(name).Type
	}
	if _, err := p.store.Put(ctx, name, body, objects.PutOptions{Header: header, After: after,
		ReadBack: true}); err != nil {
		return err
	}
	if err := objects.Compare(ctx, p.store, name, body); err != nil {
		if errors.Is(err, archive.ErrDamaged) { // otherwise the next run would keep a pack of the right size
			err = errors.Join(err, p.store.Delete(ctx, []string{name}))
		}
		return err
	}
	// A crash before leaves an object that was not read back: the next run compares a zip, and keeps a pack of the
	// right size.

	p.progress.addDone(1, body.Size())
	return nil
}
