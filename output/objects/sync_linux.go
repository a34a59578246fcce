package objects

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncFiles makes everything below a folder durable. It syncs the file system once instead of each file.
func SyncFiles(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
