package facts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/site/x402"
)

// Item is an entry of a facilitator's catalogue: a resource that was paid through the facilitator at least once.
type Item struct {
	URL         string
	Method      string // "" if the entry does not say
	Template    string // route template of which URL is an instance; "" for none
	Description string
	MimeType    string
	ServiceName string
	Tags        []string
}

// Page is one page of a catalogue.
type Page struct {
	Items []Item
	Rows  int // entries on the page, including those that are no HTTP resource
	Total int // entries of the catalogue, -1 if the page does not say
}

// maxRows is the most entries of a page that are read.
const maxRows = 5000

// ReadCatalogue reads a page of a facilitator's /discovery/resources. It reads entries as leniently as a 402. Entries
// that are MCP tools or have no web URL count as rows but give no item.
func ReadCatalogue(doc []byte) (Page, error) {
	top := objectOf(doc)
	rows, ok := []json.RawMessage(nil), false
	for _, name := range []string{"items", "resources", "data"} {
		if raw, is := top[name]; is && bytes.HasPrefix(raw, []byte("[")) {
			rows, ok = listOf(raw), true
			break
		}
	}
	if !ok {
		return Page{}, fmt.Errorf("catalogue without a list of items: %w", errNoDocument)
	}
	p := Page{Rows: len(rows), Total: -1}
	if n, err := strconv.Atoi(top.child("pagination").text("total")); err == nil && n >= 0 {
		p.Total = n
	}
	for _, raw := range rows[:min(len(rows), maxRows)] {
		if item, ok := readItem(raw); ok {
			p.Items = append(p.Items, item)
		}
	}
	return p, nil
}

func readItem(raw json.RawMessage) (Item, bool) {
	o := objectOf(raw)
	kind := strings.ToLower(o.text("type"))
	if o == nil || kind != "" && kind != "http" {
		return Item{}, false
	}
	item := Item{
		URL: cmp.Or(o.text("resource", "url"), o.child("resource").text("url")), Method: methodOf(o.text("method")),
		ServiceName: cleanText(o.text("serviceName"), 100), Description: cleanText(o.text("description"), 500),
	}
	for _, tag := range o.list("tags") {
		item.Tags = append(item.Tags, cleanText(scalar(tag), 100))
	}
	meta := o.child("metadata")
	item.Description = cmp.Or(item.Description, cleanText(meta.text("description"), 500))
	item.ServiceName = cmp.Or(item.ServiceName, cleanText(meta.text("serviceName", "name"), 100))
	if e, ok := x402.Reread(raw, x402.ChannelBody, "json"); ok {
		item.URL = cmp.Or(item.URL, e.Resource.URL)
		item.Description = cmp.Or(item.Description, cleanText(e.Resource.Description, 500))
		item.ServiceName = cmp.Or(item.ServiceName, cleanText(e.Resource.ServiceName, 100))
		item.MimeType = cleanText(e.Resource.MimeType, 100)
		if item.Tags == nil {
			item.Tags = e.Resource.Tags
		}
		if rows := o.list("accepts"); len(rows) > 0 { // version 1 has these members in each row
			row := objectOf(rows[0])
			item.Description, item.MimeType = cmp.Or(item.Description, cleanText(row.text("description"), 500)),
				cmp.Or(item.MimeType, cleanText(row.text("mimeType"), 100))
		}
		if d := e.Discovery; d != nil {
			if d.MCP {
				return Item{}, false
			}
			item.Method, item.Template = cmp.Or(item.Method, methodOf(d.Method)), d.RouteTemplate
		}
	}
	item.Tags = item.Tags[:min(len(item.Tags), 20)]
	u, err := url.Parse(item.URL)
	return item, err == nil && strings.Trim(u.Hostname(), ".") != "" && u.User == nil &&
		(u.Scheme == "http" || u.Scheme == "https") && len(item.URL) <= 2048
}

// Seller is a service in a catalogue: the resources of one origin.
type Seller struct {
	BaseURL     string // the origin
	Host        string
	Name        string // "" if no entry has one
	Description string
	Tags        []string
	Endpoints   []Endpoint // by path, then method, at most MaxEndpoints
}

// GroupSellers groups the entries of a catalogue by origin and sorts the groups by base URL. The order of entries does
// not change the result.
func GroupSellers(items []Item) []Seller {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Method, b.Method),
			strings.Compare(a.ServiceName, b.ServiceName),
			strings.Compare(a.Description, b.Description))
	})
	sellers := map[string]*Seller{}
	declared := map[string][]Declared{}
	for _, i := range items {
		u, err := url.Parse(i.URL)
		if err != nil {
			continue
		}
		host := authority(u)
		s := sellers[host]
		if s == nil {
			s = &Seller{BaseURL: "http://" + host, Host: u.Hostname()}
			sellers[host] = s
		}
		if u.Scheme == "https" {
			s.BaseURL = "https://" + host
		}
		s.Name, s.Description = cmp.Or(s.Name, i.ServiceName), cmp.Or(s.Description, i.Description)
		for _, tag := range i.Tags {
			if len(s.Tags) < 50 && !slices.Contains(s.Tags, tag) {
				s.Tags = append(s.Tags, tag)
			}
		}
		declared[host] = append(declared[host], Declared{
			Method: i.Method, URL: i.URL, Description: i.Description, MimeType: i.MimeType, Origin: OriginCatalogue,
			Template: i.Template,
		})
	}
	var out []Seller
	for host, s := range sellers {
		s.Endpoints = FilterBelow(s.BaseURL, declared[host])
		slices.SortFunc(s.Endpoints, func(a, b Endpoint) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
		})
		if s.Endpoints = s.Endpoints[:min(len(s.Endpoints), MaxEndpoints)]; len(s.Endpoints) > 0 {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Seller) int { return strings.Compare(a.BaseURL, b.BaseURL) })
	return out
}

// Limits of reading a catalogue.
const (
	pageSize     = 100
	maxPage      = 16 << 20 // bytes
	maxPages     = 2000
	maxStale     = 3 // consecutive pages without a new item, for a server that ignores offset
	firstBackoff = time.Second
	lastBackoff  = 32 * time.Second
)

// FetchCatalogue reads a whole catalogue page by page, until a page is empty or the total is reached. Pages may be
// shorter than requested, and rows may shift between two pages. So the next page begins after the rows received, and
// duplicates count once. After a 429 or 5xx it tries again, after pauses from 1 s doubling to 32 s.
//
// wait waits for a pause; nil means real time. Catalogue calls page after each page; it may be nil.
func (f *Fetcher) FetchCatalogue(
	ctx context.Context, address string, wait func(context.Context, time.Duration) error,
	page func(items, total int),
) ([]Item, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %.80q is not a URL", address)
	}
	if wait == nil {
		wait = sleep
	}
	var items []Item
	seen := map[string]bool{}
	for offset, pages, stale := 0, 0, 0; pages < maxPages && stale < maxStale; pages++ {
		q := u.Query()
		q.Set("limit", strconv.Itoa(pageSize))
		q.Set("offset", strconv.Itoa(offset))
		at := *u
		at.RawQuery = q.Encode()
		p, err := f.fetchPage(ctx, at.String(), wait)
		if err != nil {
			return nil, fmt.Errorf("read catalogue at %d: %w", offset, err)
		}
		if p.Rows == 0 {
			break
		}
		before := len(items)
		for _, i := range p.Items {
			if key := i.Method + " " + i.URL; !seen[key] {
				seen[key] = true
				items = append(items, i)
			}
		}
		if stale++; len(items) > before || len(p.Items) == 0 {
			stale = 0
		}
		offset += p.Rows
		if page != nil {
			page(len(items), p.Total)
		}
		if p.Total >= 0 && offset >= p.Total {
			break
		}
	}
	return items, nil
}

func (f *Fetcher) fetchPage(
	ctx context.Context, address string, wait func(context.Context, time.Duration) error,
) (Page, error) {
	for pause := firstBackoff; ; pause *= 2 {
		doc, err := f.get(ctx, address, request{accept: "application/json", limit: maxPage})
		switch {
		case err != nil:
			return Page{}, err
		case doc.status == 200 && doc.truncated:
			return Page{}, fmt.Errorf("the page is larger than %d MiB", maxPage>>20)
		case doc.status == 200:
			return ReadCatalogue(doc.body)
		case (doc.status == 429 || doc.status >= 500) && pause <= lastBackoff:
			if err := wait(ctx, max(pause, min(doc.retryAfter, lastBackoff))); err != nil {
				return Page{}, err
			}
		default:
			return Page{}, fmt.Errorf("the answer is %d", doc.status)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// FetchList returns the content of a list at a URL, of any format.
func (f *Fetcher) FetchList(ctx context.Context, address string, limit int64) ([]byte, error) {
	doc, err := f.get(ctx, address, request{accept: "application/json, application/toml", limit: limit})
	switch {
	case err != nil:
		return nil, err
	case doc.status != 200:
		return nil, fmt.Errorf("get %s: the answer is %d", address, doc.status)
	case doc.truncated:
		return nil, fmt.Errorf("get %s: the list is larger than %d MiB", address, limit>>20)
	}
	return doc.body, nil
}
