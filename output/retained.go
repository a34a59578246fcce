package output

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"tollbook/output/archive"
)

// Retained is a snapshot that can still be read beside the current one.
type RetainedSnapshot struct {
	ID    string
	Bytes int64 // of its zip
}

// Previous returns the checkpoint of the snapshot that this one will replace, zero without one.
func (b *Build) Previous() archive.Checkpoint { return b.previous }

// ReadPrevious reads a file of the snapshot that this one will replace. It returns an error that wraps fs.ErrNotExist
// if there is no such snapshot or file, or if the build is Full.
func (b *Build) ReadPrevious(name string) ([]byte, error) {
	if b.previousZip == nil {
		return nil, fmt.Errorf("read %s of the previous snapshot: %w", name, fs.ErrNotExist)
	}
	data, err := b.previousZip.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s of the previous snapshot: %w", name, err)
	}
	return data, nil
}

// PreviousNames returns the names of all files of the snapshot that this one will replace, none if there is no such
// snapshot or if the build is Full.
func (b *Build) PreviousNames() []string {
	if b.previousZip == nil {
		return nil
	}
	return b.previousZip.Names()
}

// Retained lists the snapshots of earlier seconds that Prune retains once this one is current, newest first. Running
// the same build again returns the same list.
func (b *Build) RetainedSnapshots() ([]RetainedSnapshot, error) {
	d := b.folder
	// The digest is not known yet; retention depends on the time alone.
	this := archive.SnapshotID(b.opts.Now, "000000")
	ids, err := d.list(archive.SnapshotsDir, ".zip", func(name string) bool {
		_, ok := archive.ParseSnapshotID(name)
		return ok && name < this
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var retained []RetainedSnapshot
	for _, id := range Retain(append(ids, this), b.opts.Now, this, b.previous.Snapshot) {
		if id == this {
			continue
		}
		info, err := os.Stat(d.snapshotPath(id))
		if err != nil {
			return nil, fmt.Errorf("list snapshots: %w", err)
		}
		retained = append(retained, RetainedSnapshot{ID: id, Bytes: info.Size()})
	}
	slices.Reverse(retained)
	return retained, nil
}

// Digest reads the digest of a snapshot from its zip.
func (d *Folder) Digest(id string) (string, error) {
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if err != nil {
		return "", fmt.Errorf("open snapshot %s: %w", id, err)
	}
	defer z.Close()
	return z.Digest(), nil
}
