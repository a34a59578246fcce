package build

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/postgres"
	"tollbook/site/routes"
)

// maxSetAsideShare limits the services that a build sets aside to one in so many, but at least one. If every service of
// a directory is damaged, the build fails too.
const maxSetAsideShare = 100

// errSetAside says that an attempt found further services to set aside. The next attempt builds without their facts,
// because the judgments of other services may depend on them already.
var errSetAside = errors.New("services were set aside")

// setAside collects the services whose facts cannot be read or judged. All attempts of a build share it. Its methods
// may be called concurrently.
type setAside struct {
	mu    sync.Mutex
	list  map[string]postgres.DamagedService // by slug
	lost  map[string]bool                    // slugs of those whose files the previous snapshot lacks
	fresh bool                               // the current attempt added a service, or lost one
	total int                                // services of the directory
}

// add adds a service and returns an error if too many are set aside.
func (a *setAside) add(s postgres.DamagedService) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = map[string]postgres.DamagedService{}
	}
	if _, ok := a.list[s.Slug]; !ok {
		a.list[s.Slug], a.fresh = s, true
	}
	most := max(1, a.total/maxSetAsideShare)
	if n := len(a.list); n > most || n == a.total {
		return a.tooMany(most)
	}
	return nil
}

// tooMany returns the error of a build with too many damaged services, with the first of them.
func (a *setAside) tooMany(most int) error {
	var texts []string
	for _, slug := range slices.Sorted(maps.Keys(a.list))[:min(3, len(a.list))] {
		texts = append(texts, slug+": "+reason(a.list[slug].Err))
	}
	return fmt.Errorf("%d of %d services are damaged, and a build sets aside up to %d of them: %s; correct these rows "+
		"or restore the database from a back-up", len(a.list), a.total, min(most, a.total-1), strings.Join(texts, "; "))
}

// addAll adds the services of a DamagedServices error and returns any other error.
func (a *setAside) addAll(err error) error {
	var damaged postgres.DamagedServices
	if !errors.As(err, &damaged) {
		return err
	}
	for _, s := range damaged {
		if err := a.add(s); err != nil {
			return err
		}
	}
	return nil
}

// lose notes that the previous snapshot lacks files of a service.
func (a *setAside) lose(slug string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil {
		a.lost = map[string]bool{}
	}
	a.lost[slug], a.fresh = true, true
	return nil
}

// has reports whether a service is set aside.
func (a *setAside) has(slug string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.list[slug]
	return ok
}

// check returns errSetAside if the current attempt added a service.
func (a *setAside) check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh {
		return errSetAside
	}
	return nil
}

// begin begins an attempt for the services of the facts. It replaces those that are set aside by what the previous
// snapshot published of them, and leaves out those that it lacks.
func (a *setAside) begin(facts *postgres.Facts, b *output.Build, now site.Time) (*lastGood, error) {
	a.total = len(facts.Services)
	if err := a.addAll(postgres.DamagedServices(facts.Damaged)); err != nil {
		return nil, err
	}
	a.fresh, facts.Damaged = false, nil
	good := newLastGood(b)
	for _, slug := range slices.Sorted(maps.Keys(a.list)) {
		s := a.list[slug]
		facts.Damaged = append(facts.Damaged, s)
		place := slices.IndexFunc(facts.Services, func(f postgres.ServiceFacts) bool { return f.Slug == slug })
		if place < 0 {
			continue // removed since the last attempt
		}
		if a.lost[slug] || !good.read(slug) {
			facts.Services = slices.Delete(facts.Services, place, place+1)
			continue
		}
		// No row belongs to this ID, so that nothing is read of the service.
		facts.Services[place] = postgres.ServiceFacts{Service: postgres.Service{ID: -1, Slug: slug, Name: s.Name}}
	}
	good.setAside = a.published(good.index.SetAside, now)
	return good, nil
}

// published returns what the index says of the services that are set aside, by slug.
func (a *setAside) published(before []routes.SetAside, now site.Time) []routes.SetAside {
	var list []routes.SetAside
	for slug, s := range a.list {
		aside := routes.SetAside{Slug: slug, Since: now, Reason: reason(s.Err)}
		if i := slices.IndexFunc(before, func(o routes.SetAside) bool { return o.Slug == slug }); i >= 0 {
			aside.Since = before[i].Since
		}
		list = append(list, aside)
	}
	slices.SortFunc(list, func(x, y routes.SetAside) int { return cmp.Compare(x.Slug, y.Slug) })
	return list
}

// reason returns an error as one line. Messages of Postgres and of parsers may quote what strangers wrote.
func reason(err error) string { return display.Line(err.Error(), display.MaxLine) }

// panicError is a panic while one service was judged or rendered.
type panicError struct {
	value any
	at    string // function and line
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v at %s", e.value, e.at) }

// guard calls f and returns a panic as an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, panicLine(string(debug.Stack()))}
		}
	}()
	return f()
}

// goGuarded runs f as a goroutine of a group, which returns a panic as an error.
func goGuarded(g *errgroup.Group, f func() error) { g.Go(func() error { return guard(f) }) }

// panicLine returns the file and line of our code that panicked, from a stack trace.
func panicLine(stack string) string {
	_, after, _ := strings.Cut(stack, "\npanic(")
	for line := range strings.Lines(after) {
		if _, at, ok := strings.Cut(line, "/build/"); ok && strings.HasPrefix(line, "\t") {
			at, _, _ = strings.Cut("build/"+at, " ")
			return strings.TrimSpace(at)
		}
	}
	return "an unknown line"
}

// lastGood has what the previous snapshot published of services that are set aside.
type lastGood struct {
	build    *output.Build
	index    routes.Index             // of the previous snapshot; empty without one
	listings map[string]*site.Listing // by slug
	files    map[string][]string      // names by slug, in the order of the previous snapshot
	setAside []routes.SetAside        // what the index of this snapshot says of them

	incidents map[string][]string // names of the JSON files of incidents by slug, the newest incident first
}

// has reports whether the files of a service are copied from the previous snapshot.
func (g *lastGood) has(slug string) bool { return g.listings[slug] != nil }

func newLastGood(b *output.Build) *lastGood {
	g := &lastGood{build: b, listings: map[string]*site.Listing{}, files: map[string][]string{},
		incidents: map[string][]string{}}
	g.index, _ = readPreviousIndex(b) // a damaged index names no file
	return g
}

// read reads the listing of a service. It returns false if the previous snapshot lacks it.
func (g *lastGood) read(slug string) bool {
	data, err := g.build.ReadPrevious(bare("service", slug).Key())
	var detail site.One[site.ServiceDetail]
	if err != nil || json.Unmarshal(data, &detail) != nil || detail.Data.Slug != slug {
		return false
	}
	d := detail.Data
	l := &site.Listing{Item: d.Item(), Trend: site.TrendOf(&d.Assessment.Traction),
		Uptime30d: d.Uptime.D30, ListingDetail: &site.ListingDetail{Detail: d}}
	if len(g.files) == 0 {
		g.list()
	}
	slices.SortFunc(g.incidents[slug], func(x, y string) int { return cmp.Compare(y, x) })
	for _, name := range g.incidents[slug] {
		var x site.One[site.IncidentDetail]
		data, err := g.build.ReadPrevious(name)
		if err != nil || json.Unmarshal(data, &x) != nil || x.Data.Incident.ID == nil {
			return false
		}
		l.Incidents = append(l.Incidents, x.Data)
	}
	g.listings[slug] = l
	return true
}

// list groups the files of the previous snapshot by the service that they belong to.
func (g *lastGood) list() {
	prefixes := []string{strings.TrimSuffix(bare("service", "x").ListKey(), "x"),
		strings.TrimSuffix(ofService("x").ListKey(), "x")}
	for _, name := range g.build.PreviousNames() {
		if slug, ok := incidentSlug(name); ok {
			g.incidents[slug] = append(g.incidents[slug], name)
		}
		for _, prefix := range prefixes {
			rest, ok := strings.CutPrefix(name, prefix)
			if end := strings.IndexAny(rest, "/.="); ok && end > 0 && rest[end] != '=' {
				g.files[rest[:end]] = append(g.files[rest[:end]], name)
			}
		}
	}
}

// incidentSlug returns the slug of the service whose incident the JSON file of a name contains.
func incidentSlug(name string) (string, bool) {
	before, after, _ := strings.Cut(bare("incident", "x").Key(), "x")
	id, ok := strings.CutPrefix(name, before)
	if !ok || !strings.HasSuffix(id, after) {
		return "", false
	}
	return site.IncidentSlug(strings.TrimSuffix(id, after))
}

// copy returns the packed files of a service. It returns false if one of them is missing or damaged. A rendered file
// that an earlier program did not write is left out.
func (g *lastGood) copy(slug string, from tree) ([]file, bool) {
	names := slices.Concat(g.files[slug], g.incidents[slug])
	before := g.build.PreviousNames()
	keys := append(render.ServiceKeys(slug), render.IncidentKeys(g.listings[slug].Incidents)...)
	for _, key := range keys {
		if slices.Contains(before, key) {
			names = append(names, key)
		}
	}
	return copyFiles(names, from)
}

// writeAssets adds the stylesheets, scripts and pictures that copied pages refer to and that this build does not write
// itself, because an earlier program or other settings made them.
func (g *lastGood) writeAssets(renderer *render.Renderer, to tree) error {
	if len(g.listings) == 0 {
		return nil
	}
	written := map[string]bool{}
	pictures, err := renderer.Pictures()
	if err != nil {
		return err
	}
	for _, a := range append(pictures, renderer.Assets()...) {
		written[a.Key] = true
	}
	for _, slug := range slices.Sorted(maps.Keys(g.listings)) {
		page, err := g.build.ReadPrevious(render.ServiceKeys(slug)[0])
		if err != nil {
			continue
		}
		for _, key := range assetName.FindAllString(string(page), -1) {
			if written[key] {
				continue
			}
			written[key] = true
			if packed, ok := to.Reuse(key); ok {
				if err := to.AddPacked(key, packed); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// assetName matches the key of an asset in a page.
var assetName = regexp.MustCompile(`assets/[A-Za-z0-9._-]+`)
