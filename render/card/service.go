package card

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image/color"
	"math"
	"slices"
)

// ServiceWidth and ServiceHeight are the size of a service's card in pixels: half of Width and Height, because a
// directory has one for each service.
const (
	ServiceWidth  = Width / 2
	ServiceHeight = Height / 2
)

// Service is the text of a service's card: its name, what it asks for, and whether it may be paid.
type Service struct {
	Site, Host string
	Name       string // in large letters, at most three lines
	Verdict    string
	Price      string // "" without one
	Note       string // a notice, "" for none
	Level      string // of the advice; its colour is that of the verdict

	Colours Colours
}

// PNG returns the image. The same text gives the same bytes. The image says which text it was drawn from, so that a card
// that did not change need not be drawn again: it takes milliseconds, and a directory may have 20,000.
func (c Service) PNG() ([]byte, error) {
	data, err := c.draw()
	if err != nil {
		return nil, err
	}
	end := len(data) - endLength
	return slices.Concat(data[:end], c.source(), data[end:]), nil
}

// endLength is the length of the chunk IEND, with which a PNG ends.
const endLength = 12

// serviceDrawing is the version of the drawing: a change of draw needs another one.
const serviceDrawing = 1

// source returns the chunk tEXt of the text that the image is drawn from. (PNG specification, 11.3.3.2)
func (c Service) source() []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and colours have JSON
	}
	chunk := fmt.Appendf(nil, "tEXtSource\x00%d %x", serviceDrawing, sha256.Sum256(text))
	return binary.BigEndian.AppendUint32(append(binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4)), chunk...),
		crc32.ChecksumIEEE(chunk))
}

// IsDrawn reports whether PNG returned an image for the same text.
func (c Service) IsDrawn(data []byte) bool {
	return len(data) > endLength && bytes.HasSuffix(data[:len(data)-endLength], c.source())
}

func (c Service) draw() ([]byte, error) {
	var inks [6]color.RGBA
	for i, text := range []string{c.Colours.Ground, c.Colours.Paper, c.Colours.Rule, c.Colours.Ink, c.Colours.Muted,
		c.Colours.OfAdvice(c.Level)} {
		var err error
		if inks[i], err = parseColour(text); err != nil {
			return nil, fmt.Errorf("draw card %q: %w", c.Name, err)
		}
	}
	ground, paper, rule, ink, muted, verdict := inks[0], inks[1], inks[2], inks[3], inks[4], inks[5]
	const (
		edge, left, right = 16, 48, ServiceWidth - 48
		tear, notch       = 238, 12
	)
	s := newSheet(ServiceWidth, ServiceHeight, ground)
	s.step = coarseStep
	s.rect(edge, edge, ServiceWidth-edge, ServiceHeight-edge, rule)
	s.rect(edge+1, edge+1, ServiceWidth-edge-1, ServiceHeight-edge-1, paper)
	s.rect(edge, edge, edge+8, tear, verdict)
	s.fill(arc(nil, edge, tear, notch, -math.Pi/2, math.Pi), ground)
	s.fill(arc(nil, ServiceWidth-edge, tear, notch, math.Pi/2, math.Pi), ground)
	for x := edge + notch + 8; x < ServiceWidth-edge-notch-8; x += 8 {
		s.rect(x, tear, x+4, tear+1, rule)
	}
	note := 0
	if c.Note != "" {
		note = s.width(c.Note, regular, 15) + 16
		s.text(c.Note, regular, 15, right-note+16, 62, muted)
	}
	s.text(s.cut(c.Site, bold, 19, right-left-note), bold, 19, left, 62, ink)

	lines, size := s.fit(c.Name, serviceSizes, right-left)
	y := 128 - (len(lines)-1)*size/2 // base line of the first line
	for _, line := range lines {
		s.text(line, bold, size, left, y, ink)
		y += size * 112 / 100
	}
	s.text(s.cut(c.Verdict, bold, 24, right-left), bold, 24, left, 214, verdict)
	s.text(s.cut(c.Price, bold, 22, right-left), bold, 22, left, 276, ink)
	if room := right - left - s.width(c.Price, bold, 22) - 24; room > 60 {
		host := s.cut(c.Host, mono, 14, room)
		s.text(host, mono, 14, right-s.width(host, mono, 14), 276, muted)
	}
	return s.png()
}

// serviceSizes lists the sizes of a service's name, the largest first.
var serviceSizes = []titleSize{{44, 1}, {34, 2}, {28, 3}, {22, 3}}
