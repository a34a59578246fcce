// Package matrix recomputes which facilitator says that it settles what where. It reads a snapshot alone.
package matrix

import (
	"slices"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const rule = "methodology, Announcements of facilitators"

// ID is the last segment of the matrix' path, which is no facilitator's id.
const ID = "matrix"

// cell is a kind or a token of the matrix, recomputed from the facilitators' own files.
type cell struct {
	versions     []int
	facilitators []string
	count        int
}

// Recompute recomputes the matrix from the files of the facilitators. abbreviation returns the code of a network.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report, abbreviation func(caip2 string) string) {
	data := snap.JSON("v1/facilitators/matrix.json").Get("data")
	kinds, settled := map[[3]string]*cell{}, map[[3]string]*cell{}
	polled := []string{}
	rows := data.Get("facilitators").Items()
	for _, id := range snap.JSON("v1/index.json").Get("facilitators").Texts() {
		f := snap.JSON("v1/facilitators/" + id + ".json").Get("data")
		for _, c := range f.Get("chains").Items() {
			if c.Get("verification").Text() == "on-chain" && c.Get("tx_count_30d").Int() > 0 {
				key := [3]string{c.Get("network_caip2").Text(), "", c.Get("token_address").Text()}
				addCell(settled, key, id, 0, c.Get("tx_count_30d").Int())
			}
		}
		s := f.Get("supported")
		if !s.HasValue() {
			continue
		}
		if polled = append(polled, id); len(polled) <= len(rows) {
			comparePolled(r, rows[len(polled)-1], f)
		}
		for _, k := range s.Get("kinds").Items() {
			key := [3]string{k.Get("network_caip2").Text(), k.Get("scheme").Text(), k.Get("token_address").Text()}
			addCell(kinds, key, id, k.Get("x402_version").Int(), 0)
		}
	}
	if compareLength(r, data.Get("facilitators"), len(polled)) {
		for i, row := range rows {
			r.Figure(rule, row.Get("facilitator_id"), polled[i])
		}
	}
	compareCells(r, data.Get("kinds"), kinds, abbreviation)
	compareCells(r, data.Get("settled"), settled, abbreviation)
}

func addCell(cells map[[3]string]*cell, key [3]string, id string, version, count int) {
	if cells[key] == nil {
		cells[key] = &cell{}
	}
	c := cells[key]
	c.versions, c.facilitators = append(c.versions, version), append(c.facilitators, id)
	c.count += count
}

// comparePolled compares the row of a facilitator with its own file.
func comparePolled(r *snapshot.Report, row, f snapshot.Node) {
	s := f.Get("supported")
	for _, name := range []string{"state", "answered_at", "uptime_30d", "median_latency_ms_30d"} {
		r.Figure(rule, row.Get(name), s.Get(name))
	}
	r.Figure(rule, row.Get("name"), f.Get("name"))
	r.Figure(rule, row.Get("kind_count"), len(s.Get("kinds").Items()))
	accounts := map[string]bool{}
	for _, g := range s.Get("signers").Items() {
		if g.Get("current").Bool() {
			accounts[g.Get("address").Text()] = true
		}
	}
	r.Figure(rule, row.Get("signer_count"), len(accounts))
}

// compareLength compares the length of a list.
func compareLength(r *snapshot.Report, list snapshot.Node, want int) bool {
	if want == 0 || len(list.Items()) != want {
		r.Figure(rule, list, make([]any, want))
		return false
	}
	return true
}

// compareCells compares kinds or tokens in their order: by network, scheme and token.
func compareCells(r *snapshot.Report, list snapshot.Node, cells map[[3]string]*cell,
	abbreviation func(caip2 string) string) {
	keys := make([][3]string, 0, len(cells))
	for key := range cells {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
	if !compareLength(r, list, len(keys)) {
		return
	}
	for i, row := range list.Items() {
		key, c := keys[i], cells[keys[i]]
		slices.Sort(c.facilitators)
		slices.Sort(c.versions)
		r.Figure(rule, row.Get("network_caip2"), key[0])
		r.Figure(rule, row.Get("facilitators"), slices.Compact(c.facilitators))
		var name, mainnet any = key[0], nil
		if n, ok := conformance.LookupNetwork(key[0]); ok {
			name, mainnet = n.Name, n.Mainnet
		}
		r.Figure(rule, row.Get("network"), abbreviation(key[0]))
		r.Figure(rule, row.Get("network_name"), name)
		var token any
		if key[2] != "" {
			token = key[2]
		}
		r.Figure(rule, row.Get("token_address"), token)
		if !row.Get("scheme").Exists() {
			r.Figure(rule, row.Get("tx_count_30d"), c.count)
			continue
		}
		r.Figure(rule, row.Get("scheme"), key[1])
		r.Figure(rule, row.Get("is_mainnet"), mainnet)
		var versions []any
		for _, v := range slices.Compact(c.versions) {
			versions = append(versions, v)
		}
		r.Figure(rule, row.Get("x402_versions"), versions)
	}
}
