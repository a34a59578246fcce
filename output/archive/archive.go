// Package archive is the format of a publication. A snapshot is one immutable zip whose last member is SHA256SUMS, or
// the same tree of files in a folder. A checkpoint names the current snapshot. The package also defines the names of
// these objects.
//
// It reads and writes bytes, and checks each file against its sum. It must never know where a publication is stored
// (see output and output/objects), nor what is in its files: no service, no route, no parameter.
package archive

import (
	"errors"
	"fmt"
)

// SumsFile is the name of the last member of every zip. It lists the SHA-256 of every other member, as sha256sum writes
// them, sorted by name.
const SumsFile = "SHA256SUMS"

var (
	// ErrDamaged marks bytes that do not match their sum, or a tree that does not match its list of sums.
	ErrDamaged = errors.New("damaged")
	// ErrNewer marks a snapshot that a newer program wrote in a form that this one does not read.
	ErrNewer = errors.New("written by a newer tollbook: use that version or a later one")
	// ErrName marks a name that is not allowed for a member.
	ErrName = errors.New("invalid name")
	// ErrCondition marks a read of an object that was replaced since, or a Put whose condition is false.
	ErrCondition = errors.New("the object is not the expected one")
	// ErrUnreachable marks a store that does not answer, or that answers with a temporary error. It says nothing about
	// the stored bytes.
	ErrUnreachable = errors.New("the store can't be reached")
)

// Limits that all common file systems and object stores accept.
const (
	maxName    = 1000 // bytes of a whole name
	maxSegment = 255  // bytes between two slashes
)

// CheckName returns an error that wraps ErrName unless name is allowed for a member: a relative, slash-separated path
// of printable ASCII.
func CheckName(name string) error { return checkName(name) }

func checkName[T string | []byte](name T) error {
	if len(name) == 0 || len(name) > maxName {
		return fmt.Errorf("%w: %.40q has %d bytes, 1 to %d are allowed", ErrName, name, len(name), maxName)
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
			return fmt.Errorf("%w: %.80q is not a plain relative path", ErrName, name)
		case len(part) > maxSegment:
			return fmt.Errorf("%w: a segment of %.80q has %d bytes, %d are allowed", ErrName, name, len(part),
				maxSegment)
		}
	}
	return nil
}
