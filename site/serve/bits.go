package serve

import (
	"encoding/binary"
	"slices"
)

// bitWriter appends bits, the lowest first, as deflate has them.
type bitWriter struct {
	out []byte
	acc uint64 // of which the lowest n are not in out yet
	n   uint   // below 8 between calls
}

// add appends the lowest k bits of v, up to 48, above which it has none.
func (w *bitWriter) add(v uint64, k uint) {
	w.acc |= v << w.n
	for w.n += k; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

// align ends with a whole byte.
func (w *bitWriter) align() {
	if w.n > 0 {
		w.out, w.acc, w.n = append(w.out, byte(w.acc)), 0, 0
	}
}

// slack is how many bytes must follow those that copy reads.
const slack = 8

// copy appends the bits of from that begin at one and end before another.
func (w *bitWriter) copy(from []byte, begin, end uint32) {
	few := func(k uint32) {
		w.add(binary.LittleEndian.Uint64(from[begin/8:])>>(begin%8)&(1<<k-1), uint(k))
		begin += k
	}
	few(min(uint32(8-w.n)%8, end-begin)) // up to a whole byte
	if words := int(end-begin) / 64; words > 0 {
		src, shift := from[begin/8:], begin%8
		at := len(w.out)
		w.out = slices.Grow(w.out, 8*words)[:at+8*words]
		for dst := w.out[at:]; len(dst) >= 8; src, dst = src[8:], dst[8:] {
			binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)>>shift|uint64(src[8])<<(64-shift))
		}
		begin += uint32(64 * words)
	}
	for begin < end {
		few(min(end-begin, 32))
	}
}
