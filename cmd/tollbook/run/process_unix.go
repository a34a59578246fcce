//go:build unix

package run

import (
	"os/exec"
	"syscall"
)

// stopWithChildren makes the end of the command's context stop the command and its children by SIGTERM. Their process
// group keeps Ctrl-C on a terminal from them.
func stopWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killChildren kills what is left of the command and its children.
func killChildren(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if nothing is left
	}
}
