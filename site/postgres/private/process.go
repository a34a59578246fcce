//go:build unix

package private

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startGuarded starts cmd so that the kernel, where it can, sends it sig when this program dies in any way. The channel
// receives the result of Wait.
//
// The signal follows the thread that started the process, not the program. So the goroutine keeps its thread until the
// process has ended.
func startGuarded(o Options, cmd *exec.Cmd, sig syscall.Signal) (<-chan error, error) {
	if !o.hooks.noDeathSignal {
		setDeathSignal(cmd.SysProcAttr, sig)
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return ended, nil
}

func runGuarded(o Options, cmd *exec.Cmd, sig syscall.Signal) error {
	ended, err := startGuarded(o, cmd, sig)
	if err != nil {
		return err
	}
	return <-ended
}
