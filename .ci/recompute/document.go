package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const documentRule = "reference, files"

// recomputeDocuments computes the index of the snapshot, feeds and badges.
func recomputeDocuments(d *directory, r *report) {
	index := d.snap.json("v1/index.json")
	var slugs []string
	for _, name := range d.snap.files("v1/services/", ".json") {
		if slug := strings.TrimSuffix(strings.TrimPrefix(name, "v1/services/"), ".json"); !strings.ContainsAny(slug,
			"/=") {
			slugs = append(slugs, slug)
		}
	}
	r.figure(documentRule, index.get("slugs"), slugs)
	figureFacilitators(d, r, index)
	pages := map[string]any{"services": pageCount(len(d.services))}
	for _, g := range d.groups(func(s *service) []string { return []string{s.detail.get("category").text()} }) {
		pages["categories/"+strings.ToLower(g.name)] = pageCount(g.count)
	}
	for _, g := range d.groups(func(s *service) []string { return s.detail.get("networks").texts() }) {
		pages["networks/"+strings.ToLower(g.name)] = pageCount(g.count)
	}
	r.figure(documentRule, index.get("pages"), pages)
	rows := d.snap.log("v1/changes")
	figureFeed(r, d.snap.json("feed.json"), rows, 50)
	for _, s := range d.services {
		figureFeed(r, d.snap.json("services/"+s.slug+"/changes.json"), keep(rows, "slug", s.slug), 20)
		figureBadge(r, d.snap.json("services/"+s.slug+"/badge.json"), s)
		r.figure(documentRule, s.detail.get("slug"), s.slug)
		figureIdentities(r, s)
	}
	for _, row := range d.snap.json("v1/networks.json").get("data").items() {
		if network, ok := lookupNetwork(row.get("id").text()); ok {
			r.figure(documentRule, row.get("name"), network.Name)
			r.figure(documentRule, row.get("abbreviation"), network.Abbreviation)
			r.figure(documentRule, row.get("is_mainnet"), network.Mainnet)
			r.figure(documentRule, row.get("id"), network.ID)
		}
	}
}

// figureFacilitators compares the ids of facilitators and the totals of their lists.
func figureFacilitators(d *directory, r *report, index node) {
	ids := []string{}
	for _, name := range d.snap.files("v1/facilitators/", ".json") {
		if id := strings.TrimSuffix(strings.TrimPrefix(name, "v1/facilitators/"), ".json"); !strings.ContainsAny(id,
			"/=") {
			ids = append(ids, id)
		}
	}
	r.figure(documentRule, index.get("facilitators"), ids)
	for _, name := range index.get("lists").keys() {
		if strings.HasPrefix(name, "v1/facilitators") {
			r.figure(documentRule, index.at("lists", name), len(ids))
		}
	}
}

// figureIdentities compares the active endpoints of a record with those of the evidence.
func figureIdentities(r *report, s *service) {
	endpoints := s.detail.get("endpoints").items()
	for _, n := range s.evidence.get("endpoints").items() {
		i := slices.IndexFunc(endpoints, func(e node) bool { return e.get("id").text() == n.get("id").text() })
		r.figure("How a service is checked", n.get("is_active"), i >= 0)
		if i >= 0 {
			for _, name := range []string{"id", "method", "path"} {
				r.figure(documentRule, endpoints[i].get(name), n.get(name))
			}
			endpoints = slices.Delete(endpoints, i, i+1)
		}
	}
	if len(endpoints) > 0 {
		r.compare(documentRule, endpoints[0].get("id"), endpoints[0].get("id").text(), "no evidence")
	}
}

// pageCount returns the number of HTML pages of a list: 50 services each.
func pageCount(services int) int { return max(1, (services+49)/50) }

// figureFeed compares the entries of a feed: the newest change records, newest first.
func figureFeed(r *report, feed node, rows []node, most int) {
	items := feed.get("items").items()
	if want := min(most, len(rows)); len(items) != want {
		r.compare(changeRule, feed.get("items"), strconv.Itoa(len(items)), strconv.Itoa(want))
		return
	}
	for i, item := range items {
		row := rows[len(rows)-1-i]
		r.figure(changeRule, item.get("date_published"), row.get("observed_at"))
		r.figure(changeRule, item.get("tags"), []string{row.get("type").text()})
	}
}

// figureBadge compares a badge: the status, and the uptime of 30 days.
func figureBadge(r *report, badge node, s *service) {
	status := s.detail.get("status").text()
	message := status
	if uptime := s.detail.at("uptime", "30d").number(); uptime != nil {
		message = fmt.Sprintf("%s, %s uptime over 30 days", status, decimalText(uptime)+"%")
	}
	r.figure(documentRule, badge.get("schemaVersion"), 1)
	r.figure(documentRule, badge.get("label"), "x402")
	r.figure(documentRule, badge.get("message"), message)
	r.input(badge.get("color")) // the operator chooses colours
}
