// This file writes sitemaps for search engines (https://www.sitemaps.org/protocol.html).
//
// It must never know a route or a service.

package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// maxURLs is the largest number of URLs in a sitemap. A larger directory has an index of several.
const maxURLs = 50_000

// sitemapPage is a page in a sitemap, with the time of its newest fact in RFC 3339.
type sitemapPage struct {
	XMLName struct{} `xml:"url"`
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
}

// part is a sitemap in an index.
type part struct {
	XMLName struct{} `xml:"sitemap"`
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
}

// writeSitemap returns the sitemap of pages under a key. With more than maxURLs pages it is an index, followed by its
// parts. address returns the URL of a key.
func writeSitemap(key string, pages []sitemapPage, address func(key string) string) ([]Asset, error) {
	if len(pages) <= maxURLs {
		data, err := encodeSitemap("urlset", pages)
		return []Asset{{key, data}}, err
	}
	var files []Asset
	var parts []part
	for n := 0; n*maxURLs < len(pages); n++ {
		some := pages[n*maxURLs : min((n+1)*maxURLs, len(pages))]
		data, err := encodeSitemap("urlset", some)
		if err != nil {
			return nil, err
		}
		partKey := fmt.Sprintf("sitemaps/%d.xml", n+1)
		newest := some[0].LastMod
		for _, p := range some {
			newest = max(newest, p.LastMod) // times in RFC 3339 sort as text
		}
		files = append(files, Asset{partKey, data})
		parts = append(parts, part{Loc: address(partKey), LastMod: newest})
	}
	data, err := encodeSitemap("sitemapindex", parts)
	return append([]Asset{{key, data}}, files...), err
}

func encodeSitemap[T any](root string, entries []T) ([]byte, error) {
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
