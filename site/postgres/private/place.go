//go:build unix

package private

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// sharedDir is created by root. It contains copies of fetched programs that the server's user cannot read in root's
// cache.
const sharedDir = "/var/lib/tollbook-postgres"

func (o *Options) sharedDir() string { return cmp.Or(o.hooks.sharedDir, sharedDir) }

// place is a data folder.
type place struct {
	dir   string   // Options.Dir, absolute, without symbolic links
	data  string   // the cluster: dir/data, or where that link points
	users *os.File // the users' lock, which this program has; nil if it has not
}

// home returns the folder around the cluster. The locks are in it, because the link in a copied folder points to the
// same cluster.
func (p *place) home() string { return filepath.Dir(p.data) }

// findPlace returns the folder dir, which must exist.
func findPlace(dir string) (*place, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	return &place{dir: dir, data: clusterOf(dir)}, nil
}

// makeFolder creates the folder dir if it is missing, and returns its absolute path.
func makeFolder(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no data folder is named")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	// Only dir itself is private.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	return dir, nil
}

// clusterOf returns the folder of the cluster that belongs to dir, which may not exist yet.
func clusterOf(dir string) string {
	data := filepath.Join(dir, "data")
	target, err := os.Readlink(data)
	switch {
	case err != nil: // a folder, or not there yet
		return data
	case filepath.IsAbs(target):
		return target
	}
	return filepath.Join(dir, target)
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// openOwn opens a file of this program for reading and writing, and creates it if it is missing. Root gives the file to
// the owner of its folder, so that the owner can continue without root. It follows no link that the owner may have
// created.
func openOwn(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := giveToOwner(filepath.Dir(path), f.Chown); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func giveToOwner(dir string, chown func(uid, gid int) error) error {
	if os.Geteuid() != 0 {
		return nil
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner := st.Sys().(*syscall.Stat_t); owner.Uid != 0 {
		return chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// owner returns the user id that owns the cluster, and whether there is a cluster.
func (p *place) owner() (uid int, exists bool) {
	st, err := os.Stat(p.data)
	if err != nil {
		return 0, false
	}
	return int(st.Sys().(*syscall.Stat_t).Uid), true
}

// readData reads a file of the cluster. It follows no link out of the cluster, whose owner may have made it.
func (p *place) readData(name string) ([]byte, error) {
	root, err := os.OpenRoot(p.data)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(name)
}

// major returns the version of the existing cluster, or 0.
func (p *place) major() (int, error) {
	path := filepath.Join(p.data, "PG_VERSION")
	b, err := p.readData("PG_VERSION")
	if errors.Is(err, fs.ErrNotExist) {
		if _, exists := p.owner(); exists {
			return 0, fmt.Errorf("%s is no Postgres data folder: there is no PG_VERSION in it; move it away to "+
				"begin anew", p.data)
		}
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the data folder: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("read the version of the data folder: %s: %w", path, err)
	}
	return major, nil
}

// letIn lets an unprivileged user enter the folder around the cluster, where a process needs to.
func (p *place) letIn(ctx context.Context, id identity, progs programs) error {
	st, err := os.Stat(p.home())
	if err != nil {
		return fmt.Errorf("open the data folder to %s: %w", id.what, err)
	}
	if st.Sys().(*syscall.Stat_t).Uid != uint32(id.uid) {
		// Others may enter but not list the folder; data and socket are 0700.
		if err := os.Chmod(p.home(), 0o711); err != nil {
			return fmt.Errorf("open the data folder to %s: %w", id.what, err)
		}
	}
	if err := id.tryOut(ctx, progs, p.home()); err != nil {
		return errors.Join(err, os.Chmod(p.home(), 0o700))
	}
	return nil
}

// makePassable creates a folder of root's that others can enter, regardless of the umask.
func makePassable(dir string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return err
	}
	return os.Chmod(dir, 0o711)
}

// makeSocketDir creates an empty folder for the Unix socket. It is beside the cluster, unless that makes the socket's
// path too long for the system or contains a comma, which separates hosts for clients. Nobody else uses the folder: the
// place is locked and its last server has ended.
func (p *place) makeSocketDir(id identity) (string, error) {
	dir := filepath.Join(p.home(), "socket")
	if len(socketPath(dir)) > maxSocketPath || strings.Contains(dir, ",") {
		sum := sha256.Sum256([]byte(p.data))
		dir = filepath.Join(os.TempDir(), "tollbook-"+hex.EncodeToString(sum[:8]))
		if len(socketPath(dir)) > maxSocketPath || strings.Contains(dir, ",") || id.uid != os.Geteuid() {
			dir = filepath.Join("/tmp", filepath.Base(dir))
		}
	}
	os.RemoveAll(dir) // if it cannot be removed, Mkdir fails
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) && filepath.Dir(dir) != p.home() {
		dir, err = os.MkdirTemp(filepath.Dir(dir), "tollbook-") // another user has taken the name
	}
	if err == nil {
		err = id.own(dir)
	}
	if err != nil {
		return "", fmt.Errorf("make the socket's folder: %w", err)
	}
	return dir, nil
}

func socketPath(dir string) string { return filepath.Join(dir, ".s.PGSQL.5432") }

// maxSocketPath is the longest path of a Unix socket in bytes: 107 on Linux, 103 on macOS.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// removeSocketDir removes the folder of a server's socket. The name is of a file that the folder's owner can change, so
// it removes nothing but what a server or its former supervisor made there.
func removeSocketDir(dir string) {
	for _, name := range []string{".s.PGSQL.5432", ".s.PGSQL.5432.lock", "control", ""} {
		_ = os.Remove(filepath.Join(dir, name)) // what remains is removed by the next start
	}
}

func remove(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	p, err := findPlace(dir)
	if err != nil {
		return err
	}
	leave, err := p.enter(ctx, Options{})
	if err != nil {
		return err
	}
	defer leave()
	alone, err := p.use()
	if err != nil {
		return err
	}
	defer p.release()
	if !alone {
		return p.inUse(ctx)
	}
	if err := p.clean(ctx); err != nil {
		return err
	}
	if home := p.home(); home != p.dir { // only what Start makes there: the link may be somebody's own
		for _, name := range []string{filepath.Base(p.data), "socket", usersLock, startLock} {
			if err := os.RemoveAll(filepath.Join(home, name)); err != nil {
				return fmt.Errorf("remove %s: %w", name, err)
			}
		}
		_ = os.Remove(home)
		_ = os.Remove(filepath.Dir(home)) // if it was the last
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("remove %s: %w", p.dir, err)
	}
	return nil
}
