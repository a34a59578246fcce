//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// identity is the user that the server programs run as. Postgres refuses to run as root, so root needs another user.
type identity struct {
	what     string // for messages
	uid, gid int    // owner of the server's files, as this program sees it
	attr     func() *syscall.SysProcAttr
}

// ourselves returns the identity of an ordinary user.
func ourselves() identity {
	return identity{
		what: "this user", uid: os.Geteuid(), gid: os.Getegid(),
		attr: func() *syscall.SysProcAttr { return &syscall.SysProcAttr{} },
	}
}

// another returns the identity of an unprivileged user. Only root can use it.
func another(u account) identity {
	return identity{
		what: "user " + u.name, uid: u.uid, gid: u.gid,
		attr: func() *syscall.SysProcAttr {
			return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}}
		},
	}
}

// own changes the owner of path to the identity, if this program runs as another user.
func (id identity) own(path string) error {
	if id.uid == os.Geteuid() {
		return nil
	}
	return os.Lchown(path, id.uid, id.gid)
}

// ownCluster gives root's cluster, which an older Tollbook made, to the identity. It follows no link out of the folder.
// The folder itself is last: a crash before leaves it to root, and the next start does the rest.
func (id identity) ownCluster(data string) error {
	root, err := os.OpenRoot(data)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat("PG_VERSION"); err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		return root.Lchown(path, id.uid, id.gid)
	})
	if err != nil {
		return err
	}
	return root.Lchown(".", id.uid, id.gid)
}

// folders are open folders for a program that runs as an identity.
type folders struct {
	paths []string // for its arguments
	files []*os.File
}

// open opens folders for a program that runs as the identity. On Linux the program inherits a descriptor of each folder,
// because the user may not enter its parents, such as /root, and because pg_ctl cannot quote every name.
func (id identity) open(dirs ...string) (folders, error) {
	if !passesFolders {
		return folders{paths: dirs}, nil
	}
	var f folders
	for i, dir := range dirs {
		file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			f.close()
			return folders{}, fmt.Errorf("open a folder for %s: %w", id.what, err)
		}
		f.files = append(f.files, file)
		f.paths = append(f.paths, selfFD+strconv.Itoa(firstFD+i))
	}
	return f, nil
}

const (
	selfFD  = "/proc/self/fd/" // where a process of Linux finds the folders that it inherited
	firstFD = 3                // of exec.Cmd.ExtraFiles
)

// close closes the folders in this program.
func (f folders) close() {
	for _, file := range f.files {
		file.Close()
	}
}

// command returns a command that runs a program as the identity in the folder dir. It has a process group of its own,
// so that Ctrl-C in the terminal reaches only this program, which then stops the server in order.
func (id identity) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, serverEnvironment()
	cmd.SysProcAttr = id.attr()
	cmd.SysProcAttr.Setpgid = true
	return cmd
}

// tryOut returns an error if the identity cannot run programs in the folder dir.
func (id identity) tryOut(ctx context.Context, p programs, dir string) error {
	if out, err := id.command(ctx, dir, p.path("postgres"), "--version").CombinedOutput(); err != nil {
		if len(out) > 0 {
			err = fmt.Errorf("%w: %s", err, lastLines(out))
		}
		return fmt.Errorf("run it as %s in %s: %w", id.what, dir, err)
	}
	return nil
}

type account struct {
	name     string
	uid, gid int
}

// unprivileged returns the accounts that root can use, best first. They must exist, because initdb looks its user up.
func unprivileged() []account {
	var list []account
	for _, name := range []string{"postgres", "nobody", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if a, err := newAccount(u); err == nil && a.uid > 0 {
			list = append(list, a)
		}
	}
	return list
}

func newAccount(u *user.User) (account, error) {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("read the id of user %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("read the group of user %s: %w", u.Username, err)
	}
	return account{u.Username, uid, gid}, nil
}

// settle returns the identity that runs the programs on the cluster. An existing cluster keeps its owner, unless that is
// root. The server of root runs as another user: who can reach its socket can make it read and write every file of its
// user. It may change progs.
func (p *place) settle(ctx context.Context, o Options, progs *programs) (identity, error) {
	if os.Geteuid() != 0 {
		return ourselves(), nil
	}
	users := unprivileged()
	owner, exists := p.owner()
	if exists && owner != 0 {
		users = []account{accountOf(owner)}
	}
	var refusals []error
	if len(users) == 0 {
		refusals = append(refusals, errors.New("there is no user postgres, nobody or daemon"))
	}
	for _, u := range users {
		id := another(u)
		if err := p.settleAs(ctx, o, id, progs); err != nil {
			refusals = append(refusals, err)
			continue
		}
		return id, nil
	}
	if isRootOfUser() && (!exists || owner == 0) {
		id, err := namespaced()
		if err == nil {
			err = id.tryOut(ctx, *progs, p.home())
		}
		if err == nil {
			return id, nil
		}
		refusals = append(refusals, err)
	}
	return identity{}, fmt.Errorf("run Postgres for %s: it must not run as root, and no other user can run it; "+
		"create a user postgres, choose a folder that it can enter, or set DATABASE_URL to a server of yours: %w",
		p.data, errors.Join(refusals...))
}

// settleAs prepares p for an unprivileged user.
func (p *place) settleAs(ctx context.Context, o Options, id identity, progs *programs) error {
	usable := *progs
	if err := id.tryOut(ctx, usable, "/"); errors.Is(err, fs.ErrPermission) && isFetched(usable) {
		// Other users cannot read programs in root's own cache.
		copied, copyErr := copyPrograms(ctx, o, usable)
		if copyErr != nil {
			return errors.Join(err, copyErr)
		}
		usable = copied
		err = id.tryOut(ctx, usable, "/")
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !passesFolders {
		if err := p.letIn(ctx, id, usable); err != nil {
			return err
		}
	}
	if owner, exists := p.owner(); exists && owner == 0 {
		if err := id.ownCluster(p.data); err != nil {
			return fmt.Errorf("give %s to %s: %w", p.data, id.what, err)
		}
	}
	*progs = usable
	return nil
}

// accountOf returns the account of the user id that owns a cluster.
func accountOf(uid int) account {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if a, err := newAccount(u); err == nil {
			return a
		}
	}
	return account{"with id " + strconv.Itoa(uid), uid, uid}
}
