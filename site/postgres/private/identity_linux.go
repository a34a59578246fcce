package private

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// passesFolders says that a process can use a folder by its descriptor, whatever the folder's parents allow.
const passesFolders = true

// isRootOfUser reports whether this program is root only in a user namespace, and an ordinary user outside, as in a
// container without root's rights.
func isRootOfUser() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil && inside == 0 {
			return outside != 0
		}
	}
	return false
}

// namespaced returns this user's identity in a user namespace of its own, where the server sees an ordinary user id. It
// has the rights of this user, so it is for a user that is root nowhere else and has no other id.
func namespaced() (identity, error) {
	// The id must have a name, which initdb looks up.
	users := unprivileged()
	if len(users) == 0 {
		return identity{}, errors.New("no user postgres, nobody or daemon to appear as")
	}
	uid, gid := users[0].uid, users[0].gid
	return identity{
		what: "this user under the name of " + users[0].name, uid: os.Geteuid(), gid: os.Getegid(),
		attr: func() *syscall.SysProcAttr {
			return &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getegid(), Size: 1}},
			}
		},
	}, nil
}
