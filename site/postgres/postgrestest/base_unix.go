//go:build unix

package postgrestest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// roomNeeded is what a server takes with some dozens of databases, in bytes.
// Containers often have a memory folder of 64 MB.
const roomNeeded = 1 << 30

// base is the folder of the test servers' folders: in memory, if the system has one that is large enough.
func base() string {
	const memory = "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(memory, &st); err != nil || uint64(st.Bavail)*uint64(st.Bsize) < roomNeeded ||
		unix.Access(memory, unix.W_OK) != nil {
		return os.TempDir()
	}
	return memory
}

// checkOwner returns an error if dir exists and is not a folder of this user: everybody can make it.
func checkOwner(dir string) error {
	st, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (!st.IsDir() || int(st.Sys().(*syscall.Stat_t).Uid) != os.Geteuid()) {
		err = fmt.Errorf("%s is not a folder of this user; delete it", dir)
	}
	return err
}
