package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tollbook/output/archive"
)

// RetainedSnapshot is a snapshot that can still be read beside the current one.
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

// RetainedSnapshots lists the snapshots of earlier seconds that Prune retains once this one is current, newest first.
// Running the same build again returns the same list.
func (b *Build) RetainedSnapshots() ([]RetainedSnapshot, error) {
	d := b.folder
	list, err := d.Snapshots()
	if err != nil {
		return nil, err
	}
	shared, err := d.sharedBytes()
	if err != nil {
		return nil, err
	}
	// The digest is not known yet; retention depends on time and size alone.
	this := archive.SnapshotID(b.opts.Now, "000000")
	list = slices.DeleteFunc(list, func(s RetainedSnapshot) bool { return s.ID >= this || b.erasures.Cover(s.ID) })
	bytes := map[string]int64{}
	for _, s := range list {
		bytes[s.ID] = s.Bytes
	}
	// The size is not known either. If it were assumed too small, Prune might remove a snapshot that this one lists.
	next := RetainedSnapshot{this, bytes[b.previous.Snapshot] + bytes[b.previous.Snapshot]/4}
	var retained []RetainedSnapshot
	for _, id := range d.retention.Retain(append(list, next), shared, b.opts.Now, this, b.previous.Snapshot) {
		if id != this {
			retained = append(retained, RetainedSnapshot{id, bytes[id]})
		}
	}
	slices.Reverse(retained)
	return retained, nil
}

// SetRetention sets which snapshots stay when the folder is pruned, or a store that is published to from it.
func (d *Folder) SetRetention(r Retention) { d.retention = r }

// Snapshots lists all snapshots of the folder, oldest first.
func (d *Folder) Snapshots() ([]RetainedSnapshot, error) {
	ids, err := d.list(archive.SnapshotsDir, ".zip", func(name string) bool {
		_, ok := archive.ParseSnapshotID(name)
		return ok
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	list := make([]RetainedSnapshot, 0, len(ids))
	for _, id := range ids {
		info, err := os.Stat(d.snapshotPath(id))
		if err != nil {
			return nil, fmt.Errorf("list snapshots: %w", err)
		}
		list = append(list, RetainedSnapshot{ID: id, Bytes: info.Size()})
	}
	return list, nil
}

// PackSizes returns the number of bytes of each pack by its hour.
func (d *Folder) PackSizes() (map[string]int64, error) {
	hours, err := d.Packs()
	if err != nil {
		return nil, fmt.Errorf("list packs: %w", err)
	}
	sizes := map[string]int64{}
	for _, hour := range hours {
		info, err := os.Stat(d.packPath(hour))
		if err != nil {
			return nil, fmt.Errorf("list packs: %w", err)
		}
		sizes[hour] = info.Size()
	}
	return sizes, nil
}

// sharedBytes returns the size of all packs and files of days.
func (d *Folder) sharedBytes() (total int64, err error) {
	for _, read := range []func() (map[string]int64, error){d.PackSizes, d.DataDaySizes} {
		sizes, err := read()
		if err != nil {
			return 0, err
		}
		for _, bytes := range sizes {
			total += bytes
		}
	}
	return total, nil
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
