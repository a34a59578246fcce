package output

import (
	"bytes"
	"os"
	"path/filepath"

	"tollbook/output/objects"
)

// Build notes are what the builder of a snapshot writes down for the builder of the next one. They are in one file
// beside the snapshots and are never published. Its first line is the digest of the snapshot that they belong to:
// notes of any other snapshot are ignored.
const notesFile = ".notes"

func (d *Folder) notesPath() string { return filepath.Join(d.root, notesFile) }

// Notes returns the notes of the snapshot that this one is to replace; nil if there are none, or if nothing can be
// copied from that snapshot, because its zip is missing or unreadable or Full asks for a build from nothing.
func (b *Build) Notes() []byte {
	if b.prior == nil {
		return nil
	}
	data, err := os.ReadFile(b.folder.notesPath())
	if err != nil {
		return nil
	}
	digest, notes, _ := bytes.Cut(data, []byte("\n"))
	if string(digest) != b.prior.Digest() {
		return nil
	}
	return notes
}

// SetNotes sets the notes that Commit keeps for the next build; nil keeps none.
func (b *Build) SetNotes(notes []byte) { b.notes = notes }

// keepNotes writes the notes of the snapshot with this digest over those of any other.
func (b *Build) keepNotes(digest string) error {
	d := b.folder
	if b.notes == nil {
		return nil
	}
	data := append([]byte(digest+"\n"), b.notes...)
	return d.disk.replace(d.notesPath(), filepath.Join(d.root, objects.TempPrefix+notesFile), data)
}
