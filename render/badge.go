package render

import (
	"bytes"
	"fmt"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
)

// badgeKey returns the key of a badge, ".svg" or ".json".
func badgeKey(slug, ext string) string { return "services/" + slug + "/badge" + ext }

// ServiceFiles returns the files beside a service's page: its Markdown page, its badge as an image and as JSON, and its
// feeds.
func (e *ServiceRenderer) ServiceFiles(l *ServiceText) ([]Asset, error) {
	b := badge(&l.Detail)
	data, err := encode.Line(b)
	if err != nil {
		return nil, err
	}
	feeds, err := e.ServiceFeeds(l)
	return append([]Asset{e.ServiceMarkdown(l), {badgeKey(l.Detail.Slug, ".svg"), badgeSVG(b)},
		{badgeKey(l.Detail.Slug, ".json"), data}}, feeds...), err
}

// ServiceKeys returns the keys of all rendered files of a service: its page and what ServiceFiles returns.
func ServiceKeys(slug string) []string {
	page := serviceKey(slug)
	return []string{page, markdownKey(page), badgeKey(slug, ".svg"), badgeKey(slug, ".json"),
		serviceFeedKey(slug, ".xml"),
		serviceFeedKey(slug, ".json")}
}

// badgeColors maps a state to its colour on white, from the light scheme of the stylesheet.
var badgeColors = map[string]string{
	site.StatusOnline: "#1b7a48", site.StatusDegraded: "#8f5600", site.StatusOffline: "#b3261e",
	site.StatusUnknown: "#646a75",
}

// badge returns the state and the uptime of 30 days. It contains no text that the service wrote.
func badge(d *site.ServiceDetail) site.Badge {
	state := display.Status(d.Status)
	b := site.Badge{SchemaVersion: 1, Label: "x402", Message: state, Color: badgeColors[state]}
	if up := display.Percent(d.Uptime.D30); up != "" {
		b.Message += ", " + up + " uptime over 30 days"
	}
	return b
}

// Sizes of a badge in pixels. textLength fixes the width of the text, whatever font the reader has.
const (
	badgeHeight = 20
	badgeLetter = 6.5
	badgeEdge   = 6
)

func badgeSVG(of site.Badge) []byte {
	width := func(s string) int { return int(badgeLetter*float64(len([]rune(s)))) + 2*badgeEdge }
	left, right := width(of.Label), width(of.Message)
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s: %s"><title>%s: `+
			`%s</title>`, left+right, badgeHeight, of.Label, of.Message, of.Label, of.Message)
	fmt.Fprintf(&b,
		`<rect width="%d" height="%d" rx="3" fill="#1b1f27"/><path d="M%d 0h%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz" `+
			`fill="%s"/>`, left+right, badgeHeight, left, right-3, right-3, of.Color)
	fmt.Fprintf(&b,
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14" `+
			`textLength="%d">%s</text><text x="%d" y="14" textLength="%d">%s</text></g></svg>`+"\n",
		badgeEdge, left-2*badgeEdge, of.Label, left+badgeEdge, right-2*badgeEdge, of.Message)
	return b.Bytes()
}
