package render

import (
	"bytes"
	"crypto/sha1"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
)

// FeedFile is the key of the Atom feed of changes.
const FeedFile = "feed.xml"

// feedLines is how many lines of a record an entry shows.
const feedLines = 25

// The elements of an Atom feed that this one has (RFC 4287).
type (
	atomFeed struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   atomPerson  `xml:"author"`
		Links    []atomLink  `xml:"link"`
		Rights   string      `xml:"rights"`
		Entries  []atomEntry `xml:"entry"`
	}
	atomEntry struct {
		ID        string       `xml:"id"`
		Title     string       `xml:"title"`
		Published string       `xml:"published"`
		Updated   string       `xml:"updated"`
		Links     []atomLink   `xml:"link"`
		Category  atomCategory `xml:"category"`
		Content   atomText     `xml:"content"`
	}
	atomPerson struct {
		Name string `xml:"name"`
		URI  string `xml:"uri"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// Feed is the newest change records of all services as Atom. An entry's id depends on the record alone; what a service
// says of itself stands in quotation marks, as text.
func (e *Edition) Feed() ([]byte, error) {
	s := e.pages.site
	about := "Changed prices, recipients and ways to pay of the services in this directory. Text in “quotation marks” is what services say of themselves."
	if s.Sample {
		about += " All of it is sample data."
	}
	f := atomFeed{
		ID: s.BaseURL + "/" + FeedFile, Title: s.Title + ": changes", Subtitle: about, Updated: e.snapshot.Now.String(),
		Author: atomPerson{Name: s.Title, URI: s.BaseURL + "/"},
		Links: []atomLink{
			{"self", "application/atom+xml", s.BaseURL + "/" + FeedFile},
			{"alternate", "text/html", s.BaseURL + "/"},
			{"alternate", "application/json", s.BaseURL + "/v1/changes"},
		},
		Rights: "CC BY 4.0, attribution required",
	}
	for i, r := range e.snapshot.Changes.Feed {
		if i == 0 {
			f.Updated = r.ObservedAt.String()
		}
		f.Entries = append(f.Entries, e.feedEntry(r))
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	x := xml.NewEncoder(&b)
	x.Indent("", " ")
	if err := x.Encode(f); err != nil {
		return nil, fmt.Errorf("encode feed: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func (e *Edition) feedEntry(r *site.ChangeRecord) atomEntry {
	var known units
	if i, ok := slices.BinarySearchFunc(e.snapshot.Services, r.Slug, func(l site.Listing, slug string) int {
		return strings.Compare(l.Item.Slug, slug)
	}); ok {
		known = unitsOf(&e.snapshot.Services[i].Detail)
	}
	c := e.change(r, known, feedLines)
	name := words(r.Name, maxName)
	if name == "" {
		name = r.Slug
	}
	base := e.pages.site.BaseURL
	return atomEntry{
		ID: changeID(r), Title: quoted(name) + ": " + strings.ToLower(c.Label) + " changed", Published: r.ObservedAt.String(), Updated: r.ObservedAt.String(),
		Links: []atomLink{
			{"alternate", "text/html", base + "/services/" + url.PathEscape(r.Slug)},
			{"alternate", "application/json", base + "/v1/changes?service=" + url.QueryEscape(r.Slug) + "&type=" + url.QueryEscape(r.Type)},
		},
		Category: atomCategory{r.Type}, Content: atomText{"text", c.text()},
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
