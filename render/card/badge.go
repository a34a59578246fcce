// This file makes the badge of a service: the advice on it, its state and uptime, as data and as a picture.
//
// It must never know a page or a key.

package card

import (
	"bytes"
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// NewBadge returns a badge with the advice, unless that is good, the state and the uptime of 30 days. It contains no
// text that the service wrote. Its colour is that of the advice alone, because a service may show its badge anywhere: the
// advice knows whether the service is up, and how often it was.
func NewBadge(d *site.ServiceDetail, colours Colours) site.Badge {
	state, level := display.Status(d.Status), d.Assessment.Advice.Level
	b := site.Badge{SchemaVersion: 1, Label: "x402", Message: state}
	if up := display.Percent(d.Uptime.D30); up != "" {
		b.Message += ", " + up + " uptime over 30 days"
	}
	if words := strings.ToLower(display.AdviceLevel(level)); level != site.AdviceGood && words != b.Message {
		b.Message = words + ": " + b.Message
	}
	b.Color = colours.OfAdvice(level)
	return b
}

// OfAdvice returns the colour of a level of site.Advice.
func (c *Colours) OfAdvice(level string) string {
	switch level {
	case site.AdviceGood:
		return c.Up
	case site.AdviceCaution:
		return c.Degraded
	case site.AdviceDoNotPay:
		return c.Danger
	}
	return c.Unknown
}

// Sizes of a badge in pixels. textLength fixes the width of the text, whatever font the reader has.
const (
	height = 20
	letter = 6.5
	edge   = 6
)

// BadgeSVG returns a badge as a picture.
func BadgeSVG(of site.Badge) []byte {
	width := func(s string) int { return int(letter*float64(len([]rune(s)))) + 2*edge }
	left, right := width(of.Label), width(of.Message)
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s: %s"><title>%s: `+
			`%s</title>`, left+right, height, of.Label, of.Message, of.Label, of.Message)
	fmt.Fprintf(&b,
		`<rect width="%d" height="%d" rx="3" fill="#1b1f27"/><path d="M%d 0h%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz" `+
			`fill="%s"/>`, left+right, height, left, right-3, right-3, of.Color)
	fmt.Fprintf(&b,
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14" `+
			`textLength="%d">%s</text><text x="%d" y="14" textLength="%d">%s</text></g></svg>`+"\n",
		edge, left-2*edge, of.Label, left+edge, right-2*edge, of.Message)
	return b.Bytes()
}
