package crawl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// listingEntry is one entry of a list of services. Its fields have the names of a submission's.
type listingEntry struct {
	URL         string   `json:"url" toml:"url"`
	ServiceName string   `json:"service_name" toml:"service_name"`
	Description string   `json:"description" toml:"description"`
	WebsiteURL  string   `json:"website_url" toml:"website_url"`
	Category    string   `json:"category" toml:"category"`
	Endpoints   []string `json:"endpoints" toml:"endpoints"` // "/x" or "POST /x"
	Slug        string   `json:"slug" toml:"slug"`
	Source      string   `json:"source" toml:"source"`
}

// ListingError is a fault in one entry of a list.
type ListingError struct {
	File  string
	Line  int // line of the entry's beginning, counted from 1; 0 for unknown
	Fault string
}

func (e *ListingError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Fault)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Fault)
}

// Limits of an entry in addition to those of a submission.
const (
	maxCategory = 200      // bytes when percent-encoded, since it becomes part of file names
	maxList     = 64 << 20 // bytes of a list
)

// ReadListings reads a list of services: JSON (an array of objects) or, if name ends in .toml, TOML ([[service]]). One
// invalid entry refuses the whole list. The error joins all faults, each a *ListingError with its line.
func ReadListings(name string, r io.Reader, now time.Time) ([]postgres.Listing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxList+1))
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows write a byte order mark
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxList {
		return nil, &ListingError{name, 0, fmt.Sprintf("is larger than %d MiB", maxList>>20)}
	}
	read := readJSON
	if strings.EqualFold(path.Ext(name), ".toml") {
		read = readTOML
	}
	rows, err := read(name, data)
	if err != nil {
		return nil, err
	}
	var faults []error
	listings := make([]postgres.Listing, len(rows))
	slugs, bases := map[string]int{}, map[string]int{}
	for i, listingRow := range rows {
		err := listingRow.fault
		if err == nil {
			listings[i], err = listingRow.listing(now)
		}
		if err == nil {
			err = errors.Join(checkUnique(slugs, "slug", listings[i].Slug, listingRow.line),
				checkUnique(bases, "url", listings[i].BaseURL, listingRow.line))
		}
		if err != nil {
			faults = append(faults, &ListingError{name, listingRow.line, strings.ReplaceAll(err.Error(), "\n", "; ")})
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return listings, nil
}

func checkUnique(seen map[string]int, what, value string, line int) error {
	if first, twice := seen[value]; twice {
		return fmt.Errorf("%s %s is already at line %d", what, value, first)
	}
	seen[value] = line
	return nil
}

// listingRow is an entry with its first line, or with the fault that makes it unreadable.
type listingRow struct {
	listingEntry
	line  int
	fault error
}

// readJSON decodes the array entry by entry, so that the line of each is known.
func readJSON(name string, data []byte) ([]listingRow, error) {
	lineAt := func(offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		syntax := &json.SyntaxError{}
		if !errors.As(err, &syntax) {
			return nil, &ListingError{name, 0, err.Error()}
		}
		if strings.HasPrefix(syntax.Error(), "unexpected end") {
			return nil, &ListingError{name, lineAt(int64(len(bytes.TrimRight(data, " \t\r\n")))),
				"the list ends too early"}
		}
		// Offset is that of the character after the wrong one.
		return nil, &ListingError{name, lineAt(syntax.Offset - 1), syntax.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, &ListingError{name, lineAt(d.InputOffset()), "want a list of objects: [ {…}, … ]"}
	}
	var rows []listingRow
	for d.More() {
		at := d.InputOffset()
		at += int64(len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n,")))
		r := listingRow{line: lineAt(at)}
		// the syntax is valid, so the decoder goes on with the next entry
		if err := d.Decode(&r.listingEntry); err != nil {
			r.fault = errors.New(strings.TrimPrefix(err.Error(), "json: "))
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
				r.fault = typeError(wrong.Field, wrong.Value)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// typeError returns an error that says which type a field wants ("" is the entry itself) and which one it got.
func typeError(field, got string) error {
	switch field {
	case "":
		return fmt.Errorf("want an object, got %s", got)
	case "endpoints":
		return fmt.Errorf("endpoints: want a list of strings, got %s", got)
	}
	return fmt.Errorf("%s: want a string, got %s", field, got)
}

func readTOML(name string, data []byte) ([]listingRow, error) {
	var list struct {
		Service []listingEntry `toml:"service"`
	}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&list)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		var faults []error
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			faults = append(faults, &ListingError{name, line, "unknown field " + strings.Join(e.Key(), ".")})
		}
		return nil, errors.Join(faults...)
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		fault := strings.TrimPrefix(wrong.Error(), "toml: ")
		if kind, _, mismatch := strings.Cut(fault, " into "); mismatch && len(wrong.Key()) > 0 {
			field := strings.TrimPrefix(strings.Join(wrong.Key()[1:], "."), ".")
			fault = typeError(field, strings.TrimPrefix(kind, "cannot decode TOML ")).Error()
		}
		return nil, &ListingError{name, line, fault}
	case err != nil:
		return nil, &ListingError{name, 0, err.Error()}
	}
	rows := make([]listingRow, len(list.Service))
	lines := tableLines(data)
	for i, e := range list.Service {
		rows[i].listingEntry = e
		if len(lines) == len(rows) { // false if the services are an inline array
			rows[i].line = lines[i]
		}
	}
	return rows, nil
}

// tableLines returns the lines that contain [[service]].
func tableLines(data []byte) (lines []int) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(bytes.ReplaceAll(bytes.TrimSpace(line), []byte(" "), nil), []byte("[[service]]")) {
			lines = append(lines, n)
		}
	}
	return lines
}

// listing checks the syntax of an entry and converts it to a listing. The guard checks addresses when they are dialled.
func (e listingEntry) listing(now time.Time) (postgres.Listing, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	base, err := listing.BaseURL(e.URL)
	if err != nil {
		fault("url %w", err)
	}
	l := postgres.Listing{
		Slug: e.Slug, Name: e.ServiceName, Description: e.Description, BaseURL: base, Category: e.Category,
		Source: "imported:file", CreatedAt: now,
	}
	text := func(field, value string, most int) {
		if err := listing.CheckText(value, most); err != nil {
			fault("%s %w", field, err)
		}
	}
	text("service_name", e.ServiceName, listing.MaxName)
	text("description", e.Description, listing.MaxDescription)
	text("category", e.Category, listing.MaxName)
	if n := len(url.PathEscape(e.Category)); n > maxCategory && utf8.RuneCountInString(e.Category) <= listing.MaxName {
		fault("category has %d bytes percent-encoded, at most %d are allowed: it becomes part of file names", n,
			maxCategory)
	}
	if e.Slug == "" {
		l.Slug = listing.Slug(e.ServiceName)
	}
	switch {
	case site.ValidSlug(l.Slug):
	case e.Slug != "":
		fault("slug %q must be 1 to 80 of a-z, 0-9 and inner hyphens", l.Slug)
	case strings.TrimSpace(e.ServiceName) != "":
		fault("slug is missing, and service_name has no letter to derive one from; add a slug")
	}
	if e.Source != "" {
		if l.Source = e.Source; !strings.HasPrefix(e.Source, "imported:") || len(e.Source) > listing.MaxName ||
			strings.ContainsFunc(e.Source, unicode.IsControl) {
			fault("source %.40q must begin with imported:", e.Source)
		}
	}
	if e.WebsiteURL != "" {
		if _, err := listing.ParseURL(e.WebsiteURL); err != nil {
			fault("website_url %w", err)
		}
		l.WebsiteURL = &e.WebsiteURL
	}
	declared, err := listing.ParsePaths(e.Endpoints)
	if err != nil {
		fault("endpoints %w", err)
	}
	for _, d := range declared {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: d.Method, Path: d.Path})
	}
	return l, errors.Join(faults...)
}
