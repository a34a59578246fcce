package serve

import (
	"hash/maphash"
	"sync/atomic"
)

// lately has some of what the cache knows of addresses, by the bytes that stand in a request line, for who looks without a
// lock. Where two share a place the later one stays; the other is found in the cache.
type lately struct {
	seed  maphash.Seed
	slots [1 << 13]atomic.Pointer[slot]
}

type slot struct {
	target string
	of     *entry // of a *known
}

func newLately() *lately { return &lately{seed: maphash.MakeSeed()} }

func (l *lately) slot(target []byte) *atomic.Pointer[slot] {
	return &l.slots[maphash.Bytes(l.seed, target)%uint64(len(l.slots))]
}

// find is what an address is known to name in a snapshot, unless the cache has dropped it.
func (l *lately) find(snapshot string, target []byte) (*known, bool) {
	s := l.slot(target).Load()
	if s == nil || s.target != string(target) {
		return nil, false
	}
	found, ok := s.of.use()
	if !ok {
		return nil, false
	}
	k := found.(*known)
	return k, k.origin.name[0] == snapshot
}

// put has what an address names at hand.
func (l *lately) put(target []byte, of *entry) {
	l.slot(target).Store(&slot{string(target), of})
}
