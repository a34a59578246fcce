package build_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
	"tollbook/site/search"
	"tollbook/site/testgate"
)

// record is what is published of a service at its own paths.
type record struct {
	detail   site.ServiceDetail
	evidence site.Evidence
	payable  bool // by the look-ups of its URLs
}

// handFilters are the filters of /v1/services over published records, without rows and columns.
var handFilters = map[string]func(r *record, value string) bool{
	"network":       func(r *record, v string) bool { return slices.Contains(r.detail.Networks, v) },
	"status":        func(r *record, v string) bool { return r.detail.Status == v },
	"category":      func(r *record, v string) bool { return r.detail.Category == v },
	"verified":      func(r *record, v string) bool { return fmt.Sprint(r.detail.Verified) == v },
	"payment_ready": func(r *record, v string) bool { return fmt.Sprint(r.detail.PaymentReady) == v },
	"payable":       func(r *record, v string) bool { return fmt.Sprint(r.payable) == v },
	"source": func(r *record, v string) bool {
		return r.detail.Source == v || strings.HasPrefix(r.detail.Source, v+":")
	},
	"protocol": func(r *record, v string) bool {
		return slices.ContainsFunc(r.evidence.Endpoints, func(e site.EndpointEvidence) bool {
			return e.IsActive && (slices.Contains(e.Protocols, v) || e.Captured != nil &&
				(v == "x402" || v == fmt.Sprintf("x402-v%d", e.Captured.X402Version)))
		})
	},
	"method": func(r *record, v string) bool {
		return slices.ContainsFunc(r.detail.Endpoints, func(e site.Endpoint) bool { return e.Method == v })
	},
	"verdict": func(r *record, v string) bool { return r.detail.Assessment.Advice.Level == v },
	"grade":   func(r *record, v string) bool { return r.detail.Assessment.Compliance.Grade == v },
	"min_grade": func(r *record, v string) bool {
		g := r.detail.Assessment.Compliance.Grade
		return g != "unknown" && g <= v
	},
	"max_price_usd": func(r *record, v string) bool {
		return r.detail.MinPriceUSD != nil && r.detail.MinPriceUSD.Compare(site.Decimal(v)) <= 0
	},
	"min_uptime_30d": func(r *record, v string) bool {
		return r.detail.Uptime.D30 != nil && site.Decimal(fmt.Sprint(*r.detail.Uptime.D30)).
			Compare(site.Decimal(v)) >= 0
	},
	"max_response_ms": func(r *record, v string) bool {
		ms := r.detail.AvgResponseTimeMS
		return ms != nil && site.Decimal(fmt.Sprint(*ms)).Compare(site.Decimal(v)) <= 0
	},
	"q": func(r *record, v string) bool {
		return search.NewQuery(v).Matches(search.Words(search.Fold(r.detail.Name)))
	},
}

// TestFiltersAreScans publishes the sample directory and requests every filter of the route table with every value that
// its column has. It compares the services with a scan over what is published of each, and the rows with the records.
// A filter that the table has and this test or the directory lacks is an error.
func TestFiltersAreScans(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	dir, _ := buildSample(t)
	r := serveFolder(t, dir)
	var index routes.Index
	r.get("/"+routes.IndexFile, &index)
	records := map[string]*record{}
	for _, slug := range index.Slugs {
		var detail site.One[site.ServiceDetail]
		var evidence site.One[site.Evidence]
		r.get("/v1/services/"+slug, &detail)
		r.get("/v1/services/"+slug+"/evidence", &evidence)
		records[slug] = &record{detail: detail.Data, evidence: evidence.Data, payable: isPayable(r, &detail.Data)}
	}
	for _, item := range listServices(r, "") {
		if d := cmp.Diff(records[item.Slug].detail.Item(), item); d != "" {
			t.Errorf("row of %s (-of its record +of the list):\n%s", item.Slug, d)
		}
	}
	requests := 0
	route := routes.ByName("services")
	for i := range route.Params {
		p := &route.Params[i]
		if !p.Filter || p.Name == "include" {
			continue
		}
		matches := handFilters[p.Name]
		if matches == nil || p.Column == "" {
			t.Errorf("the filter %s of site/routes/filter.go has no column, or no meaning in handFilters of "+
				"build/filters_test.go", p.Name)
			continue
		}
		for _, value := range columnValues(r, p) {
			if p.Name == "network" && strings.Contains(value, ":") {
				continue // only abbreviations have lists
			}
			got := []string{}
			for _, item := range listServices(r, "&"+p.Name+"="+url.QueryEscape(value)) {
				got = append(got, item.Slug)
			}
			want := []string{}
			for _, slug := range index.Slugs {
				if matches(records[slug], value) {
					want = append(want, slug)
				}
			}
			if slices.Sort(got); !slices.Equal(want, got) {
				t.Errorf("%s=%s (-want +got):\n%s", p.Name, value, cmp.Diff(want, got))
			}
			requests++
		}
	}
	if requests < 100 {
		t.Errorf("the sample directory has %d values of filters, want 100", requests)
	}
}

// columnValues returns the permitted values of a filter, or else those that its column has.
func columnValues(r client, p *routes.Param) []string {
	if p.Kind == routes.KindBoolean {
		return []string{"true", "false"}
	}
	if len(p.Values) > 0 {
		return p.Values
	}
	var column site.One[[]json.RawMessage]
	if code, body := r.get("/"+routes.ColumnKey(p.Column), &column); code != 200 {
		r.t.Errorf("column %s of %s: %d %s", p.Column, p.Name, code, body)
	}
	values := map[string]bool{}
	for _, raw := range column.Data {
		var v any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			r.t.Fatal(err)
		}
		switch v := v.(type) {
		case nil:
		case []any:
			for _, w := range v {
				values[fmt.Sprint(w)] = true
			}
		case map[string]any:
			for _, w := range v {
				values[fmt.Sprint(w)] = true
			}
		default:
			values[fmt.Sprint(v)] = true
		}
	}
	var list []string
	for v := range values {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}

// isPayable reports whether an endpoint is payable, by the look-ups of its URLs.
func isPayable(r client, d *site.ServiceDetail) bool {
	return slices.ContainsFunc(d.Endpoints, func(e site.Endpoint) bool {
		var at site.One[site.AddressLookup]
		normal, err := listing.NormalURL(d.BaseURL + e.Path)
		if err != nil {
			r.t.Fatal(err)
		}
		code, _ := r.get("/v1/lookup/url/"+site.Hash(normal)+".json", &at)
		return code == 200 && at.Data.Payable
	})
}
