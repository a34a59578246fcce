package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const lookupRule = "reference, look-ups"

// place is an endpoint as the look-ups see it.
type place struct {
	s        *service
	endpoint node
	reason   string // why a standard client cannot pay there, "" if it can; "checks" if a check of its terms fails
}

// signingChecks are the checks of which none may fail for a client to sign a payment.
var signingChecks = []string{
	"payload_captured", "accepts_present", "payto_conformant", "payto_shape", "price_present", "price_sane",
	"asset_declared", "network_caip2", "scheme_declared", "x402_version_current", "eip712_domain_extra",
	"version_channel_coherent",
}

// newPlace returns an endpoint with the reason why it cannot be paid.
func newPlace(s *service, e node) place {
	p := place{s: s, endpoint: e}
	name := e.get("method").text() + " " + e.get("path").text()
	for _, n := range s.evidence.get("endpoints").items() {
		if n.get("id").text() != e.get("id").text() {
			continue
		}
		verdict := n.get("verdict")
		switch {
		case !verdict.hasValue():
			p.reason = name + ": not asked yet"
		case verdict.text() != "paid":
			p.reason = name + ": its latest answer was " + verdict.text()
		default:
			for _, id := range judge([]*probed{newProbed(n)}) {
				if slices.Contains(signingChecks, id) {
					p.reason = "checks"
				}
			}
		}
	}
	return p
}

// recomputeLookups computes both look-ups from the active endpoints of all services.
func recomputeLookups(d *directory, r *report) {
	addresses, recipients := map[string][]place{}, map[string][]place{}
	for _, s := range d.services {
		for _, e := range s.detail.get("endpoints").items() {
			p := newPlace(s, e)
			if normal := normalURL(s.detail.get("base_url").text() + e.get("path").text()); normal != "" {
				addresses[normal] = append(addresses[normal], p)
			}
			var own []string
			for _, price := range e.get("pricing").items() {
				if recipient := recipientOf(price); !slices.Contains(own, recipient) && recipient != "" {
					own = append(own, recipient)
					recipients[recipient] = append(recipients[recipient], p)
				}
			}
		}
	}
	changes := newestChanges(d)
	figureShards(d, r, "url", addresses, func(row node, normal string, places []place) {
		figureAddress(r, row, normal, places, changes)
	})
	figureShards(d, r, "pay-to", recipients, func(row node, normal string, places []place) {
		figureRecipient(r, row, normal, places, changes)
	})
}

// normalURL returns the normal form of an endpoint's URL: without query, fragment and default port, with scheme and
// host in lower case.
func normalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host + cmp.Or(u.EscapedPath(), "/")
}

// recipientOf returns the normal form of a recipient: network/address in lower case.
func recipientOf(price node) string {
	if !price.get("network_caip2").hasValue() {
		return ""
	}
	return strings.ToLower(price.get("network_caip2").text() + "/" + price.get("pay_to").text())
}

// newestChanges returns the newest change record of each service.
func newestChanges(d *directory) map[string]any {
	newest := map[string]any{}
	for _, row := range d.snap.log("v1/changes") {
		newest[row.get("slug").text()] = map[string]any{
			"type": row.get("type").text(), "observed_at": row.get("observed_at").text(),
		}
	}
	return newest
}

// figureShards compares the files of a look-up: rows are in the file of the first two digits of the SHA-256 of their
// normal form, in its order.
func figureShards(d *directory, r *report, name string, rows map[string][]place, figure func(node, string, []place)) {
	shards := map[string][][2]string{} // hash and normal form
	for normal := range rows {
		sum := sha256.Sum256([]byte(normal))
		hash := hex.EncodeToString(sum[:])
		shards[hash[:2]] = append(shards[hash[:2]], [2]string{hash, normal})
	}
	sizes := map[string]any{}
	for digits, keys := range shards {
		sizes[digits] = len(keys)
		slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
		file := d.snap.json("v1/lookup/" + name + "/" + digits + ".json")
		r.figure(lookupRule, file.at("meta", "total"), len(keys))
		items := file.get("data").items()
		if len(items) != len(keys) {
			r.compare(lookupRule, file.get("data"), strconv.Itoa(len(items)), strconv.Itoa(len(keys)))
			continue
		}
		for i, key := range keys {
			r.figure(lookupRule, items[i].get("hash"), key[0])
			figure(items[i].get("data"), key[1], rows[key[1]])
		}
	}
	r.figure(lookupRule, d.snap.json("v1/lookup.json").get(name), sizes)
}

// figureAddress compares the row of a URL.
func figureAddress(r *report, row node, normal string, places []place, changes map[string]any) {
	r.figure(lookupRule, row.get("url"), normal)
	first := places[0].s
	var also []string
	prices := []any{}
	reason, last := "", node{}
	for _, p := range places {
		if p.s != first {
			if !slices.Contains(also, p.s.slug) {
				also = append(also, p.s.slug)
			}
			continue
		}
		if reason == "" {
			reason = p.reason
		}
		if seen := p.endpoint.get("last_seen_at"); last.file == "" || seen.time().After(last.time()) {
			last = seen
		}
		for _, price := range p.endpoint.get("pricing").items() {
			option := map[string]any{"method": p.endpoint.get("method").value}
			for _, name := range []string{"scheme", "network_caip2", "asset_name", "asset_address", "price",
				"price_usd",
				"pay_to", "testnet"} {
				option[name] = price.get(name).value
			}
			prices = append(prices, option)
		}
	}
	figureBrief(r, row.get("service"), first, changes)
	figureReason(r, row, reason)
	r.figure(lookupRule, row.get("last_seen_at"), last)
	r.figure(lookupRule, row.get("also_listed"), append([]string{}, also[:min(4, len(also))]...))
	published := row.get("prices").items()
	r.figure(lookupRule, row.get("clipped"), len(also) > 4 || len(published) < len(prices))
	// Rows that would make the answer too long are left out.
	if n := len(published); n > min(12, len(prices)) || n < min(4, len(prices)) {
		r.compare(lookupRule, row.get("prices"), describe(row.get("prices").value), describe(prices))
		return
	}
	for i, price := range published {
		r.input(price.get("since"))
		prices[i].(map[string]any)["since"] = price.get("since").value
		for name, want := range prices[i].(map[string]any) {
			if name != "since" {
				r.figure(lookupRule, price.get(name), want)
			}
		}
	}
}

// figureReason compares whether a payment can be signed, and why not.
func figureReason(r *report, row node, reason string) {
	r.figure(lookupRule, row.get("signable"), reason == "")
	switch published := row.get("reason"); {
	case reason != "checks":
		r.figure(lookupRule, published, textOrNull(reason))
	case published.text() == "":
		r.compare(lookupRule, published, describe(published.value), "a reason")
	default:
		r.input(published)
	}
}

// figureBrief compares the service in a row of a look-up.
func figureBrief(r *report, brief node, s *service, changes map[string]any) {
	for _, name := range []string{"slug", "name", "status", "verified"} {
		r.figure(lookupRule, brief.get(name), s.detail.get(name))
	}
	r.figure(lookupRule, brief.get("risk"), s.detail.at("assessment", "risk", "level"))
	r.figure(lookupRule, brief.get("last_change"), changes[s.slug])
}

// figureRecipient compares the row of a recipient.
func figureRecipient(r *report, row node, normal string, places []place, changes map[string]any) {
	by := map[*service][]place{}
	var services []*service
	for _, p := range places {
		if by[p.s] == nil {
			services = append(services, p.s)
		}
		by[p.s] = append(by[p.s], p)
	}
	r.figure(lookupRule, row.get("service_count"), len(services))
	r.figure(lookupRule, row.get("clipped"), len(services) > 8)
	network, account, _ := strings.Cut(normal, "/")
	for _, price := range places[0].endpoint.get("pricing").items() {
		if recipientOf(price) == normal {
			network, account = price.get("network_caip2").text(), price.get("pay_to").text()
			break
		}
	}
	r.figure(lookupRule, row.get("network"), network)
	r.figure(lookupRule, row.get("pay_to"), account)
	rows := row.get("services").items()
	if len(rows) != min(8, len(services)) {
		r.compare(lookupRule, row.get("services"), describe(row.get("services").value), strconv.Itoa(len(services)))
		return
	}
	for i, of := range rows {
		s := services[i]
		signable := true
		least := node{value: nil}
		for _, p := range by[s] {
			signable = signable && p.reason == ""
			for _, price := range p.endpoint.get("pricing").items() {
				usd := price.get("price_usd")
				if recipientOf(price) == normal && usd.hasValue() &&
					(least.value == nil || usd.number().Cmp(least.number()) < 0) {
					least = usd
				}
			}
		}
		figureBrief(r, of, s, changes)
		r.figure(lookupRule, of.get("signable"), signable)
		r.figure(lookupRule, of.get("endpoint_count"), len(by[s]))
		r.figure(lookupRule, of.get("min_price_usd"), least.number())
	}
}

// recomputeSearch computes the shards of the search by name: one for the first letter and one for the first two letters
// of each word, with rows by slug.
func recomputeSearch(d *directory, r *report) {
	shards := map[string][]*service{}
	for _, s := range d.services {
		letters := map[string]bool{}
		for _, word := range strings.FieldsFunc(strings.ToLower(s.detail.get("name").text()), func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsNumber(c)
		}) {
			runes := []rune(word)
			letters[string(runes[:1])] = true
			letters[string(runes[:min(2, len(runes))])] = true
		}
		for shard := range letters {
			shards[shard] = append(shards[shard], s)
		}
	}
	sizes := map[string]any{}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		sizes[shard] = len(shards[shard])
		file := d.snap.json("v1/search/" + escape(shard) + ".json")
		d.figureRows(r, file.get("data"), shards[shard])
		r.figure(listRule, file.at("meta", "total"), len(shards[shard]))
	}
	r.figure(listRule, d.snap.json("v1/search.json").get("shards"), sizes)
}

// recomputeCatalogue computes the list of paid endpoints in the format of a facilitator's catalogue.
func recomputeCatalogue(d *directory, r *report) {
	var rows []any
	for _, s := range d.services {
		if isUnstable(d, s) {
			continue // the recipient that is named now may not be the service's
		}
		for _, e := range s.detail.get("endpoints").items() {
			if accepts := newAccepts(e); len(accepts) > 0 && !isUnstable(d, s) {
				rows = append(rows, map[string]any{
					"resource": s.detail.get("base_url").text() + e.get("path").text(), "type": "http",
					"x402Version": 2,
					"accepts":     accepts, "lastUpdated": e.get("last_seen_at").value,
					"description": e.get("description").text(),
					"serviceName": catalogueText(s.detail.get("name").text()),
					"tags":        []string{catalogueText(s.detail.get("category").text())},
					"method":      e.get("method").value,
				})
			}
		}
	}
	r.figure(listRule, d.snap.json("v1/index.json").at("lists", "discovery/resources/type=http"), len(rows))
	files := d.snap.files("discovery/resources", ".json")
	for _, name := range files {
		offset, _ := strconv.Atoi(parameters(name)["offset"])
		figureCatalogue(r, d.snap.json(name), rows, offset)
	}
}

// catalogueText returns at most 32 characters of printable ASCII.
func catalogueText(text string) string { return strings.TrimSpace(text[:min(len(text), 32)]) }

// newAccepts returns the payment options of an endpoint for the catalogue, without extra.
func newAccepts(e node) []any {
	var accepts []any
	for _, p := range e.get("pricing").items() {
		if !p.get("network_caip2").hasValue() {
			continue
		}
		accept := map[string]any{
			"scheme": p.get("scheme").value, "network": p.get("network_caip2").value, "amount": p.get("price").value,
			"asset": p.get("asset_address").value, "payTo": p.get("pay_to").value, "maxTimeoutSeconds": 60,
		}
		if timeout := p.get("max_timeout_seconds"); timeout.int() > 0 {
			accept["maxTimeoutSeconds"] = timeout.value
		}
		accepts = append(accepts, accept)
	}
	return accepts
}

// figureCatalogue compares a page of the catalogue.
func figureCatalogue(r *report, file node, rows []any, offset int) {
	r.figure(listRule, file.get("x402Version"), 2)
	r.figure(listRule, file.at("pagination", "total"), len(rows))
	r.figure(listRule, file.at("pagination", "limit"), 100)
	r.figure(listRule, file.at("pagination", "offset"), offset)
	items, want := file.get("items").items(), rows[min(len(rows), offset):min(len(rows), offset+100)]
	if len(items) != len(want) {
		r.compare(listRule, file.get("items"), strconv.Itoa(len(items)), strconv.Itoa(len(want)))
		return
	}
	for i, item := range items {
		row := want[i].(map[string]any)
		for _, name := range []string{"resource", "type", "x402Version", "lastUpdated", "description", "serviceName",
			"tags"} {
			r.figure(listRule, item.get(name), row[name])
		}
		input := item.at("extensions", "bazaar", "info", "input")
		r.figure(listRule, input, map[string]any{"type": "http", "method": row["method"]})
		accepts := row["accepts"].([]any)
		for k, accept := range item.get("accepts").items() {
			for name, value := range accepts[min(k, len(accepts)-1)].(map[string]any) {
				r.figure(listRule, accept.get(name), value)
			}
			accept.get("extra").leaves(r.input)
		}
	}
}
