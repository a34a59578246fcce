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

// An identity is who the server programs run as. Postgres refuses to run as
// root, so root needs another one.
type identity struct {
	what     string // for messages
	uid, gid int    // the owner of what the server reads and writes, as this program sees it
	attr     func() *syscall.SysProcAttr
}

// ourselves is the identity of an ordinary user.
func ourselves() identity {
	return identity{
		what: "this user", uid: os.Geteuid(), gid: os.Getegid(),
		attr: func() *syscall.SysProcAttr { return &syscall.SysProcAttr{} },
	}
}

// another is the identity of an unprivileged user, for root alone.
func another(u account) identity {
	return identity{
		what: "user " + u.name, uid: u.uid, gid: u.gid,
		attr: func() *syscall.SysProcAttr {
			return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}}
		},
	}
}

// own gives path to the identity if this program is someone else.
func (id identity) own(path string) error {
	if id.uid == os.Geteuid() {
		return nil
	}
	return os.Lchown(path, id.uid, id.gid)
}

// ownAll does so for a folder and everything in it.
func (id identity) ownAll(root string) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return id.own(path)
	})
}

// command is a program of the identity's in the folder dir, in a process
// group of its own: the terminal's Ctrl-C is for this program, which then
// stops the server in order.
func (id identity) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, environment()
	cmd.SysProcAttr = id.attr()
	cmd.SysProcAttr.Setpgid = true
	return cmd
}

// tryOut says why the identity cannot run programs in the folder dir.
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

// unprivileged are the accounts that root can use instead of its own, the
// best first. They must be real: initdb looks its user up.
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

// settle finds the identity that can run the programs where the cluster lies
// or shall lie, for root by this order: root's own files under another name
// (a user namespace), an unprivileged user in the same folder, an
// unprivileged user in a folder that it can reach. A cluster that is there
// already belongs to whoever made it. It may change p.data and progs.
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
		// What was fetched into root's own cache is closed to others.
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

// fetchShared fetches programs to where every user can reach them.
func fetchShared(ctx context.Context, o Options) (programs, error) {
	o.hooks.cacheDir = filepath.Join(o.sharedDir(), "programs")
	for _, dir := range []string{o.sharedDir(), o.hooks.cacheDir} {
		if err := makePassable(dir); err != nil {
			return programs{}, fmt.Errorf("make a folder for the programs: %w", err)
		}
	}
	return fetchPrograms(ctx, o)
}

// accountOf is the account of the user id that owns a cluster.
func accountOf(uid int) account {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if a, err := newAccount(u); err == nil {
			return a
		}
	}
	return account{"with id " + strconv.Itoa(uid), uid, uid}
}
