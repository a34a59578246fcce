package output

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Expand says which files of a snapshot are written out as single files.
type Expand string

const (
	ExpandAll  Expand = "all"  // every one; the zero value means the same
	ExpandNone Expand = "none" // none; tree and current stay as they were
)

// BuildOptions are what a publication depends on beside its files.
type BuildOptions struct {
	Now    time.Time // when the facts were read
	Next   time.Time // when the next build is due
	Expand Expand
	Packed bool               // single files have a gzip body beside them, name.gz, where packing pays
	Full   bool               // compress everything, copy nothing from the snapshot before
	Key    ed25519.PrivateKey // signs the checkpoint; its public half is a file of the snapshot. nil for none
}

// Build is a snapshot on its way to publication. It holds the folder's lock until Commit or Abort. But for Pack it is
// for one goroutine.
type Build struct {
	folder *Folder
	opts   BuildOptions
	lock   *os.File
	before archive.Checkpoint // zero for the first publication
	prior  *archive.ZipFile   // the snapshot it names, nil without a readable one
	file   *os.File           // the zip under its temporary name
	sum    hash.Hash          // of what is written to file
	zip    *archive.ZipWriter
	notes  []byte   // nil for none
	packs  []string // hours whose packs lie under temporary names
	erased int64    // of the checkpoint; 0 where it is as before
	orphan string   // id of a snapshot that has its name but no checkpoint yet
	done   bool
}

// Result says what Commit published.
type Result struct {
	Checkpoint archive.Checkpoint
	Summary    archive.Summary
	Packs      int // new ones
	Written    int // files of the tree that were written, the others being links to the tree before
	Linked     int
}

// Begin takes the folder's lock, removes what killed publishers left, and starts a snapshot. It fails with ErrBusy
// while another build is between Begin and its end.
func (d *Folder) Begin(ctx context.Context, opts BuildOptions) (*Build, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if opts.Expand != "" && opts.Expand != ExpandAll && opts.Expand != ExpandNone {
		return nil, fmt.Errorf("begin build: expand %q may be all or none", opts.Expand)
	}
	if err := d.prepare(); err != nil {
		return nil, fmt.Errorf("begin build: %w", err)
	}
	lock, err := lockFile(filepath.Join(d.root, lockName))
	if err != nil {
		return nil, fmt.Errorf("begin build: %w", err)
	}
	b := &Build{folder: d, opts: opts, lock: lock}
	if err := b.start(ctx); err != nil {
		b.Abort()
		return nil, fmt.Errorf("begin build: %w", err)
	}
	return b, nil
}

func (b *Build) start(ctx context.Context) error {
	d := b.folder
	if err := d.sweep(); err != nil {
		return err
	}
	before, err := d.Checkpoint()
	if err != nil && !errors.Is(err, ErrEmpty) {
		return err // a damaged pointer is not overwritten: the generation would be lost
	}
	b.before = before
	zipOpts := archive.ZipOptions{Modified: b.opts.Now}
	if before.Snapshot != "" && !b.opts.Full {
		// What can't be read of the snapshot before is only not copied.
		if b.prior, err = archive.OpenZipFile(d.snapshotPath(before.Snapshot)); err == nil {
			zipOpts.Previous = b.prior.Zip
		}
	}
	if b.file, err = d.disk.create(filepath.Join(d.root, archive.SnapshotsDir,
		objects.TempPrefix+"snapshot.zip")); err != nil {
		return err
	}
	b.sum = sha256.New()
	b.zip = archive.NewZipWriter(io.MultiWriter(d.disk.writer(b.file), b.sum), zipOpts)
	return nil
}

// Add appends a file to the snapshot, and keeps nothing of data.
func (b *Build) Add(name string, data []byte) error {
	if err := b.zip.Add(name, data); err != nil {
		return fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	return nil
}

// Pack packs the contents of a file that AddPacked will add, and keeps nothing of data. Several goroutines may pack at
// once.
func (b *Build) Pack(name string, data []byte) archive.Packed { return b.zip.Pack(name, data) }

// AddPacked appends a file whose contents Pack packed.
func (b *Build) AddPacked(name string, p archive.Packed) error {
	if err := b.zip.AddPacked(name, p); err != nil {
		return fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	return nil
}

// TakeOver returns a file of the snapshot before packed, and false where that has none, or a damaged one. Several
// goroutines may call it at once.
func (b *Build) TakeOver(name string) (archive.Packed, bool) { return b.zip.TakeOver(name) }

// readBack reads a file that was written and synced, and fails with archive.ErrDamaged unless its bytes have the sum of
// those that were written.
func readBack(path string, written hash.Hash) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read back %s: %w", path, err)
	}
	if !bytes.Equal(sum.Sum(nil), written.Sum(nil)) {
		return fmt.Errorf("read back %s: %w: its bytes are not those that were written", path, archive.ErrDamaged)
	}
	return nil
}

// SetErased says up to which erasure the packs are rewritten with this build.
func (b *Build) SetErased(id int64) { b.erased = id }

// Commit publishes the snapshot. After an error the snapshot before is still the current one, unless the error came
// from making the new checkpoint durable; either way the same build run again finishes the work.
func (b *Build) Commit(ctx context.Context) (Result, error) {
	if b.done {
		return Result{}, errors.New("commit: the build has ended")
	}
	defer b.Abort()
	r, err := b.publish(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("publish: %w", err)
	}
	return r, nil
}

// publish is every step of a publication in its order. The lock is held since Begin.
func (b *Build) publish(ctx context.Context) (Result, error) {
	d, r := b.folder, Result{Packs: len(b.packs)}

	if b.opts.Key != nil {
		if err := b.Add(archive.KeyFile, archive.PublicKey(b.opts.Key)); err != nil {
			return r, err
		}
	}
	sum, err := b.zip.Close()
	if err := errors.Join(err, d.disk.seal(b.file)); err != nil {
		return r, fmt.Errorf("%s: %w", b.file.Name(), err)
	}
	id := archive.SnapshotID(b.opts.Now, sum.Digest)
	if b.before.Snapshot == id && b.before.Digest != sum.Digest {
		return r, fmt.Errorf("snapshot %s exists with digest %s, the new one has %s: build a second later", id,
			b.before.Digest, sum.Digest)
	}
	r.Summary, r.Checkpoint = sum, b.next(id, sum.Digest)
	// A crash here leaves a temporary zip; the next Begin removes it.

	if err := readBack(b.file.Name(), b.sum); err != nil {
		return r, err
	}
	// The same.

	b.orphan = id
	if err := d.seal(id, b.sum); err != nil {
		return r, err
	}
	// A crash here leaves the sum of a zip that is not there; the next build of the same id writes it anew, Prune
	// removes it.

	if err := d.disk.rename(b.file.Name(), d.snapshotPath(id)); err != nil {
		return r, err
	}
	if err := d.disk.syncDir(filepath.Join(d.root, archive.SnapshotsDir)); err != nil {
		return r, err
	}
	// A crash here leaves a whole zip that nothing names; Prune removes it.

	for _, hour := range b.packs {
		if err := d.disk.rename(b.tempPack(hour), d.packPath(hour)); err != nil {
			return r, err
		}
	}
	if err := d.disk.syncDir(filepath.Join(d.root, archive.PacksDir)); err != nil {
		return r, err
	}
	// A crash here leaves packs before the snapshot that names them; the next build finds and keeps them.

	if b.opts.Expand != ExpandNone {
		if err := b.expand(ctx, id, &r); err != nil {
			return r, err
		}
		// A crash here leaves a whole tree that nothing names; the next build of the same id uses it, Prune removes it.

		if err := b.moveCurrent(id); err != nil {
			return r, err
		}
		// A crash here leaves current one snapshot ahead of the checkpoint, both whole.
	}

	if err := b.keepNotes(sum.Digest); err != nil {
		return r, err
	}
	// A crash here leaves notes that belong to no current snapshot: the next build copies no rendered files.

	if b.before.Snapshot == id {
		return r, nil // published already, under the same name with the same bytes
	}
	return r, d.disk.replace(filepath.Join(d.root, archive.CheckpointFile),
		filepath.Join(d.root, objects.TempPrefix+archive.CheckpointFile), r.Checkpoint.Encode())
}

// next is the checkpoint that names the snapshot id.
func (b *Build) next(id, digest string) archive.Checkpoint {
	if b.before.Snapshot == id {
		return b.before
	}
	c := archive.Checkpoint{
		Snapshot: id, Generation: b.before.Generation + 1, Digest: digest, Erased: max(b.before.Erased, b.erased),
		BuiltAt: b.opts.Now.UTC().Format(archive.TimeLayout), NextAt: b.opts.Next.UTC().Format(archive.TimeLayout),
	}
	if b.before.Snapshot != "" {
		c.Previous = &b.before.Snapshot
	}
	if b.opts.Key != nil {
		c = c.Sign(b.opts.Key)
	}
	return c
}

// moveCurrent points the link at the tree of id.
func (b *Build) moveCurrent(id string) error {
	d := b.folder
	temp := filepath.Join(d.root, objects.TempPrefix+currentLink)
	if err := d.disk.symlink(filepath.Join(treeDir, id), temp); err != nil {
		return err
	}
	if err := d.disk.rename(temp, filepath.Join(d.root, currentLink)); err != nil {
		return err
	}
	return d.disk.syncDir(d.root)
}

// Abort gives the lock back and removes what was not published. After Commit it does nothing.
func (b *Build) Abort() {
	if b.done {
		return
	}
	b.done = true
	if b.zip != nil {
		b.zip.Abort()
	}
	if b.prior != nil {
		b.prior.Close()
	}
	if b.file != nil {
		b.file.Close()
	}
	b.discard()
	unlockFile(b.lock)
}

// discard removes what no checkpoint names, so that builds that fail on a full disk do not fill it further. What it
// can't remove, the next Begin and Prune do.
func (b *Build) discard() {
	d := b.folder
	_ = d.sweep()
	if b.orphan == "" {
		return
	}
	// The pointer is read again: an error of its rename does not say that it did not happen.
	if c, err := d.Checkpoint(); err != nil && !errors.Is(err, ErrEmpty) || c.Snapshot == b.orphan {
		return
	}
	_ = d.disk.remove(d.snapshotPath(b.orphan))
	_ = d.disk.remove(d.sealPath(b.orphan))
	if d.treeID() != b.orphan {
		_ = d.removeTree(b.orphan)
	}
}
