package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

var (
	errTooLong = fmt.Errorf("%w: it is longer than %d MiB", ErrShape, MaxBytes>>20)
	errEnded   = errors.New("the walk has ended")
)

// maxStale is the number of consecutive pages without a new row after which a walk ends.
const maxStale = 3

// End says why a walk ended.
type End string

// Ends of a walk.
const (
	Finished     End = "finished"       // the source was read to its end
	Partial      End = "partial"        // the same, but the source hides rows from readers who do not pay
	Short        End = "short"          // the source ends before the total that it states
	Unfinished   End = "unfinished"     // the caller stopped, or an answer failed
	Repeats      End = "repeats"        // the source sends the same entries or cursors again
	TooManyRows  End = "too-many-rows"  // MaxRows or more
	TooManyPages End = "too-many-pages" // more than MaxPages
	TooManyBytes End = "too-many-bytes" // more than MaxTotal or MaxStored
)

// Walk reads a whole source, page by page:
//
//	for u := w.Next(); u != nil; u = w.Next() {
//		… request u …
//		if err := w.Read(body); err != nil { … }
//	}
//	result := w.Result()
//
// Pages may be shorter than requested, and entries may move between two requests. So the next page begins after the
// entries received, a resource counts once, and a walk ends at an empty page, at the total, or where the source says
// so.
type Walk struct {
	kind    Kind
	address *url.URL
	check   func(*url.URL) error
	limits  limits

	at      Position
	ended   End
	bytes   int64 // of all answers
	stored  int64 // of all rows
	stale   int   // consecutive pages without a new row
	partial bool

	seen    map[Identity]place
	cursors map[string]bool
	result  Result
}

// place says where a row is in a result, and which answer it is from.
type place struct{ row, page int }

// Result is what a walk found.
type Result struct {
	Rows       []Row // each resource once, in the order of the source
	Pages      int
	Entries    int    // of all pages
	Duplicates int    // entries with a resource that an earlier entry had
	Skipped    []Skip // at most MaxSkipped; Entry counts from the beginning of the source
	Reasons    Reasons
	Total      *int // as the newest page says; nil for unknown
	End        End

	// Moved is true if entries moved while the source was read: a page repeated a row of another page, or the total
	// changed. A row that is missing from such a result may still be in the source.
	Moved bool
}

// Complete reports whether the result has all that the source lists. Only then a missing row was dropped.
func (r *Result) Complete() bool { return r.End == Finished }

// limits are those of a walk.
type limits struct {
	rows, pages   int
	total, stored int64
}

// NewWalk returns the walk of a source at an address. check returns an error for a URL that must not be visited, as
// the guard's CheckURL does; nil accepts all.
func NewWalk(kind Kind, address *url.URL, check func(*url.URL) error) *Walk {
	return &Walk{kind: kind, address: address, check: check, seen: map[Identity]place{}, cursors: map[string]bool{},
		limits: limits{MaxRows, MaxPages, MaxTotal, MaxStored}}
}

// Next returns the next request, or nil at the end of the walk.
func (w *Walk) Next() *url.URL {
	if w.ended != "" {
		return nil
	}
	return w.kind.Request(w.address, w.at)
}

// Read reads the answer of the request that Next returned last. After an error that wraps ErrShape the same request may
// be sent again.
func (w *Walk) Read(doc []byte) error {
	if w.ended != "" {
		return errEnded
	}
	p, err := w.kind.Read(doc)
	if err != nil {
		return err
	}
	before := len(w.result.Rows)
	w.bytes += int64(len(doc))
	w.add(p)
	w.result.Pages++
	w.result.Entries += p.Entries
	w.at = Position{Offset: w.at.Offset + p.Entries, Page: w.at.Page + 1, Cursor: p.Next}
	if w.stale++; len(w.result.Rows) > before || len(p.Rows) == 0 && p.Entries > 0 {
		w.stale = 0
	}
	w.partial = w.partial || p.Partial
	if w.ended = w.end(p); w.ended == Finished && w.partial {
		w.ended = Partial
	}
	return nil
}

// Result returns what was read so far.
func (w *Walk) Result() Result {
	r := w.result
	if r.End = w.ended; w.ended == "" {
		r.End = Unfinished
	}
	return r
}

// add adds the rows of a page that no earlier one had.
func (w *Walk) add(p Page) {
	for _, s := range p.Skipped {
		s.Entry += w.result.Entries
		w.describe(s)
	}
	for reason, n := range p.Reasons {
		w.result.Reasons.add(reason, n)
	}
	if old := w.result.Total; old != nil && p.Total != nil && *old != *p.Total {
		w.result.Moved = true
	}
	if p.Total != nil {
		w.result.Total = p.Total
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		if w.check != nil {
			if u, err := url.Parse(row.URL); err != nil || w.check(u) != nil {
				w.result.Reasons.add(Refused, 1)
				w.describe(Skip{Entry: w.result.Entries + row.Entry, Reason: Refused, URL: row.URL})
				continue
			}
		}
		id := row.Identity()
		if at, ok := w.seen[id]; ok {
			w.result.Duplicates++
			former := &w.result.Rows[at.row]
			w.result.Moved = w.result.Moved || at.page != w.result.Pages && former.URL == row.URL
			if isBefore(row, former) {
				*former = *row
			}
			continue
		}
		w.stored += row.size()
		if len(w.result.Rows) == w.limits.rows || w.stored > w.limits.stored {
			return // end says so
		}
		w.seen[id] = place{len(w.result.Rows), w.result.Pages}
		w.result.Rows = append(w.result.Rows, *row)
	}
}

// isBefore reports whether a row is kept instead of another one of the same resource. So the order of the source does
// not matter.
func isBefore(a, b *Row) bool {
	return cmp.Or(-cmp.Compare(urlScheme(a), urlScheme(b)), strings.Compare(a.URL, b.URL),
		bytes.Compare(a.Digest[:], b.Digest[:])) < 0
}

func urlScheme(r *Row) string {
	scheme, _, _ := strings.Cut(r.URL, "://")
	return strings.ToLower(scheme)
}

// describe adds a skipped entry, unless enough are described.
func (w *Walk) describe(s Skip) {
	if len(w.result.Skipped) < MaxSkipped {
		w.result.Skipped = append(w.result.Skipped, s)
	}
}

// end returns why the walk ends after a page, or "" if it goes on.
func (w *Walk) end(p Page) End {
	switch {
	case len(w.result.Rows) == w.limits.rows || p.Cut:
		return TooManyRows
	case w.stored > w.limits.stored || w.bytes > w.limits.total:
		return TooManyBytes
	case !w.kind.IsPaged() || p.Last:
		return Finished
	case p.Total != nil && w.at.Offset >= *p.Total:
		if w.stale > 0 && w.stale == w.result.Pages-1 && w.result.Entries == w.result.Pages*p.Entries {
			return Repeats // each page was the first one again, so the total was reached by repetition
		}
		return Finished
	case p.Entries == 0 && p.Total != nil:
		return Short
	case p.Entries == 0 && p.Next == "":
		return Finished
	case p.Next != "":
		if w.cursors[p.Next] {
			return Repeats
		}
		w.cursors[p.Next] = true
	case len(w.cursors) > 0: // the last page names no cursor
		return Finished
	}
	switch {
	case w.stale == maxStale && p.Total == nil && p.Next == "" && p.Entries < w.kind.size:
		return Finished // the source ignores where a page begins and sends everything in each answer
	case w.stale == maxStale:
		return Repeats
	case w.result.Pages == w.limits.pages:
		return TooManyPages
	}
	return ""
}
