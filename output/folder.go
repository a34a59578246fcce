// Package output builds, publishes and reads publications. A publication is a tree of finished files as an immutable
// zip, in a folder or in a store, named by a checkpoint. The package also verifies, expands, rolls back and prunes
// publications.
//
// It owns these names below a publication's root:
//
//	checkpoint.json            the pointer to the current snapshot; its rename publishes
//	snapshots/<id>.zip         every file of a snapshot, with SHA256SUMS as the last member
//	snapshots/<id>.zip.sha256  the sum of the zip, which a publisher checks
//	packs/<hour>.zip           files that outlive snapshots; written once
//	data/<table>/<day>.parquet the rows of a day of a table, written once; its sum is in <day>.parquet.sha256
//	tree/<id>/…                a snapshot expanded into single files
//	current -> tree/<id>       the expanded snapshot that a plain file server shows
//	.notes                     notes of the last build for the next one
//	.published                 what the last publication to each place did
//	.lock                      locked by the one publisher
//
// The format is defined by output/archive; output/objects contains the stores. This package must never know what is in
// the files: no service, no route, no parameter.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Names in the folder of a publication that do not occur in a store.
const (
	treeDir     = "tree"
	currentLink = "current"
	lockName    = ".lock"
)

var (
	// ErrEmpty marks a publication that has no snapshot yet.
	ErrEmpty = errors.New("nothing published yet: run tollbook build")

	errNothingThere = errors.New("nothing is published there; tollbook publish sends a snapshot")
)

// Folder is a publication in a folder on disk. One publisher at a time writes, under a lock. Readers need no lock:
// files never change, except for two names that are moved by rename.
type Folder struct {
	root      string
	disk      disk
	retention Retention
	erasures  Erasures
}

// OpenFolder opens the root of a publication. Begin creates missing folders.
func OpenFolder(root string) (*Folder, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open folder %s: not a folder", abs)
	}
	return &Folder{root: abs, retention: DefaultRetention}, nil
}

// Root returns the absolute path of the publication.
func (d *Folder) Root() string { return d.root }

// TempPath returns the path of a temporary file, which the next build removes if it is left.
func (d *Folder) TempPath(name string) string { return filepath.Join(d.root, objects.TempPrefix+name) }

// Checkpoint reads the pointer. Before the first publication it returns an error that wraps ErrEmpty.
func (d *Folder) Checkpoint() (archive.Checkpoint, error) {
	c, err := archive.ReadCheckpoint(filepath.Join(d.root, archive.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return archive.Checkpoint{}, fmt.Errorf("%s: %w", d.root, ErrEmpty)
	}
	return c, err
}

// HasPack reports whether the pack of an hour ("2026112023") is published.
func (d *Folder) HasPack(hour string) bool {
	_, err := os.Stat(d.packPath(hour))
	return err == nil
}

func (d *Folder) snapshotPath(id string) string {
	return filepath.Join(d.root, archive.SnapshotsDir, id+".zip")
}
func (d *Folder) packPath(hour string) string {
	return filepath.Join(d.root, archive.PacksDir, hour+".zip")
}
func (d *Folder) treePath(id string) string { return filepath.Join(d.root, treeDir, id) }

// Packs returns the hours of published packs, in order.
func (d *Folder) Packs() ([]string, error) {
	hours, err := d.list(archive.PacksDir, ".zip", func(name string) bool {
		_, ok := archive.ParseHour(name)
		return ok
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return hours, err
}

// prepare creates the folders of a publication.
func (d *Folder) prepare() error {
	for _, dir := range []string{archive.SnapshotsDir, archive.PacksDir, treeDir} {
		if err := d.disk.Mkdir(filepath.Join(d.root, dir)); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes unfinished files of interrupted publishers. The caller holds the lock.
func (d *Folder) sweep() error {
	folders, err := d.dataFolders()
	if err != nil {
		return err
	}
	for _, dir := range append(folders, "", archive.SnapshotsDir, archive.PacksDir, treeDir) {
		entries, err := os.ReadDir(filepath.Join(d.root, dir))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), objects.TempPrefix) {
				continue
			}
			if err := d.disk.Remove(filepath.Join(d.root, dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// treeID returns the id of the snapshot that the link "current" names, "" without a link.
func (d *Folder) treeID() string {
	target, err := os.Readlink(filepath.Join(d.root, currentLink))
	if err != nil {
		return ""
	}
	if _, ok := archive.ParseSnapshotID(filepath.Base(target)); !ok {
		return ""
	}
	return filepath.Base(target)
}

// removeTree renames a tree before it removes its files, so that a tree under its own name is always complete.
func (d *Folder) removeTree(id string) error {
	temp := filepath.Join(d.root, treeDir, objects.TempPrefix+"old-"+id)
	err := d.disk.Rename(d.treePath(id), temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.disk.Remove(temp)
}

// ErrBusy marks an attempt to publish while another publisher holds the lock.
var ErrBusy = errors.New("another publisher is at work")

// lockDisk locks the file at path without waiting. The file names the owner of the lock, and so does the error, which
// wraps ErrBusy. The kernel releases the lock when its process ends. A link is an error, because the file that it leads
// to would be overwritten.
func lockDisk(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		f.Close()
		return nil, fmt.Errorf("lock %s: %w: %s; run this command again when it has finished", path, ErrBusy,
			strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d since %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// unlock releases the lock. Closing the file is not enough: a process that starts meanwhile has every open file,
// and so the lock, for a moment.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}

// Build notes are what the builder of a snapshot writes down for the builder of the next one. They are in one file
// beside the snapshots and are never published. Its first line is the digest of the snapshot that they belong to: notes
// of any other snapshot are ignored.
const notesFile = ".notes"

func (d *Folder) notesPath() string { return filepath.Join(d.root, notesFile) }

// Notes returns the notes of the snapshot that this one will replace. It returns nil if there are none, if the zip of
// that snapshot is missing or unreadable, or if the build is Full.
func (b *Build) Notes() []byte {
	if b.previousZip == nil {
		return nil
	}
	data, err := os.ReadFile(b.folder.notesPath())
	if err != nil {
		return nil
	}
	digest, notes, _ := bytes.Cut(data, []byte("\n"))
	if string(digest) != b.previousZip.Digest() {
		return nil
	}
	return notes
}

// SetNotes sets the notes that Commit stores for the next build; nil stores none.
func (b *Build) SetNotes(notes []byte) { b.notes = notes }

// storeNotes replaces the stored notes by those of the snapshot with this digest.
func (b *Build) storeNotes(digest string) error {
	d := b.folder
	if b.notes == nil {
		return nil
	}
	data := append([]byte(digest+"\n"), b.notes...)
	return d.disk.Replace(d.notesPath(), filepath.Join(d.root, objects.TempPrefix+notesFile), data)
}

// publishedFile has what the last publication to each place did, as JSON.
const publishedFile = ".published"

// LastPublished returns what the last publication from this folder to a place did, and false if none is known.
func (d *Folder) LastPublished(place string) (Published, bool, error) {
	all, err := d.readPublished()
	r, ok := all[place]
	return r, ok, err
}

func (d *Folder) readPublished() (map[string]Published, error) {
	all := map[string]Published{}
	data, err := os.ReadFile(filepath.Join(d.root, publishedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return map[string]Published{}, fmt.Errorf("read %s: %w; it is safe to delete",
			filepath.Join(d.root, publishedFile), err)
	}
	return all, nil
}

// storePublished stores what a publication to a place did. The publication itself does not depend on it, so an error,
// such as a full disk, is ignored.
func (d *Folder) storePublished(place string, r Published) {
	all, _ := d.readPublished() // a damaged file is replaced
	all[place] = r
	if data, err := json.Marshal(all); err == nil {
		_ = d.disk.Replace(filepath.Join(d.root, publishedFile),
			filepath.Join(d.root, objects.TempPrefix+publishedFile), data)
	}
}
