package crawl

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"tollbook/crawl/facts"
	"tollbook/site"
	"tollbook/site/postgres"
)

// Imported counts what an import from an address brought.
type Imported struct {
	Listed    int // services that were not listed before
	Known     int // services that were
	Endpoints int // new endpoints of those
	Refused   int // services at addresses that are not visited, such as localhost

	Fresh []postgres.Listing // those that were not listed before
	Added []AddedEndpoints   // to each of those that were
}

// AddedEndpoints are endpoints that a listed service gets.
type AddedEndpoints struct {
	Slug      string
	Endpoints []postgres.ListedEndpoint
}

// Import lists the services of an address: a list, when its path ends in .json or .toml, all of it or none; else a
// facilitator's catalogue, whose services are added to what is listed. page hears of each page of a catalogue that was
// read, with the entries so far and the total, -1 when it is not said; nil for nobody.
func (c *Crawler) Import(ctx context.Context, address string, page func(items, total int)) (Imported, error) {
	return c.importFrom(ctx, address, page, false)
}

// Preview is what Import would bring now. It changes nothing.
func (c *Crawler) Preview(ctx context.Context, address string, page func(items, total int)) (Imported, error) {
	return c.importFrom(ctx, address, page, true)
}

func (c *Crawler) importFrom(ctx context.Context, address string, page func(items, total int), dry bool) (Imported,
	error) {
	u, err := site.ParseURL(address)
	if err != nil {
		return Imported{}, fmt.Errorf("the address %w", err)
	}
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".json", ".toml":
		data, err := c.fetcher.List(ctx, address, maxList)
		if err != nil {
			return Imported{}, err
		}
		listings, err := ReadListings(path.Base(u.Path), bytes.NewReader(data), c.o.Now())
		if err != nil {
			return Imported{}, err
		}
		got := Imported{Listed: len(listings), Fresh: listings}
		if dry {
			return got, nil
		}
		return got, c.db.AddListings(ctx, listings)
	}
	items, err := c.fetcher.Catalogue(ctx, address, nil, page)
	if err != nil {
		return Imported{}, err
	}
	return c.addSellers(ctx, facts.Sellers(items), u.Hostname(), dry)
}

// addSellers lists sellers that no listed service is, and adds what a catalogue knows of the others; where it is dry it
// only tells.
func (c *Crawler) addSellers(ctx context.Context, sellers []facts.Seller, from string, dry bool) (Imported, error) {
	listed, err := c.db.Services(ctx)
	if err != nil {
		return Imported{}, err
	}
	slugs, hosts := map[string]bool{}, map[string][]string{}
	for _, s := range listed {
		slugs[s.Slug] = true
		hosts[hostName(s.BaseURL)] = append(hosts[hostName(s.BaseURL)], s.BaseURL)
	}
	var got Imported
	for _, s := range sellers {
		if u, err := url.Parse(s.BaseURL); err != nil || c.guard.CheckURL(u) != nil {
			got.Refused++
			continue
		}
		if bases := hosts[hostName(s.BaseURL)]; len(bases) > 0 {
			got.Known++
			for _, base := range bases {
				added, err := c.addDeclared(ctx, base, s, dry)
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
		got.Fresh = append(got.Fresh, listingOf(s, from, slugs, c.o.Now()))
	}
	if !dry {
		if err := c.db.AddListings(ctx, got.Fresh); err != nil {
			return got, err
		}
	}
	got.Listed = len(got.Fresh)
	return got, nil
}

// hostName is the host of a base address with the port that is not its scheme's own: a seller whose scheme the
// catalogue has wrong is the same one.
func hostName(base string) string {
	_, host, _ := strings.Cut(base, "://")
	host, _, _ = strings.Cut(host, "/")
	return strings.ToLower(host)
}

// addDeclared adds the endpoints of a seller that lie below a listed base address.
func (c *Crawler) addDeclared(ctx context.Context, base string, s facts.Seller, dry bool) (added AddedEndpoints,
	err error) {
	known, err := c.db.ServiceAt(ctx, base)
	if err != nil || known == nil {
		return added, err
	}
	templates, err := c.templates(ctx, known.ID)
	if err != nil {
		return added, err
	}
	declared := make([]facts.Declared, len(s.Endpoints))
	for i, e := range s.Endpoints {
		declared[i] = e.Declared
	}
	add, _ := discover(known.Endpoints, facts.Below(base, declared), templates)
	added = AddedEndpoints{known.Slug, add}
	if len(add) == 0 || dry {
		return added, nil
	}
	return added, c.db.AddEndpoints(ctx, known.ID, known.Slug, c.o.Now(), add)
}

// listingOf makes a listing of a seller: its name from its entries or its host, its category the first of its tags that
// is one of ours. slugs are the taken ones.
func listingOf(s facts.Seller, from string, slugs map[string]bool, now time.Time) postgres.Listing {
	l := postgres.Listing{
		Name: clean(strings.TrimSpace(s.Name), site.MaxName), Description: clean(s.Description, site.MaxDescription),
		BaseURL:  s.BaseURL,
		Category: "Other", Source: clean("imported:"+from, site.MaxName), CreatedAt: now,
	}
	if l.Name == "" {
		l.Name = clean(s.Host, site.MaxName)
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
	l.Slug = site.FreeSlug(slugs, site.Slug(l.Name), site.Slug(s.Host))
	slugs[l.Slug] = true
	for _, e := range s.Endpoints {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{
			Method: e.Method, Path: e.Path, Description: textOrNull(e.Description, nil),
			MimeType: textOrNull(e.MimeType, nil), Origin: e.Origin,
		})
	}
	return l
}
