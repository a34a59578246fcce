package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestSnapshotAfterSilence checks that the first request after a pause gets the current snapshot, not that of the
// previous request.
func TestSnapshotAfterSilence(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	build := func() (id string) {
		t.Helper()
		code, stdout, stderr := tollbook(t, env, "build", "--json", "--data", data)
		if code != 0 {
			t.Fatal(stderr)
		}
		return decode[struct{ Snapshot string }](t, stdout).Snapshot
	}
	first := build()
	reader := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--serve-listen",
		"127.0.0.1:0").start(t)
	base := strings.Fields(reader.await(t, "Serving "))[2]
	if got := get(t, base).header.Get("X-Snapshot"); got != first {
		t.Fatalf("snapshot %s, want %s", got, first)
	}
	second := build()
	// No request is sent. The reader's open files show that it uses the second snapshot.
	zip := filepath.Join(data, "public", "snapshots", second+".zip")
	if !holdsOpen(t, reader.Process.Pid, zip) {
		t.Fatalf("nobody asks, and %s is never opened", zip)
	}
	if got := get(t, base).header.Get("X-Snapshot"); got != second {
		t.Errorf("the first answer after a silence is of %s, want %s", got, second)
	}
	reader.interrupt(t, os.Interrupt)
}

// holdsOpen waits until a process has a file open.
func holdsOpen(t *testing.T, pid int, path string) bool {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range open {
			if target, err := os.Readlink(fd); err == nil && target == path {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
}

// TestDiskFullWhileBuilding fills the disk at several steps of a build. The previous snapshot stays current and
// complete, and the error names the file.
func TestDiskFullWhileBuilding(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := smallDisk(t, 48<<20)
	list := writeFile(t, "services.json", listOfServices(100, "Sums of all kinds."))
	if code, _, stderr := tollbook(t, env, "services", "import", list); code != 0 {
		t.Fatal(stderr)
	}
	build := func() (code int, stderr string) {
		code, _, stderr = tollbook(t, env, "build", "--data", data)
		return code, stderr
	}
	if code, stderr := build(); code != 0 {
		t.Fatal(stderr)
	}
	last := published(t, data)
	failed, stages := 0, map[string]bool{}
	for free := int64(0); free < 48<<20; free = max(2*free, 16<<10) {
		filler := fill(t, data, free)
		code, stderr := build()
		now := published(t, data)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if code == 0 {
			if now == last {
				t.Errorf("with %d bytes free the build exits 0, and publishes nothing", free)
			}
			break
		}
		failed++
		if now != last {
			t.Errorf("with %d bytes free the build fails, and %s is current in the place of %s", free, now, last)
		}
		if !strings.Contains(stderr, "no space left on device") || !strings.Contains(stderr, data) {
			t.Errorf("with %d bytes free the build says\n%swant the file and the reason", free, stderr)
		}
		stages[strings.SplitN(stderr, data, 2)[0]] = true
	}
	if failed < 3 || len(stages) < 2 {
		t.Errorf("the build failed %d times, at %v; want different places", failed, stages)
	}
	if code, stderr := build(); code != 0 || published(t, data) == last {
		t.Errorf("with room again the build exits %d\n%s", code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(data, "public", "*", ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

// TestDiskFullUnderPostgres checks that a private Postgres on a full disk refuses a whole import, and continues when
// space is free again.
func TestDiskFullUnderPostgres(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	data := smallDisk(t, 256<<20)
	if code, _, stderr := tollbook(t, nil, "services", "list", "--data", data); code != 0 {
		t.Fatal(stderr)
	}
	filler := fill(t, data, 1<<20)
	list := writeFile(t, "services.json", listOfServices(4000, strings.Repeat("Sums of all kinds. ", 100))) // 8 MB
	// disk_full, in any language
	fails(t, nil, "(SQLSTATE 53100)", "services", "import", list, "--data", data)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := tollbook(t, nil, "services", "list", "--json", "--data", data)
	if code != 0 || stdout != "[]\n" {
		t.Errorf("after a refused import: exit %d, %d bytes listed\n%s", code, len(stdout), stderr)
	}
}

// smallDisk mounts a file system of size bytes in memory, for tests that fill it.
func smallDisk(t *testing.T, size int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size)); err != nil {
		if errors.Is(err, syscall.EPERM) {
			// skips under CI too: most containers refuse the mount
			t.Skipf("mounting a small disk needs root with CAP_SYS_ADMIN: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file that leaves free bytes on a disk.
func fill(t *testing.T, dir string, free int64) (filler string) {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	filler = filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := int64(st.Bavail)*int64(st.Bsize) - free; n > 0 {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, n); err != nil {
			t.Fatalf("fill %s: %v", dir, err)
		}
	}
	return filler
}
