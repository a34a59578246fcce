//go:build unix && !linux

package private

import (
	"errors"
	"syscall"
)

func namespaced(Options) (identity, error) {
	return identity{}, errors.New("user namespaces are of Linux alone")
}

// setDeathSignal does nothing: the next Start ends what outlived its program.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
