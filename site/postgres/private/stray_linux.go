package private

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// findStrays searches /proc for processes of the cluster: the server and its children, pg_ctl, and initdb, which writes
// files of its own.
func findStrays(data string) []stray {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var strays []stray
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := inspectProcess(pid, data); ok {
				strays = append(strays, s)
			}
		}
	}
	return strays
}

// isServer reports whether a process is the cluster's server.
func (p *place) isServer(pid int) bool {
	s, ok := inspectProcess(pid, p.data)
	return ok && s.postmaster
}

// inspectProcess reports whether a process belongs to a cluster: it has the cluster's name among its arguments, or this
// package has given it the folder, or it works there. A process id in a file proves nothing, because it may belong to
// another process by now.
func inspectProcess(pid int, data string) (s stray, ok bool) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	comm, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil {
		return stray{}, false
	}
	s = stray{pid: pid, name: string(bytes.TrimSpace(comm))}
	isShell := s.name == "sh" // by which pg_ctl starts the server, or somebody's who looks into the folder
	if s.name != "postgres" && s.name != "initdb" && s.name != "pg_ctl" && !isShell || pid == os.Getpid() {
		return stray{}, false
	}
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil || len(cmdline) == 0 { // a zombie has none
		return stray{}, false
	}
	// Children of the server replace their arguments by their title.
	s.postmaster = s.name == "postgres" && bytes.Contains(cmdline, []byte("\x00-D\x00"))
	cluster, err := os.Stat(data)
	if err != nil {
		return stray{}, false
	}
	if name, err := clusterName(data); err == nil && bytes.Contains(cmdline, []byte(name)) {
		return s, true
	}
	isCluster := func(link string) bool {
		folder, err := os.Stat(filepath.Join(proc, link))
		return err == nil && os.SameFile(folder, cluster)
	}
	return s, isCluster("fd/"+strconv.Itoa(firstFD)) || !isShell && isCluster("cwd")
}
