package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// world is a directory in memory with the files that a builder would write for it. Its methods compute expected
// responses naively.
type world struct {
	services []service
	logs     map[string]site.LogIndex // by path; the rows of a log are its numbers
	files    map[string][]byte
}

// service contains the fields that lists filter and sort by.
type service struct {
	slug, category string
	rank           map[string]int // by order
}

// row returns the service's line in a list.
func (s service) row() string {
	return fmt.Sprintf(`{"slug":%q,"category":%q,"description":%q}`, s.slug, s.category,
		strings.Repeat("text of "+s.slug+" ", 10))
}

// newWorld returns a world of n services in three categories, with logs of every shape.
func newWorld(t testing.TB, n int) *world {
	t.Helper()
	w := &world{logs: map[string]site.LogIndex{}, files: map[string][]byte{}}
	r := rand.New(rand.NewPCG(4020, 402))
	for i := range n {
		s := service{slug: fmt.Sprintf("service-%04d", i),
			category: []string{"AI", "Data", "Odd & <even>/~"}[r.IntN(3)], rank: map[string]int{}}
		for _, order := range site.Orders {
			s.rank[order] = r.IntN(n)
		}
		w.services = append(w.services, s)
	}
	w.writeLists(t)
	for i := range min(n, 8) {
		first := int64(r.IntN(350))
		w.writeLog(t, "/v1/services/"+w.services[i].slug+"/checks", first, first+int64(r.IntN(450)), r.IntN(3))
	}
	w.writeLog(t, "/v1/checks", 250, 901, 3)
	for _, s := range w.services {
		w.put(t, "/v1/services/"+s.slug, "", []byte(`{"data":`+s.row()+"}\n"))
	}
	for _, route := range routes.All {
		if route.Rule == routes.RuleLiteral && !strings.Contains(route.Pattern, "{") {
			w.put(t, route.Pattern, "", []byte(route.About))
		}
	}
	w.files["404.html"] = []byte("<p>Not here")
	return w
}

// put writes a file under the key of a request.
func (w *world) put(t testing.TB, path, query string, data []byte) {
	t.Helper()
	w.files[parse(t, path, query).Key()] = data
}

func parse(t testing.TB, path, query string) routes.Query {
	t.Helper()
	q, err := routes.ParseRequest(path, query)
	if err != nil {
		t.Fatalf("%s?%s: %v", path, query, err)
	}
	return q
}

// writeLists writes the files of literal pages: each order of each list, in pages of 25 and of 100.
func (w *world) writeLists(t testing.TB) {
	index := routes.Index{Lists: map[string]int{}, Slugs: []string{}, Provenance: &provenance, Format: archive.Format}
	for _, s := range w.services {
		index.Slugs = append(index.Slugs, s.slug)
	}
	for _, filter := range []string{"", "category=AI", "category=Data", "category=Odd+%26+%3Ceven%3E%2F~"} {
		list := parse(t, "/v1/services", filter)
		total := len(w.list(list))
		index.Lists[list.ListKey()] = total
		for _, order := range site.Orders {
			for _, per := range []int{site.PageSize, site.MaxPageSize} {
				for page := 1; (page-1)*per < total; page++ {
					q := list.With("sort", order).With("per_page", strconv.Itoa(per)).With("page", strconv.Itoa(page))
					w.files[q.Key()] = w.window(q)
				}
			}
		}
	}
	w.put(t, "/v1/services", "", w.window(parse(t, "/v1/services", "")))
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	w.files[routes.IndexFile] = data
}

// list returns the services of q's list in q's order.
func (w *world) list(q routes.Query) []service {
	var list []service
	for _, s := range w.services {
		if c := q.Text("category"); (c == "" || c == s.category) && q.Text("network") == "" && q.Text("status") == "" {
			list = append(list, s)
		}
	}
	order := q.Text("sort")
	slices.SortFunc(list, func(a, b service) int {
		if a.rank[order] != b.rank[order] {
			return a.rank[order] - b.rank[order]
		}
		return strings.Compare(a.slug, b.slug)
	})
	return list
}

// window returns the expected response to a request for a page of services.
func (w *world) window(q routes.Query) []byte {
	list := w.list(q)
	page, per := q.Int("page"), q.Int("per_page")
	var rows []string
	for i := (page - 1) * per; i < page*per && i < len(list); i++ {
		rows = append(rows, list[i].row())
	}
	pages := len(list) / per
	if len(list)%per > 0 {
		pages++
	}
	unknown := ""
	if q.Text("category") == "None" {
		unknown = `,"unknown_values":[{"parameter":"category","value":"None","nearest":[]}]`
	}
	return frame(rows, fmt.Sprintf(`{"total":%d,"page":%d,"per_page":%d,"total_pages":%d%s}`, len(list), page, per,
		pages, unknown))
}

// provenance is that of all responses of a world, and cited is how they end.
var provenance = site.NewProvenance("https://directory.example", "https://directory.example/", "written by hand")

const cited = `,"provenance":{"license":"CC-BY-4.0","attribution_required":true,` +
	`"attribution":"Tollbook, https://directory.example","cite_as":"https://directory.example/",` +
	`"source":"written by hand"}}` + "\n"

// frame writes the lines of a list one by one.
func frame(rows []string, meta string) []byte {
	text := "{\"data\":[\n"
	if len(rows) > 0 {
		text += strings.Join(rows, ",\n") + "\n"
	}
	return []byte(text + "],\"meta\":" + meta + cited)
}

// writeLog writes a log with the rows first to next. Its oldest blocks are stored in packs.
func (w *world) writeLog(t testing.TB, path string, first, next int64, packed int) {
	t.Helper()
	q := parse(t, path, "")
	x := site.LogIndex{First: first, Next: next, Packs: []site.LogPack{}}
	for block := first / site.BlockSize; block*site.BlockSize < next; block++ {
		var rows [][]byte
		from := max(first, block*site.BlockSize)
		for n := from; n < min(next, (block+1)*site.BlockSize); n++ {
			rows = append(rows, []byte(fmt.Sprintf(`{"n":%d}`, n)))
		}
		name := q.BlockKey(block)
		if full := (block+1)*site.BlockSize <= next; full && packed > 0 {
			hour := fmt.Sprintf("20261120%02d", 10-packed)
			x.Packs = append(x.Packs, site.LogPack{Pack: hour, First: block, Last: block})
			name, packed = "pack/"+hour+"/"+name, packed-1
		}
		w.files[name] = encode.Framing{}.List(rows, []byte(fmt.Sprintf(`{"first":%d}`, from)))
	}
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	w.logs[path], w.files[q.LogKey()] = x, data
	w.put(t, path, "", w.log(x, q))
}

// log returns the expected response to a request for a window of a log.
func (w *world) log(x site.LogIndex, q routes.Query) []byte {
	var rows []string
	for n := x.Next - 1 - int64(q.Int("offset")); n >= x.First && len(rows) < q.Int("limit"); n-- {
		rows = append(rows, fmt.Sprintf(`{"n":%d}`, n))
	}
	return frame(rows, fmt.Sprintf(`{"total":%d}`, x.Next-x.First))
}
