package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// endpoints lists the paths of the contract with the types of their responses: data, then meta if there is one.
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
	{"/v1/incidents?per_page=7&page=2", "Incident[]", "PaginationMeta"},
	{"/v1/networks", "Network[]", ""},
	{"/v1/tags", "Tag[]", ""},
	{"/v1/stats", "AggregateStats", ""},
	{"/v1/categories", "string[]", ""},
	{"/v1/changes?type=schema_changed&days=365", "SchemaChange[]", "ChangesMeta"},
	{"/v1/changes?type=price_changed&per_page=100", "PriceChange[]", "ChangesMeta"},
	{"/v1/changes?type=payto_changed&per_page=7&page=2", "PayToChanged[]", "ChangesMeta"},
	{"/v1/changes?service={slug}&type=price_changed&days=1", "PriceChange[]", "ChangesMeta"},
}

// checkBody compares a response's body with its types. It returns every fault with its place in the body.
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
	fields := "data " + data + "\nprovenance Provenance"
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
	listedKeys := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(fields)) {
		name, typ, _ := strings.Cut(strings.TrimSpace(line), " ")
		listedKeys[name] = true
		if value, there := object[name]; there {
			faults = append(faults, checkType(at+"."+name, typ, value)...)
		} else {
			faults = append(faults, at+"."+name+" is missing")
		}
	}
	for name := range object {
		if !listedKeys[name] {
			faults = append(faults, at+"."+name+" is not in the contract")
		}
	}
	slices.Sort(faults)
	return faults
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	decimals = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) // the format of amounts, never 1e-7
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
	case map[string]any: // of strings
		return typ == "object" && !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool {
			_, isText := v.(string)
			return !isText
		})
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
		case "line": // ten fields, the eighth empty
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

// TestCheckBody checks that checkBody reports faults.
func TestCheckBody(t *testing.T) {
	t.Parallel()
	const provenance = `"provenance":{"license":"CC-BY-4.0","attribution_required":true,"attribution":"Tollbook, x",` +
		`"cite_as":"https://x.example/","source":"probed"}`
	if got := checkBody(`{"data":[]}`, "string[]", ""); !slices.Equal(got, []string{".provenance is missing"}) {
		t.Errorf("without provenance: %q", got)
	}
	for _, tt := range []struct{ body, data, meta, want string }{
		{`{"data":["a"]}`, "string[]", "", ``},
		{`{"data":[{"tag":"AI","service_count":3,"cheapest":null,"most_used":null,"prices":null,"demand":null,"price_weeks":[]}]}`, "Tag[]", "", ``},
		{`{"data":[{"tag":"AI","service_count":3.5,"cheapest":null,"most_used":null,"prices":null,"demand":null,"price_weeks":[],"more":1}]}`,
			"Tag[]", "",
			`.data[0].more is not in the contract; .data[0].service_count is 3.5 (json.Number), want integer`},
		{`{"data":[{"tag":null,"cheapest":null,"most_used":null,"prices":null,"demand":null,"price_weeks":[]}]}`, "Tag[]", "",
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
		body := strings.Replace(tt.body, `{"data"`, `{`+provenance+`,"data"`, 1)
		if got := strings.Join(checkBody(body, tt.data, tt.meta), "; "); got != tt.want {
			t.Errorf("%s as %s:\n got %s\nwant %s", tt.body, tt.data, got, tt.want)
		}
	}
}

// decode reads the fields that a test needs from a body.
func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.NewDecoder(bytes.NewBufferString(body)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
