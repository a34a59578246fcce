//go:build !linux && !darwin

package output

import "errors"

// Room returns an error that wraps errors.ErrUnsupported.
func Room(string) (size, free uint64, err error) { return 0, 0, errors.ErrUnsupported }
