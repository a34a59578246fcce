package main

import (
	"strings"
	"time"

	"tollbook/.ci/recompute/best"
	"tollbook/.ci/recompute/catalogue"
	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/flow"
	"tollbook/.ci/recompute/matrix"
	"tollbook/.ci/recompute/provenance"
	"tollbook/.ci/recompute/snapshot"
)

// directory is a snapshot as the recomputations read it.
type directory struct {
	snap     *snapshot.Snapshot
	now      time.Time
	services []*service           // by slug
	measured map[string]time.Time // since when the settlements on a network are measured
}

// service is what a snapshot publishes about one service.
type service struct {
	slug     string
	detail   snapshot.Node // data of /v1/services/{slug}
	evidence snapshot.Node // data of /v1/services/{slug}/evidence
	log      *visits

	endpoints []*conformance.Probed // nil until they are read

	riskLevel  string
	riskReason any // title of the first flag, or nil
}

// recomputations are all parts of the program. Each compares the figures that it can compute.
var recomputations = []func(*directory, *snapshot.Report){
	recomputeUptime,
	recomputeState,
	recomputeLists,
	recomputeGroups,
	recomputeCheckLog,
	recomputeChanges,
	recomputeEconomics,
	recomputeLookups,
	recomputeCatalogue,
	recomputeDocuments,
	recomputeRecipients,
	recomputePages,
	recomputePriceSeries,
	recomputeRows,
	recomputeIncidents,
	func(d *directory, r *snapshot.Report) { matrix.Recompute(d.snap, r, abbreviation) },
	func(d *directory, r *snapshot.Report) { flow.Recompute(d.snap, r) },
	func(d *directory, r *snapshot.Report) { best.Recompute(d.snap, r) },
	func(d *directory, r *snapshot.Report) { provenance.Recompute(d.snap, r) },
}

func recomputeCatalogue(d *directory, r *snapshot.Report) {
	var stable []snapshot.Node
	for _, s := range d.services {
		if !isUnstable(d, s) {
			stable = append(stable, s.detail)
		}
	}
	catalogue.Recompute(d.snap, r, stable)
}

// recompute computes every figure again and lists the values that nothing explains.
func recompute(snap *snapshot.Snapshot) *snapshot.Report {
	r := &snapshot.Report{Kinds: map[string]*snapshot.Kind{}, Explained: map[string]bool{},
		Unexplained: map[string]int{}}
	d := newDirectory(snap)
	for i, part := range recomputations {
		r.Part = i
		part(d, r)
	}
	findUnexplained(snap, r)
	return r
}

func newDirectory(snap *snapshot.Snapshot) *directory {
	d := &directory{snap: snap, now: snap.Now}
	conformance.LoadTables(snap.JSON("v1/assets.json").Get("data"), string(snap.Bytes["methodology.md"]))
	for _, slug := range snap.JSON("v1/index.json").Get("slugs").Texts() {
		d.services = append(d.services, &service{
			slug:     slug,
			detail:   snap.JSON("v1/services/" + slug + ".json").Get("data"),
			evidence: snap.JSON("v1/services/" + slug + "/evidence.json").Get("data"),
		})
	}
	for _, s := range d.services {
		s.riskLevel, s.riskReason = riskLevel(riskFlags(d, s)), riskReason(d, s)
	}
	return d
}

// file returns the name of a file below the service's address, such as uptime/period=30d.json.
func (s *service) file(name string) string { return "v1/services/" + s.slug + "/" + name }

// findUnexplained looks at every value of every JSON file and counts those that were not recomputed and are no inputs.
func findUnexplained(snap *snapshot.Snapshot, r *snapshot.Report) {
	for _, name := range snap.Files("", ".json") {
		snap.JSON(name).Leaves(func(n snapshot.Node) {
			if kind := n.Kind(); !r.Explained[n.File+" "+n.Path()] && !isInput(kind) {
				r.Unexplained[kind]++
			}
		})
	}
}

// inputs are kinds of values that nothing else in the snapshot determines: what a service said of itself, what was
// received, what happened when. A kind that ends in * stands for everything below it. Each part adds its own.
var inputs = map[string]string{}

// isInput reports whether a kind is an input.
func isInput(kind string) bool {
	if _, ok := inputs[kind]; ok {
		return true
	}
	for end := len(kind); end > 0; end-- {
		if _, ok := inputs[kind[:end]+"*"]; ok {
			return true
		}
	}
	return false
}

// addInputs adds kinds of one file, with the reason why they are inputs. Patterns are separated by spaces.
func addInputs(file, reason, patterns string) {
	for _, pattern := range strings.Fields(patterns) {
		inputs[file+" "+pattern] = reason
	}
}

// probed returns the endpoints in a service's evidence, which are read once.
func (s *service) probed() []*conformance.Probed {
	if s.endpoints == nil {
		s.endpoints = []*conformance.Probed{}
		for _, n := range s.evidence.Get("endpoints").Items() {
			s.endpoints = append(s.endpoints, conformance.NewProbed(n))
		}
	}
	return s.endpoints
}
