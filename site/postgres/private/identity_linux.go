package private

import (
	"errors"
	"os"
	"syscall"
)

// namespaced returns root's identity in a user namespace of its own. There the server sees an ordinary user id, while
// root owns all its files. It loses root's permission to open files of other users.
func namespaced(o Options) (identity, error) {
	if o.hooks.refuseNamespaces {
		return identity{}, errors.New("user namespaces are refused")
	}
	// The id must have a name, which initdb looks up.
	users := unprivileged()
	if len(users) == 0 {
		return identity{}, errors.New("no user postgres, nobody or daemon to appear as")
	}
	uid, gid := users[0].uid, users[0].gid
	return identity{
		what: "root under the name of " + users[0].name, uid: os.Geteuid(), gid: os.Getegid(),
		attr: func() *syscall.SysProcAttr {
			return &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getegid(), Size: 1}},
			}
		},
	}, nil
}

// setDeathSignal makes the kernel send sig to the process when the thread that started it ends.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
