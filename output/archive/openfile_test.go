package archive

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenFilePipe checks that a pipe in the place of a file is refused, and holds nobody.
func TestOpenFilePipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{CheckpointFile, SumsFile, "a.zip"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Skip(err)
		}
	}
	_, checkpoint := ReadCheckpoint(filepath.Join(dir, CheckpointFile))
	_, sums := OpenDir(dir)
	_, zip := OpenZipFile(filepath.Join(dir, "a.zip"))
	for _, err := range []error{checkpoint, sums, zip} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("a pipe is opened: %v", err)
		}
	}
}
