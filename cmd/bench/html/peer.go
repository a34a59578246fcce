package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/sync/errgroup"

	"tollbook/render"
	"tollbook/site"
)

const hugoModule = "github.com/gohugoio/hugo@v0.160.0"

// write writes the facts, completed for the peer by values of our pages.
func (b *bench) write() error {
	records := make([]*record, b.services)
	items := make([]site.ServiceListItem, b.services)
	for i := range records {
		records[i] = service(i)
		items[i] = item(&records[i].Detail)
	}
	renderer, err := newRenderer(items)
	if err != nil {
		return err
	}
	b.renderer, b.items = renderer, items
	lines := make([][]byte, len(records))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range records {
		g.Go(func() error {
			if err := r.complete(renderer); err != nil {
				return fmt.Errorf("make service %d: %w", i, err)
			}
			records[i] = nil
			var err error
			lines[i], err = json.Marshal(r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all := append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
	if err := os.WriteFile(recordsFile(b.dir), all, 0o644); err != nil {
		return err
	}
	rows, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return os.WriteFile(itemsFile(b.dir), rows, 0o644)
}

// complete reads off our page what the peer is given ready.
func (r *record) complete(renderer *render.Renderer) error {
	l, err := r.listing()
	if err != nil {
		return err
	}
	page, err := renderer.ServicePage(renderer.DescribeService(l), renderer.Neighbours(&l.Item))
	if err != nil {
		return err
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return err
	}
	g := &r.Computed
	for i, code := range r.Detail.Networks {
		n := networkOf(r.Detail.NetworksCAIP2[i])
		g.Chips = append(g.Chips, chip{n.Name, n.Name, code + ", " + n.ID})
	}
	n := networkOf(r.Detail.NetworksCAIP2[0])
	g.First = chip{n.Name, n.Name, n.ID}
	programs := doc.Find(".endpoint")
	for i, e := range r.Detail.Endpoints {
		s := shown{Pay: programs.Eq(i).Find(".paid pre").Text()}
		for _, p := range e.Pricing {
			n := networkOf(p.Network)
			s.On = append(s.On, chip{n.Name, n.Name, n.ID})
		}
		g.Endpoints = append(g.Endpoints, s)
	}
	doc.Find(".beside-it a").Each(func(_ int, s *goquery.Selection) {
		g.Beside = append(g.Beside, link{s.Text(), s.AttrOr("href", "")})
	})
	caption := func(section string) string {
		return doc.Find("section[aria-labelledby=" + section + "] figcaption").Text()
	}
	g.Prices, g.Uptime, g.Settled = caption("prices"), caption("uptime"), caption("settled")
	for _, plot := range doc.Find(".plot").EachIter() {
		title, err := goquery.OuterHtml(plot.Prev())
		if err != nil {
			return err
		}
		chart, err := goquery.OuterHtml(plot)
		if err != nil {
			return err
		}
		g.Charts = append(g.Charts, title+chart)
	}
	g.Linked = doc.Find("script[type='application/ld+json']").Text()
	return nil
}

func networkOf(id string) *site.Network {
	for i := range networks {
		if networks[i].ID == id {
			return &networks[i]
		}
	}
	return &site.Network{ID: id, Name: id}
}
