package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/aggregate"
	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/matrix"
	"tollbook/.ci/recompute/snapshot"
)

const documentRule = "reference, files"

// recomputeDocuments computes the index of the snapshot, feeds and badges.
func recomputeDocuments(d *directory, r *snapshot.Report) {
	index := d.snap.JSON("v1/index.json")
	var slugs []string
	for _, name := range d.snap.Files("v1/services/", ".json") {
		if slug := strings.TrimSuffix(strings.TrimPrefix(name, "v1/services/"), ".json"); !strings.ContainsAny(slug,
			"/=") {
			slugs = append(slugs, slug)
		}
	}
	r.Figure(documentRule, index.Get("slugs"), slugs)
	figureFacilitators(d, r, index)
	pages := map[string]any{"services": pageCount(len(d.services))}
	for _, g := range d.groups(aggregate.CategoryOf) {
		pages["categories/"+strings.ToLower(g.Name)] = pageCount(g.Count)
	}
	for _, g := range d.groups(aggregate.NetworksOf) {
		pages["networks/"+strings.ToLower(g.Name)] = pageCount(g.Count)
	}
	r.Figure(documentRule, index.Get("pages"), pages)
	rows := d.snap.Log("v1/changes")
	figureFeed(r, d.snap.JSON("feed.json"), rows, 50)
	for _, s := range d.services {
		figureFeed(r, d.snap.JSON("services/"+s.slug+"/changes.json"), keep(rows, "slug", s.slug), 20)
		figureBadge(r, d.snap.JSON("services/"+s.slug+"/badge.json"), s)
		r.Figure(documentRule, s.detail.Get("slug"), s.slug)
		figureIdentities(r, s)
	}
	for _, row := range d.snap.JSON("v1/networks.json").Get("data").Items() {
		if network, ok := conformance.LookupNetwork(row.Get("id").Text()); ok {
			r.Figure(documentRule, row.Get("name"), network.Name)
			r.Figure(documentRule, row.Get("abbreviation"), network.Abbreviation)
			r.Figure(documentRule, row.Get("is_mainnet"), network.Mainnet)
			r.Figure(documentRule, row.Get("id"), network.ID)
		}
	}
}

// figureFacilitators compares the ids of facilitators and the totals of their lists.
func figureFacilitators(d *directory, r *snapshot.Report, index snapshot.Node) {
	ids := []string{}
	for _, name := range d.snap.Files("v1/facilitators/", ".json") {
		id := strings.TrimSuffix(strings.TrimPrefix(name, "v1/facilitators/"), ".json")
		if !strings.ContainsAny(id, "/=") && id != matrix.ID {
			ids = append(ids, id)
		}
	}
	r.Figure(documentRule, index.Get("facilitators"), ids)
	for _, name := range index.Get("lists").Keys() {
		if strings.HasPrefix(name, "v1/facilitators") {
			r.Figure(documentRule, index.At("lists", name), len(ids))
		}
	}
}

// figureIdentities compares the active endpoints of a record with those of the evidence.
func figureIdentities(r *snapshot.Report, s *service) {
	endpoints := s.detail.Get("endpoints").Items()
	for _, n := range s.evidence.Get("endpoints").Items() {
		i := slices.IndexFunc(endpoints, func(e snapshot.Node) bool { return e.Get("id").Text() == n.Get("id").Text() })
		r.Figure("How a service is checked", n.Get("is_active"), i >= 0)
		if i >= 0 {
			for _, name := range []string{"id", "method", "path"} {
				r.Figure(documentRule, endpoints[i].Get(name), n.Get(name))
			}
			endpoints = slices.Delete(endpoints, i, i+1)
		}
	}
	if len(endpoints) > 0 {
		r.Compare(documentRule, endpoints[0].Get("id"), endpoints[0].Get("id").Text(), "no evidence")
	}
}

// pageCount returns the number of HTML pages of a list: 50 services each.
func pageCount(services int) int { return max(1, (services+49)/50) }

// figureFeed compares the entries of a feed: the newest change records, newest first.
func figureFeed(r *snapshot.Report, feed snapshot.Node, rows []snapshot.Node, most int) {
	items := feed.Get("items").Items()
	if want := min(most, len(rows)); len(items) != want {
		r.Compare(changeRule, feed.Get("items"), strconv.Itoa(len(items)), strconv.Itoa(want))
		return
	}
	for i, item := range items {
		row := rows[len(rows)-1-i]
		r.Figure(changeRule, item.Get("date_published"), row.Get("observed_at"))
		r.Figure(changeRule, item.Get("tags"), []string{row.Get("type").Text()})
	}
}

// figureBadge compares a badge: the status, and the uptime of 30 days.
func figureBadge(r *snapshot.Report, badge snapshot.Node, s *service) {
	status := s.detail.Get("status").Text()
	message := status
	if uptime := s.detail.At("uptime", "30d").Number(); uptime != nil {
		message = fmt.Sprintf("%s, %s uptime over 30 days", status, snapshot.DecimalText(uptime)+"%")
	}
	r.Figure(documentRule, badge.Get("schemaVersion"), 1)
	r.Figure(documentRule, badge.Get("label"), "x402")
	r.Figure(documentRule, badge.Get("message"), message)
	r.Input(badge.Get("color")) // the operator chooses colours
}
