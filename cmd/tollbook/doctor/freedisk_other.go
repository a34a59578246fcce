//go:build !linux && !darwin

package doctor

import "errors"

func diskRoom(string) (size, free uint64, err error) { return 0, 0, errors.ErrUnsupported }
