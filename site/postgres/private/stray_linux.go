package private

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// findStrays searches /proc for processes of Postgres whose working folder is the cluster, or that have the cluster as
// an argument. initdb is one of them, because it writes files of its own. A process id in a file proves nothing: it may
// belong to another process by now.
func findStrays(data string) []stray {
	cluster, err := os.Stat(data)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var strays []stray
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		comm, err := os.ReadFile(filepath.Join(proc, "comm"))
		if err != nil {
			continue
		}
		if name := string(bytes.TrimSpace(comm)); name != "postgres" && name != "initdb" {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
		if err != nil || len(cmdline) == 0 { // a zombie has none
			continue
		}
		args := bytes.Split(cmdline, []byte{0})
		flag := slices.IndexFunc(args, func(a []byte) bool { return string(a) == "-D" })
		leads := false
		if flag > 0 && flag+1 < len(args) {
			dir := string(args[flag+1])
			if fd, inherited := strings.CutPrefix(dir, selfFD); inherited {
				folder, err := os.Stat(filepath.Join(proc, "fd", fd))
				leads = err == nil && os.SameFile(folder, cluster)
			} else {
				leads = dir == data
			}
		}
		cwd, err := os.Stat(filepath.Join(proc, "cwd"))
		if leads || err == nil && os.SameFile(cwd, cluster) {
			strays = append(strays, stray{pid, leads})
		}
	}
	return strays
}
