package private

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/testgate"
)

// secretVariables are variables of Tollbook that no server may see.
var secretVariables = []string{"TOLLBOOK_SIGNING_KEY", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DATABASE_URL",
	"PGPASSWORD", "TOLLBOOK_NO_SUCH_KEY"}

// TestRootIsNobody checks that the server of root has no rights of root and no secret: a new cluster, a cluster of an
// older Tollbook that root owns, and one that is partly given away, in open and in closed folders.
func TestRootIsNobody(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	for _, tt := range []struct {
		name   string
		parent func(t *testing.T) string
		change func(t *testing.T, data string)
	}{
		{"new", tempDir, nil},
		{"new in a closed folder", closedDir, nil},
		{"of root", tempDir, func(t *testing.T, data string) { chown(t, data, 0) }},
		{"of root in a closed folder", closedDir, func(t *testing.T, data string) { chown(t, data, 0) }},
		{"given away in part", closedDir, func(t *testing.T, data string) {
			chown(t, data, 0)
			chown(t, filepath.Join(data, "base"), unprivileged()[0].uid)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(tt.parent(t), "postgres")
			if tt.change != nil {
				s := mustStart(t, Options{Dir: dir, Throwaway: true})
				mustExec(t, s.DSN(), `CREATE TABLE kept AS SELECT 42 AS n`)
				mustStop(t, s)
				tt.change(t, filepath.Join(dir, "data"))
			}
			cmd := exec.Command(self(t))
			for _, name := range secretVariables {
				cmd.Env = append(cmd.Env, name+"=secret")
			}
			h := runHelper(t, cmd, order{Dir: dir, Throwaway: true})
			dsn := h.dsn(t)
			if tt.change != nil {
				if got := query(t, dsn, `SELECT n FROM kept`); got != "42" {
					t.Errorf("kept %s, not 42", got)
				}
			}
			checkProcesses(t, filepath.Join(dir, "data"))
			checkConfined(t, dsn)
			h.stop(t)
		})
	}
}

// chown gives everything in a folder to a user.
func chown(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkProcesses checks the users and the environments of a server and its children.
func checkProcesses(t *testing.T, data string) {
	t.Helper()
	servers := func(list []stray) (n int) {
		for _, s := range list {
			if s.postmaster {
				n++
			}
		}
		return n
	}
	processes := findStrays(data)
	// A child that was just started still has the arguments of the server.
	for deadline := time.Now().Add(10 * time.Second); servers(processes) != 1 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		processes = findStrays(data)
	}
	if len(processes) < 4 {
		t.Fatalf("found %v, not a server and its children", processes)
	}
	want := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", unprivileged()[0].uid)
	checked := 0
	for _, s := range processes {
		proc := fmt.Sprintf("/proc/%d/", s.pid)
		status, err := os.ReadFile(proc + "status")
		if err != nil {
			continue // a child that has just ended
		}
		b, err := os.ReadFile(proc + "environ")
		if err != nil {
			continue
		}
		checked++
		if got := statusLine(status, "Uid:"); got != want {
			t.Errorf("process %d has %q, not %q", s.pid, got, want)
		}
		if got := statusLine(status, "Groups:"); strings.TrimSpace(got) != "Groups:" {
			t.Errorf("process %d has %q", s.pid, got)
		}
		if s.postmaster { // its children overwrite theirs
			if !strings.Contains(string(b), "TZ=UTC") {
				t.Errorf("process %d has the environment %q", s.pid, b)
			}
		}
		for _, name := range append(secretVariables, "=secret") {
			if strings.Contains(string(b), name) {
				t.Errorf("process %d has %s in its environment", s.pid, name)
			}
		}
	}
	if n := servers(processes); checked < 4 || n != 1 {
		t.Errorf("checked %d processes, among them %d servers", checked, n)
	}
}

// statusLine returns a line of a process's status.
func statusLine(status []byte, prefix string) string {
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimRight(line, "\n")
		}
	}
	return ""
}

// checkConfined checks what SQL of the superuser can do outside the data folder.
func checkConfined(t *testing.T, dsn string) {
	t.Helper()
	target := filepath.Join(tempDir(t), "of-root")
	if err := os.WriteFile(target, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		`COPY (SELECT 'spoilt') TO '` + target + `'`,
		`COPY (SELECT 'spoilt') TO PROGRAM 'cat > ` + target + `'`,
		`COPY (SELECT 'new') TO '` + target + `.new'`,
		`COPY (SELECT 'new') TO PROGRAM 'ls ../..'`,
		`SELECT pg_read_file('` + target + `')`,
		`CREATE TEMP TABLE read (line text)`,
		`COPY read FROM '/etc/shadow'`,
		`COPY read FROM PROGRAM 'cat /etc/shadow'`,
		`COPY read FROM PROGRAM 'touch /root/tollbook-was-here'`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		if allowed := strings.HasPrefix(sql, "CREATE"); allowed != (err == nil) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := conn.Exec(t.Context(), `COPY read FROM PROGRAM 'id -u'`); err != nil {
		t.Fatal(err)
	}
	var uid string
	if err := conn.QueryRow(t.Context(), `SELECT line FROM read`).Scan(&uid); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(unprivileged()[0].uid), uid); diff != "" {
		t.Errorf("user of a program of the server (-want +got)\n%s", diff)
	}
	b, err := os.ReadFile(target)
	if err != nil || string(b) != "secret" {
		t.Errorf("root's file contains %q, %v", b, err)
	}
}

// TestLinkInCluster checks that root, when it starts a server, follows no link that the server's user made.
func TestLinkInCluster(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	parent := tempDir(t)
	dir := filepath.Join(parent, "postgres")
	mustStop(t, mustStart(t, Options{Dir: dir, Throwaway: true}))
	target := filepath.Join(parent, "run.pid")
	content := fmt.Sprintln(os.Getpid()) // of a process that lives, so that Start would write
	write(t, target, content)
	if err := os.Symlink(target, filepath.Join(dir, "data", "postmaster.pid")); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir, Throwaway: true}); err == nil ||
		!strings.Contains(err.Error(), "read the last server's pid") {
		t.Errorf("start answers %v", err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != content {
		t.Errorf("the target contains %q, %v", b, err)
	}
}

// TestRootOfNamespace runs a helper as root of a user namespace. If all user IDs are mapped, the helper switches to one
// of them. If only one is mapped, that must be an ordinary user outside, or else the error says what was tried.
func TestRootOfNamespace(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	users := unprivileged()
	nobody := users[len(users)-1]
	for _, tt := range []struct {
		name  string
		outer account // what root of the namespace is outside
		ids   int
		want  string // in the helper's first line
		uid   int    // of the server outside
	}{
		{"all ids", account{}, 65536, "making a database with Postgres", users[0].uid},
		{"only root", account{}, 1, "it must not run as root, and no other user can run it; create a user postgres, " +
			"choose a folder that it can enter, or set DATABASE_URL to a server of yours: run it as user ", 0},
		{"only an ordinary user", nobody, 1, "making a database with Postgres", nobody.uid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parent := tempDir(t)
			if err := os.Chown(parent, tt.outer.uid, tt.outer.gid); err != nil {
				t.Fatal(err)
			}
			dir, binary := filepath.Join(parent, "postgres"), filepath.Join(parent, "private.test")
			copyFile(t, self(t), binary)
			cmd := exec.Command(binary)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:                 syscall.CLONE_NEWUSER,
				UidMappings:                []syscall.SysProcIDMap{{HostID: tt.outer.uid, Size: tt.ids}},
				GidMappings:                []syscall.SysProcIDMap{{HostID: tt.outer.gid, Size: tt.ids}},
				GidMappingsEnableSetgroups: tt.ids > 1,
				Credential:                 &syscall.Credential{NoSetGroups: tt.ids == 1},
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
			want := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", tt.uid)
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serverPid(t, dir)))
			if err != nil {
				t.Fatal(err)
			}
			if got := statusLine(status, "Uid:"); got != want {
				t.Errorf("the server has %q, not %q", got, want)
			}
			h.stop(t)
		})
	}
}

// TestRootOfContainer runs helpers as root without the right to look into other users' processes, as in many containers.
// One is killed, and the next takes its server over and stops it.
func TestRootOfContainer(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needPrograms(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		testgate.Missing(t, "no program setpriv: apt-get install -y util-linux")
	}
	dir := filepath.Join(tempDir(t), "postgres")
	start := func() *helper {
		return runHelper(t, exec.Command(setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", self(t)),
			order{Dir: dir, Throwaway: true})
	}
	h := start()
	h.dsn(t)
	pid := serverPid(t, dir)
	h.kill()
	h = start()
	if got := query(t, h.dsn(t), `SELECT 1`); got != "1" {
		t.Errorf("got %s", got)
	}
	if now := serverPid(t, dir); now != pid {
		t.Errorf("the server is process %d, not %d", now, pid)
	}
	h.stop(t)
	mustBeGone(t, dir)
}
