package figure_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data/figure"
	"tollbook/site"
)

// TestCheck compares rows of made-up queries with made-up JSON.
func TestCheck(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"v1/stats.json": `{"data":{"total_services":3,"avg_uptime_24h":99.5,"ready":true,"none":null,"name":"a"}}`,
		"v1/networks.json": `{"data":[{"abbreviation":"BSE","service_count":2},{"abbreviation":"SOL","service_count":1,
			"days":[{"date":"2026-11-20","n":0.1}]}]}`,
	}
	read := func(key string) ([]byte, error) {
		if text, ok := files[key]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	text := func(s string) *string { return &s }
	difference := func(path, value, published string, proved *string) figure.Difference {
		return figure.Difference{Proof: "p", Path: path, Value: value, Published: published, Proved: proved}
	}
	for _, c := range []struct {
		name, path string
		columns    []string
		row        []*string
		want       []figure.Difference
	}{
		{"equal", "/v1/stats", []string{"data.total_services", "data.ready", "data.none", "data.name"},
			[]*string{text("3"), text("1"), nil, text("a")}, nil},
		{"other number", "/v1/stats", []string{"data.total_services"}, []*string{text("4")},
			[]figure.Difference{difference("/v1/stats", "data.total_services", "3", text("4"))}},
		{"floating point", "/v1/stats", []string{"data.avg_uptime_24h"}, []*string{text("99.50000000000001")}, nil},
		{"one more hundredth", "/v1/stats", []string{"data.avg_uptime_24h"}, []*string{text("99.51")},
			[]figure.Difference{difference("/v1/stats", "data.avg_uptime_24h", "99.5", text("99.51"))}},
		{"null is not zero", "/v1/stats", []string{"data.none"}, []*string{text("0")},
			[]figure.Difference{difference("/v1/stats", "data.none", "null", text("0"))}},
		{"zero is not null", "/v1/stats", []string{"data.total_services"}, []*string{nil},
			[]figure.Difference{difference("/v1/stats", "data.total_services", "3", nil)}},
		{"false", "/v1/stats", []string{"data.ready"}, []*string{text("0")},
			[]figure.Difference{difference("/v1/stats", "data.ready", "true", text("0"))}},
		{"no such value", "/v1/stats", []string{"data.absent"}, []*string{text("0")},
			[]figure.Difference{difference("/v1/stats", "data.absent", "missing", text("0"))}},
		{"element", "/v1/networks", []string{"network", "data[abbreviation={network}].service_count"},
			[]*string{text("SOL"), text("1")}, nil},
		{"element of an element", "/v1/networks", []string{"network", "day", "data[abbreviation={network}].days[date={day}].n"},
			[]*string{text("SOL"), text("2026-11-20"), text("0.1")}, nil},
		{"no such element", "/v1/networks", []string{"network", "data[abbreviation={network}].service_count"},
			[]*string{text("ARB"), text("1")}, []figure.Difference{
				difference("/v1/networks", "data[abbreviation=ARB].service_count", "missing", text("1"))}},
		{"no such file", "/v1/services/{slug}", []string{"slug", "data.endpoint_count"}, []*string{text("x"), text("1")},
			[]figure.Difference{difference("/v1/services/x", "data.endpoint_count", "missing", text("1"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := figure.Check(t.Context(), []site.DatasetProof{{Name: "p", Path: c.path, SQL: "q"}},
				func(context.Context, string) ([]string, [][]*string, error) {
					return c.columns, [][]*string{c.row}, nil
				}, read)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				c.want = []figure.Difference{}
			}
			if diff := cmp.Diff(c.want, got.Differences); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
