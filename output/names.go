package output

import (
	"fmt"
	"strings"
)

// nameSet contains the names of a tree and of their folders: true for a file, false for a folder. No name is the folder of
// another one: file systems refuse that, and so do some object stores.
type nameSet map[string]bool

// add adds the name of a file and its folders. It fails with ErrName where the set has the name or one that excludes it.
func (s nameSet) add(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if isFile, known := s[name]; isFile {
		return fmt.Errorf("%w: %s is there twice", ErrName, name)
	} else if known {
		return fmt.Errorf("%w: %s is the folder of another file", ErrName, name)
	}
	for end := strings.LastIndexByte(name, '/'); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		isFile, known := s[name[:end]]
		if isFile {
			return fmt.Errorf("%w: the folder %s of %s is a file", ErrName, name[:end], name)
		}
		if known {
			break // and so are its parents
		}
		s[name[:end]] = false
	}
	s[name] = true
	return nil
}
