package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	logRule    = "Status and checks"
	changeRule = "Change records"
)

// recomputeCheckLog computes the log of all checks from the logs of the services, and the newest pages of both.
func recomputeCheckLog(d *directory, r *report) {
	type place struct {
		s      *service
		index  int
		status string // of the service after the visit, "" if the log does not determine it
	}
	places := map[string]place{} // by id of the check
	for _, s := range d.services {
		statuses := statusesAfter(s.visits(d))
		var rows []node
		for i, visit := range s.visits(d).list {
			places[visit.row.get("id").text()] = place{s, i, statuses[i]}
			rows = append(rows, visit.row)
		}
		figureNewest(d, r, logRule, "v1/services/"+s.slug+"/checks", rows, 20)
	}
	rows := d.snap.log("v1/checks")
	for _, row := range rows {
		p, ok := places[row.get("id").text()]
		if !ok {
			continue // older than the oldest row that the service's log still has; an input
		}
		own := p.s.visits(d).list[p.index].row
		for _, name := range row.keys() {
			switch published := row.get(name); name {
			case "service_slug":
				r.figure(logRule, published, p.s.slug)
			case "service_name":
				if row.file == "v1/checks.json" {
					r.figure(logRule, published, p.s.detail.get("name"))
				}
			case "service_status":
				if p.status != "" {
					r.figure(logRule, published, p.status)
				}
			default:
				r.figure(logRule, published, own.get(name))
			}
		}
	}
	figureNewest(d, r, logRule, "v1/checks", rows, 50)
}

// statusesAfter returns the status of a service after each of its visits, "" where the rows leave open whether it was
// online or degraded, or whether the failures before the first row make it offline.
func statusesAfter(v visits) []string {
	statuses := make([]string, len(v.list))
	failures, complete := 0, v.whole.IsZero()
	status := "unknown"
	for i, visit := range v.list {
		switch {
		case !visit.counted:
			if i == 0 && !complete {
				status = ""
			}
		case visit.up:
			failures, complete, status = 0, true, ""
		default:
			failures++
			status = "degraded"
			if failures >= 3 {
				status = "offline"
			} else if !complete {
				status = ""
			}
		}
		statuses[i] = status
	}
	return statuses
}

// figureNewest compares the first page of a log with its newest rows, and its numbers with the number of its rows.
func figureNewest(d *directory, r *report, rule, name string, rows []node, limit int) {
	index := d.snap.json(name + "/log.json")
	r.figure(rule, index.get("next"), index.get("first").int()+len(rows))
	r.figure(rule, d.snap.json(name+".json").at("meta", "total"), len(rows))
	var newest []any
	for i := len(rows) - 1; i >= 0 && len(newest) < limit; i-- {
		newest = append(newest, rows[i].value)
	}
	r.figure(rule, d.snap.json(name+".json").get("data"), newest)
	figureBlocks(d, r, rule, name, index)
}

// figureBlocks compares the numbers of blocks: a block starts at a multiple of 100 unless older rows were deleted, and
// a pack has the blocks whose last row was checked in its hour.
func figureBlocks(d *directory, r *report, rule, name string, index node) {
	for _, file := range d.snap.files(name+"/block=", ".json") {
		number, _ := strconv.Atoi(parameters(file)["block"])
		r.figure(rule, d.snap.json(file).at("meta", "first"), max(100*number, index.get("first").int()))
	}
	next := index.get("first").int() / 100
	for _, pack := range index.get("packs").items() {
		r.figure(rule, pack.get("first"), next)
		next = pack.get("last").int() + 1
		rows := d.snap.json(name + "/block=" + strconv.Itoa(next-1) + ".json").get("data").items()
		if len(rows) > 0 {
			hour := rows[len(rows)-1].get("checked_at").time().UTC().Format("2006010215")
			r.figure(rule, pack.get("pack"), hour)
		}
		r.figure(rule, pack.get("last"), next-1)
	}
}

// recomputeChanges computes the logs of each service and of each type from the log of all change records, and their
// indexes by day.
func recomputeChanges(d *directory, r *report) {
	rows := d.snap.log("v1/changes")
	totals := d.snap.json("v1/index.json").get("lists")
	lists := map[string]bool{}
	figureChanges(d, r, "v1/changes", rows)
	for _, s := range d.services {
		name := "v1/changes/service=" + escape(s.slug)
		own := keep(rows, "slug", s.slug)
		for _, row := range own {
			r.figure(changeRule, row.get("name"), s.detail.get("name"))
		}
		if len(own) > 0 {
			figureChanges(d, r, name, own)
			lists[name] = true
		}
	}
	for _, name := range totals.keys() {
		if strings.HasPrefix(name, "v1/changes/") && !lists[name] {
			r.compare(changeRule, totals.get(name), "a log", "no record")
		}
	}
	figureChangesPage(d, r, rows)
}

// keep returns the rows with this value of a member.
func keep(rows []node, member, value string) []node {
	return slices.DeleteFunc(slices.Clone(rows), func(n node) bool { return n.get(member).text() != value })
}

// figureChanges compares a log of change records, its logs by type and their index.
func figureChanges(d *directory, r *report, name string, rows []node) {
	index := d.snap.json(name + "/log.json")
	r.figure(changeRule, d.snap.json("v1/index.json").at("lists", name), len(rows))
	figureChangeIndex(d, r, name, index, rows)
	types := map[string]bool{}
	for _, row := range rows {
		types[row.get("type").text()] = true
	}
	r.figure(changeRule, keysOf(index.get("types")), slices.Sorted(maps.Keys(types)))
	for kind := range types {
		figureChangeIndex(d, r, name+"/type="+kind, index.at("types", kind), keep(rows, "type", kind))
	}
}

// keysOf returns the names of an object's members as a list, to compare them.
func keysOf(n node) node {
	var names []any
	for _, key := range n.keys() {
		names = append(names, key)
	}
	return node{file: n.file, value: names, up: n.up, key: n.key}
}

// figureChangeIndex compares the index of one log of change records and the rows of its blocks.
func figureChangeIndex(d *directory, r *report, name string, index node, rows []node) {
	first := index.get("first").int()
	r.figure(changeRule, index.get("first"), first)
	r.figure(changeRule, index.get("next"), first+len(rows))
	var days []any
	for i, row := range rows {
		at := row.get("observed_at").time()
		if i == 0 || !midnight(at).Equal(midnight(rows[i-1].get("observed_at").time())) {
			days = append(days, map[string]any{"day": at.UTC().Format(time.DateOnly), "first": first + i})
		}
	}
	if len(days) > 0 || index.get("days").exists() {
		r.figure(changeRule, index.get("days"), days)
	}
	for i, row := range rows {
		block := d.snap.json(name + "/block=" + strconv.Itoa((first+i)/100) + ".json")
		at := max(first, (first+i)/100*100)
		if items := block.get("data").items(); first+i-at < len(items) && name != "v1/changes" {
			r.figure(changeRule, items[first+i-at], row)
		}
		if i == 0 || (first+i)%100 == 0 {
			r.figure(changeRule, block.at("meta", "first"), at)
			r.figure(changeRule, length(block.get("data")), min(len(rows)-i, 100-(first+i)%100))
		}
	}
}

// length returns the number of elements of a list as a value at the list's place.
func length(n node) node {
	return node{file: n.file, value: json.Number(strconv.Itoa(len(n.items()))), up: n.up, key: n.key, index: n.index}
}

// figureChangesPage compares the first page of all change records of 90 days, newest first.
func figureChangesPage(d *directory, r *report, rows []node) {
	from := midnight(d.now).Add(-89 * day)
	rows = slices.DeleteFunc(slices.Clone(rows), func(n node) bool { return n.get("observed_at").time().Before(from) })
	page := d.snap.json("v1/changes.json")
	meta := page.get("meta")
	figurePage(r, meta, len(rows), 1, 25)
	r.figure(changeRule, meta.get("window_total"), len(rows))
	for _, kind := range []string{"schema_changed", "price_changed", "payto_changed"} {
		r.figure(changeRule, meta.at("type_counts", kind), len(keep(rows, "type", kind)))
	}
	var newest []any
	for i := len(rows) - 1; i >= 0 && len(newest) < 25; i-- {
		newest = append(newest, rows[i].value)
	}
	r.figure(changeRule, page.get("data"), newest)
	if !slices.IsSortedFunc(rows, func(a, b node) int {
		return cmp.Compare(a.get("observed_at").text(), b.get("observed_at").text())
	}) {
		r.compare(changeRule, page.get("data"), "another order", "the order of time")
	}
}
