package archive

import (
	"fmt"
	"os"
	"syscall"
)

// OpenFile opens a file or folder of a publication for reading. Anything else is refused at once: a pipe in a folder of
// somebody else's would hold the program for ever.
func OpenFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // has no effect on a regular file
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("open %s: %w: not a regular file", path, ErrDamaged)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
