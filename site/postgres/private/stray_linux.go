package private

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// findStrays searches /proc for processes of the cluster: the server and its children, pg_ctl, and initdb, which writes
// files of its own.
func findStrays(data string) []stray {
	cluster, err := os.Stat(data)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	written, _ := pidFile(data)
	var strays []stray
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := inspectProcess(pid, cluster, written); ok {
				strays = append(strays, s)
			}
		}
	}
	return strays
}

// isServer reports whether a process is the cluster's server.
func (p *place) isServer(pid int) bool {
	cluster, err := os.Stat(p.data)
	if err != nil || pid <= 0 {
		return false
	}
	s, ok := inspectProcess(pid, cluster, pid)
	return ok && s.postmaster
}

// inspectProcess reports whether a process belongs to a cluster: it works in its folder, or this package has given it
// the folder. A process id in a file proves nothing, because it may belong to another process by now. But root may lack
// the right to see in which folder another user's process works, as in many containers. Then the process that the pid
// file names is believed to be the server.
func inspectProcess(pid int, cluster os.FileInfo, written int) (s stray, ok bool) {
	if pid == os.Getpid() {
		return stray{}, false
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	comm, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil {
		return stray{}, false
	}
	s = stray{pid: pid, name: string(bytes.TrimSpace(comm))}
	isShell := s.name == "sh" // by which pg_ctl starts the server, or somebody's who looks into the folder
	if s.name != "postgres" && s.name != "initdb" && s.name != "pg_ctl" && !isShell {
		return stray{}, false
	}
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil || len(cmdline) == 0 { // a zombie has none
		return stray{}, false
	}
	isOurs := func(link string) bool {
		folder, err := os.Stat(filepath.Join(proc, link))
		return err == nil && os.SameFile(folder, cluster) || errors.Is(err, fs.ErrPermission) && pid == written
	}
	// Children of the server replace their arguments by their title.
	s.postmaster = s.name == "postgres" && bytes.Contains(cmdline, []byte("\x00-D\x00"))
	return s, !isShell && isOurs("cwd") || isOurs("fd/"+strconv.Itoa(firstFD))
}
