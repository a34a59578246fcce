package objects

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFiles makes everything under a folder durable: one sync of its file system instead of one a file.
func SyncFiles(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
