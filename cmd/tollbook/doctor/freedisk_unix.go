//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// diskRoom is how many bytes a folder's file system has in all, and has left for us.
func diskRoom(dir string) (size, free uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), nil
}
