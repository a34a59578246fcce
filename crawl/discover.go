package crawl

import (
	"strings"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// trust orders where an endpoint was told of: what was listed by hand counts most, a catalogue least.
func trust(origin string) int {
	switch origin {
	case facts.OriginCatalogue:
		return 1
	case facts.OriginWellKnown:
		return 2
	case facts.OriginOpenAPI:
		return 3
	}
	return 4
}

// discover says what documents add to the known endpoints of a service: new ones, up to facts.MaxEndpoints in all, and
// what known ones lacked. What an endpoint answered is never overruled: a method by which it was paid stays. Another
// one that a document tells replaces a method that nobody declared or that a lesser document did. An address that is an
// instance of a known endpoint's route template is that endpoint. Nothing is ever removed: what is no longer paid ages
// out.
func discover(known []postgres.Endpoint, found []facts.Endpoint,
	templates map[uuid.UUID]string) (add []postgres.ListedEndpoint, amend []postgres.EndpointAmendment) {
	amended := map[uuid.UUID]bool{}
	type address struct{ method, path string }
	added := map[address]bool{} // each by its path alone too
	for _, f := range found {
		path := withoutQuery(f.Path)
		if e := match(known, f, path, amended); e != nil {
			if a, any := amendment(*e, f); any && !amended[e.ID] {
				amended[e.ID] = true
				amend = append(amend, a)
			}
			continue
		}
		if added[address{f.Method, path}] || instance(known, f, path, templates) ||
			len(known)+len(add) >= facts.MaxEndpoints {
			continue
		}
		added[address{f.Method, path}], added[address{"", path}] = true, true
		add = append(add, postgres.ListedEndpoint{
			Method: f.Method, Path: f.Path, Description: textOrNull(f.Description, nil),
			MimeType: textOrNull(f.MimeType, nil), Origin: f.Origin,
		})
	}
	return add, amend
}

// match finds the known endpoint that a found one is, or whose method it may tell; nil for none.
func match(known []postgres.Endpoint, f facts.Endpoint, path string, amended map[uuid.UUID]bool) *postgres.Endpoint {
	var open *postgres.Endpoint // whose method may be told
	for i := range known {
		k := &known[i]
		if withoutQuery(k.Path) != path {
			continue
		}
		if f.Method == "" || k.Method == f.Method {
			return k
		}
		if open == nil && k.LastPaidAt == nil && !amended[k.ID] &&
			(!k.MethodDeclared || trust(k.Origin) < trust(f.Origin)) {
			open = k
		}
	}
	return open
}

func amendment(k postgres.Endpoint, f facts.Endpoint) (postgres.EndpointAmendment, bool) {
	a := postgres.EndpointAmendment{ID: k.ID}
	if f.Method != k.Method {
		a.Method = f.Method
	}
	if k.Description == nil {
		a.Description = textOrNull(f.Description, nil)
	}
	if k.MimeType == nil {
		a.MimeType = textOrNull(f.MimeType, nil)
	}
	return a, a.Method != "" || a.Description != nil || a.MimeType != nil
}

// instance says whether an address is one of a route that another known endpoint stands for.
func instance(known []postgres.Endpoint, f facts.Endpoint, path string, templates map[uuid.UUID]string) bool {
	for _, k := range known {
		t := templates[k.ID]
		if t != "" && withoutQuery(k.Path) != path && (f.Method == "" || k.Method == f.Method) &&
			(f.Template == t || fits(t, path)) {
			return true
		}
	}
	return false
}

// fits compares a path with a template part by part: ":name", "{name}" and "[name]" stand for any part.
func fits(template, path string) bool {
	t, p := strings.Split(template, "/"), strings.Split(path, "/")
	if len(t) != len(p) {
		return false
	}
	for i := range t {
		if t[i] != p[i] && !strings.HasPrefix(t[i], ":") && !strings.HasPrefix(t[i], "{") &&
			!strings.HasPrefix(t[i], "[") {
			return false
		}
	}
	return true
}

func withoutQuery(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}
