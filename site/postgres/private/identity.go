//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
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

// ownAll does the same for a folder and everything in it.
func (id identity) ownAll(root string) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return id.own(path)
	})
}

// command returns a command that runs a program as the identity in the folder dir. It has a process group of its own,
// so that Ctrl-C in the terminal reaches only this program, which then stops the server in order.
func (id identity) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, environment()
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

// settle returns the identity that runs the programs on the cluster. An existing cluster keeps its owner. Otherwise
// root tries in this order: root's own files under another name (a user namespace), an unprivileged user in the same
// folder, and an unprivileged user in a shared folder. It may change p.data and progs.
func (p *place) settle(ctx context.Context, o Options, progs *programs) (identity, error) {
	if os.Geteuid() != 0 {
		return ourselves(), nil
	}
	owner, exists := p.owner()
	var refusals []error
	if !exists || owner == 0 {
		id, err := namespaced(o)
		if err == nil {
			err = id.tryOut(ctx, *progs, p.home())
		}
		if err == nil {
			return id, nil
		}
		refusals = append(refusals, err)
	}
	users := unprivileged()
	if exists && owner != 0 {
		users = []account{accountOf(owner)}
	}
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
	return identity{}, fmt.Errorf("run Postgres for %s: it refuses root, and no other identity will do "+
		"(DATABASE_URL can name a server of yours): %w", p.data, errors.Join(refusals...))
}

// settleAs prepares p for an unprivileged user.
func (p *place) settleAs(ctx context.Context, o Options, id identity, progs *programs) error {
	usable := *progs
	if err := id.tryOut(ctx, usable, "/"); errors.Is(err, syscall.EACCES) {
		// Other users cannot read programs in root's own cache.
		fetched, fetchErr := fetchShared(ctx, o)
		if fetchErr != nil || fetched.major != progs.major {
			return errors.Join(err, fetchErr)
		}
		usable = fetched
	} else if err != nil {
		return err
	}
	if err := p.open(ctx, id, usable); err != nil {
		if _, exists := p.owner(); exists || p.home() != p.dir {
			return err
		}
		if elsewhereErr := p.moveElsewhere(o, id); elsewhereErr != nil {
			return errors.Join(err, elsewhereErr)
		}
		if err := id.tryOut(ctx, usable, p.home()); err != nil {
			return err
		}
	}
	*progs = usable
	return nil
}

// fetchShared fetches programs into a folder that every user can read.
func fetchShared(ctx context.Context, o Options) (programs, error) {
	o.hooks.cacheDir = filepath.Join(o.sharedDir(), "programs")
	for _, dir := range []string{o.sharedDir(), o.hooks.cacheDir} {
		if err := makePassable(dir); err != nil {
			return programs{}, fmt.Errorf("make a folder for the programs: %w", err)
		}
	}
	return fetchPrograms(ctx, o)
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
