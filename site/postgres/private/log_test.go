//go:build unix

package private

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRotatingLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "postgres.log")
	write(t, path, "from the last run\n")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 * logSize / len(line) {
		if n, err := log.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := log.Write([]byte("the end\n")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st.Size() > logSize || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes, mode %o", name, st.Size(), st.Mode().Perm())
		}
	}
	if tail := log.Tail(); !strings.HasSuffix(tail, "the end") || len(tail) > tailSize {
		t.Errorf("the tail has %d bytes and ends with %q", len(tail), tail[max(0, len(tail)-20):])
	}
	log.Close()
	if n, err := log.Write(line); n != len(line) || err != nil {
		t.Errorf("without a file: %d, %v", n, err)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(b), "x\nthe end\n") {
		t.Errorf("the file ends otherwise: %v", err)
	}
}

func TestLogFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "postgres.log")
	write(t, victim, "untouched")
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(path); err == nil {
		t.Error("it wrote through a link")
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "",
		" one \n":                         "one",
		strings.Repeat("a\n", 20) + "b\n": strings.Repeat("a\n", 11) + "b",
		"bad \xff byte":                   "bad ? byte",
	} {
		if got := lastLines([]byte(in)); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}
