package card

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"strconv"

	"golang.org/x/image/vector"
)

// parseColour reads "#rrggbb".
func parseColour(s string) (color.RGBA, error) {
	n, err := strconv.ParseUint(s[min(1, len(s)):], 16, 32)
	if err != nil || len(s) != 7 || s[0] != '#' {
		return color.RGBA{}, fmt.Errorf("colour %.20q: it is #rrggbb", s)
	}
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}, nil
}

// outline is the corners of a closed shape.
type outline [][2]float32

// fill paints the inside of an outline.
func (s *canvas) fill(of outline, ink color.RGBA) {
	x0, y0, x1, y1 := of[0][0], of[0][1], of[0][0], of[0][1]
	for _, p := range of {
		x0, y0, x1, y1 = min(x0, p[0]), min(y0, p[1]), max(x1, p[0]), max(y1, p[1])
	}
	box := image.Rect(int(x0), int(y0), int(x1)+1, int(y1)+1)
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, p := range of {
		if x, y := p[0]-float32(box.Min.X), p[1]-float32(box.Min.Y); i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	mask := image.NewAlpha(image.Rect(0, 0, box.Dx(), box.Dy()))
	r.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	coarse(mask, s.step)
	draw.DrawMask(s.RGBA, box, image.NewUniform(ink), image.Point{}, mask, image.Point{}, draw.Over)
}

func (s *canvas) rect(x0, y0, x1, y1 int, ink color.RGBA) {
	draw.Draw(s.RGBA, image.Rect(x0, y0, x1, y1), image.NewUniform(ink), image.Point{}, draw.Src)
}

// coarse reduces a mask to few levels of coverage, which are multiples of step, so that an image has few colours.
func coarse(m *image.Alpha, step int) {
	for i, a := range m.Pix {
		m.Pix[i] = uint8((int(a) + step/2) / step * step)
	}
}

// ticket returns a rectangle with a round notch at each end, at the height y.
func ticket(x0, y0, x1, y1, y, notch float32) outline {
	o := arc(outline{{x0, y0}, {x1, y0}, {x1, y - notch}}, x1, y, notch, -math.Pi/2, -math.Pi)
	return arc(append(o, [2]float32{x1, y1}, [2]float32{x0, y1}, [2]float32{x0, y + notch}), x0, y, notch, math.Pi/2,
		-math.Pi)
}

// capsule returns a line from x0 to x1 with round ends.
func capsule(x0, x1, y, radius float32) outline {
	return arc(arc(nil, x1, y, radius, -math.Pi/2, math.Pi), x0, y, radius, math.Pi/2, math.Pi)
}

// arc appends an arc around a centre: sweep radians from an angle, in steps too short to be visible.
func arc(o outline, x, y, radius float32, from, sweep float64) outline {
	const steps = 24
	for i := range steps + 1 {
		sin, cos := math.Sincos(from + sweep*float64(i)/steps)
		o = append(o, [2]float32{x + radius*float32(cos), y + radius*float32(sin)})
	}
	return o
}
