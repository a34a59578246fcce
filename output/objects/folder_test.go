package objects

import (
	"os"
	"testing"
)

// tempDir is a folder on a memory file system where there is one: disks make thousands of small files slow.
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
