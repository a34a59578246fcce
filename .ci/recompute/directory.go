package main

import (
	"strings"
	"time"
)

// directory is a snapshot as the recomputations read it.
type directory struct {
	snap     *snapshot
	now      time.Time
	services []*service           // by slug
	measured map[string]time.Time // since when the settlements on a network are measured
}

// service is what a snapshot publishes about one service.
type service struct {
	slug     string
	detail   node // data of /v1/services/{slug}
	evidence node // data of /v1/services/{slug}/evidence
	log      *visits

	endpoints []*probed // nil until they are read

	riskLevel  string
	riskReason any // title of the first flag, or nil
}

// recomputations are all parts of the program. Each compares the figures that it can compute.
var recomputations = []func(*directory, *report){
	recomputeUptime,
	recomputeState,
	recomputeLists,
	recomputeGroups,
	recomputeCheckLog,
	recomputeChanges,
	recomputeEconomics,
	recomputeLookups,
	recomputeSearch,
	recomputeCatalogue,
	recomputeDocuments,
	recomputeRecipients,
	recomputePages,
	recomputePriceSeries,
}

// recompute computes every figure again and lists the values that nothing explains.
func recompute(snap *snapshot) *report {
	r := &report{kinds: map[string]*kind{}, explained: map[string]bool{}, unexplained: map[string]int{}}
	d := newDirectory(snap)
	for i, part := range recomputations {
		r.part = i
		part(d, r)
	}
	findUnexplained(snap, r)
	return r
}

func newDirectory(snap *snapshot) *directory {
	d := &directory{snap: snap, now: snap.now}
	loadTables(snap.json("v1/assets.json").get("data"))
	for _, slug := range snap.json("v1/index.json").get("slugs").texts() {
		d.services = append(d.services, &service{
			slug:     slug,
			detail:   snap.json("v1/services/" + slug + ".json").get("data"),
			evidence: snap.json("v1/services/" + slug + "/evidence.json").get("data"),
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
func findUnexplained(snap *snapshot, r *report) {
	for _, name := range snap.files("", ".json") {
		snap.json(name).leaves(func(n node) {
			if kind := n.kind(); !r.explained[n.file+" "+n.path()] && !isInput(kind) {
				r.unexplained[kind]++
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
