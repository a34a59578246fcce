package list

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// Entry is a service of a list.
type Entry struct {
	postgres.Listing
	NamesSlug   bool // else Slug is derived from the name
	NamesSource bool // else Source is the default
	at          map[string]position
}

// maxCategory is the most bytes of a percent-encoded category, since it becomes part of file names.
const maxCategory = 200

// entry checks the fields of an entry and reports whether there is no fault. The guard checks addresses when they are
// dialled.
func (in *reader) entry(r row) (Entry, bool) {
	before := len(in.faults)
	text := func(name string) string { return r.fields[name].text }
	e := Entry{at: map[string]position{"": r.at}, NamesSlug: text("slug") != "", NamesSource: text("source") != ""}
	for name, f := range r.fields {
		e.at[name] = f.at
	}
	e.Listing = postgres.Listing{
		Slug: text("slug"), Name: text("service_name"), Description: text("description"), Category: text("category"),
		BaseURL: text("url"), Source: cmp.Or(text("source"), sourceFile), CreatedAt: in.Now,
	}
	if w := text("website_url"); w != "" {
		e.WebsiteURL = &w
	}
	if !e.NamesSlug && r.fields["slug"].kind != "wrong" {
		e.Slug = listing.Slug(e.Name)
	}
	check := func(name string, err error) {
		if err != nil && r.fields[name].kind != "wrong" { // else there is a fault already
			in.fault(r.place(name), "%s %s", name, err)
		}
	}
	for _, f := range CheckFields(&e.Listing) {
		check(f.Field, f.Err)
	}
	check("category", in.checkCategory(e.Category))
	check("slug", checkSlug(&e))
	check("source", checkSource(e.Source))
	var paths []string
	for _, f := range r.fields["endpoints"].list {
		paths = append(paths, f.text)
	}
	declared, err := listing.ParsePaths(paths)
	check("endpoints", err)
	for _, d := range declared {
		e.Endpoints = append(e.Endpoints, postgres.ListedEndpoint{Method: d.Method, Path: d.Path})
	}
	return e, len(in.faults) == before
}

// sourceFile is the source of a service that a list names without a source of its own.
const sourceFile = "imported:file"

// fieldError is a fault of a field of a listing. The field has the name that it has in a list.
type fieldError struct {
	Field string
	Err   error
}

func (e fieldError) Error() string { return e.Field + " " + e.Err.Error() }

// CheckFields returns the faults of a listing's texts and addresses, and brings its base address into one form.
func CheckFields(l *postgres.Listing) (faults []fieldError) {
	check := func(name string, err error) {
		if err != nil {
			faults = append(faults, fieldError{name, err})
		}
	}
	base, err := listing.BaseURL(l.BaseURL)
	check("url", err)
	l.BaseURL = base
	check("service_name", listing.CheckText(l.Name, listing.MaxName))
	check("description", listing.CheckText(l.Description, listing.MaxDescription))
	check("category", listing.CheckText(l.Category, listing.MaxName))
	n := len(url.PathEscape(l.Category))
	if n > maxCategory && utf8.RuneCountInString(l.Category) <= listing.MaxName {
		check("category",
			fmt.Errorf("has %d bytes percent-encoded, at most %d are allowed: it becomes part of file names",
				n, maxCategory))
	}
	if l.WebsiteURL != nil {
		_, err := listing.ParseURL(*l.WebsiteURL)
		check("website_url", err)
	}
	return faults
}

func (in *reader) checkCategory(category string) error {
	if category == "" || in.Categories == nil || slices.Contains(in.Categories, category) {
		return nil
	}
	return fmt.Errorf("%.100q is not in the list%s (%s; --new-categories accepts it)", category,
		display.Hint(category, in.Categories), strings.Join(in.Categories, ", "))
}

func checkSlug(e *Entry) error {
	switch {
	case site.ValidSlug(e.Slug):
	case e.NamesSlug:
		return fmt.Errorf("%q must be 1 to 80 of a-z, 0-9 and inner hyphens", e.Slug)
	case strings.TrimSpace(e.Name) != "":
		return errors.New("is missing, and service_name has no letter to derive one from; add a slug")
	}
	return nil
}

func checkSource(source string) error {
	if !strings.HasPrefix(source, "imported:") || len(source) > listing.MaxName ||
		strings.ContainsFunc(source, unicode.IsControl) {
		return fmt.Errorf(`%.40q must begin with "imported:"`, source)
	}
	return nil
}

func fieldNames() []string { return slices.Sorted(maps.Keys(isList)) }

// Categories returns the categories that a list may have: those in use and site.Categories, sorted.
func Categories(has postgres.Listed) []string {
	list := slices.Clone(site.Categories)
	for i := range has.Services {
		list = append(list, has.Services[i].Category)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
