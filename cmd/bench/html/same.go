package html

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"tollbook/render"
	"tollbook/site"
)

// same checks, on some pages of each kind, that hugo's pages contain everything that ours contain.
func (b *bench) same(ctx context.Context) error {
	if _, err := b.peer(ctx); err != nil {
		return err
	}
	defer func() { // remove the result of hugo, which was not a run
		clear(b.peaks)
		clear(b.cpu)
	}()
	var faults []error
	compared, facts := 0, 0
	look := func(theirs string, page []byte, err error, parts ...string) {
		if err != nil {
			faults = append(faults, err)
			return
		}
		other, err := os.ReadFile(filepath.Join(b.out("hugo"), filepath.FromSlash(theirs)))
		if err != nil {
			faults = append(faults, err)
			return
		}
		want, got := information(page, parts), information(other, parts)
		var lacks []string
		for fact := range want {
			if !got[fact] {
				lacks = append(lacks, fact)
			}
		}
		slices.Sort(lacks)
		if len(lacks) > 0 || len(want) == 0 {
			faults = append(faults, fmt.Errorf("of %d words, times and paths of ours, %s lacks %q", len(want),
				theirs, lacks))
		}
		compared++
		facts += len(want)
	}
	for _, i := range []int{0, 1, 2, 13, b.services / 2, b.services - 1} {
		r := service(i)
		l, err := r.listing()
		if err != nil {
			return err
		}
		page, err := b.renderer.ServicePage(b.renderer.DescribeService(l), b.renderer.Neighbours(&l.Item))
		look("services/"+r.Detail.Slug+"/index.html", page, err, "title", "meta[name=description]", "main", "footer",
			"script")
	}
	ordered := make([]*site.ServiceListItem, len(b.items))
	for i := range b.items {
		ordered[i] = &b.items[i]
	}
	site.Sort(ordered, site.OrderNewest)
	page, err := b.renderer.ServicesPage(ordered[:render.PageRows],
		site.NewPaginationMeta(len(ordered), 1, render.PageRows), site.OrderNewest)
	look("index.html", page, err, "h1", ".intro", "#found", "table.services", "footer")
	for _, g := range []*render.Group{b.renderer.Groups()[0], b.renderer.Groups()[len(b.renderer.Groups())-1]} {
		page, err := b.renderer.GroupPage(g, 1)
		at := strings.TrimPrefix(g.Key(1), "/")
		folder, _, _ := strings.Cut(at, "/")
		doc, parseErr := goquery.NewDocumentFromReader(bytes.NewReader(page))
		if parseErr != nil {
			return parseErr
		}
		name := strings.ReplaceAll(strings.ToLower(doc.Find("h1 bdi").Text()), " ", "-")
		look(folder+"/"+name+"/index.html", page, err, "h1", ".figures", "#services", "table.services", "footer")
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("hugo's pages lack parts of ours; change the templates in cmd/bench/html/site:\n%w", err)
	}
	log.Printf("hugo's pages contain all %d words, times and paths of %d pages of ours", facts, compared)
	return nil
}

// information returns the information in parts of a page: visible and spoken words, times, and the paths of charts.
func information(page []byte, parts []string) map[string]bool {
	facts := map[string]bool{}
	words := func(text string) {
		for _, w := range strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")) {
			if w = strings.Trim(w, ".,;:()"); w != "" {
				facts[w] = true
			}
		}
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return nil
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			words(n.Data)
		}
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
			switch a.Key {
			case "title", "aria-label", "datetime", "content", "alt":
				words(a.Val)
			}
		}
		if n.Data == "path" {
			facts[at["class"]+" "+at["d"]] = true
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, part := range parts {
		for _, n := range doc.Find(part).Nodes {
			walk(n)
		}
	}
	return facts
}
