package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"tollbook/site"
)

// sitemapURLs is the largest number of URLs in a sitemap (https://www.sitemaps.org/protocol.html). A larger directory
// has an index of several.
const sitemapURLs = 50_000

// Robots returns robots.txt, which allows all pages and names the sitemap.
func (e *Renderer) Robots() []byte {
	return []byte("# Everything here may be crawled. For a description and the JSON API see " +
		e.address(site.LLMsFile) + "\n" +
		"User-agent: *\nAllow: /\n\nSitemap: " + e.address(SitemapFile) + "\n")
}

// sitemapPage is a page in a sitemap, with the time of its newest fact.
type sitemapPage struct {
	XMLName struct{} `xml:"url"`
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
}

// sitemapPart is a sitemap in an index.
type sitemapPart struct {
	XMLName struct{} `xml:"sitemap"`
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
}

// Sitemap returns sitemap.xml. With more than sitemapURLs pages it is an index, followed by its parts.
func (e *Renderer) Sitemap() ([]Asset, error) {
	pages := e.sitemapPages()
	if len(pages) <= sitemapURLs {
		data, err := sitemapXML("urlset", pages)
		return []Asset{{SitemapFile, data}}, err
	}
	var files []Asset
	var parts []sitemapPart
	for n := 0; n*sitemapURLs < len(pages); n++ {
		part := pages[n*sitemapURLs : min((n+1)*sitemapURLs, len(pages))]
		data, err := sitemapXML("urlset", part)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprintf("sitemaps/%d.xml", n+1)
		newest := part[0].LastMod
		for _, p := range part {
			newest = max(newest, p.LastMod) // times in RFC 3339 sort as text
		}
		files = append(files, Asset{key, data})
		parts = append(parts, sitemapPart{Loc: e.address(key), LastMod: newest})
	}
	data, err := sitemapXML("sitemapindex", parts)
	return append([]Asset{{SitemapFile, data}}, files...), err
}

// sitemapPages returns the pages of routes without parameters, then those of lists, groups, facilitators and services.
func (e *Renderer) sitemapPages() []sitemapPage {
	now := e.snapshot.Now.String()
	var pages []sitemapPage
	put := func(key, at string) { pages = append(pages, sitemapPage{Loc: e.address(key), LastMod: at}) }
	for i := range site.Routes {
		if r := &site.Routes[i]; r.Ext == ".html" && !strings.Contains(r.Pattern, "{") {
			put(bareKey(r.Name, ""), now)
		}
	}
	for _, t := range e.pages.operatorPages {
		put(t.Key, now)
	}
	for n := 2; (n-1)*PageRows < len(e.snapshot.Services); n++ {
		put(listKey(n), now)
	}
	for _, g := range e.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			put(g.Key(n), now)
		}
	}
	for i := range e.snapshot.Facilitators {
		put(facilitatorKey(e.snapshot.Facilitators[i].FacilitatorID), now)
	}
	for i := range e.snapshot.Services {
		item := &e.snapshot.Services[i].Item
		at := item.CreatedAt
		if item.LastCheckedAt != nil && item.LastCheckedAt.After(at.Time) {
			at = *item.LastCheckedAt
		}
		put(serviceKey(item.Slug), at.String())
	}
	return pages
}

func sitemapXML[T any](root string, entries []T) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<" + root + ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	to := xml.NewEncoder(&b)
	for _, entry := range entries {
		if err := to.Encode(entry); err != nil {
			return nil, fmt.Errorf("encode sitemap: %w", err)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</" + root + ">\n")
	return b.Bytes(), nil
}
