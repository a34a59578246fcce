package objects

import (
	"os"
	"testing"
)

// tempDir returns a folder on a memory file system if there is one: thousands of small files are slow on disks.
func tempDir(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-output-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
