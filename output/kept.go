package output

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"tollbook/output/archive"
)

// Kept is a snapshot that can still be read beside the current one.
type Kept struct {
	ID    string
	Bytes int64 // of its zip
}

// Before is the checkpoint of the snapshot that this one is to replace, zero without one.
func (b *Build) Before() archive.Checkpoint { return b.before }

// ReadBefore reads a file of the snapshot that this one is to replace. It fails with fs.ErrNotExist where there is
// none, where nothing is taken over from it (Full), and where it has no such file.
func (b *Build) ReadBefore(name string) ([]byte, error) {
	if b.prior == nil {
		return nil, fmt.Errorf("read %s of the snapshot before: %w", name, fs.ErrNotExist)
	}
	data, err := b.prior.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s of the snapshot before: %w", name, err)
	}
	return data, nil
}

// Kept lists the snapshots of seconds before this one's that Prune leaves once this one is current, newest first. So
// the same build run again lists the same.
func (b *Build) Kept() ([]Kept, error) {
	d := b.folder
	this := archive.SnapshotID(b.opts.Now, "000000") // its digest is not known yet; keeping goes by time
	ids, err := d.list(archive.SnapshotsDir, ".zip", func(name string) bool {
		_, ok := archive.ParseSnapshotID(name)
		return ok && name < this
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var kept []Kept
	for _, id := range Keep(append(ids, this), b.opts.Now, this, b.before.Snapshot) {
		if id == this {
			continue
		}
		info, err := os.Stat(d.snapshotPath(id))
		if err != nil {
			return nil, fmt.Errorf("list snapshots: %w", err)
		}
		kept = append(kept, Kept{ID: id, Bytes: info.Size()})
	}
	slices.Reverse(kept)
	return kept, nil
}

// Digest reads the digest of a snapshot out of its zip.
func (d *Folder) Digest(id string) (string, error) {
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if err != nil {
		return "", fmt.Errorf("open snapshot %s: %w", id, err)
	}
	defer z.Close()
	return z.Digest(), nil
}
