package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WritableFolder returns folder, or one of the same name in the user's cache if folder can't be created or written, as
// in a read-only checkout.
func WritableFolder(folder string) string {
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(folder, ".tmp-"); err == nil {
			_ = errors.Join(probe.Close(), os.Remove(probe.Name())) // an empty file does no harm
		}
	}
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return folder // the first use of the folder reports any other error
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("tollbook-%d", os.Geteuid()))
	}
	return filepath.Join(cache, "tollbook", filepath.Base(folder))
}
