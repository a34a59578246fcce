package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

const (
	logRule    = "Status and checks"
	changeRule = "Change records"
)

// recomputeCheckLog computes the log of all checks from the logs of the services, and the newest pages of both.
func recomputeCheckLog(d *directory, r *snapshot.Report) {
	type place struct {
		s      *service
		index  int
		status string // of the service after the visit, "" if the log does not determine it
	}
	places := map[string]place{} // by id of the check
	for _, s := range d.services {
		statuses := statusesAfter(s.visits(d))
		var rows []snapshot.Node
		for i, visit := range s.visits(d).list {
			places[visit.row.Get("id").Text()] = place{s, i, statuses[i]}
			rows = append(rows, visit.row)
		}
		figureNewest(d, r, logRule, "v1/services/"+s.slug+"/checks", rows, 20)
	}
	rows := d.snap.Log("v1/checks")
	missing := maps.Clone(places)
	for _, row := range rows {
		p, ok := places[row.Get("id").Text()]
		if !ok {
			continue // older than the oldest row that the service's log still has; an input
		}
		delete(missing, row.Get("id").Text())
		own := p.s.visits(d).list[p.index].row
		for _, name := range row.Keys() {
			switch published := row.Get(name); name {
			case "service_slug":
				r.Figure(logRule, published, p.s.slug)
			case "service_name":
				if row.File == "v1/checks.json" {
					r.Figure(logRule, published, p.s.detail.Get("name"))
				}
			case "service_status":
				if p.status != "" {
					r.Figure(logRule, published, p.status)
				}
			default:
				r.Figure(logRule, published, own.Get(name))
			}
		}
	}
	if len(rows) == 0 {
		clear(missing)
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) { // rows of services between the oldest and the newest row
		own := missing[id].s.visits(d).list[missing[id].index].row
		if at := own.Get("checked_at").Time(); !at.Before(rows[0].Get("checked_at").Time()) &&
			at.Before(rows[len(rows)-1].Get("checked_at").Time()) {
			r.Compare(logRule, own.Get("id"), id, "no row of v1/checks")
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
func figureNewest(d *directory, r *snapshot.Report, rule, name string, rows []snapshot.Node, limit int) {
	index := d.snap.JSON(name + "/log.json")
	r.Figure(rule, index.Get("next"), index.Get("first").Int()+len(rows))
	r.Figure(rule, d.snap.JSON(name+".json").At("meta", "total"), len(rows))
	var newest []any
	for i := len(rows) - 1; i >= 0 && len(newest) < limit; i-- {
		newest = append(newest, rows[i].Value)
	}
	r.Figure(rule, d.snap.JSON(name+".json").Get("data"), newest)
	figureBlocks(d, r, rule, name, index)
}

// figureBlocks compares the numbers of blocks: a block starts at a multiple of 100 unless older rows were deleted, and
// a pack has the blocks whose last row was checked in its hour.
func figureBlocks(d *directory, r *snapshot.Report, rule, name string, index snapshot.Node) {
	for _, file := range d.snap.Files(name+"/block=", ".json") {
		number, _ := strconv.Atoi(snapshot.Parameters(file)["block"])
		r.Figure(rule, d.snap.JSON(file).At("meta", "first"), max(100*number, index.Get("first").Int()))
	}
	next := index.Get("first").Int() / 100
	for _, pack := range index.Get("packs").Items() {
		r.Figure(rule, pack.Get("first"), next)
		next = pack.Get("last").Int() + 1
		rows := d.snap.JSON(name + "/block=" + strconv.Itoa(next-1) + ".json").Get("data").Items()
		if len(rows) > 0 {
			hour := rows[len(rows)-1].Get("checked_at").Time().UTC().Format("2006010215")
			r.Figure(rule, pack.Get("pack"), hour)
		}
		r.Figure(rule, pack.Get("last"), next-1)
	}
}

// recomputeChanges computes the logs of each service and of each type from the log of all change records, and their
// indexes by day.
func recomputeChanges(d *directory, r *snapshot.Report) {
	rows := d.snap.Log("v1/changes")
	totals := d.snap.JSON("v1/index.json").Get("lists")
	lists := map[string]bool{}
	figureChanges(d, r, "v1/changes", rows)
	for _, s := range d.services {
		name := "v1/changes/service=" + escape(s.slug)
		own := keep(rows, "slug", s.slug)
		for _, row := range own {
			r.Figure(changeRule, row.Get("name"), s.detail.Get("name"))
		}
		if len(own) > 0 {
			figureChanges(d, r, name, own)
			lists[name] = true
		}
	}
	for _, name := range totals.Keys() {
		if strings.HasPrefix(name, "v1/changes/") && !lists[name] {
			r.Compare(changeRule, totals.Get(name), "a log", "no record")
		}
	}
	figureChangesPage(d, r, rows)
}

// keep returns the rows with this value of a member.
func keep(rows []snapshot.Node, member, value string) []snapshot.Node {
	return slices.DeleteFunc(slices.Clone(rows), func(n snapshot.Node) bool { return n.Get(member).Text() != value })
}

// figureChanges compares a log of change records, its logs by type and their index.
func figureChanges(d *directory, r *snapshot.Report, name string, rows []snapshot.Node) {
	index := d.snap.JSON(name + "/log.json")
	r.Figure(changeRule, d.snap.JSON("v1/index.json").At("lists", name), len(rows))
	figureChangeIndex(d, r, name, index, rows)
	types := map[string]bool{}
	for _, row := range rows {
		types[row.Get("type").Text()] = true
	}
	r.Compare(changeRule, index.Get("types"), strings.Join(index.Get("types").Keys(), " "),
		strings.Join(slices.Sorted(maps.Keys(types)), " "))
	for kind := range types {
		figureChangeIndex(d, r, name+"/type="+kind, index.At("types", kind), keep(rows, "type", kind))
	}
}

// figureChangeIndex compares the index of one log of change records and the rows of its blocks.
func figureChangeIndex(d *directory, r *snapshot.Report, name string, index snapshot.Node, rows []snapshot.Node) {
	first := index.Get("first").Int()
	r.Figure(changeRule, index.Get("first"), first)
	r.Figure(changeRule, index.Get("next"), first+len(rows))
	var days []any
	for i, row := range rows {
		at := row.Get("observed_at").Time()
		if i == 0 || !snapshot.Midnight(at).Equal(snapshot.Midnight(rows[i-1].Get("observed_at").Time())) {
			days = append(days, map[string]any{"day": at.UTC().Format(time.DateOnly), "first": first + i})
		}
	}
	if len(days) > 0 || index.Get("days").Exists() {
		r.Figure(changeRule, index.Get("days"), days)
	}
	for i, row := range rows {
		block := d.snap.JSON(name + "/block=" + strconv.Itoa((first+i)/100) + ".json")
		at := max(first, (first+i)/100*100)
		if items := block.Get("data").Items(); first+i-at < len(items) && name != "v1/changes" {
			r.Figure(changeRule, items[first+i-at], row)
		}
		if i == 0 || (first+i)%100 == 0 {
			r.Figure(changeRule, block.At("meta", "first"), at)
			r.Figure(changeRule, length(block.Get("data")), min(len(rows)-i, 100-(first+i)%100))
		}
	}
}

// length returns the number of elements of a list as a value at the list's place.
func length(n snapshot.Node) snapshot.Node {
	return snapshot.Node{File: n.File, Value: json.Number(strconv.Itoa(len(n.Items()))), Up: n.Up, Key: n.Key,
		Index: n.Index}
}

// figureChangesPage compares the first page of all change records of 90 days, newest first.
func figureChangesPage(d *directory, r *snapshot.Report, rows []snapshot.Node) {
	from := snapshot.Midnight(d.now).Add(-89 * snapshot.Day)
	rows = slices.DeleteFunc(slices.Clone(rows), func(n snapshot.Node) bool {
		return n.Get("observed_at").Time().Before(from)
	})
	page := d.snap.JSON("v1/changes.json")
	meta := page.Get("meta")
	figurePage(r, meta, len(rows), 1, 25)
	r.Figure(changeRule, meta.Get("window_total"), len(rows))
	for _, kind := range []string{"schema_changed", "price_changed", "payto_changed", "listed", "dropped",
		"grade_changed"} {
		r.Figure(changeRule, meta.At("type_counts", kind), len(keep(rows, "type", kind)))
	}
	var newest []any
	for i := len(rows) - 1; i >= 0 && len(newest) < 25; i-- {
		newest = append(newest, rows[i].Value)
	}
	r.Figure(changeRule, page.Get("data"), newest)
	if !slices.IsSortedFunc(rows, func(a, b snapshot.Node) int {
		return cmp.Compare(a.Get("observed_at").Text(), b.Get("observed_at").Text())
	}) {
		r.Compare(changeRule, page.Get("data"), "another order", "the order of time")
	}
}
