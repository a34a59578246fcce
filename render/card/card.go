// Package card draws images: cards of 1200×630 pixels for previews of links, icons, and badges. The same value gives
// the same bytes.
//
// It must never know what a directory is or where its files are stored.
package card

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Width and Height of a card in pixels, as Open Graph (https://ogp.me) readers expect it.
const Width, Height = 1200, 630

// Card is the text of a card: name and address of a directory, and the subject of a page.
type Card struct {
	Site  string
	Title string // in large letters, at most three lines
	Line  string // below the title, one line
	Host  string
	Note  string // a notice, "" for none

	Colours Colours
}

// Colours contains the colours of a card, each "#rrggbb".
type Colours struct{ Ground, Paper, Rule, Ink, Muted, Accent, Up, Degraded, Danger, Unknown string }

// Sizes of the ticket on a card, in pixels.
const (
	margin = 40  // around the ticket
	inset  = 72  // from the edge to the text
	tear   = 478 // y of the perforation
	notch  = 24  // radius of the notches at its ends
)

// cache contains the cards that this process has drawn, because a directory is built again and again with the same
// cards. It is emptied when it is full.
var cache = struct {
	sync.Mutex
	cards map[Card][]byte
}{cards: map[Card][]byte{}}

// maxCache limits the cards in the cache, some 20 KB each.
const maxCache = 256

// PNG returns the image. Callers must not change its bytes.
func (c Card) PNG() ([]byte, error) {
	cache.Lock()
	data := cache.cards[c]
	cache.Unlock()
	if data != nil {
		return data, nil
	}
	data, err := c.draw()
	if err != nil {
		return nil, fmt.Errorf("draw card %q: %w", c.Title, err)
	}
	cache.Lock()
	defer cache.Unlock()
	if len(cache.cards) >= maxCache {
		clear(cache.cards)
	}
	cache.cards[c] = data
	return data, nil
}

func (c Card) draw() ([]byte, error) {
	var inks [6]color.RGBA
	for i, s := range []string{c.Colours.Ground, c.Colours.Paper, c.Colours.Rule, c.Colours.Ink, c.Colours.Muted,
		c.Colours.Accent} {
		var err error
		if inks[i], err = parseColour(s); err != nil {
			return nil, err
		}
	}
	ground, paper, rule, ink, muted, accent := inks[0], inks[1], inks[2], inks[3], inks[4], inks[5]
	s := newSheet(Width, Height, ground)
	s.rect(margin, margin, Width-margin, Height-margin, rule)
	s.rect(margin+2, margin+2, Width-margin-2, Height-margin-2, paper)
	s.fill(arc(nil, margin, tear, notch+2, -math.Pi/2, math.Pi), rule)
	s.fill(arc(nil, margin, tear, notch, -math.Pi/2, math.Pi), ground)
	s.fill(arc(nil, Width-margin, tear, notch+2, math.Pi/2, math.Pi), rule)
	s.fill(arc(nil, Width-margin, tear, notch, math.Pi/2, math.Pi), ground)
	for x := margin + notch + 16; x < Width-margin-notch-16; x += 16 {
		s.rect(x, tear-1, x+8, tear+1, rule)
	}
	left, right := margin+inset, Width-margin-inset
	s.fill(ticket(float32(left), 92, float32(left)+56, 132, 112, 8), accent)
	for i, to := range []float32{40, 40, 28} {
		y := 101 + float32(i)*10
		s.fill(capsule(float32(left)+16, float32(left)+to, y, 2.2), paper)
	}
	note := c.Note
	noteWidth := 0
	if note != "" {
		noteWidth = s.width(note, regular, 26) + 32
		s.text(note, regular, 26, right-noteWidth+32, 122, accent)
	}
	s.text(s.cut(c.Site, bold, 34, right-left-76-noteWidth), bold, 34, left+76, 124, ink)
	s.rect(left, 156, right, 160, ink)
	s.rect(left, 164, right, 166, ink)

	lines, size := s.fit(c.Title, titleSizes, right-left)
	step := size * 112 / 100
	y := 320 - (len(lines)-1)*step/2 // base line of the first line
	if c.Line == "" {
		y += 28
	}
	for _, line := range lines {
		s.text(line, bold, size, left, y, ink)
		y += step
	}
	s.text(s.cut(c.Line, regular, 32, right-left), regular, 32, left, y-step+58, muted)

	s.text("HTTP 402", mono, 28, right-s.width("HTTP 402", mono, 28), 545, muted)
	s.text(s.cut(c.Host, mono, 28, right-left-200), mono, 28, left, 545, accent)
	return s.png()
}

// canvas is an image with the faces of its letters.
type canvas struct {
	*image.RGBA
	flat  *image.Paletted // the same size, for png
	step  int             // between levels of coverage, of 255
	faces map[faceKey]font.Face
}

// canvases are those that png has encoded. A directory draws a card for each service, and the megabytes of a canvas
// would make most of the garbage of a build.
var canvases = sync.Pool{New: func() any { return &canvas{faces: map[faceKey]font.Face{}} }}

type faceKey struct {
	of   *sfnt.Font
	size int
}

// The embedded Go fonts are valid, so parsing them cannot fail.
var regular, bold, mono = parse(goregular.TTF), parse(gobold.TTF), parse(gomono.TTF)

func parse(ttf []byte) *sfnt.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err)
	}
	return f
}

// CanDraw returns whether the font has a letter for each character of s.
func CanDraw(s string) bool {
	var b sfnt.Buffer
	return !strings.ContainsFunc(s, func(r rune) bool {
		i, err := bold.GlyphIndex(&b, r)
		return i == 0 || err != nil
	})
}

// Steps between levels of coverage: of cards that are drawn once for a directory, and of those that a directory has for
// each service, which have at most sixteen colours.
const (
	fineStep   = 17
	coarseStep = 85
)

func newSheet(width, height int, ground color.RGBA) *canvas {
	s := canvases.Get().(*canvas)
	if size := image.Rect(0, 0, width, height); s.RGBA == nil || s.Rect != size {
		s.RGBA, s.flat = image.NewRGBA(size), image.NewPaletted(size, nil)
	}
	s.step = fineStep
	draw.Draw(s.RGBA, s.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	return s
}

func (s *canvas) face(of *sfnt.Font, size int) font.Face {
	key := faceKey{of, size}
	if s.faces[key] == nil {
		face, err := opentype.NewFace(of, &opentype.FaceOptions{Size: float64(size), DPI: 72,
			Hinting: font.HintingNone})
		if err != nil {
			panic(err) // NewFace never returns an error, says its documentation
		}
		s.faces[key] = face
	}
	return s.faces[key]
}

func (s *canvas) width(text string, of *sfnt.Font, size int) int {
	return font.MeasureString(s.face(of, size), text).Ceil()
}

// text draws a line that begins at x, on the base line y.
func (s *canvas) text(text string, of *sfnt.Font, size, x, y int, ink color.RGBA) {
	face, src := s.face(of, size), image.NewUniform(ink)
	dot, last := fixed.P(x, y), rune(-1)
	for _, r := range text {
		if last >= 0 {
			dot.X += face.Kern(last, r)
		}
		if to, mask, at, advance, ok := face.Glyph(dot, r); ok {
			if m, ok := mask.(*image.Alpha); ok {
				coarse(m, s.step)
			}
			draw.DrawMask(s.RGBA, to, src, image.Point{}, mask, at, draw.Over)
			dot.X += advance
		}
		last = r
	}
}

// titleSize is a size of a title with its maximum number of lines.
type titleSize struct{ size, lines int }

// titleSizes lists the sizes of a title, the largest first.
var titleSizes = []titleSize{{92, 1}, {72, 2}, {58, 3}, {46, 3}}

// fit breaks a title into lines, in the largest of the sizes that fits; the last one has three lines.
func (s *canvas) fit(title string, sizes []titleSize, width int) (lines []string, size int) {
	for _, t := range sizes {
		lines, size = s.wrap(title, t.size, width), t.size
		if len(lines) <= t.lines {
			return lines, size
		}
	}
	lines = lines[:3]
	lines[2] = s.cut(lines[2]+" …", bold, size, width)
	return lines, size
}

// wrap breaks text between words. It cuts a word that is wider than a line.
func (s *canvas) wrap(text string, size, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		if whole := strings.TrimPrefix(*last+" "+word, " "); s.width(whole, bold, size) <= width {
			*last = whole
			continue
		}
		word = s.cut(word, bold, size, width)
		if *last == "" {
			*last = word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// cut shortens text to a width.
func (s *canvas) cut(text string, of *sfnt.Font, size, width int) string {
	if s.width(text, of, size) <= width {
		return text
	}
	face, last := s.face(of, size), rune(-1)
	room := fixed.I(width - s.width("…", of, size))
	for i, r := range text {
		if last >= 0 {
			room -= face.Kern(last, r)
		}
		advance, _ := face.GlyphAdvance(r)
		if room -= advance; room < 0 {
			return strings.TrimRight(text[:i], " …") + "…"
		}
		last = r
	}
	return text
}

// png encodes the image with a palette if it has at most 256 colours. The canvas must not be used afterwards.
func (s *canvas) png() ([]byte, error) {
	defer canvases.Put(s)
	var palette color.Palette
	indexes := map[color.RGBA]uint8{}
	flat := s.flat
	var last color.RGBA // most pixels have the colour of the one before
	var at uint8
	for i := range flat.Pix {
		p := s.Pix[4*i : 4*i+4]
		if c := (color.RGBA{p[0], p[1], p[2], p[3]}); c != last {
			var ok bool
			if at, ok = indexes[c]; !ok {
				if len(palette) == 256 {
					return encode(s.RGBA)
				}
				at = uint8(len(palette))
				indexes[c], palette = at, append(palette, c)
			}
			last = c
		}
		flat.Pix[i] = at
	}
	flat.Palette = palette
	return encode(flat)
}

func encode(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	e := png.Encoder{BufferPool: &buffers}
	if err := e.Encode(&b, m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// buffers are those of the encoder of PNG, which take most of a megabyte.
var buffers encoderBuffers

type encoderBuffers struct{ pool sync.Pool }

// Get returns nil if there is none, and the encoder allocates one.
func (b *encoderBuffers) Get() *png.EncoderBuffer {
	e, _ := b.pool.Get().(*png.EncoderBuffer)
	return e
}

func (b *encoderBuffers) Put(e *png.EncoderBuffer) { b.pool.Put(e) }
