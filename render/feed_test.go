package render_test

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	"tollbook/site"
)

// atom is the part of a feed that feed readers use.
type atom struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  struct {
		Name string `xml:"name"`
	} `xml:"author"`
	Links   []atomLink `xml:"link"`
	Entries []struct {
		ID        string     `xml:"id"`
		Title     string     `xml:"title"`
		Updated   string     `xml:"updated"`
		Published string     `xml:"published"`
		Links     []atomLink `xml:"link"`
		Content   struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
		} `xml:"content"`
	} `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

func readFeed(t *testing.T, s *site.Snapshot, of render.Site) (atom, string) {
	t.Helper()
	pages, err := render.NewPages(of)
	if err != nil {
		t.Fatal(err)
	}
	files, err := pages.NewRenderer(s).Feeds()
	if err != nil {
		t.Fatal(err)
	}
	data := files[0].Bytes
	var f atom
	if err := xml.Unmarshal(data, &f); err != nil {
		t.Fatalf("not XML: %v\n%s", err, data)
	}
	return f, string(data)
}

func changeOf(slug, name string, at time.Time, kind string, summary any) *site.ChangeRecord {
	text, err := json.Marshal(summary)
	if err != nil {
		panic(err)
	}
	return &site.ChangeRecord{Slug: slug, Name: name, Type: kind, ObservedAt: site.NewTime(at), Summary: text}
}

// TestFeed checks what RFC 4287 requires of a feed and its entries, that text of services is in quotation marks, and
// that ids are stable across builds and addresses.
func TestFeed(t *testing.T) {
	t.Parallel()
	s := world()
	first, second := "0x1111111111111111111111111111111111111111", "0x2222222222222222222222222222222222222222"
	s.Changes.Feed = []*site.ChangeRecord{
		changeOf("acme", "Acme Quotes", now.Add(-time.Hour), site.PriceChanged,
			site.PriceSummary{PriceChanges: []site.PriceChange{
				{Network: base, Endpoint: "GET /quote", OldPrice: "10000", NewPrice: "20000", AssetName: "UNKNOWN"}}}),
		changeOf("acme", "Acme Quotes", now.Add(-time.Hour), site.PayToChanged,
			site.PayToSummary{PayToChanges: []site.RecipientChange{
				{Network: base, Endpoint: "GET /a", OldPayTo: &first, NewPayTo: &second},
				{Network: base, Endpoint: "GET /b", OldPayTo: &first, NewPayTo: &second},
				{Network: base, Endpoint: "GET /b", NewPayTo: &first}}}),
		changeOf("nasty", "”"+hostile, now.Add(-2*time.Hour), site.SchemaChanged,
			site.SchemaSummary{EndpointsAdded: []string{"GET /" + hostile}}),
		{Slug: "", Type: "other", ObservedAt: ago(3 * time.Hour), Summary: json.RawMessage("7")},
	}
	f, text := readFeed(t, s, render.Site{BaseURL: "https://tollbook.example/dir"})
	if f.ID != "https://tollbook.example/dir/feed.xml" || f.Title != "Tollbook: changes" ||
		f.Author.Name != "Tollbook" || f.Updated != "2026-11-20T22:45:01.000Z" {
		t.Errorf("feed %+v", f)
	}
	if f.Links[0] != (atomLink{"self", "application/atom+xml", f.ID}) {
		t.Errorf("it links to itself as %+v", f.Links[0])
	}
	seen := map[string]bool{}
	for _, e := range f.Entries {
		if seen[e.ID] || !strings.HasPrefix(e.ID, "urn:uuid:") || len(e.ID) != 45 {
			t.Errorf("id %s", e.ID)
		}
		seen[e.ID] = true
		at, err := time.Parse(time.RFC3339, e.Updated)
		if err != nil || e.Published != e.Updated || at.After(now) {
			t.Errorf("%s: updated %s, published %s, %v", e.Title, e.Updated, e.Published, err)
		}
		for _, l := range e.Links {
			u, err := url.Parse(l.Href)
			if err != nil || u.Host != "tollbook.example" || !strings.HasPrefix(u.Path, "/dir/") ||
				l.Rel != "alternate" {
				t.Errorf("%s: link %+v, %v", e.Title, l, err)
			}
		}
		if e.Content.Type != "text" || e.Content.Text == "" {
			t.Errorf("%s: content %+v", e.Title, e.Content)
		}
		if strings.Count(e.Title, "“") != 1 || strings.Count(e.Title, "”") != 1 ||
			strings.ContainsAny(e.Title+e.Content.Text, "\u202e\u2066\u0000\u0007") {
			t.Errorf("title %q, content %q", e.Title, e.Content.Text)
		}
	}
	if len(f.Entries) != 4 || strings.Contains(text, "<script") || strings.Contains(text, "<img") {
		t.Errorf("%d entries:\n%s", len(f.Entries), text)
	}
	const verdict = "\nShould I pay now? Caution: Recipient changed."
	if want := "“GET /quote” on “Base”: was “10,000 atomic units of unrecognised token”, is “20,000 atomic units of " +
		"unrecognised token”" + verdict; f.Entries[0].Content.Text != want {
		t.Errorf("content %q, want %q", f.Entries[0].Content.Text, want)
	}
	if want := "“2\u00a0endpoints” on “Base”: was “0x1111…1111”, is “0x2222…2222”\n" +
		"“GET /b” on “Base”: is “0x1111…1111”" + verdict; f.Entries[1].Content.Text != want {
		t.Errorf("content %q, want %q", f.Entries[1].Content.Text, want)
	}
	s.Now, s.Changes.Feed = site.NewTime(now.Add(time.Hour)), s.Changes.Feed[:2]
	later, _ := readFeed(t, s, render.Site{BaseURL: "http://127.0.0.1:4020", Title: "Other"})
	if diff := cmp.Diff([]string{f.Entries[0].ID, f.Entries[1].ID},
		[]string{later.Entries[0].ID, later.Entries[1].ID}); diff != "" {
		t.Errorf("ids of a later build (-want +got):\n%s", diff)
	}
}

// TestEmptyFeed checks that a directory without records has a feed.
func TestEmptyFeed(t *testing.T) {
	t.Parallel()
	f, _ := readFeed(t, &site.Snapshot{Now: site.NewTime(now)},
		render.Site{BaseURL: "https://tollbook.example", Sample: true})
	if len(f.Entries) != 0 || f.Updated != "2026-11-20T23:45:01.000Z" {
		t.Errorf("feed %+v", f)
	}
}
