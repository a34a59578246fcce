package output

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// RollbackOptions say which snapshots a rollback may make current, and with which key.
type RollbackOptions struct {
	Key       ed25519.PrivateKey // signs the checkpoint; nil for none
	ChangeKey bool               // allows a checkpoint that is signed with another key, or with none
	// ListSnapshots returns the IDs that a snapshot lists for readers. Nil stands for all IDs.
	ListSnapshots func(archive.Tree) ([]string, error)
	Logger        *slog.Logger // logs each step; nil logs none
}

// StoredSnapshot is a snapshot of a place.
type StoredSnapshot struct {
	ID      string    `json:"snapshot"`
	BuiltAt time.Time `json:"built_at"`
	Bytes   int64     `json:"bytes"` // of its zip
	Current bool      `json:"current"`
}

// ListSnapshots returns the snapshots of a place, the newest first.
func ListSnapshots(ctx context.Context, store objects.Store) ([]StoredSnapshot, error) {
	_, data, err := objects.ReadObject(ctx, store, archive.CheckpointFile, objects.GetOptions{}, archive.MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the snapshots of %s: %w", store, errNothingThere)
	}
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of %s: %w", store, err)
	}
	current, err := archive.ParseCheckpoint(data)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of %s: %w", store, err)
	}
	zips, err := store.List(ctx, archive.SnapshotsDir+"/")
	if err != nil {
		return nil, err
	}
	var list []StoredSnapshot
	for _, o := range zips {
		id := strings.TrimSuffix(path.Base(o.Name), ".zip")
		if built, ok := archive.ParseSnapshotID(id); ok && o.Name == archive.SnapshotName(id) {
			list = append(list, StoredSnapshot{ID: id, BuiltAt: built, Bytes: o.Size, Current: id == current.Snapshot})
		}
	}
	slices.SortFunc(list, func(a, b StoredSnapshot) int { return strings.Compare(b.ID, a.ID) })
	return list, nil
}

// Rollback makes an older snapshot of the folder the current one. Its checkpoint has the next generation and names the
// replaced snapshot as the previous one. The next build follows it. It returns an error that wraps archive.ErrSigned if
// the current checkpoint is signed with another key than this one, unless ChangeKey.
//
// The folder does not say what was erased. So once something was, Rollback refuses a snapshot that is older than the
// current one unless ListSnapshots returns it for the current one.
func (d *Folder) Rollback(ctx context.Context, id string, o RollbackOptions) (
	c archive.Checkpoint, moved bool, err error,
) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("roll %s back: %w", d.root, err)
		}
	}()
	steps := NewSteps(o.Logger)
	built, ok := archive.ParseSnapshotID(id)
	if !ok {
		return c, false, fmt.Errorf("snapshot %.40q: %w", id, ErrNotRetained)
	}
	if _, err := d.Checkpoint(); err != nil {
		return c, false, err
	}
	if err := d.prepare(); err != nil {
		return c, false, err
	}
	lock, err := lockDisk(filepath.Join(d.root, lockName))
	if err != nil {
		return c, false, err
	}
	defer unlock(lock)
	if err := d.sweep(); err != nil {
		return c, false, err
	}
	before, err := d.Checkpoint()
	if err != nil {
		return c, false, err
	}
	if !o.ChangeKey {
		if err := before.CheckSuccessorKey(o.Key); err != nil {
			return c, false, err
		}
	}
	digest, gate, err := d.verifySnapshot(ctx, id)
	if err != nil {
		return c, false, err
	}
	if before.Erased > 0 && id < before.Snapshot && o.ListSnapshots != nil {
		if err := d.checkListed(before.Snapshot, id, o.ListSnapshots); err != nil {
			return c, false, err
		}
	}
	steps.Done(ctx, "folder locked and snapshot checked", "generation", before.Generation)
	// A crash here leaves nothing: Rollback has only read so far.

	if d.treeID() != "" { // a web server may show the tree
		b, r := &Build{folder: d}, Result{}
		if err := b.expand(ctx, id, &r); err != nil {
			return c, false, err
		}
		steps.Done(ctx, "tree expanded", "written", r.Written, "linked", r.Linked)
		// A crash here leaves a complete tree that no checkpoint names; Prune removes it.

		if err := b.moveCurrent(id); err != nil {
			return c, false, err
		}
		// A crash here leaves current at the older snapshot and the checkpoint at the newer one, both complete. The
		// same rollback run again finishes the work, and so does the next build.
	}
	if before.Snapshot == id {
		return before, false, nil
	}
	// The next build was due at a time that is now past.
	at := built.Format(archive.TimeLayout)
	c = archive.Checkpoint{
		Snapshot: id, Previous: &before.Snapshot, Generation: before.Generation + 1, BuiltAt: at, NextAt: at,
		Digest: digest, Gate: gate,
		Erased: before.Erased, // a rollback restores no pack
	}
	c = c.Sign(o.Key)
	err = d.disk.Replace(filepath.Join(d.root, archive.CheckpointFile),
		filepath.Join(d.root, objects.TempPrefix+archive.CheckpointFile), c.Encode())
	if err == nil {
		steps.Done(ctx, "checkpoint written", "generation", c.Generation)
	}
	return c, true, err
}

// checkListed returns ErrErased unless the current snapshot lists another one.
func (d *Folder) checkListed(current, id string, listed func(archive.Tree) ([]string, error)) error {
	z, err := archive.OpenZipFile(d.snapshotPath(current))
	if err != nil {
		return err
	}
	defer z.Close()
	ids, err := listed(z)
	if err == nil && !slices.Contains(ids, id) {
		err = fmt.Errorf("snapshot %s: %w", id, ErrErased)
	}
	return err
}

// verifySnapshot reads and checks the whole zip of a snapshot. It returns the digest, which must match the id.
func (d *Folder) verifySnapshot(ctx context.Context, id string) (digest string, gate *archive.Gate, err error) {
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("snapshot %s: %w", id, ErrNotRetained)
	}
	if err != nil {
		return "", nil, err
	}
	defer z.Close()
	built, _ := archive.ParseSnapshotID(id)
	if digest = z.Digest(); archive.SnapshotID(built, digest) != id {
		return "", nil, fmt.Errorf("snapshot %s: %w: its digest is %s", id, archive.ErrDamaged, digest)
	}
	if err := archive.Verify(ctx, z, digest); err != nil {
		return "", nil, fmt.Errorf("snapshot %s: %w", id, err)
	}
	gate, err = z.Gate()
	return digest, gate, err
}
