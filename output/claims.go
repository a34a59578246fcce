package output

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// claims are the names that a tree on its way has taken: none twice, and none that is the folder of another, which file systems
// refuse, and so do some object stores. Of each is kept its hash alone, by a seed that is new each time: of a million names two
// have one in a build of ten million, which fails, and is made again.
type claims struct {
	seed  maphash.Seed
	table []uint64 // hashes of names and of their folders, the next free place where another is; 0 is free
	used  int      // of the table
	last  string   // folder of the name that came last: most have the same
}

const claimedFolder = 1 // lowest bit of a folder's hash

func newClaims() *claims { return &claims{seed: maphash.MakeSeed(), table: make([]uint64, 64)} }

// take takes a name, and the folders that it lies in.
func (c *claims) take(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	hash := c.hash(name)
	switch slot, known := c.find(hash); {
	case known && c.table[slot] != hash:
		return fmt.Errorf("%w: %s is the folder of another file", ErrName, name)
	case known:
		return fmt.Errorf("%w: %s is there twice", ErrName, name)
	default:
		c.put(slot, hash)
	}
	folder := name[:max(0, strings.LastIndexByte(name, '/'))]
	if folder == c.last {
		return nil
	}
	for end := len(folder); end > 0; end = strings.LastIndexByte(name[:end], '/') {
		hash := c.hash(name[:end])
		slot, known := c.find(hash)
		if known && c.table[slot] == hash {
			return fmt.Errorf("%w: the folder of %s is a file", ErrName, name)
		}
		if known {
			break // and so are its parents
		}
		c.put(slot, hash|claimedFolder)
	}
	c.last = folder
	return nil
}

// hash is that of a file's name: never 0, its lowest bit clear.
func (c *claims) hash(name string) uint64 { return max(2, maphash.String(c.seed, name)&^claimedFolder) }

// find answers where a hash is in the table, be it a file's or a folder's, or where it would be.
func (c *claims) find(hash uint64) (slot int, known bool) {
	for slot = c.slot(hash); c.table[slot] != 0; slot = (slot + 1) & (len(c.table) - 1) {
		if c.table[slot]&^claimedFolder == hash {
			return slot, true
		}
	}
	return slot, false
}

func (c *claims) slot(hash uint64) int { return int(hash >> 1 & uint64(len(c.table)-1)) }

// put fills a slot that find answered, and keeps a quarter of them free.
func (c *claims) put(slot int, hash uint64) {
	c.table[slot] = hash
	if c.used++; c.used <= len(c.table)/4*3 {
		return
	}
	old := c.table
	c.table = make([]uint64, 2*len(old))
	for _, hash := range old {
		if hash != 0 {
			slot, _ := c.find(hash &^ claimedFolder)
			c.table[slot] = hash
		}
	}
}
