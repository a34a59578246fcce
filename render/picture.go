package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"tollbook/render/card"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/templates"
)

// picture is the image of a page in previews of links.
type picture struct {
	Key           string
	Alt           string
	Width, Height int
}

// Sizes of icons in pixels.
const (
	touchIconSize = 180
	oldIconSize   = 32
)

// iconAccent is the colour in favicon.svg that readIcons replaces.
const iconAccent = "#1d3f8f"

// palette returns the colours of drawings: the light scheme of the stylesheet, or ours if it has no tokens.
func (p *Pages) palette() (card.Colours, error) {
	css, err := templates.FS.ReadFile("site.css")
	if err != nil {
		return card.Colours{}, fmt.Errorf("read stylesheet: %w", err)
	}
	ours, _ := colourSchemes(css)
	of := func(token string) string { return cmp.Or(p.light[token], ours[token]) }
	return card.Colours{Ground: of("tint"), Paper: of("paper"), Rule: of("rule"), Ink: of("ink"), Muted: of("ink-2"),
		Accent: of("link"), Up: of("up"), Degraded: of("degraded"), Danger: of("down"), Unknown: of("unknown")}, nil
}

// readIcons returns the icon of pages, and two for programs that do not know SVG: those of the operator, or drawn ones.
// If the operator replaces one of them, none is drawn.
func (p *Pages) readIcons() ([]Asset, error) {
	data, err := p.read(FaviconKey)
	if err != nil {
		return nil, fmt.Errorf("read icon: %w", err)
	}
	_, own := p.site.Templates[FaviconKey]
	if !own {
		data = bytes.ReplaceAll(data, []byte(iconAccent), []byte(p.colours.Accent))
	}
	icons := []Asset{{FaviconKey, data}}
	for _, key := range []string{touchIconKey, oldIconKey} {
		if data, brought := p.site.Templates[key]; brought {
			icons = append(icons, Asset{key, data})
		}
		own = own || p.site.Templates[key] != nil
	}
	if own {
		return icons, nil
	}
	touch, err := card.Icon(touchIconSize, p.colours)
	if err != nil {
		return nil, fmt.Errorf("draw icon: %w", err)
	}
	old, err := card.Icon(oldIconSize, p.colours)
	if err != nil {
		return nil, fmt.Errorf("draw icon: %w", err)
	}
	return append(icons, Asset{touchIconKey, touch}, Asset{oldIconKey, card.ICO(oldIconSize, old)}), nil
}

// cardSet contains the cards of a directory: its own and one for each category.
type cardSet struct {
	directory  picture
	categories map[string]picture
	files      []Asset
}

// picture returns the card of a page: its own, or that of its category. It returns that of the directory for "", for a
// category without services, and for a name that cannot be drawn.
func (d *cardSet) picture(p *page) picture {
	if p.Card != "" {
		return picture{p.Card, p.Preview, card.ServiceWidth, card.ServiceHeight}
	}
	if one, ok := d.categories[p.Category]; ok {
		return one
	}
	return d.directory
}

// serviceCardKey returns the key of a service's card.
func serviceCardKey(slug string) string { return "services/" + slug + "/card.png" }

// serviceCard returns the card of a service: its name, its lowest price and the verdict on it. The slug stands for a
// name that cannot be drawn.
func (e *ServiceRenderer) serviceCard(d *site.ServiceDetail) (Asset, error) {
	s := &e.pages.site
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return Asset{}, fmt.Errorf("parse base address: %w", err)
	}
	c := card.Service{Site: cardText(s.Title, "x402"), Host: base.Host + base.Path, Colours: e.pages.colours,
		Name: cardText(display.Name(d.Name), d.Slug), Level: d.Assessment.Advice.Level,
		Verdict: display.AdviceLevel(d.Assessment.Advice.Level)}
	if d.MinPriceUSD != nil {
		c.Price = "from " + display.Dollars(*d.MinPriceUSD) + " a request"
	}
	if s.Sample {
		c.Note = "Sample data"
	}
	key := serviceCardKey(d.Slug)
	if e.Previous != nil {
		if data, err := e.Previous(key); err == nil && c.IsDrawn(data) {
			return Asset{key, data}, nil
		}
	}
	data, err := c.PNG()
	return Asset{key, data}, err
}

// Pictures returns the cards of the directory and of its categories as files. ServiceFiles has those of services.
func (e *Renderer) Pictures() ([]Asset, error) {
	d, err := e.cards()
	if err != nil {
		return nil, err
	}
	return d.files, nil
}

// maxCards limits the cards of categories, the largest first. standardTitle is on the card of a directory whose
// operator does not describe it.
const (
	maxCards      = 100
	standardTitle = "What services charge per request, and whether they answer"
)

// draw draws the cards, on all cores.
func (e *Renderer) draw() (*cardSet, error) {
	s := &e.pages.site
	colours := e.pages.colours
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse base address: %w", err)
	}
	c := card.Card{Site: cardText(s.Title, "x402"), Title: standardTitle, Host: base.Host + base.Path, Colours: colours}
	if s.Description != standardDescription {
		c.Title = cardText(s.Description, standardTitle)
	}
	if s.Sample {
		c.Note = "Sample data"
	}
	cards, names := []card.Card{c}, []string{""}
	alts, stems := []string{s.Title + ": " + display.Line(s.Description, display.MaxBlurb)}, []string{"card"}
	largest := slices.Clone(e.categories)
	slices.SortStableFunc(largest, func(a, b *Group) int { return cmp.Compare(b.figures.Services, a.figures.Services) })
	for _, g := range largest[:min(maxCards, len(largest))] {
		of := c
		if of.Title = cardText(g.name, ""); of.Title == "" {
			continue
		}
		of.Title, of.Line = of.Title+" services", "Prices, uptime and changes of services that charge per request"
		cards, names, stems = append(cards, of), append(names, g.name), append(stems, "card-"+g.Slug)
		alts = append(alts, display.Line(g.name, display.MaxName)+" services in "+s.Title)
	}
	files := make([]Asset, len(cards))
	faults := make([]error, len(cards))
	var group sync.WaitGroup
	for i := range cards {
		group.Go(func() {
			var data []byte
			data, faults[i] = cards[i].PNG()
			files[i] = Asset{hashedKey(stems[i], ".png", data), data}
		})
	}
	group.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	d := &cardSet{categories: map[string]picture{}, files: files}
	for i, f := range files {
		one := picture{f.Key, alts[i], card.Width, card.Height}
		switch {
		case i == 0:
			d.directory = one
		default:
			d.categories[names[i]] = one
		}
	}
	return d, nil
}

// cardText returns text for a card, on one line, or instead if a character of s cannot be drawn.
func cardText(s, instead string) string {
	if s = display.Line(s, display.MaxBlurb); s == "" || !card.CanDraw(strings.TrimSuffix(s, "…")) {
		return instead
	}
	return s
}
