package serve

import (
	"hash/maphash"
	"sync/atomic"
)

// lately has some of what the cache knows of addresses, by the bytes that stand in a request line, for who looks without a
// lock. Where two share a place the later one stays; the other is found in the cache.
type lately[T remembered] struct {
	seed  maphash.Seed
	slots [1 << 13]atomic.Pointer[slot]
}

// remembered is known of a snapshot.
type remembered interface{ snapshot() string }

type slot struct {
	target string
	of     *entry // of a T
}

func newLately[T remembered]() *lately[T] { return &lately[T]{seed: maphash.MakeSeed()} }

func (l *lately[T]) slot(target []byte) *atomic.Pointer[slot] {
	return &l.slots[maphash.Bytes(l.seed, target)%uint64(len(l.slots))]
}

// find is what is known of an address in a snapshot, unless the cache has dropped it.
func (l *lately[T]) find(snapshot string, target []byte) (known T, ok bool) {
	s := l.slot(target).Load()
	if s == nil || s.target != string(target) {
		return known, false
	}
	found, ok := s.of.use()
	if !ok {
		return known, false
	}
	known = found.(T)
	return known, known.snapshot() == snapshot
}

// put has what is known of an address at hand.
func (l *lately[T]) put(target []byte, of *entry) {
	l.slot(target).Store(&slot{string(target), of})
}
