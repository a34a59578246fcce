package render

import (
	"cmp"
	"strings"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/site/display"
)

const (
	kindMarket  = "market"
	marketRoute = "market-page"
)

// marketBody is the body of the page of the market.
type marketBody struct {
	money.Market
	Services []volumeChange // whose volume changed most, of those with enough of it
	Pictures []marketPicture
}

// marketPicture is a chart that other sites can embed.
type marketPicture struct {
	By, Key, Title string
	Width, Height  int
	Embed          string // a line of HTML
}

// MarketPage returns market.html: who settles how much where, what changed, and what is bought.
func (e *Renderer) MarketPage() ([]byte, error) {
	body := marketBody{Market: e.market()}
	body.Services = largestVolumeChanges(e.snapshot, body.Floor.Rational())
	for _, split := range e.volumeDays().Shown() {
		p := marketPicture{By: split.By, Key: money.PictureKey(split.By), Title: split.PictureTitle(),
			Width: chart.PictureWidth, Height: chart.PictureHeight}
		p.Embed = `<a href="` + e.address(bareKey(marketRoute, "")) + `"><img src="` + e.address(p.Key) + `" alt="` +
			p.Title + `" width="` + display.Number(int64(p.Width)) + `" height="` + display.Number(int64(p.Height)) + `"></a>`
		body.Pictures = append(body.Pictures, p)
	}
	return e.render(page{
		Key: bareKey(marketRoute, ""), Kind: kindMarket, JSON: bareKey("coverage", ""), Title: "Market",
		HasMarkdown: true,
		Description: "Who settles x402 payments on which network, whose volume changed most, and what is bought in each " +
			"category, as read from blockchains.",
		Body: body,
	})
}

func (e *Renderer) market() money.Market {
	category := func(name string) string { return e.shared.Categories[name] }
	return money.NewMarket(e.snapshot, e.shared.Networks.Chip, category)
}

// pictureSource returns the line below a picture.
func (e *Renderer) pictureSource() string {
	_, host, _ := strings.Cut(e.pages.site.BaseURL, "//")
	line := e.pages.site.Title + ", " + host + ", " + e.snapshot.Now.UTC().Format(display.DayLayout) + ", CC BY 4.0"
	if e.pages.site.Sample {
		line += ". Sample data"
	}
	return line
}

// chartColours returns the colours of pictures of charts: those of the light scheme.
func (p *Pages) chartColours() chart.PictureColours {
	of := func(token, ours string) string { return cmp.Or(p.light[token], ours) }
	c := chart.PictureColours{Ground: of("paper", "#fbfaf6"), Ink: of("ink", "#1b1f27"), Muted: of("ink-2", "#565c68"),
		Rule: of("rule", "#dedacd"), Others: of("part-other", "#1b1f27")}
	for i := range c.Parts {
		c.Parts[i] = of(chart.PartToken(i), c.Ink)
	}
	return c
}
