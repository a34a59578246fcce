package build

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tollbook/output"
	"tollbook/render"
)

// carry takes over, from the snapshot before, the files of services whose basis is as it was then, and notes of each service
// for the next build what its files are and what they were made of. A nil one does neither.
type carry struct {
	seed []byte // digest of what the files of every service show, and of the program that makes them

	before *json.Decoder // notes of the build before, by slug; nil behind the last
	next   *note         // of them
	from   io.Closer     // what they are read from
	packed *gzip.Writer
	out    *json.Encoder

	taken int // services
}

// note is what a build noted of one service.
type note struct {
	Slug    string
	Digest  []byte    // of its basis
	From    time.Time // its files are the same from then
	Until   time.Time // until before then
	Files   []string
	Remains remains
}

// holds says whether the files that were noted are those of a service with this digest now.
func (n *note) holds(digest []byte, now time.Time) bool {
	return n != nil && string(n.Digest) == string(digest) && !now.Before(n.From) && now.Before(n.Until)
}

// newCarry opens the notes of the build before, if there are any to go by, and begins those of this one. It is nil for a program
// that is not known.
func newCarry(b *output.Build, program string, in *render.Surroundings) (*carry, error) {
	if program == "" {
		return nil, nil
	}
	shown, err := in.Shown()
	if err != nil {
		return nil, err
	}
	to, err := b.Notes()
	if err != nil {
		return nil, fmt.Errorf("begin notes: %w", err)
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("begin notes: %w", err)
	}
	c := &carry{packed: packed, out: json.NewEncoder(packed)}
	c.seed = digest(nil, &struct {
		Program string
		Shown   render.Shown
	}{program, shown})
	if from := b.NotesBefore(); from != nil {
		c.from = from
		if unpacked, err := gzip.NewReader(from); err == nil {
			c.before = json.NewDecoder(unpacked)
		}
	}
	return c, nil
}

// of is what was noted of a service, nil without. Slugs are asked for in their order, which is that of the notes.
func (c *carry) of(slug string) *note {
	if c == nil {
		return nil
	}
	for c.before != nil && (c.next == nil || c.next.Slug < slug) {
		c.next = new(note)
		if err := c.before.Decode(c.next); err != nil {
			c.before, c.next = nil, nil
		}
	}
	if c.next == nil || c.next.Slug != slug {
		return nil
	}
	return c.next
}

// take answers the files that were noted, of which the snapshot before must have every one.
func (n *note) take(from tree) ([]file, bool) {
	files := make([]file, len(n.Files))
	for i, name := range n.Files {
		packed, ok := from.TakeOver(name)
		if !ok {
			return nil, false
		}
		files[i] = file{name, packed}
	}
	return files, true
}

// keep notes a service that is in the snapshot.
func (c *carry) keep(t *turn) error {
	if c == nil {
		return nil
	}
	if t.taken {
		c.taken++
	}
	return c.out.Encode(&t.note)
}

// end ends the notes.
func (c *carry) end() error {
	if c == nil {
		return nil
	}
	return c.packed.Close()
}

// close gives back what the notes before are read from.
func (c *carry) close() {
	if c != nil && c.from != nil {
		c.from.Close()
	}
}

// carried is how many services were taken over.
func (c *carry) carried() int {
	if c == nil {
		return 0
	}
	return c.taken
}
