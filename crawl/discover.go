package crawl

import (
	"strings"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// rankOrigin ranks the origin of an endpoint: one listed by hand ranks highest, one from a catalogue lowest.
func rankOrigin(origin string) int {
	switch origin {
	case facts.OriginCatalogue:
		return 1
	case facts.OriginLLMsTxt, facts.OriginAgentCard:
		return 2
	case facts.OriginWellKnown, facts.OriginMCP:
		return 3
	case facts.OriginOpenAPI:
		return 4
	}
	return 5
}

// discover returns what documents add to the endpoints of a service: new endpoints, up to facts.MaxEndpoints in all,
// and properties that the listed ones lack.
//
//   - A method by which an endpoint asked to be paid stays.
//   - A declared method replaces one that nobody declared, or that a source of lower rank declared.
//   - A URL that is an instance of a listed endpoint's route template is that endpoint.
//   - Nothing is removed: endpoints that no longer ask to be paid become inactive with time.
func discover(
	listed []postgres.Endpoint, candidates []facts.Endpoint, templates map[uuid.UUID]string,
) (add []postgres.ListedEndpoint, amend []postgres.EndpointAmendment) {
	amended := map[uuid.UUID]bool{}
	type address struct{ method, path string }
	added := map[address]bool{} // each also under its path alone
	for _, f := range candidates {
		path := withoutQuery(f.Path)
		if e := matchEndpoint(listed, f, path, amended); e != nil {
			if a, any := newAmendment(*e, f); any && !amended[e.ID] {
				amended[e.ID] = true
				amend = append(amend, a)
			}
			continue
		}
		if added[address{f.Method, path}] || isInstance(listed, f, path, templates) ||
			len(listed)+len(add) >= facts.MaxEndpoints {
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

// matchEndpoint returns the listed endpoint that f describes, or whose method f may replace; nil for none.
func matchEndpoint(listed []postgres.Endpoint, f facts.Endpoint, path string,
	amended map[uuid.UUID]bool) *postgres.Endpoint {
	var open *postgres.Endpoint // its method may be replaced
	for i := range listed {
		k := &listed[i]
		if withoutQuery(k.Path) != path {
			continue
		}
		if f.Method == "" || k.Method == f.Method {
			return k
		}
		if open == nil && k.LastPaidAt == nil && !amended[k.ID] &&
			(!k.MethodDeclared || rankOrigin(k.Origin) < rankOrigin(f.Origin)) {
			open = k
		}
	}
	return open
}

func newAmendment(k postgres.Endpoint, f facts.Endpoint) (postgres.EndpointAmendment, bool) {
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

// isInstance reports whether a URL matches the route template of another listed endpoint.
func isInstance(listed []postgres.Endpoint, f facts.Endpoint, path string, templates map[uuid.UUID]string) bool {
	for _, k := range listed {
		t := templates[k.ID]
		if t != "" && withoutQuery(k.Path) != path && (f.Method == "" || k.Method == f.Method) &&
			(f.Template == t || matchesTemplate(t, path)) {
			return true
		}
	}
	return false
}

// matchesTemplate compares a path with a template part by part: ":name", "{name}" and "[name]" match any part.
func matchesTemplate(template, path string) bool {
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
