package facts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/site/x402"
)

// Item is an entry of a facilitator's catalogue: one resource that was once paid through it.
type Item struct {
	URL         string
	Method      string // "" when it is not said
	Template    string // route template that the address is one instance of, "" without
	Description string
	MimeType    string
	ServiceName string
	Tags        []string
}

// Page is one page of a catalogue.
type Page struct {
	Items []Item
	Rows  int // entries on the page, those too that are no HTTP resource
	Total int // of the catalogue, -1 when it is not said
}

// maxRows bounds the entries of a page that are read.
const maxRows = 5000

// ReadCatalogue reads a page of a facilitator's /discovery/resources. Entries are read as leniently as a 402 is; those
// that are MCP tools or no web addresses count as rows and are no items.
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
		return Page{}, fmt.Errorf("a catalogue %w: it has no list of items", errNoDocument)
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
		ServiceName: plain(o.text("serviceName"), 100), Description: plain(o.text("description"), 500),
	}
	for _, tag := range o.list("tags") {
		item.Tags = append(item.Tags, plain(scalar(tag), 100))
	}
	meta := o.child("metadata")
	item.Description = cmp.Or(item.Description, plain(meta.text("description"), 500))
	item.ServiceName = cmp.Or(item.ServiceName, plain(meta.text("serviceName", "name"), 100))
	if e, ok := x402.Reread(raw, x402.ChannelBody, "json"); ok {
		item.URL = cmp.Or(item.URL, e.Resource.URL)
		item.Description = cmp.Or(item.Description, plain(e.Resource.Description, 500))
		item.ServiceName = cmp.Or(item.ServiceName, plain(e.Resource.ServiceName, 100))
		item.MimeType = plain(e.Resource.MimeType, 100)
		if item.Tags == nil {
			item.Tags = e.Resource.Tags
		}
		if rows := o.list("accepts"); len(rows) > 0 { // version 1 says it in each row
			row := objectOf(rows[0])
			item.Description, item.MimeType = cmp.Or(item.Description, plain(row.text("description"), 500)),
				cmp.Or(item.MimeType, plain(row.text("mimeType"), 100))
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

// Seller is a service that a catalogue lists: the resources of one origin.
type Seller struct {
	BaseURL     string // the origin
	Host        string
	Name        string // "" when no entry says it
	Description string
	Tags        []string
	Endpoints   []Endpoint // by path, then method, at most MaxEndpoints
}

// Sellers puts the entries of a catalogue together by origin, by base address. Equal entries in any order give equal
// sellers.
func Sellers(items []Item) []Seller {
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
		s.Endpoints = Below(s.BaseURL, declared[host])
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

// Bounds of a catalogue.
const (
	pageSize     = 100
	maxPage      = 16 << 20 // bytes
	maxPages     = 2000
	maxStale     = 3 // pages in a row that bring nothing new, as when offset is ignored
	firstBackoff = time.Second
	lastBackoff  = 32 * time.Second
)

// Catalogue reads a whole catalogue, page after page, until one is empty or the total is reached. Pages may be shorter
// than was asked for, and rows may shift between two of them: the next page begins behind the rows that came, and what
// comes twice counts once. A server that asks for patience (429, 5xx) gets it, from a second doubling to 32. wait is
// time's passing, told nil for the real one; page hears of each page that was read.
func (f *Fetcher) Catalogue(ctx context.Context, address string, wait func(context.Context, time.Duration) error,
	page func(items, total int)) ([]Item, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %.80q is not an address", address)
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
		p, err := f.cataloguePage(ctx, at.String(), wait)
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

func (f *Fetcher) cataloguePage(ctx context.Context, address string,
	wait func(context.Context, time.Duration) error) (Page, error) {
	for pause := firstBackoff; ; pause *= 2 {
		doc, err := f.get(ctx, address, request{accept: "application/json", limit: maxPage})
		switch {
		case err != nil:
			return Page{}, err
		case doc.status == 200 && doc.truncated:
			return Page{}, fmt.Errorf("a page is larger than %d MiB", maxPage>>20)
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

// List reads a list of any kind from an address: its bytes, for who knows what they are.
func (f *Fetcher) List(ctx context.Context, address string, limit int64) ([]byte, error) {
	doc, err := f.get(ctx, address, request{accept: "application/json, application/toml", limit: limit})
	switch {
	case err != nil:
		return nil, err
	case doc.status != 200:
		return nil, fmt.Errorf("get %s: the answer is %d", address, doc.status)
	case doc.truncated:
		return nil, errors.New("it is larger than a list may be")
	}
	return doc.body, nil
}
