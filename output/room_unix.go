//go:build linux || darwin

package output

import "golang.org/x/sys/unix"

// Room returns the size of a folder's file system and the free space for this user, in bytes.
func Room(dir string) (size, free uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), nil
}
