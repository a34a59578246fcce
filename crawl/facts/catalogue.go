package facts

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tollbook/crawl/source"
)

// Item is a resource as a source lists it.
type Item = source.Row

// Seller is a service in a catalogue: the resources of one host, under all its names.
type Seller struct {
	BaseURL     string // the origin
	Host        string
	Name        string // "" if no entry has one
	Description string
	Tags        []string
	Endpoints   []Endpoint // by path, then method, at most MaxEndpoints
}

// GroupSellers groups the resources that a source lists by canonical host, whatever the scheme, and sorts the groups
// by base URL. The order of rows does not change the result.
func GroupSellers(rows []source.Row) []Seller {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r source.Row) bool {
		return r.Type == source.MCP && r.Tool == ""
	})
	slices.SortFunc(rows, func(a, b source.Row) int {
		return cmp.Or(strings.Compare(a.URL, b.URL), strings.Compare(a.Tool, b.Tool),
			strings.Compare(a.Method, b.Method), strings.Compare(a.Service, b.Service),
			strings.Compare(a.Description, b.Description))
	})
	sellers, names, schemes := map[string]*Seller{}, map[string]string{}, map[string]string{} // by canonical host
	declared := map[string][]Declared{}
	for _, i := range rows {
		u, err := url.Parse(i.URL)
		if err != nil {
			continue
		}
		name := authority(u)
		host := source.CanonicalHost(name)
		s := sellers[host]
		if s == nil {
			s = &Seller{}
			sellers[host], schemes[host] = s, "http"
		}
		if s.Host == "" || name == host {
			s.Host, names[host] = u.Hostname(), name
		}
		if u.Scheme == "https" {
			schemes[host] = "https"
		}
		s.Name, s.Description = cmp.Or(s.Name, i.Service), cmp.Or(s.Description, i.Description)
		for _, tag := range i.Tags {
			if len(s.Tags) < 50 && !slices.Contains(s.Tags, tag) {
				s.Tags = append(s.Tags, tag)
			}
		}
		if i.Tool != "" {
			i.Method = "POST"
		}
		declared[host] = append(declared[host], Declared{
			Method: i.Method, URL: i.URL, Description: i.Description, MimeType: i.MimeType, Origin: OriginCatalogue,
			Template: i.Template, Tool: i.Tool,
		})
	}
	var out []Seller
	for host, s := range sellers {
		s.BaseURL = schemes[host] + "://" + names[host]
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

// FetchCatalogue reads a whole facilitator's catalogue, page by page, as a source.Walk does. It fetches pages as
// FetchSource does; wait is that of a SourceRequest.
//
// FetchCatalogue calls page after each page with the number of resources so far and the number of entries in all, which
// is -1 if the catalogue does not say; page may be nil.
func (f *Fetcher) FetchCatalogue(
	ctx context.Context, address string, wait func(context.Context, time.Duration) error,
	page func(items, total int),
) ([]source.Row, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %.80q is not a URL", address)
	}
	kind, _ := source.KindOf("x402-discovery")
	w := source.NewWalk(kind, u, nil)
	for next := w.Next(); next != nil; next = w.Next() {
		before := w.Result()
		got, err := f.FetchSource(ctx, SourceRequest{URL: next.String(), Accept: kind.Accept, Wait: wait})
		if err == nil {
			err = w.Read(got.Body)
		}
		if err != nil {
			return nil, fmt.Errorf("read catalogue at %d: %w", before.Entries, err)
		}
		now := w.Result()
		if page != nil && now.Entries > before.Entries {
			total := -1
			if now.Total != nil {
				total = *now.Total
			}
			page(len(now.Rows), total)
		}
	}
	return w.Result().Rows, nil
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
