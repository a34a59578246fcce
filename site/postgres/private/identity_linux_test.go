package private

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamespacesRefused runs a helper where the kernel refuses user namespaces: as root of a namespace that may have
// none below it. If all user IDs are mapped, the helper switches to one of them. If only root's ID is mapped, its error
// says what it tried.
func TestNamespacesRefused(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	for _, tt := range []struct {
		name string
		ids  int
		want string // in the helper's first line
	}{
		{"all ids", 65536, "making a database with Postgres"},
		{"only root", 1, "it refuses root, and no other identity will do (DATABASE_URL can name a server of yours): " +
			"run it as root under the name of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tempDir(t), "postgres")
			cmd := exec.Command("/bin/sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0"`, self(t))
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:                 syscall.CLONE_NEWUSER,
				UidMappings:                []syscall.SysProcIDMap{{Size: tt.ids}},
				GidMappings:                []syscall.SysProcIDMap{{Size: tt.ids}},
				GidMappingsEnableSetgroups: true,
			}
			cmd.Dir = "/"
			h := runHelper(t, cmd, order{Dir: dir, Throwaway: true})
			first := h.next(t)
			if !strings.Contains(first.Said+first.Error, tt.want) {
				t.Fatalf("the helper says %+v, not %q", first, tt.want)
			}
			if first.Error != "" {
				return
			}
			if got := query(t, h.dsn(t), `SELECT 1`); got != "1" {
				t.Errorf("got %s", got)
			}
			st, err := os.Stat(filepath.Join(dir, "data"))
			if err != nil {
				t.Fatal(err)
			}
			if uid, want := int(st.Sys().(*syscall.Stat_t).Uid), unprivileged()[0].uid; uid != want {
				t.Errorf("the cluster belongs to user %d, not %d", uid, want)
			}
			h.stop(t)
		})
	}
}
