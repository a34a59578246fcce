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
	"golang.org/x/text/unicode/norm"

	"tollbook/site"
	"tollbook/site/postgres"
)

// entry is a listing as a file says it, with the names of a submission.
type entry struct {
	URL         string   `json:"url" toml:"url"`
	ServiceName string   `json:"service_name" toml:"service_name"`
	Description string   `json:"description" toml:"description"`
	WebsiteURL  string   `json:"website_url" toml:"website_url"`
	Category    string   `json:"category" toml:"category"`
	Endpoints   []string `json:"endpoints" toml:"endpoints"` // "/x" or "POST /x"
	Slug        string   `json:"slug" toml:"slug"`
	Source      string   `json:"source" toml:"source"`
}

// ListingError is a fault of one entry of a list.
type ListingError struct {
	File  string
	Line  int // where the entry begins, counted from 1; 0 when it is not known
	Fault string
}

func (e *ListingError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Fault)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Fault)
}

// Limits of an entry, those of a submission.
const (
	maxName        = 100
	maxDescription = 2000
	maxPaths       = 25
	maxPath        = 500
	maxList        = 64 << 20 // bytes of a list
)

// ReadListings reads a list of services: JSON (an array of objects) or, when name ends in .toml, TOML ([[service]]).
// One wrong entry refuses the whole list; every fault found is told, each a *ListingError that names its line.
func ReadListings(name string, r io.Reader, now time.Time) ([]postgres.Listing, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxList+1))
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
	entries, lines, err := read(name, data)
	if err != nil {
		return nil, err
	}
	var faults []error
	listings := make([]postgres.Listing, len(entries))
	slugs, bases := map[string]int{}, map[string]int{}
	for i, e := range entries {
		l, err := e.listing(now)
		if err == nil {
			err = errors.Join(unique(slugs, "slug", l.Slug, lines[i]), unique(bases, "url", l.BaseURL, lines[i]))
		}
		if err != nil {
			faults = append(faults, &ListingError{name, lines[i], strings.ReplaceAll(err.Error(), "\n", "; ")})
		}
		listings[i] = l
	}
	return listings, errors.Join(faults...)
}

func unique(seen map[string]int, what, value string, line int) error {
	if first, twice := seen[value]; twice {
		return fmt.Errorf("%s %s stands at line %d too", what, value, first)
	}
	seen[value] = line
	return nil
}

// readJSON walks the array itself, so that each entry's line is known.
func readJSON(name string, data []byte) (entries []entry, lines []int, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	lineAt := func(offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	fault := func(err error) error {
		at := d.InputOffset()
		if s := (*json.SyntaxError)(nil); errors.As(err, &s) {
			at = s.Offset
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the list ends too early")
		}
		return &ListingError{name, lineAt(min(at, int64(len(data)))), strings.TrimPrefix(err.Error(), "json: ")}
	}
	open, err := d.Token()
	if err != nil {
		return nil, nil, fault(err)
	}
	if open != json.Delim('[') {
		return nil, nil, fault(errors.New("want a list of objects: [ {…}, … ]"))
	}
	for d.More() {
		at := d.InputOffset()
		at += int64(len(data[at:]) - len(bytes.TrimLeft(data[at:], " \t\r\n,")))
		var e entry
		if err := d.Decode(&e); err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, nil, fault(err)
			}
			return nil, nil, &ListingError{name, lineAt(at), strings.TrimPrefix(err.Error(), "json: ")}
		}
		entries, lines = append(entries, e), append(lines, lineAt(at))
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fault(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fault(errors.New("something follows the list"))
	}
	return entries, lines, nil
}

func readTOML(name string, data []byte) (entries []entry, lines []int, err error) {
	var list struct {
		Service []entry `toml:"service"`
	}
	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&list)
	var strict *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &strict) && len(strict.Errors) > 0:
		row, _ := strict.Errors[0].Position()
		return nil, nil, &ListingError{name, row, "unknown field " + strings.Join(strict.Errors[0].Key(), ".")}
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return nil, nil, &ListingError{name, row, strings.TrimPrefix(wrong.Error(), "toml: ")}
	case err != nil:
		return nil, nil, &ListingError{name, 0, err.Error()}
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if bytes.HasPrefix(bytes.ReplaceAll(bytes.TrimSpace(line), []byte(" "), nil), []byte("[[service]]")) {
			lines = append(lines, n)
		}
	}
	if len(lines) != len(list.Service) { // written as an inline array
		lines = make([]int, len(list.Service))
	}
	return list.Service, lines, nil
}

// listing checks an entry's syntax and makes a listing of it. Addresses are the guard's business, at dial time.
func (e entry) listing(now time.Time) (postgres.Listing, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	base, err := baseURL(e.URL)
	if err != nil {
		fault("url %w", err)
	}
	l := postgres.Listing{
		Slug: e.Slug, Name: e.ServiceName, Description: e.Description, BaseURL: base, Category: e.Category,
		Source: "imported:file", CreatedAt: now,
	}
	text := func(field, value string, most int) {
		switch {
		case strings.TrimSpace(value) == "":
			fault("%s is missing", field)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			fault("%s holds control characters", field)
		case utf8.RuneCountInString(value) > most:
			fault("%s has %d characters, may have %d", field, utf8.RuneCountInString(value), most)
		}
	}
	text("service_name", e.ServiceName, maxName)
	text("description", e.Description, maxDescription)
	text("category", e.Category, maxName)
	if e.Slug == "" {
		l.Slug = Slug(e.ServiceName)
	}
	if !site.ValidSlug(l.Slug) {
		fault("slug %q may have 1 to 80 of a-z, 0-9 and inner hyphens", l.Slug)
	}
	if e.Source != "" {
		if l.Source = e.Source; !strings.HasPrefix(e.Source, "imported:") || len(e.Source) > maxName || strings.ContainsFunc(e.Source, unicode.IsControl) {
			fault("source %.40q must begin with imported:", e.Source)
		}
	}
	if e.WebsiteURL != "" {
		if _, err := webAddress(e.WebsiteURL); err != nil {
			fault("website_url %w", err)
		}
		l.WebsiteURL = &e.WebsiteURL
	}
	if l.Endpoints, err = listedEndpoints(e.Endpoints); err != nil {
		fault("endpoints %w", err)
	}
	return l, errors.Join(faults...)
}

// webAddress reads an absolute http or https address without userinfo.
func webAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, errors.New("is missing")
	case err != nil || len(s) > 2048:
		return nil, fmt.Errorf("%.60q is no address", s)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("%.60q must begin with https:// or http:// and a host", s)
	case u.User != nil:
		return nil, errors.New("must hold no user name or password")
	}
	return u, nil
}

// baseURL is the address that endpoint paths are put behind: without query, fragment and last slash.
func baseURL(s string) (string, error) {
	u, err := webAddress(s)
	if err != nil {
		return "", err
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return "", fmt.Errorf("%.60q must hold no query and no fragment", s)
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

func listedEndpoints(list []string) ([]postgres.ListedEndpoint, error) {
	if len(list) == 0 || len(list) > maxPaths {
		return nil, fmt.Errorf("are %d, may be 1 to %d", len(list), maxPaths)
	}
	seen := map[postgres.ListedEndpoint]bool{}
	var out []postgres.ListedEndpoint
	for _, s := range list {
		method, path, declared := strings.Cut(s, " ")
		if !declared {
			method, path = "", s
		}
		u, err := url.Parse(path)
		switch {
		case declared && !strings.Contains(" GET POST PUT PATCH DELETE ", " "+method+" "):
			return nil, fmt.Errorf("%.60q: method may be GET, POST, PUT, PATCH or DELETE", s)
		case err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || u.Host != "" || u.Fragment != "":
			return nil, fmt.Errorf("%.60q: want \"/path\" or \"POST /path\"", s)
		case len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
			return nil, fmt.Errorf("%.60q: a path may have %d characters, no blanks and no control characters", s, maxPath)
		}
		e := postgres.ListedEndpoint{Method: method, Path: path}
		if seen[e] {
			return nil, fmt.Errorf("%.60q stands twice", s)
		}
		seen[e] = true
		out = append(out, e)
	}
	return out, nil
}

// Slug makes a slug of a name: marks dropped, lower case, every run of other characters a hyphen.
func Slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		default:
			gap = true
		}
	}
	return strings.Trim(b.String()[:min(b.Len(), 80)], "-")
}
