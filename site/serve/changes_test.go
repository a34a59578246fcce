package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// changeRow is a change record of a directory in memory.
type changeRow struct {
	n             int
	service, kind string
	day           string
}

func (r changeRow) row() string {
	return fmt.Sprintf(`{"n":%d,"slug":%q,"type":%q}`, r.n, r.service, r.kind)
}

// changeWorld is a directory of change records, oldest first, with the files that a builder would write for it. Its
// methods compute expected responses naively.
type changeWorld struct {
	rows  []changeRow
	files map[string][]byte
}

// newChangeWorld returns n records of three services over about a hundred days, at least the last ninety.
func newChangeWorld(t testing.TB, n int) *changeWorld {
	t.Helper()
	w := &changeWorld{files: map[string][]byte{}}
	random := rand.New(rand.NewPCG(402, uint64(n)))
	ages := make([]int, n)
	for i := range ages {
		ages[i] = random.IntN(120)
		if random.IntN(3) == 0 {
			ages[i] = random.IntN(4)
		}
	}
	slices.Sort(ages)
	slices.Reverse(ages)
	for i, age := range ages {
		w.rows = append(w.rows, changeRow{
			n: i, service: []string{"acme", "bolt", "cove", "acme"}[random.IntN(4)],
			kind: site.ChangeTypes[random.IntN(3)],
			day:  built.UTC().AddDate(0, 0, -age).Format(time.DateOnly),
		})
	}
	index := routes.Index{Format: archive.Format, Lists: map[string]int{"v1/changes": n}, Slugs: []string{"acme", "bolt", "cove", "dale"},
		Provenance: &provenance}
	w.scope(t, "")
	for _, s := range []string{"acme", "bolt", "cove"} {
		if of := w.of(s, ""); len(of) > 0 {
			index.Lists["v1/changes/service="+s] = len(of)
			w.scope(t, s)
		}
	}
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	w.files[routes.IndexFile] = data
	w.files["v1/changes.json"] = w.page(parse(t, "/v1/changes", ""))
	w.files["404.html"] = []byte("<p>Not here")
	return w
}

// of returns the records of a service and type, oldest first. An empty string selects all services or types.
func (w *changeWorld) of(service, kind string) []changeRow {
	var of []changeRow
	for _, r := range w.rows {
		if (service == "" || r.service == service) && (kind == "" || r.kind == kind) {
			of = append(of, r)
		}
	}
	return of
}

// scope writes the index and the blocks of a service's logs, or of all services for "". All full blocks except the
// newest are stored in packs.
func (w *changeWorld) scope(t testing.TB, service string) {
	t.Helper()
	var index site.LogIndex
	types := map[string]site.LogIndex{}
	var query routes.Query
	for _, kind := range append([]string{""}, site.ChangeTypes...) {
		v := url.Values{}
		if service != "" {
			v.Set("service", service)
		}
		if kind != "" {
			v.Set("type", kind)
		}
		query = parse(t, "/v1/changes", v.Encode())
		rows := w.of(service, kind)
		x := site.LogIndex{Next: int64(len(rows)), Packs: []site.LogPack{}}
		for i, r := range rows {
			if len(x.Days) == 0 || x.Days[len(x.Days)-1].Day != r.day {
				x.Days = append(x.Days, site.LogDay{Day: r.day, First: int64(i)})
			}
		}
		for at := 0; at < len(rows); at += site.BlockSize {
			part := rows[at:min(at+site.BlockSize, len(rows))]
			lines := make([][]byte, len(part))
			for i, r := range part {
				lines[i] = []byte(r.row())
			}
			block := int64(at / site.BlockSize)
			name := query.BlockKey(block)
			if at+2*site.BlockSize <= len(rows) {
				hour := fmt.Sprintf("2026111%d%02d", block/24, block%24)
				x.Packs = append(x.Packs, site.LogPack{Pack: hour, First: block, Last: block})
				name = "pack/" + hour + "/" + name
			}
			w.files[name] = encode.Framing{}.List(lines, []byte(fmt.Sprintf(`{"first":%d}`, at)))
		}
		if kind == "" {
			index = x
		} else if len(rows) > 0 {
			types[kind] = x
		}
	}
	index.Types = types
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	w.files[query.Scope().LogKey()] = data
}

// page returns the expected response to a request.
func (w *changeWorld) page(q routes.Query) []byte {
	from := built.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-q.Int("days")).Format(time.DateOnly)
	var rows []string
	counts := map[string]int{}
	all := 0
	for _, r := range slices.Backward(w.of(q.Text("service"), "")) {
		if r.day < from {
			continue
		}
		all++
		counts[r.kind]++
		if kind := q.Text("type"); kind == "" || r.kind == kind {
			rows = append(rows, r.row())
		}
	}
	page, per := q.Int("page"), q.Int("per_page")
	meta := fmt.Sprintf(
		`{"total":%d,"page":%d,"per_page":%d,"total_pages":%d,"type_counts":{"schema_changed":%d,"price_changed":%d,"payto_changed":%d,"listed":%d,"dropped":%d,"grade_changed":%d,"verdict_changed":%d},"window_total":%d`,
		len(rows), page, per, (len(rows)+per-1)/per, counts["schema_changed"], counts["price_changed"],
		counts["payto_changed"], counts["listed"], counts["dropped"], counts["grade_changed"], counts["verdict_changed"],
		all)
	if name := q.Text("service"); slices.Contains([]string{"nobody", "A/../<b>"}, name) {
		value, _ := json.Marshal(name) // a text always encodes
		meta += fmt.Sprintf(`,"unknown_values":[{"parameter":"service","value":%s,"nearest":[]}]`, value)
	}
	return frame(rows[min((page-1)*per, len(rows)):min(page*per, len(rows))], meta+"}")
}

// TestChangesAreSlices checks that any page of any window of change records equals a slice in memory.
func TestChangesAreSlices(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 99, 100, 1234} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			w := newChangeWorld(t, n)
			h := handlerOf(t, publish(t, w.files), t.Output())
			rapid.Check(t, func(t *rapid.T) {
				v := url.Values{}
				maybe := func(name string, g *rapid.Generator[string]) {
					if rapid.Bool().Draw(t, "with "+name) {
						v.Set(name, g.Draw(t, name))
					}
				}
				number := func(g *rapid.Generator[int]) *rapid.Generator[string] { return rapid.Map(g, strconv.Itoa) }
				maybe("service", rapid.SampledFrom([]string{"acme", "bolt", "dale", "nobody", "A/../<b>"}))
				maybe("type", rapid.SampledFrom(site.ChangeTypes))
				maybe("days", number(rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 365))))
				maybe("per_page", number(rapid.IntRange(1, 100)))
				maybe("page", number(rapid.OneOf(rapid.IntRange(1, 15), rapid.Just(site.MaxPage))))
				q, err := routes.ParseRequest("/v1/changes", v.Encode())
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second response comes from the cache
					got := get(h, "/v1/changes?"+v.Encode())
					if diff := cmp.Diff(string(w.page(q)), got.Body.String()); got.Code != 200 || diff != "" {
						t.Fatalf("%s: %d (-want +got):\n%s", v.Encode(), got.Code, diff)
					}
				}
			})
		})
	}
}

// TestDefaultPageOfChanges checks that the server cuts the default page into the bytes that the builder wrote.
func TestDefaultPageOfChanges(t *testing.T) {
	t.Parallel()
	w := newChangeWorld(t, 321)
	want := w.files["v1/changes.json"]
	delete(w.files, "v1/changes.json")
	h := handlerOf(t, publish(t, w.files), t.Output())
	if got := get(h, "/v1/changes"); got.Code != 200 || got.Body.String() != string(want) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestDamagedChanges checks that a damaged or missing file returns a 500, never an empty list.
func TestDamagedChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, content, target string }{
		{"v1/changes/log.json", "", "/v1/changes?days=3"},
		{"v1/changes/log.json", "{", "/v1/changes?days=3"},
		{"v1/changes/log.json", `{"first":9,"next":3}`, "/v1/changes?days=3"},
		{"v1/changes/service=acme/log.json", "", "/v1/changes?service=acme"},
		{"v1/changes/block=3.json", "", "/v1/changes?per_page=99"},
		{"v1/changes/block=3.json", "{\"data\":[\n{}\n],\"meta\":{\"first\":300}}\n", "/v1/changes?per_page=99"},
		{"pack/2026111001/v1/changes/block=1.json", "", "/v1/changes?days=365&per_page=50&page=4"},
	} {
		w := newChangeWorld(t, 321)
		delete(w.files, test.file)
		if test.content != "" {
			w.files[test.file] = []byte(test.content)
		}
		log := &syncBuffer{}
		h := handlerOf(t, publish(t, w.files), log)
		got := get(h, test.target)
		named := strings.Contains(log.String(), test.file) || strings.HasPrefix(test.file, "pack/") &&
			strings.Contains(log.String(), "2026111001")
		if got.Code != 500 || !named {
			t.Errorf("%s without %s: %d %s\n%s", test.target, test.file, got.Code, got.Body, log)
		}
	}
}

func TestInvalidChanges(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, publish(t, newChangeWorld(t, 7).files), t.Output())
	for query, param := range map[string]string{
		"days=0": "days", "days=366": "days", "type=price": "type", "page=0": "page", "per_page=101": "per_page",
		"days=-1": "days", "service=%ff": "service",
		"service=" + strings.Repeat("a", 101): "service",
	} {
		got := get(h, "/v1/changes?"+query)
		var body site.ErrorBody
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 400 ||
			len(body.Error.Fields) != 1 || body.Error.Fields[0].Field != param {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
}

// seriesWorld returns the files of a service with points on some days, and of a service without points.
func seriesWorld(t testing.TB, ages []int) map[string][]byte {
	t.Helper()
	q := parse(t, "/v1/services/acme/price", "period=all")
	var rows [][]byte
	for _, age := range ages {
		rows = append(rows, []byte(point(age)))
	}
	return map[string][]byte{
		routes.IndexFile: []byte(`{"format":1,"lists":{},"slugs":["acme","bare"]}`), "404.html": []byte("<p>Not here"),
		q.Key(): site.Series.List(rows, []byte(`"not the whole truth"`)),
		parse(t, "/v1/services/bare/price", "period=all").Key(): site.Series.List(nil, []byte(`""`)),
	}
}

func point(age int) string {
	return fmt.Sprintf(`{"date":"%s","n":%d}`, built.UTC().AddDate(0, 0, -age).Format(time.DateOnly), age)
}

// TestSeriesAreSlices checks that a series is cut to the bytes that a builder would have written for the period.
func TestSeriesAreSlices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ages := rapid.SliceOfNDistinct(rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(0, 800)), 0, 60,
			rapid.ID[int]).Draw(t, "ages")
		slices.Sort(ages)
		slices.Reverse(ages)
		s := &series{caveat: []byte(`"c"`)}
		for _, age := range ages {
			s.points = append(s.points, []byte(point(age)))
		}
		period := rapid.SampledFrom(site.Periods).Draw(t, "period")
		longest := map[string]int{"24h": 1, "7d": 6, "30d": 29, "90d": 89, "all": 1000}[period]
		var want []string
		for _, age := range ages {
			if age <= longest {
				want = append(want, point(age))
			}
		}
		var got []string
		for _, p := range site.PointsSince(s.points, site.PeriodStart(period, built)) {
			got = append(got, string(p))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s of %v (-want +got):\n%s", period, ages, diff)
		}
	})
}

func TestSeriesRequests(t *testing.T) {
	t.Parallel()
	files := seriesWorld(t, []int{400, 90, 89, 30, 29, 7, 6, 2, 1, 0})
	h := handlerOf(t, publish(t, files), t.Output())
	body := func(points ...int) string {
		var rows [][]byte
		for _, age := range points {
			rows = append(rows, []byte(point(age)))
		}
		return string(site.Series.List(rows, []byte(`"not the whole truth"`)))
	}
	for _, test := range []struct {
		target string
		want   string
	}{
		{"/v1/services/acme/price?period=24h", body(1, 0)},
		{"/v1/services/acme/price?period=7d", body(6, 2, 1, 0)},
		{"/v1/services/acme/price?period=30d", body(29, 7, 6, 2, 1, 0)},
		{"/v1/services/acme/price?period=90d", body(89, 30, 29, 7, 6, 2, 1, 0)},
		{"/v1/services/acme/price", body(89, 30, 29, 7, 6, 2, 1, 0)},
		{"/api/v1/services/acme/price?period=&x=1", body(89, 30, 29, 7, 6, 2, 1, 0)},
		{"/v1/services/acme/price.json", body(89, 30, 29, 7, 6, 2, 1, 0)},
		{"/v1/services/acme/price?period=all", body(400, 90, 89, 30, 29, 7, 6, 2, 1, 0)},
		{"/v1/services/acme/price/period=all.json", body(400, 90, 89, 30, 29, 7, 6, 2, 1, 0)},
		{"/v1/services/bare/price", "{\"data\":[\n],\"caveat\":\"\"}\n"},
	} {
		for range 2 {
			if got := get(h, test.target); got.Code != 200 || got.Body.String() != test.want {
				t.Errorf("%s: %d (-want +got):\n%s", test.target, got.Code, cmp.Diff(test.want, got.Body.String()))
			}
		}
	}
	for target, code := range map[string]int{
		"/v1/services/nobody/price": 404, "/v1/services/nobody/price?period=all": 404,
		"/v1/services/nobody/price.json":    404,
		"/v1/services/acme/price?period=1y": 400, "/v1/services/acme/price/period=7d.json": 404,
		"/v1/services/acme/scores": 500, "/v1/services/acme/scores?period=all": 500, // a required file is missing
	} {
		if got := get(h, target); got.Code != code {
			t.Errorf("%s: %d, want %d", target, got.Code, code)
		}
	}
}

// TestEveryKeyOfLogs checks that the request for each key of change records and series returns the bytes of that key's
// file.
func TestEveryKeyOfLogs(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string][]byte{"changes": newChangeWorld(t, 432).files,
		"series": seriesWorld(t, []int{200, 3, 0})} {
		h := handlerOf(t, publish(t, files), t.Output())
		for key, want := range files {
			if strings.HasPrefix(key, "pack/") {
				continue
			}
			path, query, err := routes.Request(key)
			if err != nil {
				t.Errorf("%s: %s: %v", name, key, err)
				continue
			}
			for _, target := range []string{(&url.URL{Path: path, RawQuery: query}).String(), "/" + key} {
				if got := get(h, target); got.Code != 200 || got.Body.String() != string(want) {
					t.Errorf("%s: %s by %s: %d, %.60q", name, key, target, got.Code, got.Body)
				}
			}
		}
	}
}
