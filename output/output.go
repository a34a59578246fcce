// Package output is where trees go: a tree of finished files is written as one immutable zip, published in a folder,
// named by a checkpoint, opened again as fs.FS, checked, expanded and pruned.
//
// It owns, under a publication's root:
//
//	checkpoint.json      the pointer to the current snapshot; its rename is the moment of publication
//	snapshots/<id>.zip   every file of a snapshot, with SHA256SUMS as the last member
//	snapshots/<id>.zip.sha256  the sum of the zip, by which it is published
//	packs/<hour>.zip     files that outlive snapshots; written once
//	tree/<id>/…          a snapshot expanded into single files
//	current -> tree/<id> the expanded snapshot that a plain file server shows
//	.notes               what the last build noted for the next
//	.lock                held by the one publisher
//
// It carries bytes. It must never know what is in them: no service, no route, no parameter.
package output

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SumsFile is the last member of every zip: the sha256 of every other, as sha256sum writes them, sorted by name.
const SumsFile = "SHA256SUMS"

var (
	// ErrBusy is the answer to a second publisher.
	ErrBusy = errors.New("another publisher is at work")
	// ErrEmpty is the answer of a publication that has no snapshot yet.
	ErrEmpty = errors.New("nothing published yet: run tollbook build")
	// ErrDamaged marks bytes that are not what their sum says, or a tree that is not what its sums list.
	ErrDamaged = errors.New("damaged")
	// ErrName marks a name that no member may have.
	ErrName = errors.New("invalid name")
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

// printable bounds and cleans text of another process before it stands in a message.
func printable(b []byte) string {
	s := strings.TrimSpace(string(b[:min(len(b), 200)]))
	if !utf8.ValidString(s) {
		return "?"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}
