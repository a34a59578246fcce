package output

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Rollback makes an earlier snapshot, which the folder still has, the current one. Its checkpoint is the next
// generation after the one that it takes back, which stays as the previous. The next build follows it.
func (d *Folder) Rollback(ctx context.Context, id string, key ed25519.PrivateKey) (c archive.Checkpoint, moved bool,
	err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("roll %s back: %w", d.root, err)
		}
	}()
	built, ok := archive.ParseSnapshotID(id)
	if !ok {
		return c, false, fmt.Errorf("snapshot %.40q: %w", id, ErrNotKept)
	}
	if _, err := d.Checkpoint(); err != nil {
		return c, false, err
	}
	if err := d.prepare(); err != nil {
		return c, false, err
	}
	lock, err := lockFile(filepath.Join(d.root, lockName))
	if err != nil {
		return c, false, err
	}
	defer unlockFile(lock)
	if err := d.sweep(); err != nil {
		return c, false, err
	}
	before, err := d.Checkpoint()
	if err != nil {
		return c, false, err
	}
	digest, err := d.verifyKept(ctx, id)
	if err != nil {
		return c, false, err
	}
	// A crash here leaves nothing: all was only read.

	if d.treeID() != "" { // it is expanded for a web server
		b := &Build{folder: d}
		if err := b.expand(ctx, id, &Result{}); err != nil {
			return c, false, err
		}
		// A crash here leaves a whole tree that nothing names; Prune removes it.

		if err := b.moveCurrent(id); err != nil {
			return c, false, err
		}
		// A crash here leaves current at the earlier snapshot, and the checkpoint at the later, both whole. The same
		// rollback run again finishes, and so does the next build.
	}
	if before.Snapshot == id {
		return before, false, nil
	}
	at := built.Format(archive.TimeLayout) // when the next build was due then means nothing now
	c = archive.Checkpoint{
		Snapshot: id, Previous: &before.Snapshot, Generation: before.Generation + 1, BuiltAt: at, NextAt: at,
		Digest: digest,
		Erased: before.Erased, // no pack comes back
	}
	if key != nil {
		c = c.Sign(key)
	}
	return c, true, d.disk.replace(filepath.Join(d.root, archive.CheckpointFile),
		filepath.Join(d.root, objects.TempPrefix+archive.CheckpointFile), c.Encode())
}

// verifyKept reads the whole zip of a snapshot, and answers its digest, which its id must have.
func (d *Folder) verifyKept(ctx context.Context, id string) (digest string, err error) {
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("snapshot %s: %w", id, ErrNotKept)
	}
	if err != nil {
		return "", err
	}
	defer z.Close()
	built, _ := archive.ParseSnapshotID(id)
	if digest = z.Digest(); archive.SnapshotID(built, digest) != id {
		return "", fmt.Errorf("snapshot %s: %w: its digest is %s", id, archive.ErrDamaged, digest)
	}
	if err := archive.Verify(ctx, z, digest); err != nil {
		return "", fmt.Errorf("snapshot %s: %w", id, err)
	}
	return digest, nil
}
