package routes

import "testing"

func TestIsHashed(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"assets/style.3f2a9c01.css":     true,
		"assets/style-3f2a9c01ffff.css": true,
		"assets/fonts/a.0123456789.ttf": true,
		"assets/style.css":              false,
		"assets/style.3f2a9c0.css":      false,
		"assets/3f2a9c01.css":           false,
		"assets/style.deadbeef":         false,
		"assets/style.3F2A9C01.css":     false,
		"v1/style.3f2a9c01.css":         false,
		"assets/.css":                   false,
	} {
		if got := IsHashed(key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// TestExpandedKeys checks that only literal responses are expanded for the contract, and that details are written
// before the lists that link to them.
func TestExpandedKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]struct {
		contract bool
		phase    int
	}{
		"v1/services.json":      {true, 1},
		"v1/services/acme.json": {true, 0},
		"v1/services/category=AI/sort=newest/per_page=25/page=2.json": {true, 1},
		"v1/services/acme/uptime/period=7d.json":                      {true, 0},
		"v1/services/acme/evidence.json":                              {false, 0},
		"v1/status.json":                                              {true, 1},
		"v1/snapshots.json":                                           {false, 1},
		"v1/rows/0.json":                                              {false, 0},
		"v1/index.json":                                               {false, 2},
		"index.html":                                                  {false, 2},
		"services/acme.html":                                          {false, 0},
		"services.html":                                               {false, 1},
		"assets/site.css":                                             {false, 0},
		SumsFile:                                                      {false, 0},
	} {
		if got := IsContract(key); got != want.contract {
			t.Errorf("IsContract(%s) = %v", key, got)
		}
		if got := ExpandPhase(key); got != want.phase {
			t.Errorf("ExpandPhase(%s) = %d, want %d", key, got, want.phase)
		}
	}
}
