package card

import (
	"encoding/binary"
	"image/color"
)

// Icon returns the directory's mark, a ticket on a background, as a square PNG for home screens.
func Icon(size int, c Colours) ([]byte, error) {
	paper, err := parseColour(c.Paper)
	if err != nil {
		return nil, err
	}
	accent, err := parseColour(c.Accent)
	if err != nil {
		return nil, err
	}
	s := newSheet(size, size, paper)
	s.mark(float32(size)/32, accent, paper)
	return s.png()
}

// mark draws the ticket of favicon.svg, which is 32 units wide.
func (s *canvas) mark(unit float32, ink, lines color.RGBA) {
	s.fill(ticket(2*unit, 5*unit, 30*unit, 27*unit, 16*unit, 4*unit), ink)
	for _, l := range [][2]float32{{22, 11.5}, {22, 16}, {17, 20.5}} {
		s.fill(capsule(10*unit, l[0]*unit, l[1]*unit, 1.2*unit), lines)
	}
}

// ICO returns a file in ICO format with one PNG, for browsers that request favicon.ico.
func ICO(size int, png []byte) []byte {
	b := []byte{0, 0, 1, 0, 1, 0, uint8(size), uint8(size), 0, 0, 1, 0, 32, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(png)))
	b = binary.LittleEndian.AppendUint32(b, 22) // offset of the PNG
	return append(b, png...)
}
