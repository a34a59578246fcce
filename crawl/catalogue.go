package crawl

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/list"
	"tollbook/crawl/source"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// ImportReport counts what an import from a URL added.
type ImportReport struct {
	Listed    int // services that were not listed before
	Existing  int // services that were listed before
	Endpoints int // new endpoints of services that were listed before
	Refused   int // services at addresses that the guard refuses, such as localhost

	OptedOut []consent.OptOut // hosts that the catalogue lists and whose owners opted out, sorted by host
	Removed  []RemovedSeller  // services that the catalogue lists and that the operator removed, in its order

	New   []postgres.Listing // services that were not listed before
	Added []AddedEndpoints   // new endpoints of services that were listed before
}

// RemovedSeller is a seller that is not listed, because the operator removed its service.
type RemovedSeller struct {
	BaseURL string                  `json:"base_url"`
	Removed postgres.RemovedService `json:"removed"`
}

// AddedEndpoints are the new endpoints of a listed service.
type AddedEndpoints struct {
	Slug      string
	Endpoints []postgres.ListedEndpoint
}

// IsList reports whether a URL names a list of services, whose path ends in .json or .toml, and not a catalogue.
func IsList(address string) bool {
	u, err := url.Parse(address)
	ext := ""
	if err == nil {
		ext = strings.ToLower(path.Ext(u.Path))
	}
	return ext == ".json" || ext == ".toml"
}

// FetchList returns the list of services at a URL.
func (c *Crawler) FetchList(ctx context.Context, address string) ([]byte, error) {
	return c.fetcher.FetchList(ctx, address, list.MaxBytes)
}

// Import lists the services of a facilitator's catalogue at a URL: new services are listed, and new endpoints of listed
// services are added.
//
// Import calls page after each page of the catalogue with the number of entries so far and in all, which is -1 if the
// catalogue does not say. page may be nil.
func (c *Crawler) Import(ctx context.Context, address string, page func(items, total int)) (ImportReport, error) {
	return c.importFrom(ctx, address, page, false)
}

// Preview returns what Import would add. It changes nothing.
func (c *Crawler) Preview(ctx context.Context, address string, page func(items, total int)) (ImportReport, error) {
	return c.importFrom(ctx, address, page, true)
}

func (c *Crawler) importFrom(
	ctx context.Context, address string, page func(items, total int), dry bool,
) (ImportReport, error) {
	u, err := listing.ParseURL(address)
	if err != nil {
		return ImportReport{}, fmt.Errorf("import %q: the URL %w", address, err)
	}
	items, err := c.fetcher.FetchCatalogue(ctx, address, nil, page)
	if err != nil {
		return ImportReport{}, err
	}
	return c.addItems(ctx, items, u.Hostname(), dry)
}

// addItems lists each seller of resources that is not listed yet, and adds the new endpoints of the others. With dry it
// only reports.
func (c *Crawler) addItems(ctx context.Context, items []facts.Item, from string, dry bool) (ImportReport, error) {
	listed, err := c.db.Listed(ctx)
	if err != nil {
		return ImportReport{}, err
	}
	// By host, whatever the scheme, so that a seller whose scheme is wrong in the catalogue matches the listed service.
	slugs, hosts := maps.Clone(listed.Erased), map[string][]string{}
	for _, s := range listed.Services {
		slugs[s.Slug] = true
		hosts[consent.HostOf(s.BaseURL)] = append(hosts[consent.HostOf(s.BaseURL)], s.BaseURL)
	}
	var got ImportReport
	for _, s := range facts.GroupSellers(returnMoved(items, listed)) {
		if u, err := url.Parse(s.BaseURL); err != nil || c.guard.CheckURL(u) != nil {
			got.Refused++
			continue
		}
		names := source.Aliases(consent.HostOf(s.BaseURL))
		if o, ok := findOptOut(listed.OptOuts, names); ok {
			got.OptedOut = append(got.OptedOut, o)
			continue
		}
		if i := slices.IndexFunc(names, func(n string) bool { return len(hosts[n]) > 0 }); i >= 0 {
			got.Existing++
			bases := hosts[names[i]]
			for _, base := range bases {
				added, err := c.addEndpoints(ctx, base, bases, s, dry)
				if err != nil {
					return got, err
				}
				got.Endpoints += len(added.Endpoints)
				if len(added.Endpoints) > 0 {
					got.Added = append(got.Added, added)
				}
			}
			continue
		}
		if r := listed.FindRemoved(s.BaseURL); r != nil {
			got.Removed = append(got.Removed, RemovedSeller{s.BaseURL, *r})
			continue
		}
		got.New = append(got.New, newListing(s, from, slugs, c.o.Now()))
	}
	if !dry {
		if err := c.db.AddListings(ctx, got.New); err != nil {
			return got, err
		}
	}
	got.Listed = len(got.New)
	slices.SortFunc(got.OptedOut, func(a, b consent.OptOut) int { return strings.Compare(a.Host, b.Host) })
	got.OptedOut = slices.Compact(got.OptedOut)
	return got, nil
}

// findOptOut returns what keeps a host with some names from being listed.
func findOptOut(list consent.OptOuts, names []string) (o consent.OptOut, ok bool) {
	for _, n := range names {
		if o, ok = list.Find(n); ok {
			break
		}
	}
	return o, ok
}

// addEndpoints adds the endpoints of a seller that are below the base URL of a listed service, and not below a longer
// base URL of another service on the same host.
func (c *Crawler) addEndpoints(
	ctx context.Context, base string, bases []string, s facts.Seller, dry bool,
) (added AddedEndpoints, err error) {
	service, err := c.db.ServiceByURL(ctx, base)
	if err != nil || service == nil {
		return added, err
	}
	templates, err := c.readTemplates(ctx, service.ID)
	if err != nil {
		return added, err
	}
	var declared []facts.Declared
	for _, e := range s.Endpoints {
		deeper := func(other string) bool {
			return len(other) > len(base) && len(facts.FilterBelow(other, []facts.Declared{e.Declared})) > 0
		}
		if !slices.ContainsFunc(bases, deeper) {
			declared = append(declared, e.Declared)
		}
	}
	add := discover(service.Endpoints, facts.FilterBelow(base, declared), templates, c.o.Now()).add
	added = AddedEndpoints{service.Slug, add}
	if len(add) == 0 || dry {
		return added, nil
	}
	return added, c.db.AddEndpoints(ctx, service.ID, service.Slug, c.o.Now(), add)
}

// newListing returns a listing of a seller. The name comes from the seller's entries, else from its host. The category
// is the first tag that names one of site.Categories. The set slugs contains the slugs that are or were in use, and
// gets the new one.
func newListing(s facts.Seller, from string, slugs map[string]bool, now time.Time) postgres.Listing {
	l := postgres.Listing{
		Name:        clean(strings.TrimSpace(s.Name), listing.MaxName),
		Description: clean(s.Description, listing.MaxDescription),
		BaseURL:     s.BaseURL, Category: "Other", Source: clean("imported:"+from, listing.MaxName), CreatedAt: now,
	}
	if l.Name == "" {
		l.Name = clean(s.Host, listing.MaxName)
	}
	if l.Description == "" {
		l.Description = "Listed in the catalogue of " + from + "."
	}
	for _, tag := range s.Tags {
		i := slices.IndexFunc(site.Categories, func(c string) bool { return strings.EqualFold(c, tag) })
		if i >= 0 {
			l.Category = site.Categories[i]
			break
		}
	}
	l.Slug = listing.FreeSlug(slugs, listing.Slug(l.Name), listing.Slug(s.Host))
	slugs[l.Slug] = true
	for _, e := range s.Endpoints {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{
			Method: e.Method, Path: e.Path, Description: ownText(e.Description, nil),
			MimeType: ownText(e.MimeType, nil), Origin: e.Origin,
		})
	}
	return l
}
