package serve

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// Deflate of rows by the row before. No library has it: theirs give a block for each piece, with a code and an end of its
// own, which of a row are a fourth. Here all rows of a file have one code, and are bits one behind another, so that any run of them
// is a block that is ready. What a row repeats is looked for in itself and the row before it alone.

const (
	shortestMatch  = 4
	longestMatch   = 258
	farthestMatch  = 32 << 10
	matchHashBits  = 12
	matchTries     = 8
	endOfBlock     = 256
	firstLength    = 257
	lengthSymbols  = 29
	distSymbols    = 30
	longestCode    = 15
	longestOfCodes = 7 // of the code that a code is told in
)

// token is a literal, or, marked so, a match: its length less three, and behind it its distance less one.
type token uint32

const isMatch token = 1 << 31

// block is rows as deflate.
type block struct {
	head     []byte // of the block, up to its rows
	headBits uint32
	bits     []byte   // all rows but the first, and slack
	begins   []uint32 // bits before each row, and before the end
	end      uint64   // what ends a block
	endBits  uint32
}

func (b *block) size() int {
	const own, word = 150, 4
	return own + len(b.head) + len(b.bits) + word*len(b.begins)
}

// matcher finds what rows repeat. Its parts are used again.
type matcher struct {
	text   []byte
	last   [1 << matchHashBits]int32 // place in text, and one, of what was last there with a hash
	before []int32                   // of each place the one before it with its hash
	tokens []token
	ends   []int // in tokens, of each row
}

var matchers = sync.Pool{New: func() any { return new(matcher) }}

// deflate packs rows behind one another.
func deflate(rows []*sharedRow) *block {
	m := matchers.Get().(*matcher)
	defer matchers.Put(m)
	m.read(rows)
	literals, distances := make([]uint32, firstLength+lengthSymbols), make([]uint32, distSymbols)
	literals[endOfBlock], literals[0], distances[0], distances[1] = 1, 1, 1, 1 // a code has two symbols at least
	for _, t := range m.tokens {
		if t&isMatch == 0 {
			literals[t]++
			continue
		}
		length, _, _ := t.length()
		distance, _, _ := t.distance()
		literals[firstLength+length]++
		distances[distance]++
	}
	b := &block{begins: make([]uint32, 0, len(rows)+1)}
	literal, distance := newCode(literals, longestCode), newCode(distances, longestCode)
	b.tellCodes(literal, distance)
	b.end, b.endBits = uint64(literal.bits[endOfBlock]), uint32(literal.lengths[endOfBlock])
	w := bitWriter{out: make([]byte, 0, len(m.text)/4)}
	at := 0
	for _, end := range m.ends {
		b.begins = append(b.begins, uint32(8*len(w.out))+uint32(w.n))
		for ; at < end; at++ {
			m.tokens[at].add(&w, literal, distance)
		}
	}
	b.begins = append(b.begins, uint32(8*len(w.out))+uint32(w.n))
	w.align()
	b.bits = append(make([]byte, 0, len(w.out)+slack), w.out...)[:len(w.out)+slack]
	return b
}

// length is the symbol of a match's length, and what is told beside it.
func (t token) length() (symbol int, extra uint64, n uint) {
	x := uint32(t>>16) & 0xff
	switch {
	case x == longestMatch-3:
		return lengthSymbols - 1, 0, 0
	case x < 8:
		return int(x), 0, 0
	}
	k := uint(bits.Len32(x)) - 3
	return int(4*k + 4 + uint(x>>k)&3), uint64(x & (1<<k - 1)), k
}

// distance is the symbol of a match's distance, and what is told beside it.
func (t token) distance() (symbol int, extra uint64, n uint) {
	x := uint32(t) & 0xffff
	if x < 4 {
		return int(x), 0, 0
	}
	k := uint(bits.Len32(x)) - 2
	return int(2*k + 2 + uint(x>>k)&1), uint64(x & (1<<k - 1)), k
}

func (t token) add(w *bitWriter, literal, distance *code) {
	if t&isMatch == 0 {
		literal.add(w, int(t))
		return
	}
	symbol, extra, n := t.length()
	literal.add(w, firstLength+symbol)
	w.add(extra, n)
	symbol, extra, n = t.distance()
	distance.add(w, symbol)
	w.add(extra, n)
}

// read finds the tokens of all rows but the first.
func (m *matcher) read(rows []*sharedRow) {
	m.text, m.tokens, m.ends = m.text[:0], m.tokens[:0], m.ends[:0]
	clear(m.last[:])
	before := 0 // where the row before begins
	for i, row := range rows {
		begin := len(m.text)
		if i > 0 {
			m.text = append(m.text, rowEnd...)
		}
		own := len(m.text)
		m.text = append(m.text, row.bytes...)
		m.before = append(m.before[:begin], make([]int32, len(m.text)-begin)...)
		if i == 0 {
			for at := range m.text {
				m.insert(at)
			}
		} else {
			m.match(before, begin)
		}
		before = own
		m.ends = append(m.ends, len(m.tokens))
	}
}

// match finds the tokens of what text has from begin on, in which nothing before least is repeated.
func (m *matcher) match(least, begin int) {
	length, distance := 0, 0 // at the place itself
	for at := begin; at < len(m.text); {
		if length == 0 {
			length, distance = m.find(least, at)
		}
		m.insert(at)
		if length < shortestMatch {
			m.tokens, length = append(m.tokens, token(m.text[at])), 0
			at++
			continue
		}
		if nextLength, nextDistance := m.find(least, at+1); nextLength > length { // a longer one begins later
			m.tokens = append(m.tokens, token(m.text[at]))
			length, distance = nextLength, nextDistance
			at++
			continue
		}
		m.tokens = append(m.tokens, isMatch|token(length-3)<<16|token(distance-1))
		for end := at + length; at+1 < end; {
			at++
			m.insert(at)
		}
		at, length = at+1, 0
	}
}

// hash is that of the bytes at a place. It is false too close to the end.
func (m *matcher) hash(at int) (uint32, bool) {
	if at+shortestMatch > len(m.text) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(m.text[at:]) * 0x9e3779b1 >> (32 - matchHashBits), true
}

func (m *matcher) insert(at int) {
	if h, ok := m.hash(at); ok {
		m.before[at], m.last[h] = m.last[h], int32(at+1)
	}
}

// find is the longest match at a place, 0 without.
func (m *matcher) find(least, at int) (length, distance int) {
	h, ok := m.hash(at)
	if !ok {
		return 0, 0
	}
	text := m.text[at:min(len(m.text), at+longestMatch)]
	least = max(least, at-farthestMatch)
	place := int(m.last[h]) - 1
	for range matchTries {
		if place < least {
			break
		}
		if from := m.text[place:]; length == 0 || length < len(text) && from[length] == text[length] {
			n := 0
			for n < len(text) && from[n] == text[n] {
				n++
			}
			if n > length {
				length, distance = n, at-place
			}
		}
		place = int(m.before[place]) - 1
	}
	if length < shortestMatch {
		return 0, 0
	}
	return length, distance
}

// codeOrder is the order in which lengths of the code are told that codes are told in (RFC 1951, 3.2.7).
var codeOrder = [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// tellCodes makes the head of a block that is not the last one.
func (b *block) tellCodes(literal, distance *code) {
	nLiteral, nDistance := used(literal.lengths), used(distance.lengths)
	type told struct {
		symbol int
		extra  uint64
		n      uint
	}
	var all []told
	lengths := append(append([]uint8(nil), literal.lengths[:nLiteral]...), distance.lengths[:nDistance]...)
	for at := 0; at < len(lengths); {
		n := 1
		for at+n < len(lengths) && lengths[at+n] == lengths[at] {
			n++
		}
		switch {
		case lengths[at] == 0 && n >= 11:
			n = min(n, 138)
			all = append(all, told{18, uint64(n - 11), 7})
		case lengths[at] == 0 && n >= 3:
			all = append(all, told{17, uint64(n - 3), 3})
		case n >= 4:
			n = min(n, 7)
			all = append(all, told{int(lengths[at]), 0, 0}, told{16, uint64(n - 4), 2})
		default:
			n = 1
			all = append(all, told{int(lengths[at]), 0, 0})
		}
		at += n
	}
	counts := make([]uint32, len(codeOrder))
	for _, t := range all {
		counts[t.symbol]++
	}
	counts[0], counts[18] = max(1, counts[0]), max(1, counts[18])
	of := newCode(counts, longestOfCodes)
	nOf := len(codeOrder)
	for of.lengths[codeOrder[nOf-1]] == 0 {
		nOf--
	}
	var w bitWriter
	w.add(0b100, 3)
	w.add(uint64(nLiteral-firstLength), 5)
	w.add(uint64(nDistance-1), 5)
	w.add(uint64(nOf-4), 4)
	for _, symbol := range codeOrder[:nOf] {
		w.add(uint64(of.lengths[symbol]), 3)
	}
	for _, t := range all {
		of.add(&w, t.symbol)
		w.add(t.extra, t.n)
	}
	b.headBits = uint32(8*len(w.out)) + uint32(w.n)
	w.align()
	b.head = append(w.out, make([]byte, slack)...)
}

// used is how many lengths are told: those behind the last symbol that a code has are not.
func used(lengths []uint8) int {
	n := len(lengths)
	for lengths[n-1] == 0 {
		n--
	}
	return n
}
