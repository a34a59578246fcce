package render

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

// Keys of the feeds of all changes, as Atom and as JSON Feed.
const (
	FeedFile     = "feed.xml"
	JSONFeedFile = site.FeedFile
)

// serviceFeedEntries limits the entries of the feeds of a service.
const serviceFeedEntries = 20

// feedLines limits the lines of an entry.
const feedLines = 25

// Feeds returns the newest changes of all services, as Atom and as JSON Feed. The id of an entry depends on its record
// alone. Text that a service wrote is in quotation marks.
func (e *Renderer) Feeds() ([]Asset, error) {
	s := e.pages.site
	f := feedDocument{
		Title: s.Title + ": changes",
		About: "Changed prices, recipients and payment options of the services in this directory.",
		Page:  s.BaseURL + "/", Data: s.BaseURL + "/v1/changes", Since: e.snapshot.Now.String(),
	}
	for _, r := range e.snapshot.Changes.Feed {
		c := service.NewChange(r, e.unitsOf(r.Slug), e.shared.Networks)
		f.Entries = append(f.Entries, e.feedEntry(r, c, e.verdict(r.Slug)))
	}
	return e.encodeFeed(f, FeedFile, JSONFeedFile)
}

// verdict returns whether a service may be paid now, as verdictLine does; "" for a service that is not listed.
func (e *Renderer) verdict(slug string) string {
	if l := e.service(slug); l != nil {
		return verdictLine(&l.Item)
	}
	return ""
}

// verdictLine returns whether a service may be paid now, as a line of an entry.
func verdictLine(item *site.ServiceListItem) string {
	return "\nShould I pay now? " + display.Advice(item.AdviceLevel, item.AdviceReason) + "."
}

// unitsOf returns the decimals of the assets of a service.
func (e *Renderer) unitsOf(slug string) money.Units {
	if l := e.service(slug); l != nil && l.ListingDetail != nil {
		return money.UnitsOf(&l.Detail)
	}
	return nil
}

// ServiceFeeds returns the same feeds of one service. They exist before the first change, so that readers can
// subscribe.
func (e *ServiceRenderer) ServiceFeeds(l *service.Text) ([]Asset, error) {
	d := &l.Detail
	s := e.pages.site
	f := feedDocument{
		Title: quote(display.Name(display.Line(d.Name, display.MaxName))) + " in " + s.Title + ": changes",
		About: "Changed prices, recipients and payment options, incidents and the verdict on one service.",
		Page:  e.address(serviceKey(d.Slug)), Data: s.BaseURL + "/v1/changes?service=" + url.QueryEscape(d.Slug),
		Since: d.CreatedAt.String(),
	}
	for i, c := range l.Worded[:min(serviceFeedEntries, len(l.Worded))] {
		f.Entries = append(f.Entries, e.feedEntry(&l.Changes[i], c, verdictLine(&l.Item)))
	}
	for i := range d.Incidents {
		entry, _ := newIncidentEntry(&d.Incidents[i], e.address(bareKey("incidents", "")), e.incidentAddress,
			verdictLine(&l.Item))
		f.Entries = append(f.Entries, entry)
	}
	if entry, ok := e.verdictEntry(d); ok {
		f.Entries = append(f.Entries, entry)
	}
	slices.SortStableFunc(f.Entries, func(a, b feedEntry) int { return cmp.Compare(cmp.Or(b.Updated, b.Time), cmp.Or(a.Updated, a.Time)) })
	f.Entries = f.Entries[:min(len(f.Entries), serviceFeedEntries)]
	return e.encodeFeed(f, serviceFeedKey(d.Slug, ".xml"), serviceFeedKey(d.Slug, ".json"))
}

func serviceCalendarKey(slug string) string { return "services/" + slug + "/incidents.ics" }

// serviceCalendar returns the incidents of a service as a calendar.
func (e *ServiceRenderer) serviceCalendar(l *service.Text) Asset {
	d := &l.Detail
	c := calendar{Title: display.Name(display.Line(d.Name, display.MaxName)) + ": incidents",
		About: "When this service was out of order."}
	for i := range d.Incidents {
		_, event := newIncidentEntry(&d.Incidents[i], "", e.incidentAddress, verdictLine(&l.Item))
		c.Events = append(c.Events, event)
	}
	return Asset{serviceCalendarKey(d.Slug), c.Encode()}
}

// verdictEntry returns the present verdict on a service as an entry. Its time is that of the newest dated reason; a
// verdict without one has no entry, because nobody knows since when it holds.
func (e *ServiceRenderer) verdictEntry(d *site.ServiceDetail) (feedEntry, bool) {
	a := &d.Assessment.Advice
	var since *site.Time
	for i := range a.Reasons {
		if at := a.Reasons[i].Since; at != nil && (since == nil || at.After(since.Time)) {
			since = at
		}
	}
	if since == nil {
		return feedEntry{}, false
	}
	name := quote(display.Name(display.Line(d.Name, display.MaxName)))
	return feedEntry{ID: feedID("verdict", d.Slug, a.Level, since.String()),
		Title: name + ": " + display.AdviceLevel(a.Level), Time: since.String(), Page: e.address(serviceKey(d.Slug)),
		Data: e.address(bareKey("service", d.Slug)), Tag: "verdict", Text: quote(display.Reasons(a)) + "."}, true
}

func serviceFeedKey(slug, ext string) string { return "services/" + slug + "/changes" + ext }

// encodeFeed returns a feed as Atom and as a JSON Feed, whose keys are atom and jsonKey.
func (e *ServiceRenderer) encodeFeed(f feedDocument, atom, jsonKey string) ([]Asset, error) {
	s := e.pages.site
	f.Author, f.Home, f.Atom, f.JSON = s.Title, s.BaseURL+"/", e.address(atom), e.address(jsonKey)
	f.About += " Text in “quotation marks” was written by the services."
	if s.Sample {
		f.About += " This is sample data."
	}
	atomData, err := f.EncodeAtom()
	if err != nil {
		return nil, err
	}
	jsonData, err := f.EncodeJSON()
	return []Asset{{atom, atomData}, {jsonKey, jsonData}}, err
}

func (e *ServiceRenderer) feedEntry(r *site.ChangeRecord, c service.Change, verdict string) feedEntry {
	name := display.Line(r.Name, display.MaxName)
	if name == "" {
		name = r.Slug
	}
	base := e.pages.site.BaseURL
	return feedEntry{
		ID: changeID(r), Title: quote(name) + ": " + service.ChangeTitle(r, c.Label), Time: r.ObservedAt.String(),
		Page: base + "/services/" + url.PathEscape(r.Slug),
		Data: base + "/v1/changes?service=" + url.QueryEscape(r.Slug) + "&type=" + url.QueryEscape(r.Type),
		Tag:  display.Line(r.Type, display.MaxCode), Text: changeText(c.Short(feedLines)) + verdict,
	}
}

// changeID returns the id of a record. A service has at most one record of a type at a time.
func changeID(r *site.ChangeRecord) string {
	return feedID("change", r.Slug, r.Type, r.ObservedAt.String())
}

// feedID returns the id of an entry of a kind, which the parts name: a UUID of version 5, RFC 9562 section 5.5.
func feedID(kind string, parts ...string) string {
	h := sha1.Sum([]byte("tollbook " + kind + "\x00" + strings.Join(parts, "\x00")))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// quote returns text in quotation marks. The text cannot end the quotation.
func quote(s string) string { return "“" + quoteReplacer.Replace(s) + "”" }

var quoteReplacer = strings.NewReplacer("“", `"`, "”", `"`)

// changeText returns a change as lines of plain text. Text that a service wrote is in quotation marks.
func changeText(c service.Change) string {
	var b strings.Builder
	for _, l := range c.Lines {
		var place, sides []string
		if l.What != "" {
			place = append(place, quote(l.What))
		}
		if l.Network.Label != "" {
			place = append(place, "on "+quote(l.Network.Label))
		}
		if l.Old != "" {
			sides = append(sides, "was "+quote(l.Old))
		}
		if l.New != "" {
			sides = append(sides, "is "+quote(l.New))
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
		return "No details available."
	}
	return strings.TrimSuffix(b.String(), "\n")
}
