package output

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// names is the set of names of one tree, in the order of add. No name is there twice, and none is the folder of another:
// file systems refuse that, and so do some object stores. A tree has hundreds of thousands: they lie side by side in pieces,
// and a folder is the beginning of a name, so that there is no pointer for each that the garbage collector would follow.
type names struct {
	text  [][]byte    // in pieces; no name is in two
	files []namePlace // in the order of add
	seed  maphash.Seed
	table []namePlace // of files and folders, by hash, the next free one where another is; 0 is free
	used  int         // of the table
}

// namePlace is where a name lies: its piece and its beginning there, its length, and whether it is a folder's.
type namePlace uint64

const (
	namePiece  = 1 << 18 // bytes
	nameTaken  = 1 << 63
	nameFolder = 1 << 62
	lengthBits = 10 // holds maxName
	offsetBits = 18 // holds namePiece
)

func (p namePlace) isFolder() bool { return p&nameFolder != 0 }

func newNames() *names {
	return &names{seed: maphash.MakeSeed(), table: make([]namePlace, 64)}
}

// add adds a file's name and the folders that it lies in.
func (n *names) add(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	slot, known := n.find(name)
	switch {
	case known && n.table[slot].isFolder():
		return fmt.Errorf("%w: %s is the folder of another file", ErrName, name)
	case known:
		return fmt.Errorf("%w: %s is there twice", ErrName, name)
	}
	p := n.keep(name)
	n.put(slot, p)
	n.files = append(n.files, p)
	for end := strings.LastIndexByte(name, '/'); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		slot, known := n.find(name[:end])
		if known && n.table[slot].isFolder() {
			break // and so are its parents
		}
		if known {
			return fmt.Errorf("%w: the folder of %s is a file", ErrName, name)
		}
		n.put(slot, p>>lengthBits<<lengthBits|namePlace(end)|nameFolder)
	}
	return nil
}

// name is that of the ith file.
func (n *names) name(i int) []byte { return n.at(n.files[i]) }

func (n *names) at(p namePlace) []byte {
	length := int(p & (1<<lengthBits - 1))
	from := int(p >> lengthBits & (1<<offsetBits - 1))
	piece := p &^ (nameTaken | nameFolder) >> (lengthBits + offsetBits)
	return n.text[piece][from : from+length]
}

// keep copies a name.
func (n *names) keep(name string) namePlace {
	if last := len(n.text) - 1; last < 0 || len(n.text[last])+len(name) > namePiece {
		n.text = append(n.text, make([]byte, 0, namePiece))
	}
	last := len(n.text) - 1
	from := len(n.text[last])
	n.text[last] = append(n.text[last], name...)
	return nameTaken | namePlace(last)<<(lengthBits+offsetBits) | namePlace(from)<<lengthBits | namePlace(len(name))
}

// find answers where a name is in the table, or where it would be.
func (n *names) find(name string) (slot int, known bool) {
	slot = n.slot(maphash.String(n.seed, name))
	for ; n.table[slot] != 0; slot = (slot + 1) & (len(n.table) - 1) {
		if string(n.at(n.table[slot])) == name {
			return slot, true
		}
	}
	return slot, false
}

func (n *names) slot(hash uint64) int { return int(hash & uint64(len(n.table)-1)) }

// put fills a slot that find answered, and keeps a quarter of them free.
func (n *names) put(slot int, p namePlace) {
	n.table[slot] = p
	if n.used++; n.used <= len(n.table)/4*3 {
		return
	}
	old := n.table
	n.table = make([]namePlace, 2*len(old))
	for _, p := range old {
		if p != 0 {
			slot := n.slot(maphash.Bytes(n.seed, n.at(p)))
			for n.table[slot] != 0 {
				slot = (slot + 1) & (len(n.table) - 1)
			}
			n.table[slot] = p
		}
	}
}
