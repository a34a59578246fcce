package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const lookupRule = "reference, look-ups"

// place is an endpoint as the look-ups see it.
type place struct {
	s        *service
	endpoint snapshot.Node
	reason   string // why a standard client cannot pay there, "" if it can; "checks" if a check of its terms fails
}

// signingChecks are the checks of which none may fail for a client to sign a payment.
var signingChecks = []string{
	"payload_captured", "accepts_present", "payto_conformant", "payto_shape", "price_present", "price_sane",
	"asset_declared", "network_caip2", "scheme_declared", "x402_version_current", "eip712_domain_extra",
	"version_channel_coherent",
}

// newPlace returns an endpoint with the reason why it cannot be paid.
func newPlace(s *service, e snapshot.Node) place {
	p := place{s: s, endpoint: e}
	name := e.Get("method").Text() + " " + e.Get("path").Text()
	for _, n := range s.evidence.Get("endpoints").Items() {
		if n.Get("id").Text() != e.Get("id").Text() {
			continue
		}
		verdict := n.Get("verdict")
		switch {
		case !verdict.HasValue():
			p.reason = name + ": not asked yet"
		case verdict.Text() != "paid":
			p.reason = name + ": its latest answer was " + verdict.Text()
		default:
			for _, id := range conformance.Judge([]*conformance.Probed{conformance.NewProbed(n)}) {
				if slices.Contains(signingChecks, id) {
					p.reason = "checks"
				}
			}
		}
	}
	return p
}

// recomputeLookups computes both look-ups from the active endpoints of all services.
func recomputeLookups(d *directory, r *snapshot.Report) {
	addresses, recipients := map[string][]place{}, map[string][]place{}
	for _, s := range d.services {
		for _, e := range s.detail.Get("endpoints").Items() {
			p := newPlace(s, e)
			if normal := normalURL(s.detail.Get("base_url").Text() + e.Get("path").Text()); normal != "" {
				addresses[normal] = append(addresses[normal], p)
			}
			var own []string
			for _, price := range conformance.X402(e) {
				if recipient := recipientOf(price); !slices.Contains(own, recipient) && recipient != "" {
					own = append(own, recipient)
					recipients[recipient] = append(recipients[recipient], p)
				}
			}
		}
	}
	changes := newestChanges(d)
	figureShards(d, r, "url", addresses, func(row snapshot.Node, normal string, places []place) {
		figureAddress(r, row, normal, places, changes)
	})
	figureShards(d, r, "pay-to", recipients, func(row snapshot.Node, normal string, places []place) {
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
func recipientOf(price snapshot.Node) string {
	if !price.Get("network_caip2").HasValue() {
		return ""
	}
	return strings.ToLower(price.Get("network_caip2").Text() + "/" + price.Get("pay_to").Text())
}

// newestChanges returns the newest change record of each service.
func newestChanges(d *directory) map[string]any {
	newest := map[string]any{}
	for _, row := range d.snap.Log("v1/changes") {
		newest[row.Get("slug").Text()] = map[string]any{
			"type": row.Get("type").Text(), "observed_at": row.Get("observed_at").Text(),
		}
	}
	return newest
}

// figureShards compares the files of a look-up: rows are in the file of the first two digits of the SHA-256 of their
// normal form, in its order.
func figureShards(d *directory, r *snapshot.Report, name string, rows map[string][]place,
	figure func(snapshot.Node, string, []place)) {
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
		file := d.snap.JSON("v1/lookup/" + name + "/" + digits + ".json")
		r.Figure(lookupRule, file.At("meta", "total"), len(keys))
		items := file.Get("data").Items()
		if len(items) != len(keys) {
			r.Compare(lookupRule, file.Get("data"), strconv.Itoa(len(items)), strconv.Itoa(len(keys)))
			continue
		}
		for i, key := range keys {
			r.Figure(lookupRule, items[i].Get("hash"), key[0])
			figure(items[i].Get("data"), key[1], rows[key[1]])
		}
	}
	r.Figure(lookupRule, d.snap.JSON("v1/lookup.json").Get(name), sizes)
}

// figureAddress compares the row of a URL.
func figureAddress(r *snapshot.Report, row snapshot.Node, normal string, places []place, changes map[string]any) {
	r.Figure(lookupRule, row.Get("url"), normal)
	first := places[0].s
	var also []string
	prices := []any{}
	reason, last := "", snapshot.Node{}
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
		if seen := p.endpoint.Get("last_seen_at"); last.File == "" || seen.Time().After(last.Time()) {
			last = seen
		}
		for _, price := range conformance.X402(p.endpoint) {
			option := map[string]any{"method": p.endpoint.Get("method").Value}
			for _, name := range []string{"scheme", "network_caip2", "asset_name", "asset_address", "price",
				"price_usd",
				"pay_to", "testnet"} {
				option[name] = price.Get(name).Value
			}
			prices = append(prices, option)
		}
	}
	figureBrief(r, row.Get("service"), first, changes)
	figureReason(r, row, reason)
	r.Figure(lookupRule, row.Get("last_seen_at"), last)
	r.Figure(lookupRule, row.Get("also_listed"), append([]string{}, also[:min(4, len(also))]...))
	published := row.Get("prices").Items()
	r.Figure(lookupRule, row.Get("clipped"), len(also) > 4 || len(published) < len(prices))
	// Rows that would make the answer too long are left out.
	if n := len(published); n > min(12, len(prices)) || n < min(4, len(prices)) {
		r.Compare(lookupRule, row.Get("prices"), snapshot.Describe(row.Get("prices").Value), snapshot.Describe(prices))
		return
	}
	for i, price := range published {
		r.Input(price.Get("since"))
		prices[i].(map[string]any)["since"] = price.Get("since").Value
		for name, want := range prices[i].(map[string]any) {
			if name != "since" {
				r.Figure(lookupRule, price.Get(name), want)
			}
		}
	}
}

// figureReason compares whether a payment can be signed, and why not.
func figureReason(r *snapshot.Report, row snapshot.Node, reason string) {
	r.Figure(lookupRule, row.Get("signable"), reason == "")
	switch published := row.Get("reason"); {
	case reason != "checks":
		r.Figure(lookupRule, published, snapshot.TextOrNull(reason))
	case published.Text() == "":
		r.Compare(lookupRule, published, snapshot.Describe(published.Value), "a reason")
	default:
		r.Input(published)
	}
}

// figureBrief compares the service in a row of a look-up.
func figureBrief(r *snapshot.Report, brief snapshot.Node, s *service, changes map[string]any) {
	for _, name := range []string{"slug", "name", "status", "verified"} {
		r.Figure(lookupRule, brief.Get(name), s.detail.Get(name))
	}
	r.Figure(lookupRule, brief.Get("risk"), s.detail.At("assessment", "risk", "level"))
	r.Figure(lookupRule, brief.Get("last_change"), changes[s.slug])
}

// figureRecipient compares the row of a recipient.
func figureRecipient(r *snapshot.Report, row snapshot.Node, normal string, places []place, changes map[string]any) {
	by := map[*service][]place{}
	var services []*service
	for _, p := range places {
		if by[p.s] == nil {
			services = append(services, p.s)
		}
		by[p.s] = append(by[p.s], p)
	}
	r.Figure(lookupRule, row.Get("service_count"), len(services))
	r.Figure(lookupRule, row.Get("clipped"), len(services) > 8)
	network, account, _ := strings.Cut(normal, "/")
	for _, price := range conformance.X402(places[0].endpoint) {
		if recipientOf(price) == normal {
			network, account = price.Get("network_caip2").Text(), price.Get("pay_to").Text()
			break
		}
	}
	r.Figure(lookupRule, row.Get("network"), network)
	r.Figure(lookupRule, row.Get("pay_to"), account)
	rows := row.Get("services").Items()
	if len(rows) != min(8, len(services)) {
		r.Compare(lookupRule, row.Get("services"), snapshot.Describe(row.Get("services").Value),
			strconv.Itoa(len(services)))
		return
	}
	for i, of := range rows {
		s := services[i]
		signable := true
		least := snapshot.Node{Value: nil}
		for _, p := range by[s] {
			signable = signable && p.reason == ""
			for _, price := range conformance.X402(p.endpoint) {
				usd := price.Get("price_usd")
				if recipientOf(price) == normal && usd.HasValue() &&
					(least.Value == nil || usd.Number().Cmp(least.Number()) < 0) {
					least = usd
				}
			}
		}
		figureBrief(r, of, s, changes)
		r.Figure(lookupRule, of.Get("signable"), signable)
		r.Figure(lookupRule, of.Get("endpoint_count"), len(by[s]))
		r.Figure(lookupRule, of.Get("min_price_usd"), least.Number())
	}
}
