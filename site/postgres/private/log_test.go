//go:build unix

package private

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrimLog checks that the log of a server stays short while the server writes into it.
func TestTrimLog(t *testing.T) {
	t.Parallel()
	p := &place{dir: tempDir(t)}
	server, err := p.openLog()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 * logSize / len(line) {
		if _, err := server.Write(line); err != nil {
			t.Fatal(err)
		}
		trimLog(p.logPath())
	}
	if _, err := server.WriteString("the end\n"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{p.logPath(), p.logPath() + ".1"} {
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st.Size() > logSize+int64(len(line)) || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes, mode %o", name, st.Size(), st.Mode().Perm())
		}
	}
	if tail := p.logTail(0); !strings.HasSuffix(tail, "x\nthe end") || len(tail) > tailSize {
		t.Errorf("the tail has %d bytes and ends with %q", len(tail), tail[max(0, len(tail)-20):])
	}
	st, err := server.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if tail := p.logTail(st.Size() - int64(len("end\n"))); tail != "end" {
		t.Errorf("the tail of the last run is %q", tail)
	}
}

func TestLogFollowsNoLink(t *testing.T) {
	t.Parallel()
	p := &place{dir: tempDir(t)}
	victim := filepath.Join(p.dir, "victim")
	content := strings.Repeat("untouched", logSize/8)
	write(t, victim, content)
	if err := os.Mkdir(filepath.Join(p.dir, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, p.logPath()); err != nil {
		t.Fatal(err)
	}
	if f, err := p.openLog(); err == nil {
		f.Close()
		t.Error("it opened a link")
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != content {
		t.Errorf("the target has %d bytes, %v", len(b), err)
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
