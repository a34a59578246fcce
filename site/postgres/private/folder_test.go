package private

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tollbook/site/testgate"
)

func TestBadFolders(t *testing.T) {
	t.Parallel()
	progs := needPrograms(t)
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir string)
		is   error
		want []string
	}{
		{"a file", func(t *testing.T, dir string) { write(t, dir, "") }, nil,
			[]string{"make the data folder", "not a directory"}},
		{"not a cluster", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "data", "x"), "") }, nil,
			[]string{"no PG_VERSION"}},
		{"garbled version", func(t *testing.T,
			dir string) {
			write(t, filepath.Join(dir, "data", "PG_VERSION"), "new\n")
		}, nil,
			[]string{"read the version", "new"}},
		{"another version", func(t *testing.T,
			dir string) {
			write(t, filepath.Join(dir, "data", "PG_VERSION"), "13\n")
		}, ErrWrongVersion,
			[]string{"it is of Postgres 13", "is Postgres " + progs.version, "install Postgres 13"}},
		{"a cluster without a heart", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "data", "PG_VERSION"), fmt.Sprintln(progs.major))
			if err := os.Chmod(filepath.Join(dir, "data"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, []string{"start Postgres in", "postgresql.conf"}},
		{"a full disk", func(t *testing.T, dir string) {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			mountSmall(t, dir, "8m")
		}, nil, []string{"make a cluster in", "initdb: exit status 1", "No space left on device"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "postgres")
			tt.make(t, dir)
			_, err := Start(t.Context(), Options{Dir: dir})
			if err == nil {
				t.Fatal("it started")
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%q is not %q", err, tt.is)
			}
			for _, want := range append(tt.want, dir) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				if left := append(entries(t, dir, newCluster), entries(t, dir, "socket")...); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			}
		})
	}
}

func TestRemoveNothing(t *testing.T) {
	t.Parallel()
	if err := Remove(t.Context(), filepath.Join(tempDir(t), "none")); err != nil {
		t.Error(err)
	}
}

// mountSmall mounts a file system of the given size in memory.
func mountSmall(t *testing.T, dir, size string) (unmount func()) {
	t.Helper()
	needRoot(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,size="+size, "tmpfs",
		dir).CombinedOutput(); err != nil {
		testgate.Missing(t, "this system lets no tmpfs be mounted: %v: %s", err, out)
	}
	var once sync.Once
	unmount = func() {
		once.Do(func() {
			// Lazily: a child that another test just starts may have open what this one had.
			if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
				t.Errorf("umount %s: %v: %s", dir, err, out)
			}
		})
	}
	t.Cleanup(unmount)
	return unmount
}

// write creates a file and its parent folders.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyFile copies a file in another process. The system cannot run a program that this process, or a child that is just
// starting, has open for writing.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}
