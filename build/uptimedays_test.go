package build_test

import (
	"math"
	"testing"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// TestUptimeMatchesItsDays checks a promise of the page about checks: the uptime of 30 days is that of the published
// days together.
func TestUptimeMatchesItsDays(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	dir, snapshot := buildSample(t)
	z := openZip(t, dir, snapshot)
	var index routes.Index
	readJSON(t, z, routes.IndexFile, &index)
	counted := 0
	for _, slug := range index.Slugs {
		var days site.One[[]site.UptimeDataPoint]
		readJSON(t, z, "v1/services/"+slug+"/uptime/period=30d.json", &days)
		var service site.One[struct {
			Uptime map[string]any `json:"uptime"`
		}]
		readJSON(t, z, "v1/services/"+slug+".json", &service)
		good, all := int64(0), int64(0)
		for _, d := range days.Data {
			good, all = good+d.SuccessfulChecks, all+d.TotalChecks
		}
		if all == 0 {
			continue
		}
		counted++
		if want := math.Round(10000*float64(good)/float64(all)) / 100; service.Data.Uptime["30d"] != want {
			t.Errorf("%s: %v, its days make %v", slug, service.Data.Uptime["30d"], want)
		}
	}
	if counted < 20 {
		t.Errorf("%d services with checks", counted)
	}
}
