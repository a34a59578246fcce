package output

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// Notes are what the builder of a snapshot writes down for the builder of the next, who then knows what may be taken over.
// They lie beside the snapshots, in one file, since those of the current one alone are ever asked for, and are never published.
// Behind them stand the sum of the zip that they belong to and their own: notes of another zip, and damaged ones, are none.
const (
	notesFile = ".notes"
	notesTail = 2 * sha256.Size
)

func (d *Folder) notesPath() string { return filepath.Join(d.root, notesFile) }

// NotesBefore opens what was noted with the snapshot that this one is to replace. It answers nil where nothing can be taken
// over from that: without notes, without a seal that its zip is held to, or where nothing shall be (Full).
func (b *Build) NotesBefore() io.ReadCloser {
	if b.prior == nil || !b.sealed {
		return nil
	}
	f, err := os.Open(b.folder.notesPath())
	if err != nil {
		return nil
	}
	size, err := checkNotes(f, b.folder.sealPath(b.before.Snapshot))
	if err != nil {
		f.Close()
		return nil
	}
	return &notesReader{io.NewSectionReader(f, 0, size), f}
}

type notesReader struct {
	io.Reader
	io.Closer
}

// checkNotes answers how many bytes of notes there are, if they are as they were written, with the zip of that seal.
func checkNotes(f *os.File, seal string) (int64, error) {
	sealed, err := os.ReadFile(seal)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size, tail, own := info.Size()-notesTail, make([]byte, notesTail), sha256.New()
	if size < 0 {
		return 0, ErrDamaged
	}
	if _, err := f.ReadAt(tail, size); err != nil {
		return 0, err
	}
	if _, err := io.Copy(own, io.NewSectionReader(f, 0, size)); err != nil {
		return 0, err
	}
	zip, sum := tail[:sha256.Size], tail[sha256.Size:]
	own.Write(zip)
	if !bytes.Equal(own.Sum(nil), sum) || !bytes.HasPrefix(sealed, []byte(hex.EncodeToString(zip)+" ")) {
		return 0, ErrDamaged
	}
	return size, nil
}

// notes are those of a build on their way.
type notes struct {
	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
}

// Notes begins the notes of this build: what is written is kept by Commit.
func (b *Build) Notes() (io.Writer, error) {
	if b.notes != nil {
		return nil, errors.New("there are notes already")
	}
	f, err := b.folder.disk.create(filepath.Join(b.folder.root, tempPrefix+notesFile))
	if err != nil {
		return nil, err
	}
	n := &notes{file: f, sum: sha256.New()}
	n.out = bufio.NewWriterSize(io.MultiWriter(b.folder.disk.writer(f), n.sum), 1<<16)
	b.notes = n
	return n.out, nil
}

// keepNotes puts the notes, which belong to the zip of this sum, in the place of those before.
func (b *Build) keepNotes(zip hash.Hash) error {
	n, d := b.notes, b.folder
	if n == nil {
		return nil
	}
	_, err := n.out.Write(zip.Sum(nil))
	if err == nil {
		err = n.out.Flush()
	}
	if err == nil {
		_, err = d.disk.writer(n.file).Write(n.sum.Sum(nil))
	}
	if err := errors.Join(err, d.disk.seal(n.file)); err != nil {
		return err
	}
	return d.disk.rename(n.file.Name(), d.notesPath())
}
