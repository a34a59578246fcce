package render

import (
	"crypto/sha1"
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Keys of the feeds of all changes: Atom and JSON Feed.
const (
	FeedFile     = "feed.xml"
	JSONFeedFile = site.FeedFile
)

// serviceFeedEntries is how many records a service's own feeds hold.
const serviceFeedEntries = 20

// feedLines is how many lines of a record an entry shows.
const feedLines = 25

// feedEntry is a record in a feed. Addresses and the time are as they stand there.
type feedEntry struct {
	ID, Title, At, Page, Data, Tag, Text string
}

// feed is change records, newest first, to be written as Atom and as a JSON Feed.
type feed struct {
	Title, About string
	Atom, JSON   string // keys
	Page, Data   string // the same for readers, and as JSON: addresses
	Since        string // what Updated is without a record
	Entries      []feedEntry
}

// Feeds are the newest change records of all services, as Atom and as a JSON Feed. An entry's id depends on the record
// alone; what a service says of itself stands in quotation marks, as text.
func (e *Edition) Feeds() ([]Asset, error) {
	s := e.pages.site
	f := feed{
		Title: s.Title + ": changes",
		About: "Changed prices, recipients and ways to pay of the services in this directory.", Atom: FeedFile,
		JSON: JSONFeedFile,
		Page: s.BaseURL + "/", Data: s.BaseURL + "/v1/changes", Since: e.snapshot.Now.String(),
	}
	for _, r := range e.snapshot.Changes.Feed {
		f.Entries = append(f.Entries, e.feedEntry(r, e.change(r, e.unitsOf(r.Slug))))
	}
	return e.feeds(f)
}

// unitsOf are those of a service, by its slug.
func (e *Edition) unitsOf(slug string) units {
	if l := e.service(slug); l != nil && l.ListingDetail != nil {
		return unitsOf(&l.Detail)
	}
	return nil
}

// ServiceFeeds are the same of one service; there are always two, so that one can subscribe before anything has
// changed.
func (e *Surroundings) ServiceFeeds(l *Told) ([]Asset, error) {
	d := &l.Detail
	s := e.pages.site
	f := feed{
		Title: quoted(display.Name(display.Line(d.Name, display.MaxName))) + " in " + s.Title + ": changes",
		About: "Changed prices, recipients and ways to pay of one service.",
		Atom:  serviceFeedKey(d.Slug, ".xml"), JSON: serviceFeedKey(d.Slug, ".json"),
		Page: e.address(serviceKey(d.Slug)), Data: s.BaseURL + "/v1/changes?service=" + url.QueryEscape(d.Slug),
		Since: d.CreatedAt.String(),
	}
	for i, c := range l.changes[:min(serviceFeedEntries, len(l.changes))] {
		f.Entries = append(f.Entries, e.feedEntry(&l.Changes[i], c))
	}
	return e.feeds(f)
}

func serviceFeedKey(slug, ext string) string { return "services/" + slug + "/changes" + ext }

func (e *Surroundings) feeds(f feed) ([]Asset, error) {
	f.About += " Text in “quotation marks” is what services say of themselves."
	if e.pages.site.Sample {
		f.About += " All of it is sample data."
	}
	atom, err := e.atom(f)
	if err != nil {
		return nil, err
	}
	out, err := site.EncodeLine(e.jsonFeed(f))
	return []Asset{{f.Atom, atom}, {f.JSON, out}}, err
}

func (e *Surroundings) jsonFeed(f feed) site.Feed {
	s := e.pages.site
	out := site.Feed{Version: site.FeedVersion, Title: f.Title, Description: f.About, HomePageURL: f.Page,
		FeedURL:  e.address(f.JSON),
		Language: "en", Authors: []site.FeedAuthor{{Name: s.Title, URL: s.BaseURL + "/"}}, Items: []site.FeedItem{}}
	for _, entry := range f.Entries {
		out.Items = append(out.Items, site.FeedItem{ID: entry.ID, URL: entry.Page, Title: entry.Title,
			ContentText:   entry.Text,
			DatePublished: entry.At, Tags: []string{entry.Tag}})
	}
	return out
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

func (e *Surroundings) atom(f feed) ([]byte, error) {
	s := e.pages.site
	out := atomFeed{ID: e.address(f.Atom), Title: f.Title, Subtitle: f.About, Updated: f.Since,
		Author: atomAuthor{s.Title, s.BaseURL + "/"},
		Links: []atomLink{{"self", "application/atom+xml", e.address(f.Atom)}, {"alternate", "text/html", f.Page},
			{"alternate", "application/json", f.Data}},
		Rights: "CC BY 4.0, attribution required"}
	if len(f.Entries) > 0 {
		out.Updated = f.Entries[0].At
	}
	for _, entry := range f.Entries {
		out.Entries = append(out.Entries, atomEntry{
			ID: entry.ID, Title: entry.Title, Published: entry.At, Updated: entry.At, Category: atomCategory{entry.Tag},
			Content: atomContent{"text", entry.Text},
			Links:   []atomLink{{"alternate", "text/html", entry.Page}, {"alternate", "application/json", entry.Data}},
		})
	}
	data, err := xml.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.Atom, err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

func (e *Surroundings) feedEntry(r *site.ChangeRecord, c change) feedEntry {
	name := display.Line(r.Name, display.MaxName)
	if name == "" {
		name = r.Slug
	}
	base := e.pages.site.BaseURL
	return feedEntry{
		ID: changeID(r), Title: quoted(name) + ": " + strings.ToLower(c.Label) + " changed", At: r.ObservedAt.String(),
		Page: base + "/services/" + url.PathEscape(r.Slug),
		Data: base + "/v1/changes?service=" + url.QueryEscape(r.Slug) + "&type=" + url.QueryEscape(r.Type),
		Tag:  display.Line(r.Type, display.MaxCode), Text: c.short(feedLines).text(),
	}
}

// changeID names a record: a service has one of a type at a time.
func changeID(r *site.ChangeRecord) string {
	h := sha1.Sum([]byte("tollbook change\x00" + r.Slug + "\x00" + r.Type + "\x00" + r.ObservedAt.String()))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80 // version 5, by name
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// quoted marks a service's words, which cannot end their own quotation.
func quoted(s string) string { return "“" + unquoter.Replace(s) + "”" }

var unquoter = strings.NewReplacer("“", `"`, "”", `"`)

// text is the record as lines of plain text. Whatever a service wrote is quoted.
func (c change) text() string {
	var b strings.Builder
	for _, l := range c.Lines {
		var place, sides []string
		if l.What != "" {
			place = append(place, quoted(l.What))
		}
		if l.Network.Label != "" {
			place = append(place, "on "+quoted(l.Network.Label))
		}
		if l.Old != "" {
			sides = append(sides, "was "+quoted(l.Old))
		}
		if l.New != "" {
			sides = append(sides, "is "+quoted(l.New))
		}
		if len(place) > 0 {
			b.WriteString(strings.Join(place, " ") + ": ")
		}
		b.WriteString(strings.Join(sides, ", ") + "\n")
	}
	if c.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", c.More)
	}
	if b.Len() == 0 {
		return "No details are known."
	}
	return strings.TrimSuffix(b.String(), "\n")
}
