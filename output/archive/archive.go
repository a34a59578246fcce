// Package archive is the format of a publication: a tree of files as one immutable zip with SHA256SUMS as its last
// member, the same tree as a folder of single files, the checkpoint that names the current snapshot, and the names of
// all these.
//
// It reads and writes bytes, and checks each file against its sum. It must never know where a publication lies (see
// output and output/objects), nor what is in its files: no service, no route, no parameter.
package archive

import (
	"errors"
	"fmt"
)

// SumsFile is the last member of every zip: the sha256 of every other, as sha256sum writes them, sorted by name.
const SumsFile = "SHA256SUMS"

var (
	// ErrDamaged marks bytes that are not what their sum says, or a tree that is not what its sums list.
	ErrDamaged = errors.New("damaged")
	// ErrName marks a name that no member may have.
	ErrName = errors.New("invalid name")
	// ErrCondition is the error of reading an object that is another by now, or of a Put whose condition does not hold.
	ErrCondition = errors.New("the object is not the expected one")
	// ErrUnreachable is a store that does not answer, or answers that it can't now. It says nothing about the bytes.
	ErrUnreachable = errors.New("the store can't be reached")
)

// Limits that file systems and object stores agree on.
const (
	maxName    = 1000 // bytes of a whole name
	maxSegment = 255  // bytes between two slashes
)

// CheckName says what is wrong with a member's name. Names are relative slash-separated paths of printable ASCII.
func CheckName(name string) error { return checkName(name) }

func checkName[T string | []byte](name T) error {
	if len(name) == 0 || len(name) > maxName {
		return fmt.Errorf("%w: %.40q has %d bytes, may have 1 to %d", ErrName, name, len(name), maxName)
	}
	begins := 0
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			if c := name[i]; c <= ' ' || c >= 0x7f || c == '\\' {
				return fmt.Errorf("%w: %.80q has a byte outside printable ASCII, or a backslash", ErrName, name)
			}
			continue
		}
		part := name[begins:i]
		begins = i + 1
		switch {
		case len(part) == 0, string(part) == ".", string(part) == "..":
			return fmt.Errorf("%w: %.80q is no plain relative path", ErrName, name)
		case len(part) > maxSegment:
			return fmt.Errorf("%w: a segment of %.80q has %d bytes, may have %d", ErrName, name, len(part), maxSegment)
		}
	}
	return nil
}
