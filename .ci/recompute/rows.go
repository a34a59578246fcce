package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const rowsRule = "reference, rows and columns"

// rowEndpoints is the number of endpoints in a row, rowsPerBlock the number of rows in a block.
const (
	rowEndpoints = 25
	rowsPerBlock = 10
)

func init() {
	addInputs("v1/rows/{n}", "a text of the service, cut", "data[].endpoints[].description")
	addInputs("v1/rows/{n}", "evidence of other protocols", "data[].assessment.protocols*")
	addInputs("v1/terms.json", "words of texts", "*")
	addInputs("v1/search/{query}", "words of texts", "*")
	addInputs("v1/best/{query}", "figures in words; words of texts", "data[].why meta.excluded[].reason meta.read_as*")
	addInputs("v1/vocabulary.json", "words of texts", "*")
	addInputs("v1/terms/{letters}", "words of texts, weighed", "*")
	addInputs("discovery/columns/{name}", "members of the catalogue's rows", "*")
	addInputs("discovery/services.json", "places of the services of the catalogue's rows", "data[]")
}

// recomputeRows compares the blocks of rows with the records of services, and each column with the rows.
func recomputeRows(d *directory, r *snapshot.Report) {
	var rows []snapshot.Node
	for from := 0; from < len(d.services); from += rowsPerBlock {
		file := d.snap.JSON("v1/rows/" + strconv.Itoa(from/rowsPerBlock) + ".json")
		r.Figure(rowsRule, file.At("meta", "total"), len(d.services))
		rows = append(rows, file.Get("data").Items()...)
	}
	if len(rows) != len(d.services) {
		r.Compare(rowsRule, d.snap.JSON("v1/rows/0.json").Get("data"), strconv.Itoa(len(rows)),
			strconv.Itoa(len(d.services)))
		return
	}
	for i, s := range d.services {
		s.figureServiceRow(r, rows[i])
	}
	for _, name := range d.snap.Files("v1/columns/", ".json") {
		member := strings.TrimSuffix(strings.TrimPrefix(name, "v1/columns/"), ".json")
		values := d.snap.JSON(name).Get("data").Items()
		for i, value := range values {
			r.Figure(rowsRule, value, columnValue(rows[i], member))
		}
		if len(values) != len(rows) {
			r.Compare(rowsRule, d.snap.JSON(name).Get("data"), strconv.Itoa(len(values)), strconv.Itoa(len(rows)))
		}
	}
}

// columnPlaces are the places in rows of the columns that have another name there.
var columnPlaces = map[string][]string{
	"grade":             {"assessment", "compliance_grade"},
	"uptime_30d":        {"assessment", "reliability_uptime_30d"},
	"volume_usd_30d":    {"assessment", "traction", "volume_usd_30d"},
	"unique_buyers_30d": {"assessment", "traction", "unique_buyers_30d"},
}

// columnValue returns the value of a column: a member of the row or of its assessment. Money is a decimal as text, and
// a source with an origin is also imported.
func columnValue(row snapshot.Node, member string) any {
	value := row.Get(member)
	if place := columnPlaces[member]; place != nil {
		value = row.At(place...)
	} else if row.Value.(map[string]any)[member] == nil {
		value = row.At("assessment", member)
	}
	switch {
	case member == "source":
		if kind, _, ok := strings.Cut(value.Text(), ":"); ok {
			return []string{kind, value.Text()}
		}
		return []string{value.Text()}
	case member == "volume_usd_30d" && value.HasValue():
		return value.Value.(json.Number).String()
	case !value.HasValue():
		return nil
	}
	return value
}

// figureServiceRow compares a row with the record of its service.
func (s *service) figureServiceRow(r *snapshot.Report, row snapshot.Node) {
	names := slices.DeleteFunc(row.Keys(), func(name string) bool {
		return name == "assessment" || name == "endpoints"
	})
	for name, want := range s.row(names) {
		r.Figure(rowsRule, row.Get(name), want)
	}
	a, assessment := row.Get("assessment"), s.detail.Get("assessment")
	failed, methods, prices := []string{}, []string{}, map[string]any{}
	for _, check := range assessment.At("compliance", "checks").Items() {
		if !check.Get("pass").Bool() {
			failed = append(failed, check.Get("id").Text())
		}
	}
	signable := false
	active := s.detail.Get("endpoints").Items()
	for _, e := range active {
		methods = append(methods, e.Get("method").Text())
		signable = signable || newPlace(s, e).reason == ""
		for network, usd := range s.lowestPrices(e) {
			if least, ok := prices[network]; !ok || compareDecimals(usd, least.(string)) < 0 {
				prices[network] = usd
			}
		}
	}
	addOtherPrices(prices, s)
	slices.Sort(methods)
	traction, economics := assessment.Get("traction"), assessment.Get("economics")
	for _, name := range []string{"status", "volume_usd_30d", "tx_count_30d", "unique_buyers_30d",
		"top_buyer_share_30d", "shared_payout"} {
		r.Figure(rowsRule, a.At("traction", name), traction.Get(name))
	}
	for name, want := range map[string]any{
		"compliance_grade":  assessment.At("compliance", "grade"),
		"compliance_passed": assessment.At("compliance", "passed"),
		"compliance_total":  assessment.At("compliance", "total"), "compliance_failed_checks": failed,
		"risk_level": s.riskLevel, "payment_ready": s.detail.Get("payment_ready"), "signable": signable,
		"prices_usd": prices, "price_usd": economics.Get("price_usd"), "price_max_usd": economics.Get("price_max_usd"),
		"price_stability":         economics.Get("stability"),
		"distinct_price_count":    economics.Get("distinct_price_count"),
		"endpoint_count":          economics.Get("endpoint_count"),
		"category_percentile":     economics.Get("category_percentile"),
		"category_percentile_max": economics.Get("category_percentile_max"),
		"reliability_uptime_30d":  s.detail.At("uptime", "30d"),
		"checks_30d":              s.detail.At("uptime", "coverage", "30d", "checkCount"),
		"response_p95_ms":         assessment.At("reliability", "response_p95_ms"),
		"last_success_at":         s.detail.Get("last_success_at"), "source": s.detail.Get("source"),
		"methods": slices.Compact(methods), "updated_at": assessment.Get("updated_at"),
		"capability_tags": s.synthesis("capability_tags"), "summary": s.synthesis("summary"),
	} {
		r.Figure(rowsRule, a.Get(name), want)
	}
	published := row.Get("endpoints").Items()
	active = active[:min(len(active), rowEndpoints)]
	if len(published) != len(active) {
		r.Compare(rowsRule, row.Get("endpoints"), strconv.Itoa(len(published)), strconv.Itoa(len(active)))
		return
	}
	if len(active) == 0 {
		r.Figure(rowsRule, row.Get("endpoints"), []any{})
	}
	for i, e := range active {
		s.figureRowEndpoint(r, published[i], e)
	}
}

// synthesis returns a part of what a model wrote about the service, nil without a model.
func (s *service) synthesis(part string) any {
	if all := s.detail.At("assessment", "synthesis"); all.HasValue() {
		return all.Get(part)
	}
	return nil
}

// figureRowEndpoint compares an endpoint of a row with the endpoint of the service's record.
func (s *service) figureRowEndpoint(r *snapshot.Report, row, e snapshot.Node) {
	for _, name := range []string{"method", "path", "networks"} {
		r.Figure(rowsRule, row.Get(name), e.Get(name))
	}
	pricing := e.Get("pricing").Items()
	r.Figure(rowsRule, row.Get("testnet"), len(pricing) > 0 &&
		!slices.ContainsFunc(pricing, func(p snapshot.Node) bool { return !p.Get("testnet").Bool() }))
	least := ""
	prices := s.lowestPrices(e)
	for _, usd := range prices {
		if least == "" || compareDecimals(usd, least) < 0 {
			least = usd
		}
	}
	r.Figure(rowsRule, row.Get("price_usd"), snapshot.TextOrNull(least))
	same, all := true, map[string]any{}
	for _, network := range e.Get("networks").Texts() {
		same = same && prices[network] == least
		if prices[network] != "" {
			all[network] = prices[network]
		}
	}
	if !same {
		r.Figure(rowsRule, row.Get("prices_usd"), all)
	}
	r.Figure(rowsRule, row.Get("payable"), s.isPayable(e))
}

// isPayable returns whether a standard client can pay an endpoint, and no known fact says that the money would be lost.
func (s *service) isPayable(e snapshot.Node) bool {
	failed := slices.ContainsFunc(s.detail.At("assessment", "compliance", "checks").Items(),
		func(c snapshot.Node) bool {
			return c.Get("id").Text() == "payto_shape" && !c.Get("pass").Bool()
		})
	return s.detail.Get("payment_ready").Bool() && s.detail.Get("status").Text() != "offline" &&
		s.riskLevel != "danger" && !failed && newPlace(s, e).reason == ""
}

// addOtherPrices adds the lowest prices over other protocols on networks without a price over x402.
func addOtherPrices(prices map[string]any, s *service) {
	for _, e := range s.detail.Get("endpoints").Items() {
		if len(conformance.X402(e)) > 0 {
			for _, p := range e.Get("pricing").Items() {
				if p.Get("protocol").Text() != "x402" {
					addOtherPrice(prices, s, p)
				}
			}
		}
	}
}

func addOtherPrice(prices map[string]any, s *service, p snapshot.Node) {
	network := p.Get("network").Text()
	if i := slices.Index(s.detail.Get("networks_caip2").Texts(), network); i >= 0 {
		network = s.detail.Get("networks").Texts()[i]
	}
	if _, ok := prices[network]; !ok && counted(p) != nil {
		prices[network] = p.Get("price_usd").Text()
	}
}

// lowestPrices returns the lowest counted price of an endpoint by network.
func (s *service) lowestPrices(e snapshot.Node) map[string]string {
	short := map[string]string{}
	names := s.detail.Get("networks").Texts()
	for i, id := range s.detail.Get("networks_caip2").Texts() {
		short[id] = names[i]
	}
	prices := map[string]string{}
	for _, p := range conformance.Counted(e) {
		usd, network := p.Get("price_usd"), cmp.Or(short[p.Get("network").Text()], p.Get("network").Text())
		if !usd.HasValue() || p.Get("price_caveat").HasValue() {
			continue
		}
		if least, ok := prices[network]; !ok || compareDecimals(usd.Text(), least) < 0 {
			prices[network] = usd.Text()
		}
	}
	return prices
}

// compareDecimals compares two decimal texts without leading zeros.
func compareDecimals(a, b string) int {
	wholeA, fractionA, _ := strings.Cut(a, ".")
	wholeB, fractionB, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(utf8.RuneCountInString(wholeA), utf8.RuneCountInString(wholeB)),
		cmp.Compare(wholeA, wholeB), cmp.Compare(fractionA, fractionB))
}
