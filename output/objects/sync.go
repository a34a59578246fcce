package objects

import (
	"errors"
	"os"
)

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
