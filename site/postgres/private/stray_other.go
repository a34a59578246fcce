//go:build unix && !linux

package private

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// findStrays asks ps whether the process in the cluster's pid file is a Postgres that has the cluster as an argument.
// Children end with their server, and Postgres itself waits for their shared memory.
func findStrays(data string) []stray {
	pid, _ := pidFile(data)
	if pid <= 0 || pid == os.Getpid() || !alive(pid) {
		return nil
	}
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || !strings.Contains(string(out), "/postgres -D "+data+" ") {
		return nil
	}
	return []stray{{pid, "postgres", true}}
}

// isServer reports whether a process is the cluster's server.
func (p *place) isServer(pid int) bool {
	strays := findStrays(p.data)
	return len(strays) > 0 && strays[0].pid == pid
}
