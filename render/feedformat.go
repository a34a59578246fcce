// This part of the package writes feeds of changes, as Atom and as JSON Feed.
//
// It must never know a page, a key or a service.

package render

import (
	"cmp"
	"encoding/xml"
	"fmt"

	"tollbook/site"
	"tollbook/site/encode"
)

// feedDocument is a feed. All links are addresses.
type feedDocument struct {
	Title, About string
	Author, Home string // name and address of the directory
	Atom, JSON   string // the feed in both formats
	Page, Data   string // the same changes for readers and as JSON
	Since        string // time of the last change if there is no entry, RFC 3339
	Entries      []feedEntry
}

// feedEntry is a change.
type feedEntry struct {
	ID, Title  string
	Time       string // RFC 3339
	Updated    string // of the last change of the entry; "" for Time
	Page, Data string // the change for readers and as JSON
	Tag, Text  string
}

// EncodeJSON returns the feed as a JSON Feed.
func (f *feedDocument) EncodeJSON() ([]byte, error) {
	out := site.Feed{
		Version: site.FeedVersion, Title: f.Title, Description: f.About, HomePageURL: f.Page, FeedURL: f.JSON,
		Language: "en", Authors: []site.FeedAuthor{{Name: f.Author, URL: f.Home}}, Items: []site.FeedItem{},
	}
	for _, e := range f.Entries {
		out.Items = append(out.Items, site.FeedItem{
			ID: e.ID, URL: e.Page, Title: e.Title, ContentText: e.Text, DatePublished: e.Time, Tags: []string{e.Tag},
		})
	}
	return encode.Line(out)
}

// Elements of Atom (RFC 4287).
type (
	atomFeed struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   atomAuthor  `xml:"author"`
		Links    []atomLink  `xml:"link"`
		Rights   string      `xml:"rights"`
		Entries  []atomEntry `xml:"entry"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
		URI  string `xml:"uri"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomEntry struct {
		ID        string       `xml:"id"`
		Title     string       `xml:"title"`
		Published string       `xml:"published"`
		Updated   string       `xml:"updated"`
		Links     []atomLink   `xml:"link"`
		Category  atomCategory `xml:"category"`
		Content   atomContent  `xml:"content"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomContent struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// EncodeAtom returns the feed as Atom.
func (f *feedDocument) EncodeAtom() ([]byte, error) {
	out := atomFeed{
		ID: f.Atom, Title: f.Title, Subtitle: f.About, Updated: f.Since, Author: atomAuthor{f.Author, f.Home},
		Links: []atomLink{
			{"self", "application/atom+xml", f.Atom},
			{"alternate", "text/html", f.Page},
			{"alternate", "application/json", f.Data},
		},
		Rights: "CC BY 4.0, attribution required",
	}
	if len(f.Entries) > 0 {
		out.Updated = ""
	}
	for _, e := range f.Entries {
		updated := cmp.Or(e.Updated, e.Time)
		out.Updated = max(out.Updated, updated)
		out.Entries = append(out.Entries, atomEntry{
			ID: e.ID, Title: e.Title, Published: e.Time, Updated: updated, Category: atomCategory{e.Tag},
			Content: atomContent{"text", e.Text},
			Links:   []atomLink{{"alternate", "text/html", e.Page}, {"alternate", "application/json", e.Data}},
		})
	}
	data, err := xml.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.Atom, err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}
