package crawl

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site"
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

// discovery is what documents change of the endpoints of a service.
type discovery struct {
	add   []postgres.ListedEndpoint
	amend []postgres.EndpointAmendment
	drop  []uuid.UUID // unproven endpoints
}

// discover returns what the documents of a service, or a source, change of its endpoints: new endpoints, up to
// facts.MaxEndpoints in all, and properties that the listed ones lack.
//
//   - A method by which an endpoint asked to be paid stays.
//   - A declared method replaces one that nobody declared, or that a source of lower rank declared.
//   - A URL that is an instance of a listed endpoint's route template is that endpoint.
//   - An endpoint that only a source declared, and that a document of the service declares too, gets the origin of the
//     document.
//   - Unproven endpoints are dropped to make room for those that documents of the service declare, and once they are
//     old. No other endpoint is removed: it becomes inactive with time.
func discover(
	listed []postgres.Endpoint, candidates []facts.Endpoint, templates map[uuid.UUID]string, now time.Time,
) (d discovery) {
	amended, adopted := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	type address struct{ method, path string }
	added := map[address]bool{}       // each also under its path alone
	var own []postgres.ListedEndpoint // that documents of the service declare
	for _, f := range candidates {
		path := withoutQuery(f.Path)
		if e := matchEndpoint(listed, f, path, amended); e != nil {
			if a, any := newAmendment(*e, f); any && !amended[e.ID] {
				amended[e.ID], adopted[e.ID] = true, a.Origin != ""
				d.amend = append(d.amend, a)
			}
			continue
		}
		if added[address{f.Method, path}] || isInstance(listed, f, path, templates) {
			continue
		}
		added[address{f.Method, path}], added[address{"", path}] = true, true
		e := postgres.ListedEndpoint{
			Method: f.Method, Path: f.Path, Description: ownText(f.Description, nil),
			MimeType: ownText(f.MimeType, nil), Origin: f.Origin,
		}
		if f.Origin == facts.OriginCatalogue {
			d.add = append(d.add, e)
		} else {
			own = append(own, e)
		}
	}
	unproven := unprovenEndpoints(listed, adopted)
	others := len(listed) - len(unproven)
	own = own[:min(len(own), max(0, facts.MaxEndpoints-others))]
	d.drop = dropUnproven(unproven, others+len(own), now)
	d.add = append(own, d.add[:min(len(d.add), max(0, facts.MaxEndpoints-len(listed)-len(own)))]...)
	return d
}

// unprovenEndpoints returns the unproven endpoints that no document of the service declares, in the order in which they
// are dropped: those that were probed first, then the oldest.
func unprovenEndpoints(listed []postgres.Endpoint, adopted map[uuid.UUID]bool) (list []*postgres.Endpoint) {
	for i := range listed {
		if e := &listed[i]; e.IsUnproven() && !adopted[e.ID] {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *postgres.Endpoint) int {
		if probed := a.LastProbedAt != nil; probed != (b.LastProbedAt != nil) {
			if probed {
				return -1
			}
			return 1
		}
		return cmp.Or(a.FirstSeenAt.Compare(b.FirstSeenAt), cmp.Compare(a.Path, b.Path),
			bytes.Compare(a.ID[:], b.ID[:]))
	})
	return list
}

// dropUnproven returns the unproven endpoints to drop of a service with others: as many as have no place beside the
// others, and those that were probed after they were listed for site.ActiveFor. A service without others keeps as many
// as one visit probes.
func dropUnproven(unproven []*postgres.Endpoint, others int, now time.Time) (drop []uuid.UUID) {
	least := 0
	if others == 0 {
		least = maxEndpoints
	}
	for _, e := range unproven {
		left := len(unproven) - len(drop)
		isOld := e.LastProbedAt != nil && !e.LastProbedAt.Before(e.FirstSeenAt.Add(site.ActiveFor))
		if left > facts.MaxEndpoints-others || isOld && left > least {
			drop = append(drop, e.ID)
		}
	}
	return drop
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
		if k.IsUnproven() && k.MethodDeclared && f.Method == "" && f.Origin != facts.OriginCatalogue {
			continue // the method is the source's word, and the service does not say it
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
	if k.Origin == facts.OriginCatalogue && f.Origin != facts.OriginCatalogue {
		a.Origin = f.Origin
	}
	if f.Method != k.Method {
		a.Method = f.Method
	}
	if k.Description == nil || k.IsUnproven() && a.Origin != "" {
		a.Description = ownText(f.Description, nil)
	}
	if k.MimeType == nil || k.IsUnproven() && a.Origin != "" {
		a.MimeType = ownText(f.MimeType, nil)
	}
	return a, a.Origin != "" || a.Method != "" || a.Description != nil || a.MimeType != nil
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
