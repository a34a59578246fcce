package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tollbook/site/testgate"
)

// bootScript boots systemd on a copy of this machine's files, in namespaces of its own. $1 is a folder for the copy, $2
// the package, which becomes /package. The network is this machine's. Nothing that Debian has enabled is started,
// and settings of the kernel are read-only.
const bootScript = `
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cp -R "$2" "$1/root/package"
cd "$1/root"
rm -rf etc/systemd/system/*.wants
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p .before
pivot_root . .before
umount -l /.before
container=lxc exec /lib/systemd/systemd --system --unit=multi-user.target
`

// machine is a booted systemd.
type machine struct {
	pid string
}

// bootMachine boots systemd, or skips the test: not every container may.
func bootMachine(t *testing.T, pack string) machine {
	t.Helper()
	if os.Geteuid() != 0 {
		testgate.Missing(t, "systemd can be booted by root alone")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		testgate.Missing(t, "no systemd: apt-get install systemd")
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--cgroup", "sh", "-c",
		bootScript, "boot", memoryDir(t), pack)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // always reports the kill
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // all processes of the machine end with it
		<-ended
	})
	var m machine
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if m.pid == "" {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)) // none yet
			m.pid = strings.TrimSpace(string(children))
		} else if state, _ := m.try("systemctl is-system-running"); state == "running\n" || state == "degraded\n" {
			return m
		}
		select {
		case <-ended:
			t.Skipf("systemd cannot be had here: %s", &said)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("systemd did not boot: %s", &said)
		}
	}
}

// try runs a shell command on the machine, in the folder of the package.
func (m machine) try(command string) (said string, err error) {
	cmd := exec.Command("nsenter", "--target", m.pid, "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd",
		"bash", "-ec", "cd /package\n"+command)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m machine) run(t *testing.T, command string) string {
	t.Helper()
	said, err := m.try(command)
	if err != nil {
		log, _ := m.try("journalctl --no-pager --unit='tollbook-*' | tail -40")
		t.Fatalf("%s: %v\n%s\n%s", command, err, said, log)
	}
	return said
}

// until runs a command again until it prints what is wanted.
func (m machine) until(t *testing.T, command, want string) {
	t.Helper()
	said := ""
	for deadline := time.Now().Add(patience); said != want; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			log, _ := m.try("journalctl --no-pager --unit='tollbook-*' | tail -40")
			t.Fatalf("%s: %q, want %q\n%s", command, said, want, log)
		}
		said, _ = m.try(command)
	}
}

// TestSystemd installs the package as its README says, on a real systemd, and lives through a first day: the directory
// starts, the user of the services lists one from any folder, it is visited and published; the process is killed and
// comes back with everything; a stop leaves no process; and a wrong configuration is not tried again and again.
func TestSystemd(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	pack := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool(t, "cp", "-R", "packaging/systemd/.", pack)
	tool(t, "cp", self, filepath.Join(pack, "tollbook.test"))
	wrapper := "#!/bin/sh\n" + asProgram + "=1 exec /package/tollbook.test \"$@\"\n"
	if err := os.WriteFile(filepath.Join(pack, "tollbook"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	shop := newShop(t, "0x209693Bc6afc0C5328bA36FaF03C514EF312287C")
	write(t, filepath.Join(pack, "services.toml"), fmt.Sprintf("[[service]]\nservice_name = \"Quail Quotes\"\n"+
		"description = \"Quotes of quails.\"\nurl = %q\ncategory = \"Data\"\nendpoints = [\"/quote\"]\n", shop.URL))
	m := bootMachine(t, pack)
	port := freePort(t)
	install := regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindString(readFile(t, "packaging/systemd/README.md"))
	m.run(t, "chmod 755 /root /package\n"+install+fmt.Sprintf(`
cat >/etc/tollbook/tollbook.toml <<END
data = "/var/lib/tollbook"
[site]
base_url = "http://127.0.0.1:%s"
[crawl]
allow_private = ["127.0.0.1"]
host_gap = "10ms"
[serve]
listen = "127.0.0.1:%[1]s"
[schedule]
build = "2s"
END
install -m 644 services.toml /etc/tollbook/services.toml
systemctl enable --now tollbook-up`, port))
	base := "http://127.0.0.1:" + port
	ready := func() { m.until(t, "curl -s -o /dev/null -w '%{http_code}' "+base+"/readyz", "200") }
	ready()

	asUser := func(command string) string { return "cd / && runuser -u tollbook -- " + command }
	m.run(t, asUser("tollbook services apply --new-categories /etc/tollbook/services.toml"))
	listed := func(a answer) bool {
		return a.status == 200 && strings.Contains(a.body, `"name":"Quail Quotes"`) &&
			strings.Contains(a.body, `"status":"online"`)
	}
	until(t, base+"/v1/services", "visited service", listed)
	m.run(t, asUser("tollbook doctor"))

	m.run(t, "systemctl kill --kill-whom=main --signal=KILL tollbook-up")
	m.until(t, "systemctl show --property=NRestarts,SubState --value tollbook-up | sort | tr '\\n' ' '", "1 running ")
	ready()
	if body := get(t, base+"/v1/services").body; !strings.Contains(body, `"name":"Quail Quotes"`) {
		t.Errorf("after a kill: %s", body)
	}

	began := time.Now()
	m.run(t, "systemctl stop tollbook-up")
	took := time.Since(began)
	m.until(t, "pgrep --uid tollbook || echo none", "none\n")
	m.until(t, "systemctl show --property=Result --value tollbook-up", "success\n")
	m.run(t, "sed -i 's/^host_gap.*/host_gap = 7/' /etc/tollbook/tollbook.toml; systemctl start tollbook-up || true")
	m.until(t, "systemctl show --property=ActiveState,NRestarts,ExecMainStatus --value tollbook-up | sort | tr '\\n' ' '",
		"0 2 failed ")
	if !t.Failed() {
		t.Logf("figures: stopped in %.1f s", took.Seconds())
	}
}

// freePort returns a port that nobody uses now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
