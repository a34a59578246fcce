package serve

import (
	"cmp"
	"math/bits"
	"slices"
)

// code is a Huffman code: for each symbol its bits, as they are sent, and their number, 0 for one that it has not.
type code struct {
	bits    []uint16
	lengths []uint8
}

func (c *code) add(w *bitWriter, symbol int) { w.add(uint64(c.bits[symbol]), uint(c.lengths[symbol])) }

// newCode is the best code for symbols that come so many times, of which two must, and no longer than most.
func newCode(counts []uint32, most uint8) *code {
	c := &code{bits: make([]uint16, len(counts)), lengths: codeLengths(counts, most)}
	var next, of [17]uint16 // the next code of a length, and how many have it (RFC 1951, 3.2.2)
	for _, n := range c.lengths {
		of[n]++
	}
	of[0] = 0
	for n := 1; n < len(next); n++ {
		next[n] = (next[n-1] + of[n-1]) << 1
	}
	for symbol, n := range c.lengths {
		if n > 0 {
			c.bits[symbol] = bits.Reverse16(next[n]) >> (16 - n)
			next[n]++
		}
	}
	return c
}

// codeLengths are the lengths of Huffman's code. Where one is too long, the counts are brought closer together.
func codeLengths(counts []uint32, most uint8) []uint8 {
	type node struct {
		count  uint32
		parent int
	}
	var used []int // symbols, the rarest first
	for symbol, n := range counts {
		if n > 0 {
			used = append(used, symbol)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })
	for flat := uint(0); ; flat++ {
		nodes := make([]node, 0, 2*len(used))
		for _, symbol := range used {
			nodes = append(nodes, node{count: counts[symbol]>>flat | 1})
		}
		leaf, inner := 0, len(used) // the rarest that have no parent yet
		rarest := func() int {
			if leaf < len(used) && (inner == len(nodes) || nodes[leaf].count <= nodes[inner].count) {
				leaf++
				return leaf - 1
			}
			inner++
			return inner - 1
		}
		for len(nodes) < 2*len(used)-1 {
			a, b := rarest(), rarest()
			nodes[a].parent, nodes[b].parent = len(nodes), len(nodes)
			nodes = append(nodes, node{count: nodes[a].count + nodes[b].count})
		}
		depths := make([]uint8, len(nodes)) // of the root none
		for i := len(nodes) - 2; i >= 0; i-- {
			depths[i] = depths[nodes[i].parent] + 1
		}
		if slices.Max(depths) > most {
			continue
		}
		lengths := make([]uint8, len(counts))
		for i, symbol := range used {
			lengths[symbol] = depths[i]
		}
		return lengths
	}
}
