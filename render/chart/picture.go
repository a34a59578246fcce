package chart

import (
	"bytes"
	"fmt"
	"html/template"
	"math/big"
	"strconv"

	"tollbook/site/display"
)

// Sizes of a picture in pixels.
const (
	PictureWidth, PictureHeight = 720, 400

	pictureLeft, pictureTop = 72, 56 // of the columns
	pictureDay              = 7      // width of a day
	pictureTall             = 240    // of the columns
	pictureEntry            = 160    // width of a name in the legend
)

// PictureColours contains the colours of a picture, each "#rrggbb".
type PictureColours struct {
	Ground, Ink, Muted, Rule string
	Parts                    [StackParts]string
	Others                   string
}

// Picture returns the chart as a file that other sites can embed. It contains its colours and its source, because it
// has no stylesheet. names are those of the parts.
func (s *Stack) Picture(title, source string, names []string, c PictureColours) []byte {
	var b bytes.Buffer
	text := template.HTMLEscapeString
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`aria-label="%[3]s"><title>%[3]s</title><rect width="%[1]d" height="%[2]d" fill="%[4]s"/>`+
		`<g font-family="system-ui,sans-serif" font-size="12" fill="%[5]s">`+
		`<text x="16" y="30" font-size="16" font-weight="600" fill="%[6]s">%[3]s</text>`,
		PictureWidth, PictureHeight, text(title), c.Ground, c.Muted, c.Ink)
	most := new(big.Rat)
	for _, v := range s.totals {
		if v != nil && v.Cmp(most) > 0 {
			most = v
		}
	}
	scale := newAxis(most, 0, dollarTick)
	for i, label := range scale.ticks {
		y := pictureTop + i*pictureTall/max(1, len(scale.ticks)-1)
		fmt.Fprintf(&b, `<path d="M%d %dh%d" stroke="%s"/><text x="%d" y="%d" text-anchor="end">%s</text>`, pictureLeft, y,
			StripDays*pictureDay, c.Rule, pictureLeft-8, y+4, text(label))
	}
	for day, total := range s.totals {
		if total == nil {
			continue
		}
		sum, y := new(big.Rat), pictureTop+pictureTall
		for i := range s.values {
			if v := s.values[i][day]; v != nil {
				sum.Add(sum, v)
				share, _ := new(big.Rat).Quo(sum, scale.top).Float64()
				if to := pictureTop + pictureTall - int(share*pictureTall+.5); to < y {
					fmt.Fprintf(&b, `<path fill="%s" d="M%d %dh%dv%dh-%[4]dz"/>`, c.of(s.parts[i]), pictureLeft+day*pictureDay,
						to, pictureDay-1, y-to)
					y = to
				}
			}
		}
	}
	for day := range s.days {
		if s.days[day].at.Day() == 1 {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, pictureLeft+day*pictureDay, pictureTop+pictureTall+18,
				s.days[day].at.Format("Jan 2006"))
		}
	}
	for i := range s.parts {
		x, y := 16+i%4*(pictureEntry+14), pictureTop+pictureTall+36+i/4*20
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d" fill="%s">%s</text>`, x,
			y, c.of(s.parts[i]), x+18, y+11, c.Ink, text(display.Line(names[i], 22)))
	}
	fmt.Fprintf(&b, `<text x="16" y="%d">%s</text></g></svg>`+"\n", PictureHeight-12, text(source))
	return b.Bytes()
}

// of returns the colour of a part: the index of its fill, or one that stands for several.
func (c *PictureColours) of(part int) string {
	if part >= StackParts {
		return c.Others
	}
	return c.Parts[part]
}

// PartToken returns the name of the colour of the ith part in the stylesheet.
func PartToken(i int) string { return "part-" + strconv.Itoa(i+1) }
