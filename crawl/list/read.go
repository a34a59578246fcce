// Package list reads lists of services, JSON or TOML, and plans how a directory becomes equal to one.
//
// It owns the fields and faults of a list, and which stored service an entry means. It must never ask a database or a
// network.
package list

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tollbook/site/display"
	"tollbook/site/jsontext"
)

// Fault is a fault in a list.
type Fault struct {
	File   string
	Line   int // counted from 1; 0 for unknown
	Column int // in bytes, counted from 1; 0 for unknown
	Text   string
}

func (e *Fault) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// MaxBytes is the largest size of a list.
const MaxBytes = 64 << 20

// Options say how a list is read.
type Options struct {
	Name       string    // of the file, in faults; .toml at its end means TOML, anything else JSON
	Now        time.Time // when new services are listed
	Categories []string  // the categories that are accepted; nil for all
	NoPlaces   bool      // leave the lines and columns out of faults
}

// Read reads a list of services: JSON (an array of objects) or TOML ([[service]]). One invalid entry refuses the whole
// list. The error joins all faults, each a *Fault with its place.
func Read(r io.Reader, o Options) ([]Entry, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.Name, err)
	}
	data = bytes.TrimPrefix(data, []byte(jsontext.ByteOrderMark)) // editors on Windows write a byte order mark
	if len(data) > MaxBytes {
		return nil, &Fault{File: o.Name, Text: fmt.Sprintf("is larger than %d MiB", MaxBytes>>20)}
	}
	in := &reader{Options: o}
	read := in.readJSON
	if strings.EqualFold(path.Ext(o.Name), ".toml") {
		read = in.readTOML
	}
	rows := read(data)
	slugs, bases := map[string]position{}, map[string]position{}
	entries := make([]Entry, 0, len(rows))
	for _, row := range rows {
		e, ok := in.entry(row)
		if !ok {
			continue
		}
		in.checkUnique(slugs, "slug", e.Slug, row.place("slug", "service_name"))
		in.checkUnique(bases, "url", e.BaseURL, row.place("url"))
		entries = append(entries, e)
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	return entries, nil
}

// reader collects the faults of a list.
type reader struct {
	Options
	faults []*Fault
}

// err joins the faults in the order of the list. It returns nil without any.
func (in *reader) err() error {
	slices.SortStableFunc(in.faults, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(in.faults))
	for i, f := range in.faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

func (in *reader) fault(at position, format string, args ...any) {
	if in.NoPlaces {
		at = position{}
	}
	in.faults = append(in.faults, &Fault{in.Name, at.line, at.column, fmt.Sprintf(format, args...)})
}

func (in *reader) checkUnique(seen map[string]position, what, value string, at position) {
	if first, twice := seen[value]; twice {
		in.fault(at, "%s %s is already at line %d", what, value, first.line)
		return
	}
	seen[value] = at
}

// position is a place in a list, counted from 1; zero for unknown.
type position struct{ line, column int }

// places finds the lines and columns of a list. It continues from the last place that it found, because a large list is
// read from its beginning to its end.
type places struct {
	data  []byte
	last  int // the byte that was asked for last
	lines int // line breaks before it
	start int // beginning of its line
}

// at returns the place of a byte.
func (p *places) at(offset int) position {
	offset = min(max(offset, 0), len(p.data))
	if offset < p.last {
		p.last, p.lines, p.start = 0, 0, 0
	}
	skipped := p.data[p.last:offset]
	if i := bytes.LastIndexByte(skipped, '\n'); i >= 0 {
		p.lines += bytes.Count(skipped, []byte("\n"))
		p.start = p.last + i + 1
	}
	p.last = offset
	return position{p.lines + 1, offset - p.start + 1}
}

// row is an entry as it was written.
type row struct {
	at     position
	fields map[string]field
}

// place returns the place of the first of some fields that the entry has, else the entry's.
func (r *row) place(names ...string) position {
	for _, name := range names {
		if f, ok := r.fields[name]; ok {
			return f.at
		}
	}
	return r.at
}

// field is a value of an entry.
type field struct {
	at   position
	kind string // "string", "list", or the name of another type
	text string // of a string
	list []field
}

// isList are the fields of an entry, and whether each is a list of strings.
var isList = map[string]bool{
	"service_name": false, "description": false, "url": false, "website_url": false, "category": false,
	"endpoints": true, "slug": false, "source": false,
}

// set adds a field to an entry, or a fault if there is no such field or its type is wrong. The names of fields are
// those of a submission.
func (in *reader) set(r *row, name string, at position, f field) {
	if f.at == (position{}) {
		f.at = at // an empty list has no place
	}
	list, ok := isList[name]
	wanted := "string"
	if list {
		wanted = "list"
	}
	switch {
	case !ok:
		in.fault(at, "unknown field %s%s", name, display.Hint(name, fieldNames()))
	case f.kind != wanted:
		if list {
			wanted = "list of strings"
		}
		in.fault(f.at, "%s: want a %s, got %s", name, wanted, f.kind)
		r.fields[name] = field{at: f.at, kind: "wrong"}
	case list:
		for _, e := range f.list {
			if e.kind != "string" {
				in.fault(e.at, "%s: want a list of strings, got %s", name, e.kind)
				f.kind = "wrong"
			}
		}
		fallthrough
	default:
		r.fields[name] = f
	}
}
