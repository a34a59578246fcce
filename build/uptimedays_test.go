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
	testgate.All(t)
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
		up, known := int64(0), int64(0)
		for _, d := range days.Data {
			up, known = up+d.UpMS, known+d.KnownMS
		}
		if known == 0 {
			continue
		}
		counted++
		if want := site.SharePercent(up, known); service.Data.Uptime["30d"] != want {
			t.Errorf("%s: %v, its days make %v", slug, service.Data.Uptime["30d"], want)
		}
	}
	for slug, want := range map[string][2]float64{"attic-archive": {0, 56}, "hourglass-cron": {0, 61}, "millstone-grain": {70, 0}} {
		var service site.One[site.ServiceDetail]
		readJSON(t, z, "v1/services/"+slug+".json", &service)
		u := service.Data.Uptime
		for i, got := range []*float64{u.D30, u.D90} {
			if want[i] != 0 && (got == nil || math.Abs(*got-want[i]) > 1) {
				t.Errorf("%s: uptime by time %v, want about %v", slug, got, want[i])
			}
		}
	}
	if counted < 20 {
		t.Errorf("%d services with checks", counted)
	}
}
