//go:build unix && !linux

package private

import (
	"errors"
	"syscall"
)

func namespaced(Options) (identity, error) {
	return identity{}, errors.New("user namespaces exist only on Linux")
}

// setDeathSignal does nothing. The next Start ends a server that outlived its program.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
