package output

import (
	"bytes"
	"os"
	"path/filepath"

	"tollbook/output/objects"
)

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
