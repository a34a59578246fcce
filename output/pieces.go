package output

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// Piece is a part of contents that several files have between other parts, deflated once for all of them: it ends with a
// whole byte and looks back at nothing before it, so that packed pieces may follow one another.
type Piece struct {
	parts  [][]byte // side by side; they don't change
	once   sync.Once
	packed []byte // without the lengths of the block that ends it, which has nothing in it by itself
	err    error
}

// NewPiece keeps the parts.
func NewPiece(parts ...[]byte) *Piece { return &Piece{parts: parts} }

// Pieced is contents of pieces: a head, pieces with something between each two, and a tail.
type Pieced struct {
	Head, Between, Tail []byte
	Pieces              []*Piece
}

// size is how many bytes the contents have.
func (p *Pieced) size() int {
	n := len(p.Head) + max(0, len(p.Pieces)-1)*len(p.Between) + len(p.Tail)
	for _, piece := range p.Pieces {
		for _, part := range piece.parts {
			n += len(part)
		}
	}
	return n
}

// AppendTo appends the contents.
func (p *Pieced) AppendTo(b []byte) []byte {
	b = append(slices.Grow(b, p.size()), p.Head...)
	for i, piece := range p.Pieces {
		if i > 0 {
			b = append(b, p.Between...)
		}
		for _, part := range piece.parts {
			b = append(b, part...)
		}
	}
	return append(b, p.Tail...)
}

// noMore is deflate's last block, with nothing in it.
var noMore = []byte{3, 0}

// deflate puts the packed pieces together. What lies between them stands in the blocks that end them, as it is. It is false for
// contents that no blocks of this kind hold.
func (p *Pieced) deflate() (_ []byte, ok bool, err error) {
	if len(p.Pieces) == 0 || max(len(p.Head), len(p.Between), len(p.Tail)) > math.MaxUint16 {
		return nil, false, nil
	}
	size := len(p.Head) + len(p.Tail) + len(noMore) + 2*storedHead
	for _, piece := range p.Pieces {
		if err := piece.pack(); err != nil {
			return nil, false, err
		}
		size += len(piece.packed) + storedHead + len(p.Between)
	}
	b := stored(append(make([]byte, 0, size), 0), p.Head)
	for i, piece := range p.Pieces {
		b = append(b, piece.packed...)
		if i < len(p.Pieces)-1 {
			b = stored(b, p.Between)
		} else {
			b = stored(b, p.Tail)
		}
	}
	return append(b, noMore...), true, nil
}

// storedHead is how many bytes a stored block has before its contents.
const storedHead = 5

// stored appends a stored block behind its first byte, or bits.
func stored(b, contents []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(contents)))
	b = binary.LittleEndian.AppendUint16(b, ^uint16(len(contents)))
	return append(b, contents...)
}

// pack deflates the piece, once.
func (p *Piece) pack() error {
	p.once.Do(func() {
		d := deflaters.Get().(*deflater)
		defer deflaters.Put(d)
		d.reset()
		for _, part := range p.parts {
			if _, p.err = d.w.Write(part); p.err != nil {
				return
			}
		}
		if p.err = d.w.Flush(); p.err == nil {
			p.packed = bytes.Clone(d.b.Bytes()[:d.b.Len()-4]) // the lengths of the empty block that Flush ends with
		}
	})
	return p.err
}
