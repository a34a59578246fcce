package build_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/site/postgres"
)

// TestSiteFactsArrive follows site facts from a sample service over HTTP through Postgres and a build into the
// published file.
func TestSiteFactsArrive(t *testing.T) {
	t.Parallel()
	world, err := sample.Start(t.Context(), sample.Options{Now: func() time.Time { return moment }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	db := open(t)
	for _, l := range sample.Listings(moment, time.Minute) {
		if l.Slug == "harborlight-search" {
			if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := crawl.New(db, crawl.Options{Now: func() time.Time { return moment }, HostGap: time.Microsecond, Hourly: -1},
		probe.Options{
			Routes: []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
		})
	defer c.Close()
	if g, err := c.Gather(t.Context()); err != nil || g.Sites != 1 {
		t.Fatalf("gathered %+v, error %v", g, err)
	}
	dir := tempDir(t)
	o := options(moment.Add(time.Minute))
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	text, err := os.ReadFile(filepath.Join(dir, "current", "v1", "services", "harborlight-search.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Data struct {
			Assessment struct {
				Site, Domain json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	const wantSite = `{"homepage":true,"openapi":true,"pricing":true,"llms_txt":true,"robots":true,` +
		`"terms":true,"checked_at":"2026-11-20T12:30:00.000Z"}`
	const wantDomain = `{"age_days":null,"registrar":null,"free_host":false,"created_date":null,"checked_at":null}`
	if diff := cmp.Diff([]string{wantSite, wantDomain},
		[]string{string(got.Data.Assessment.Site), string(got.Data.Assessment.Domain)}); diff != "" {
		t.Errorf("site and domain (-want +got):\n%s", diff)
	}
}
