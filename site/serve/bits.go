package serve

import "encoding/binary"

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
	const step = 56 // of which a word has all, wherever in a byte they begin
	at, shift := begin/8, begin%8
	left := end - begin
	room := len(w.out)
	for w.out = append(w.out, make([]byte, left/8+slack)...); left >= step; left -= step {
		w.acc |= binary.LittleEndian.Uint64(from[at:]) >> shift & (1<<step - 1) << w.n
		binary.LittleEndian.PutUint64(w.out[room:], w.acc)
		w.acc >>= step
		at, room = at+step/8, room+step/8
	}
	w.out = w.out[:room]
	for ; left > 0; left -= min(left, 32) {
		k := min(left, 32)
		w.add(binary.LittleEndian.Uint64(from[at:])>>shift&(1<<k-1), uint(k))
		at += 4
	}
}
