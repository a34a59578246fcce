//go:build !unix

package run

import "os/exec"

// stopWithChildren does nothing here: the end of the command's context kills the command.
func stopWithChildren(*exec.Cmd) {}

// killChildren does nothing here.
func killChildren(*exec.Cmd) {}
