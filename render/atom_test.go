package render

import (
	"encoding/xml"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type (
	xmlLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	xmlFeed struct {
		XMLName  xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string   `xml:"id"`
		Title    string   `xml:"title"`
		Subtitle string   `xml:"subtitle"`
		Updated  string   `xml:"updated"`
		Author   struct {
			Name string `xml:"name"`
			URI  string `xml:"uri"`
		} `xml:"author"`
		Links   []xmlLink  `xml:"link"`
		Rights  string     `xml:"rights"`
		Entries []xmlEntry `xml:"entry"`
	}
	xmlEntry struct {
		ID        string    `xml:"id"`
		Title     string    `xml:"title"`
		Published string    `xml:"published"`
		Updated   string    `xml:"updated"`
		Links     []xmlLink `xml:"link"`
		Category  struct {
			Term string `xml:"term,attr"`
		} `xml:"category"`
		Content struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
		} `xml:"content"`
	}
)

// TestAtomByHand: what is written by hand is what encoding/xml writes.
func TestAtomByHand(t *testing.T) {
	t.Parallel()
	pages, err := NewPages(Site{Title: "A <title> & \"more\"", BaseURL: "https://tollbook.example/a"})
	if err != nil {
		t.Fatal(err)
	}
	e := &Surroundings{pages: pages}
	text := rapid.OneOf(rapid.StringMatching(`[ -~]*`), rapid.String(), rapid.SampledFrom([]string{"", "\r\n\t", "\x00\xff\ufffe", "'&<>\"", "“a”\nb"}))
	rapid.Check(t, func(t *rapid.T) {
		f := feed{Title: text.Draw(t, "title"), About: text.Draw(t, "about"), Atom: "changes.xml", Page: text.Draw(t, "page"), Data: text.Draw(t, "data"), Since: text.Draw(t, "since")}
		want := xmlFeed{ID: e.address(f.Atom), Title: f.Title, Subtitle: f.About, Updated: f.Since, Rights: "CC BY 4.0, attribution required",
			Links: []xmlLink{{"self", "application/atom+xml", e.address(f.Atom)}, {"alternate", "text/html", f.Page}, {"alternate", "application/json", f.Data}}}
		want.Author.Name, want.Author.URI = pages.site.Title, pages.site.BaseURL+"/"
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			r := feedEntry{ID: text.Draw(t, "id"), Title: text.Draw(t, "entry's title"), At: text.Draw(t, "at"), Page: text.Draw(t, "entry's page"), Data: text.Draw(t, "entry's data"), Tag: text.Draw(t, "tag"), Text: text.Draw(t, "text")}
			f.Entries = append(f.Entries, r)
			row := xmlEntry{ID: r.ID, Title: r.Title, Published: r.At, Updated: r.At, Links: []xmlLink{{"alternate", "text/html", r.Page}, {"alternate", "application/json", r.Data}}}
			row.Category.Term, row.Content.Type, row.Content.Text = r.Tag, "text", r.Text
			if want.Entries = append(want.Entries, row); i == 0 {
				want.Updated = r.At
			}
		}
		text, err := xml.MarshalIndent(want, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(xml.Header+string(text)+"\n", string(e.atom(f))); diff != "" {
			t.Fatalf("(-encoding/xml +by hand):\n%s", diff)
		}
	})
}
