package serve

import (
	"hash/maphash"
	"sync/atomic"
)

// asked remembers of which keys it was asked lately, each by a hash: where two share a place the later one stays. Should two
// have the same hash, one of them is taken for asked before; nothing else depends on it.
type asked struct {
	seed  maphash.Seed
	marks [1 << 14]atomic.Uint64
}

func newAsked() *asked { return &asked{seed: maphash.MakeSeed()} }

// again says whether a key is the last of its place.
func (a *asked) again(key cacheKey) bool {
	mark := maphash.Comparable(a.seed, key)
	return a.marks[mark%uint64(len(a.marks))].Swap(mark) == mark
}
