// Package badge makes the badge of a service: its state and uptime, as data and as a picture.
//
// It must never know a page or a key.
package badge

import (
	"bytes"
	"fmt"

	"tollbook/site"
	"tollbook/site/display"
)

// colors maps a state to its colour on white, from the light scheme of the stylesheet.
var colors = map[string]string{
	site.StatusOnline: "#1b7a48", site.StatusDegraded: "#8f5600", site.StatusOffline: "#b3261e",
	site.StatusUnknown: "#646a75",
}

// New returns a badge with the state and the uptime of 30 days. It contains no text that the service wrote.
func New(d *site.ServiceDetail) site.Badge {
	state := display.Status(d.Status)
	b := site.Badge{SchemaVersion: 1, Label: "x402", Message: state, Color: colors[state]}
	if up := display.Percent(d.Uptime.D30); up != "" {
		b.Message += ", " + up + " uptime over 30 days"
	}
	return b
}

// Sizes of a badge in pixels. textLength fixes the width of the text, whatever font the reader has.
const (
	height = 20
	letter = 6.5
	edge   = 6
)

// SVG returns a badge as a picture.
func SVG(of site.Badge) []byte {
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
