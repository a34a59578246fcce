package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// runNames is the number of names in a run of a directory. Longer runs take less memory, shorter ones are searched
// faster.
const runNames = 16

// directory lists the files of a tree by name, in as few bytes as a binary search allows. It has no pointer per name
// that the garbage collector would follow.
//
// Names are grouped in runs. Each name but the first of a run is stored as the length of the prefix that it shares with
// the name before and the rest. That is a third of the bytes of a tree's paths.
type directory struct {
	// For each name: the length of the shared prefix and of the rest as uvarints, then the rest.
	names []byte
	runs  []uint32 // the start of each run in names
	files []entry  // in the order of names
	last  []byte   // the name added last; nil when the directory is complete
}

// entry is a file without its name.
type entry struct {
	sum          Sum
	crc          uint32
	packed, size uint32 // bytes in the zip, bytes of the content
	// The offset of the local header, in two halves. The upper half also contains flags.
	offsetLow, offsetHigh uint32
}

// Flags in the upper half of an entry's offset.
const (
	entryDeflated = 1 << 31
	entryRecorded = 1 << 30 // the zip's directory has a record of the file
	entryOffset   = entryRecorded - 1
)

func (e *entry) offset() int64 { return int64(e.offsetHigh&entryOffset)<<32 | int64(e.offsetLow) }

// setOffset sets the offset of the local header.
func (e *entry) setOffset(at uint64, deflated bool) {
	e.offsetLow, e.offsetHigh = uint32(at), uint32(at>>32)|entryRecorded
	if deflated {
		e.offsetHigh |= entryDeflated
	}
}

// grow reserves memory for n more names.
func (d *directory) grow(n int) {
	d.files = slices.Grow(d.files, n)
	d.runs = slices.Grow(d.runs, n/runNames+1)
	d.names = slices.Grow(d.names, n*runNames)
}

// add appends a name, which must sort after all present names for find to work.
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

// addSums adds every name of a SHA256SUMS file. It also adds SHA256SUMS itself with its own sum, which is the digest.
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

// decode returns the name at an offset in names: the length of its shared prefix, the rest, and the offset of the next
// name.
func (d *directory) decode(at int) (shared int, own []byte, end int) {
	s, n := binary.Uvarint(d.names[at:])
	l, m := binary.Uvarint(d.names[at+n:])
	at += n + m
	return int(s), d.names[at : at+int(l)], at + int(l)
}

// find returns the index of a name. It compares without rebuilding names: if a name shares a longer prefix with the
// name before it than that one shares with the wanted name, then it also sorts before the wanted name.
func find[T string | []byte](d *directory, name T) (int, bool) {
	lo, hi := 0, len(d.runs) // runs whose first name is at or before the wanted name are below lo
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		_, first, _ := d.decode(int(d.runs[mid]))
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
		shared, own, end := d.decode(at)
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

// cursor iterates over the names in order.
type cursor struct {
	of   *directory
	at   int // offset of the next name
	i    int // index of the next name
	name []byte
}

// next returns the next name in a buffer that the following call overwrites, and false after the last name.
func (c *cursor) next() (i int, name []byte, ok bool) {
	if c.i >= len(c.of.files) {
		return 0, nil, false
	}
	shared, own, end := c.of.decode(c.at)
	c.name = append(c.name[:shared], own...)
	c.at, c.i = end, c.i+1
	return c.i - 1, c.name, true
}

// list returns all names in order.
func (d *directory) list() []string {
	names := make([]string, 0, len(d.files))
	c := cursor{of: d}
	for _, name, ok := c.next(); ok; _, name, ok = c.next() {
		names = append(names, string(name))
	}
	return names
}
