package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// contract is the field tables of the public API, a line a field: name and type. A type is string, integer, number,
// boolean, uri, date-time, uuid, a name of this map, a list of any of them (string[]), or any of them or null
// (number|null). "status": "online degraded" lists the values of a string. Nothing may be missing and nothing more may
// be there.
var contract = map[string]string{
	"ServiceListItem": `
		slug string
		name string
		description string
		base_url uri
		website_url uri|null
		category string
		status Status
		verified boolean
		endpoint_count integer
		min_price_usd number|null
		networks string[]
		uptime_24h number|null
		avg_response_time_ms integer|null
		last_checked_at date-time|null
		created_at date-time`,
	"PaginationMeta": `
		total integer
		page integer
		per_page integer
		total_pages integer`,
	"OffsetMeta": `
		total integer`,
	"ServiceDetail": `
		slug string
		name string
		description string
		base_url uri
		website_url uri|null
		category string
		source string
		status Status
		verified boolean
		verified_until date-time|null
		payment_ready boolean
		payment_ready_until date-time|null
		last_checked_at date-time|null
		last_success_at date-time|null
		created_at date-time
		consecutive_failures integer
		check_interval_minutes integer
		endpoint_count integer
		min_price_usd number|null
		uptime_24h number|null
		uptime UptimeWithCoverage
		avg_response_time_ms integer|null
		total_checks integer
		networks string[]
		networks_caip2 string[]
		asset string|null
		endpoints Endpoint[]
		pay_to_changes PayToChange[]
		assessment Assessment
		provenance Provenance`,
	"UptimeWithCoverage": `
		24h number|null
		7d number|null
		30d number|null
		90d number|null
		coverage Coverage`,
	"Coverage": `
		24h Covered
		7d Covered
		30d Covered
		90d Covered`,
	"Covered": `
		daysCovered integer
		checkCount integer`,
	"Uptime": `
		24h number|null
		7d number|null
		30d number|null
		90d number|null`,
	"Endpoint": `
		id uuid
		method string
		path string
		description string|null
		mime_type string|null
		is_active boolean
		first_seen_at date-time
		last_seen_at date-time
		variable_amount boolean
		min_price_usd number|null
		networks string[]
		pricing PricingEntry[]
		pay_to_divergence Divergence|null`,
	"PricingEntry": `
		scheme string
		network string
		network_caip2 string|null
		asset_address string
		asset_address_norm string
		asset_name string
		price string
		price_usd string|null
		pay_to string
		max_timeout_seconds integer|null`,
	"Divergence": `
		network_caip2 string
		expected string[]
		observed string[]
		first_seen_at date-time`,
	"PayToChange": `
		network_caip2 string|null
		endpoint string
		old_pay_to string
		new_pay_to string
		observed_at date-time`,
	"Assessment": `
		updated_at date-time
		input_hash string
		model_id string|null
		prompt_version string|null
		reliability Reliability
		compliance Compliance
		site SiteFacts
		domain DomainFacts
		economics Economics
		risk Risk
		synthesis Synthesis|null
		traction Traction`,
	"Reliability": `
		uptime Uptime
		response_p95_ms integer|null
		avg_response_ms integer|null
		last_checked_at date-time|null
		consecutive_failures integer
		total_checks integer`,
	"Compliance": `
		grade string
		passed integer
		total integer
		checks ComplianceCheck[]
		pay_to_source string|null
		pay_to_location string|null
		staleness Staleness`,
	"ComplianceCheck": `
		id string
		label string
		pass boolean`,
	"Staleness": `
		probe_failing boolean
		last_success_at date-time|null
		envelope_captured_at date-time|null`,
	"SiteFacts": `
		homepage boolean|null
		openapi boolean|null
		pricing boolean|null
		llms_txt boolean|null
		robots boolean|null
		terms boolean|null
		checked_at date-time|null`,
	"DomainFacts": `
		age_days integer|null
		registrar string|null
		free_host boolean
		created_date date-time|null
		checked_at date-time|null`,
	"Synthesis": `
		summary SynthesisText
		capability_tags SynthesisList
		category SynthesisText
		inputs SynthesisText
		outputs SynthesisText
		auth SynthesisText`,
	"SynthesisText": `
		value string
		confidence number
		source string`,
	"SynthesisList": `
		value string[]
		confidence number
		source string`,
	"Economics": `
		price_usd number|null
		price_atomic string|null
		model string
		category_percentile number|null
		stability number|null
		price_max_usd number|null
		category_percentile_max number|null
		endpoint_count integer
		distinct_price_count integer`,
	"Risk": `
		level string
		flags RiskFlag[]`,
	"RiskFlag": `
		level string
		code string
		evidence string`,
	"Traction": `
		status string
		volume_usd_30d number|null
		tx_count_30d integer|null
		unique_buyers_30d integer|null
		last_settlement_at date-time|null
		top_buyer_share_30d number|null
		top_3_buyers_share_30d number|null
		concentrated_volume boolean
		trend_7d_vs_30d number|null
		shared_payout boolean
		shared_with integer
		measured_networks string[]
		first_settlement_at date-time|null
		volume_usd_all_time number|null
		tx_count_all_time integer|null
		median_settlement_usd_30d number|null
		max_settlement_usd_30d number|null
		settled_via string[]
		settled_via_detail SettledVia[]
		shared_with_services SharedWith[]
		pro_quota_share number
		caveat string
		all_time_caveat string`,
	"SettledVia": `
		id string
		volume_usd_30d number
		tx_count_30d integer`,
	"SharedWith": `
		name string
		slug string`,
	"Provenance": `
		license string
		attribution_required boolean
		attribution string
		cite_as uri
		source string`,
	"UptimeDataPoint": `
		period_start date-time
		period_end date-time
		uptime_percentage number
		avg_response_time_ms number|null
		total_checks integer
		successful_checks integer`,
	"CheckEntry": `
		id uuid
		checked_at date-time
		is_up boolean
		status_code integer|null
		response_time_ms integer|null
		endpoints_found integer
		error_message string|null`,
	"GlobalCheckEntry": `
		id uuid
		checked_at date-time
		is_up boolean
		status_code integer|null
		response_time_ms integer|null
		endpoints_found integer
		service_slug string
		service_name string
		service_status Status`,
	"StatusSummary": `
		total integer
		online integer
		degraded integer
		offline integer
		unknown integer
		services ServiceStatus[]`,
	"ServiceStatus": `
		slug string
		name string
		status Status
		last_checked_at date-time|null
		consecutive_failures integer
		uptime_24h number|null
		avg_response_time_ms integer|null`,
	"Network": `
		id string
		caip2 string
		caip2_id string
		name string
		abbreviation string
		chain_type string
		is_mainnet boolean
		explorer_url uri|null
		service_count integer
		avg_uptime number|null`,
	"Tag": `
		tag string
		service_count integer`,
	"AggregateStats": `
		total_services integer
		total_endpoints integer
		total_networks integer
		avg_uptime_24h number|null
		avg_uptime_7d number|null
		avg_response_time_ms number|null
		checks_per_hour number
		pricing AggregatePricing
		networks NetworkStats[]`,
	"AggregatePricing": `
		avg_price_usd number|null
		min_price_usd number|null
		max_price_usd number|null
		median_price_usd number|null`,
	"SchemaChange": `
		slug string
		name string
		type ChangeType
		observed_at date-time
		summary SchemaSummary
		old_snapshot SnapshotEntry[]
		new_snapshot SnapshotEntry[]`,
	"PriceChange": `
		slug string
		name string
		type ChangeType
		observed_at date-time
		summary PriceSummary
		old_snapshot SnapshotEntry[]
		new_snapshot SnapshotEntry[]`,
	"PayToChanged": `
		slug string
		name string
		type ChangeType
		observed_at date-time
		summary PayToSummary
		old_snapshot SnapshotEntry[]
		new_snapshot SnapshotEntry[]`,
	"SchemaSummary": `
		schemaAdded line[]
		schemaRemoved line[]
		endpointsAdded string[]
		endpointsRemoved string[]`,
	"PriceSummary": `
		priceChanges MovedPrice[]`,
	"MovedPrice": `
		network string
		endpoint string
		newPrice atomic
		oldPrice atomic
		assetName string`,
	"PayToSummary": `
		payToAdded string[]
		payToRemoved string[]`,
	"SnapshotEntry": `
		asset string
		extra json|null
		payTo string
		price atomic
		scheme string
		network string
		endpoint string
		mimeType string|null
		resource string|null
		assetName string
		x402Version integer
		maxTimeoutSeconds integer|null`,
	"ChangesMeta": `
		total integer
		page integer
		per_page integer
		total_pages integer
		type_counts TypeCounts
		window_total integer`,
	"TypeCounts": `
		schema_changed integer
		price_changed integer
		payto_changed integer`,
	"NetworkStats": `
		abbreviation string
		service_count integer
		avg_uptime number|null`,
}

// words are the types that are one of some words.
var words = map[string][]string{
	"Status":     {"online", "degraded", "offline", "unknown"},
	"ChangeType": {"schema_changed", "price_changed", "payto_changed"},
}

// endpoints are the addresses of the contract and the types of what they answer: data, then meta where there is one.
var endpoints = []struct{ path, data, meta string }{
	{"/v1/services", "ServiceListItem[]", "PaginationMeta"},
	{"/v1/services?per_page=100&sort=cheapest", "ServiceListItem[]", "PaginationMeta"},
	{"/v1/services?network=BSE&status=online&sort=uptime&page=2&per_page=7", "ServiceListItem[]", "PaginationMeta"},
	{"/v1/services?category=Data&sort=endpoints", "ServiceListItem[]", "PaginationMeta"},
	{"/v1/services?q=a&status=online&sort=uptime&per_page=3", "ServiceListItem[]", "PaginationMeta"},
	{"/v1/services/{slug}", "ServiceDetail", ""},
	{"/v1/services/{slug}/uptime", "UptimeDataPoint[]", ""},
	{"/v1/services/{slug}/uptime?period=90d", "UptimeDataPoint[]", ""},
	{"/v1/services/{slug}/checks", "CheckEntry[]", "OffsetMeta"},
	{"/v1/services/{slug}/checks?limit=100&offset=50", "CheckEntry[]", "OffsetMeta"},
	{"/v1/checks", "GlobalCheckEntry[]", "OffsetMeta"},
	{"/v1/checks?limit=1&offset=12345", "GlobalCheckEntry[]", "OffsetMeta"},
	{"/v1/status", "StatusSummary", ""},
	{"/v1/networks", "Network[]", ""},
	{"/v1/tags", "Tag[]", ""},
	{"/v1/stats", "AggregateStats", ""},
	{"/v1/categories", "string[]", ""},
	{"/v1/changes?type=schema_changed&days=365", "SchemaChange[]", "ChangesMeta"},
	{"/v1/changes?type=price_changed&per_page=100", "PriceChange[]", "ChangesMeta"},
	{"/v1/changes?type=payto_changed&per_page=7&page=2", "PayToChanged[]", "ChangesMeta"},
	{"/v1/changes?service={slug}&type=price_changed&days=1", "PriceChange[]", "ChangesMeta"},
}

// checkBody holds a response's body to its types, and tells every fault by its place in the body.
func checkBody(body, data, meta string) (faults []string) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []string{"not JSON: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return []string{"something follows the JSON"}
	}
	fields := "data " + data
	if meta != "" {
		fields += "\nmeta " + meta
	}
	return checkFields("", fields, v)
}

func checkFields(at, fields string, v any) (faults []string) {
	object, ok := v.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s is %T, want an object", at, v)}
	}
	known := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(fields)) {
		name, typ, _ := strings.Cut(strings.TrimSpace(line), " ")
		known[name] = true
		if value, there := object[name]; there {
			faults = append(faults, checkType(at+"."+name, typ, value)...)
		} else {
			faults = append(faults, at+"."+name+" is missing")
		}
	}
	for name := range object {
		if !known[name] {
			faults = append(faults, at+"."+name+" is not in the contract")
		}
	}
	slices.Sort(faults)
	return faults
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	decimals = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) // how amounts are written, never 1e-7
)

func checkType(at, typ string, v any) []string {
	if plain, ok := strings.CutSuffix(typ, "|null"); ok {
		if v == nil {
			return nil
		}
		typ = plain
	}
	if element, ok := strings.CutSuffix(typ, "[]"); ok {
		list, ok := v.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %T, want a list", at, v)}
		}
		var faults []string
		for i, e := range list {
			faults = append(faults, checkType(fmt.Sprintf("%s[%d]", at, i), element, e)...)
		}
		return faults
	}
	if fields, ok := contract[typ]; ok {
		return checkFields(at, fields, v)
	}
	if !isType(typ, v) {
		return []string{fmt.Sprintf("%s is %v (%T), want %s", at, v, v, typ)}
	}
	return nil
}

func isType(typ string, v any) bool {
	if list, ok := words[typ]; ok {
		s, ok := v.(string)
		return ok && slices.Contains(list, s)
	}
	switch v := v.(type) {
	case bool:
		return typ == "boolean"
	case json.Number:
		_, err := v.Int64()
		return typ == "integer" && err == nil || typ == "number" && decimals.MatchString(v.String())
	case string:
		switch typ {
		case "string":
			return true
		case "json":
			return json.Valid([]byte(v))
		case "atomic":
			return v != "" && strings.Trim(v, "0123456789") == ""
		case "line": // of ten fields, the eighth empty
			fields := strings.Split(v, " ")
			return len(fields) == 10 && fields[7] == "" && json.Valid([]byte(fields[9]))
		case "uuid":
			return uuidText.MatchString(v)
		case "uri":
			u, err := url.Parse(v)
			return err == nil && u.IsAbs() && u.Host != ""
		case "date-time":
			at, err := time.Parse("2006-01-02T15:04:05.000Z", v)
			return err == nil && at.Year() > 2000
		}
	}
	return false
}

// TestCheckBody: the check itself tells faults.
func TestCheckBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, data, meta, want string }{
		{`{"data":["a"]}`, "string[]", "", ``},
		{`{"data":[{"tag":"AI","service_count":3}]}`, "Tag[]", "", ``},
		{`{"data":[{"tag":"AI","service_count":3.5,"more":1}]}`, "Tag[]", "",
			`.data[0].more is not in the contract; .data[0].service_count is 3.5 (json.Number), want integer`},
		{`{"data":[{"tag":null}]}`, "Tag[]", "",
			`.data[0].service_count is missing; .data[0].tag is <nil> (<nil>), want string`},
		{`{"data":null,"meta":{"total":1}}`, "string[]", "OffsetMeta", `.data is <nil>, want a list`},
		{`{"data":[]}`, "string[]", "OffsetMeta", `.meta is missing`},
		{`{"data":"2026-11-20 10:00"}`, "date-time", "", `.data is 2026-11-20 10:00 (string), want date-time`},
		{`{"data":1e-7}`, "number", "", `.data is 1e-7 (json.Number), want number`},
		{`{"data":null}`, "number|null", "", ``},
		{`{"data":"up"}`, "Status", "", `.data is up (string), want Status`},
		{`[]`, "Status", "", ` is []interface {}, want an object`},
		{`{"data":1} {}`, "integer", "", `something follows the JSON`},
	} {
		if got := strings.Join(checkBody(tt.body, tt.data, tt.meta), "; "); got != tt.want {
			t.Errorf("%s as %s:\n got %s\nwant %s", tt.body, tt.data, got, tt.want)
		}
	}
}

// decode reads what a test needs of a body.
func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.NewDecoder(bytes.NewBufferString(body)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
