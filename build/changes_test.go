package build_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// storedChange is a change that was stored in Postgres.
type storedChange struct {
	n          int
	slug, kind string
	at         time.Time
}

// storeChanges stores changes of three services for some hours: most types of change for each of them in every hour. It
// builds now and then into dir. It returns the changes, oldest first, and the time of the last build.
func storeChanges(t *testing.T, db *postgres.DB, dir string, hours int) ([]storedChange, time.Time) {
	t.Helper()
	var listings []postgres.Listing
	for _, slug := range []string{"acme", "bolt", "cove"} {
		listings = append(listings, postgres.Listing{Slug: slug, Name: "The " + slug, Description: "d",
			BaseURL: "https://" + slug + ".test", Category: "AI",
			Source: "imported:file", CreatedAt: moment,
			Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/a"}}})
	}
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", moment, time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(4, 2))
	every := 16 // hours between two builds, on average
	if testgate.Everything() {
		every = 8
	}
	var all []storedChange
	now := moment
	for hour := range hours {
		at := moment.Add(time.Duration(hour) * time.Hour)
		var visits []checks.Visit
		for i, s := range due {
			at := at.Add(time.Duration(i) * time.Second)
			v := checks.Visit{Check: checks.Check{ServiceID: s.ID, CheckedAt: at, ID: uuid.New(), Counted: true,
				Status: new("online"), IsUp: true}, NextCheckAt: at.Add(time.Minute)}
			for _, kind := range site.ChangeTypes {
				if random.IntN(8) == 0 || i == 2 && hour > 9 {
					continue // cove changes only in the beginning
				}
				v.Changes = append(v.Changes, checks.Change{
					ServiceID: s.ID, Type: kind, ObservedAt: at,
					Summary:     json.RawMessage(fmt.Sprintf(`{"n":%d}`, len(all))),
					OldSnapshot: json.RawMessage(`[]`), NewSnapshot: json.RawMessage(`[]`),
				})
				all = append(all, storedChange{len(all), s.Slug, kind, at})
			}
			visits = append(visits, v)
		}
		if err := db.RecordVisits(t.Context(), visits); err != nil {
			t.Fatal(err)
		}
		if now = at.Add(time.Duration(3+random.IntN(50)) * time.Minute); random.IntN(every) == 0 || hour == hours-1 {
			run(t, db, dir, options(now))
		}
	}
	return all, now
}

// TestChangesEndToEnd requests changes with random parameters and compares the responses with the stored changes. One
// directory was built many times, the other once.
func TestChangesEndToEnd(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	db := open(t)
	often, once := tempDir(t), tempDir(t)
	all, now := storeChanges(t, db, often, 10*24)
	run(t, db, once, options(now))
	if len(all) < 1200 {
		t.Fatalf("%d records prove little", len(all))
	}
	for name, dir := range map[string]string{"built often": often, "built once": once} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(source.Close)
			h := serve.NewHandler(serve.Options{Source: source, Now: func() time.Time { return now },
				Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
			rapid.Check(t, func(t *rapid.T) {
				v := url.Values{}
				maybe := func(name string, g *rapid.Generator[string]) string {
					if rapid.Bool().Draw(t, "with "+name) {
						v.Set(name, g.Draw(t, name))
					}
					return v.Get(name)
				}
				number := func(name string, from, to, standard int) int {
					n, err := strconv.Atoi(maybe(name, rapid.Map(rapid.IntRange(from, to), strconv.Itoa)))
					if err != nil {
						return standard
					}
					return n
				}
				slug := maybe("service", rapid.SampledFrom([]string{"acme", "bolt", "cove", "nobody"}))
				kind := maybe("type", rapid.SampledFrom(site.ChangeTypes))
				days, per, page := number("days", 1, 12, 90), number("per_page", 1, 100, 25), number("page", 1, 20, 1)

				from := now.Truncate(24*time.Hour).AddDate(0, 0, 1-days)
				want := []int{}
				counts := map[string]int{}
				window := 0
				for _, r := range slices.Backward(all) {
					if r.at.Before(from) || slug != "" && r.slug != slug {
						continue
					}
					counts[r.kind]++
					if window++; kind == "" || kind == r.kind {
						want = append(want, r.n)
					}
				}
				total := len(want)
				want = want[min((page-1)*per, total):min(page*per, total)]

				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/changes?"+v.Encode(), nil))
				var body struct {
					Data []struct {
						Slug, Name, Type string
						ObservedAt       time.Time `json:"observed_at"`
						Summary          struct{ N int }
					}
					Meta struct {
						Total, Page int
						PerPage     int            `json:"per_page"`
						TotalPages  int            `json:"total_pages"`
						TypeCounts  map[string]int `json:"type_counts"`
						WindowTotal int            `json:"window_total"`
					}
				}
				if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 200 {
					t.Fatalf("%s: %d %s", v.Encode(), w.Code, w.Body)
				}
				got := []int{}
				for _, r := range body.Data {
					got = append(got, r.Summary.N)
					if is := all[r.Summary.N]; r.Slug != is.slug || r.Name != "The "+is.slug || r.Type != is.kind ||
						!r.ObservedAt.Equal(is.at) {
						t.Fatalf("%s: record %+v, told as %+v", v.Encode(), r, is)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", v.Encode(), diff)
				}
				m := body.Meta
				if m.Total != total || m.Page != page || m.PerPage != per || m.TotalPages != (total+per-1)/per ||
					m.WindowTotal != window {
					t.Fatalf("%s: %d of %d in the window, meta %+v", v.Encode(), total, window, m)
				}
				for _, kind := range site.ChangeTypes {
					if m.TypeCounts[kind] != counts[kind] {
						t.Fatalf("%s: %v of the types, got %v", v.Encode(), counts, m.TypeCounts)
					}
				}
			})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+render.FeedFile, nil))
			if w.Code != 200 || w.Header().Get("Content-Type") == "" {
				t.Errorf("the feed: %d %v", w.Code, w.Header())
			}
		})
	}
}
