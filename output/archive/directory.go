package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// runNames is how many names lie in a run of a directory: more take less memory, fewer are found sooner.
const runNames = 16

// directory is what is known of the files of a tree, by name, in as few bytes as a binary search allows: no pointer for
// each name that the garbage collector would follow. Names lie in runs, each but the first of a run told by what it
// shares with the one before; of the paths of a tree that is a third of their bytes.
type directory struct {
	names []byte   // of each name the number of bytes it shares and of those it has of its own, as uvarints, then these
	runs  []uint32 // where each run begins in names
	files []entry  // in the order of names
	last  []byte   // the name that was added last; nil once all are
}

// entry is what is known of a file beside its name.
type entry struct {
	sum          Sum
	crc          uint32
	packed, size uint32 // bytes, in the zip and of the content
	low, high    uint32 // halves of the place where its local header begins, and flags
}

// Flags in the upper half of an entry's place.
const (
	entryDeflated = 1 << 31
	entryPlaced   = 1 << 30 // the zip's directory has told where it is
	entryPlace    = entryPlaced - 1
)

func (e *entry) at() int64 { return int64(e.high&entryPlace)<<32 | int64(e.low) }

// setPlace sets the place of the local header.
func (e *entry) setPlace(at uint64, deflated bool) {
	e.low, e.high = uint32(at), uint32(at>>32)|entryPlaced
	if deflated {
		e.high |= entryDeflated
	}
}

// grow makes room for n names.
func (d *directory) grow(n int) {
	d.files = slices.Grow(d.files, n)
	d.runs = slices.Grow(d.runs, n/runNames+1)
	d.names = slices.Grow(d.names, n*runNames)
}

// add appends a name, which comes after all that are there.
func (d *directory) add(name []byte, e entry) error {
	if len(d.names)+len(name)+2*binary.MaxVarintLen16 > math.MaxUint32 {
		return fmt.Errorf("%w: more names than a directory holds", ErrDamaged)
	}
	shared := 0
	if len(d.files)%runNames == 0 {
		d.runs = append(d.runs, uint32(len(d.names)))
	} else {
		shared = sharedPrefix(d.last, name)
	}
	d.names = binary.AppendUvarint(d.names, uint64(shared))
	d.names = binary.AppendUvarint(d.names, uint64(len(name)-shared))
	d.names = append(d.names, name[shared:]...)
	d.files = append(d.files, e)
	d.last = append(d.last[:0], name...)
	return nil
}

// addSums adds every name of a SHA256SUMS, and its own with its own sum, which is the digest.
func (d *directory) addSums(r io.Reader) (digest Sum, err error) {
	all, own := sha256.New(), false
	err = EachSum(io.TeeReader(r, all), func(name []byte, sum Sum) error {
		if !own && string(name) >= SumsFile {
			if string(name) == SumsFile {
				return errOwnSum
			}
			if err := d.add([]byte(SumsFile), entry{}); err != nil {
				return err
			}
			own = true
		}
		return d.add(name, entry{sum: sum})
	})
	if err == nil && !own {
		err = d.add([]byte(SumsFile), entry{})
	}
	if err != nil {
		return digest, err
	}
	digest = Sum(all.Sum(nil))
	i, _ := find(d, SumsFile)
	d.files[i].sum = digest
	d.names, d.runs, d.last = slices.Clone(d.names), slices.Clone(d.runs), nil
	return digest, nil
}

func sharedPrefix[A, B string | []byte](a A, b B) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// next decodes what lies at a place in names.
func (d *directory) next(at int) (shared int, own []byte, end int) {
	s, n := binary.Uvarint(d.names[at:])
	l, m := binary.Uvarint(d.names[at+n:])
	at += n + m
	return int(s), d.names[at : at+int(l)], at + int(l)
}

// find answers the index of a name. It rebuilds none on its way: that a name shares more with the one before than that
// shares with the wanted one says already that it comes before it, too.
func find[T string | []byte](d *directory, name T) (int, bool) {
	lo, hi := 0, len(d.runs) // runs that begin at or before the name are below lo
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		_, first, _ := d.next(int(d.runs[mid]))
		if compare(first, name) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, false
	}
	at, matched := int(d.runs[lo-1]), 0
	for i := (lo - 1) * runNames; i < min(lo*runNames, len(d.files)); i++ {
		shared, own, end := d.next(at)
		at = end
		if shared > matched {
			continue
		}
		if shared < matched {
			return 0, false
		}
		n := sharedPrefix(own, name[matched:])
		matched += n
		switch {
		case n == len(own) && matched == len(name):
			return i, true
		case n < len(own) && (matched == len(name) || own[n] > name[matched]):
			return 0, false
		}
	}
	return 0, false
}

func compare[T string | []byte](a []byte, b T) int {
	n := sharedPrefix(a, b)
	switch {
	case n < len(a) && n < len(b):
		return int(a[n]) - int(b[n])
	default:
		return len(a) - len(b)
	}
}

// cursor goes through the names in order.
type cursor struct {
	of   *directory
	at   int // where the next name lies
	i    int // its index
	name []byte
}

// next rebuilds the next name, in a buffer that it uses again; false after the last.
func (c *cursor) next() (i int, name []byte, ok bool) {
	if c.i >= len(c.of.files) {
		return 0, nil, false
	}
	shared, own, end := c.of.next(c.at)
	c.name = append(c.name[:shared], own...)
	c.at, c.i = end, c.i+1
	return c.i - 1, c.name, true
}

// list makes every name, in order.
func (d *directory) list() []string {
	names := make([]string, 0, len(d.files))
	c := cursor{of: d}
	for _, name, ok := c.next(); ok; _, name, ok = c.next() {
		names = append(names, string(name))
	}
	return names
}
