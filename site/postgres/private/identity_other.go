//go:build unix && !linux

package private

import "errors"

// passesFolders says that a user must be able to enter the parents of a folder.
const passesFolders = false

func isRootOfUser() bool { return false }

func namespaced() (identity, error) {
	return identity{}, errors.New("user namespaces exist only on Linux")
}
