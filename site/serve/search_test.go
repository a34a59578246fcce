package serve

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/search"
)

// nameParts are the parts of names and queries.
var nameParts = []string{
	"Acme", "acme", "ACMÉ", "Ace", "A", "ab", "Quotes", "Quote", "quiz", "24", "2", "v2.0", "Straße", "STRASSE", "Über",
	"ΟΔΟΣ", "οδός", "Київ",
	"東京", "京都", "東京都API", "カメラ", "か", "각", "가", "서울", "🚀", "—", "", "İstanbul", "ﬁn",
}

// nasty returns services whose names and keys are drawn with many ties and nulls.
func nasty(n int, words []string) []site.ServiceListItem {
	r := rand.New(rand.NewPCG(402, uint64(n)))
	items := make([]site.ServiceListItem, n)
	for i := range items {
		var name []string
		for range r.IntN(4) {
			name = append(name, words[r.IntN(len(words))])
		}
		items[i] = site.ServiceListItem{
			Slug: fmt.Sprintf("service-%05d", i), Name: strings.Join(name, " "),
			Description: `a "quoted" {text}, ` + strings.Repeat("and more ", 15),
			BaseURL:     "https://api.acme.test", Category: []string{"AI", "Data", "Odd & <even>/~"}[r.IntN(3)],
			Status: []string{site.StatusOnline, site.StatusDegraded, site.StatusOffline,
				site.StatusUnknown}[r.IntN(4)],
			EndpointCount: r.IntN(3), Networks: [][]string{{}, {"BSE"}, {"BSE", "SOL"}}[r.IntN(3)],
			CreatedAt: site.NewTime(built.AddDate(0, 0, -r.IntN(5))),
		}
		if r.IntN(3) > 0 {
			up := []float64{0, 99.99, 100}[r.IntN(3)]
			price := site.Decimal([]string{"0", "0.09", "0.1", "10"}[r.IntN(4)])
			items[i].Uptime24h, items[i].MinPriceUSD = &up, &price
		}
	}
	return items
}

func rowOf(t testing.TB, v any) []byte {
	t.Helper()
	row, err := encode.Row(v)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// searchFiles returns the shards of services. It reads all names for each shard.
func searchFiles(t testing.TB, items []site.ServiceListItem) map[string][]byte {
	t.Helper()
	shards := map[string][][]byte{}
	for _, item := range items {
		row := rowOf(t, item)
		own := map[string]bool{}
		for _, w := range search.Words(search.Fold(item.Name)) {
			r := []rune(w)
			own[string(r[:1])], own[string(r[:min(2, len(r))])] = true, true
		}
		for letters := range own {
			shards[letters] = append(shards[letters], row)
		}
	}
	index := site.SearchIndex{Shards: map[string]int{}}
	files := map[string][]byte{}
	for letters, rows := range shards {
		index.Shards[letters] = len(rows)
		files[site.ShardKey(letters)] = encode.Framing{}.List(rows, []byte(fmt.Sprintf(`{"total":%d}`, len(rows))))
	}
	files[site.SearchFile] = rowOf(t, index)
	slugs := site.Index{Lists: map[string]int{}, Slugs: []string{}}
	for _, item := range items {
		slugs.Slugs = append(slugs.Slugs, item.Slug)
	}
	files[site.IndexFile] = rowOf(t, slugs)
	return files
}

// searchAll returns the expected result of a search, by a scan over all services.
func searchAll(t testing.TB, items []site.ServiceListItem, q site.Query) string {
	var list []*site.ServiceListItem
	query := search.Words(search.Fold(q.Text("q")))
	for i := range items {
		item := &items[i]
		words := search.Words(search.Fold(item.Name))
		matches := len(query) > 0
		for _, w := range query {
			matches = matches && slices.ContainsFunc(words, func(n string) bool { return strings.HasPrefix(n, w) })
		}
		if n := q.Text("network"); n != "" && !slices.Contains(item.Networks, n) {
			matches = false
		}
		if s := q.Text("status"); s != "" && item.Status != s {
			matches = false
		}
		if c := q.Text("category"); c != "" && item.Category != c {
			matches = false
		}
		if matches {
			list = append(list, item)
		}
	}
	site.Sort(list, q.Text("sort"))
	page, per := q.Int("page"), q.Int("per_page")
	var rows []string
	for i := (page - 1) * per; i < page*per && i < len(list); i++ {
		rows = append(rows, string(rowOf(t, list[i])))
	}
	return string(frame(rows, fmt.Sprintf(`{"total":%d,"page":%d,"per_page":%d,"total_pages":%d}`, len(list), page, per,
		(len(list)+per-1)/per)))
}

// TestSearchIsScan checks that a search with every other parameter equals a scan over all services.
func TestSearchIsScan(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 40, 900} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			items := nasty(n, nameParts)
			h := handlerOf(t, publish(t, searchFiles(t, items)), t.Output())
			rapid.Check(t, func(r *rapid.T) {
				v := url.Values{}
				maybe := func(name string, g *rapid.Generator[string]) {
					if rapid.Bool().Draw(r, "with "+name) {
						v.Set(name, g.Draw(r, name))
					}
				}
				part := rapid.OneOf(rapid.SampledFrom(nameParts),
					rapid.Map(rapid.SampledFrom(nameParts), func(s string) string {
						if letters := []rune(s); len(letters) > 1 {
							return string(letters[:len(letters)-1])
						}
						return s
					}), rapid.StringN(0, 3, -1))
				text := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(r, "q"), " ")
				if text = strings.ReplaceAll(text, "\x00", ""); text == "" {
					text = " "
				}
				v.Set("q", text)
				maybe("category", rapid.SampledFrom([]string{"AI", "Data", "Odd & <even>/~", "ai"}))
				maybe("network", rapid.SampledFrom([]string{"BSE", "SOL", "bse", ""}))
				maybe("status", rapid.SampledFrom([]string{site.StatusOnline, site.StatusDegraded, site.StatusOffline}))
				maybe("sort", rapid.SampledFrom(site.Orders))
				maybe("per_page", rapid.Map(rapid.IntRange(1, site.MaxPageSize), strconv.Itoa))
				maybe("page", rapid.Map(rapid.IntRange(1, 4), strconv.Itoa))
				q, err := site.ParseRequest("/v1/services", v.Encode())
				if err != nil {
					r.Fatal(err)
				}
				got := get(h, "/v1/services?"+v.Encode())
				if diff := cmp.Diff(searchAll(t, items, q), got.Body.String()); got.Code != 200 || diff != "" {
					r.Fatalf("%s: %d (-want +got):\n%s", v.Encode(), got.Code, diff)
				}
			})
		})
	}
}

// TestSearchDamage checks that a shard in the index returns a 500 if it is missing or damaged. A shard that the index
// does not list has no rows.
func TestSearchDamage(t *testing.T) {
	t.Parallel()
	whole := searchFiles(t, nasty(40, nameParts))
	for _, test := range []struct {
		about  string
		change func(files map[string][]byte)
		target string
		code   int
	}{
		{"whole", func(map[string][]byte) {}, "/v1/services?q=acme", 200},
		{"a word that begins no name", func(map[string][]byte) {}, "/v1/services?q=acme+zz", 200},
		{"shard missing", func(f map[string][]byte) { delete(f, "v1/search/ac.json") }, "/v1/services?q=acme", 500},
		{"shard missing, asked for by itself", func(f map[string][]byte) {
			delete(f, "v1/search/ac.json")
		}, "/v1/search/ac.json", 500},
		{"no such shard", func(map[string][]byte) {}, "/v1/search/zz.json", 404},
		{"shard of other rows", func(f map[string][]byte) {
			f["v1/search/ac.json"] = encode.Framing{}.List(nil, []byte("{}"))
		}, "/v1/services?q=acme", 500},
		{"shard that is no list", func(f map[string][]byte) {
			f["v1/search/ac.json"] = []byte("{}")
		}, "/v1/services?q=acme", 500},
		{"rows that are no services", func(f map[string][]byte) {
			f["v1/search/ac.json"] = encode.Framing{}.List([][]byte{[]byte(`{"slug":7}`)}, []byte("{}"))
			f[site.SearchFile] = []byte(`{"shards":{"ac":1}}`)
		}, "/v1/services?q=acme", 500},
		{"no list of shards", func(f map[string][]byte) { delete(f, site.SearchFile) }, "/v1/services?q=acme", 500},
		{"no list of shards, asked for by itself", func(f map[string][]byte) {
			delete(f, site.SearchFile)
		}, "/v1/search.json", 500},
		{"list of shards is no JSON", func(f map[string][]byte) {
			f[site.SearchFile] = []byte("{")
		}, "/v1/services?q=acme", 500},
	} {
		files := maps.Clone(whole)
		test.change(files)
		log := &syncBuffer{}
		got := get(handlerOf(t, publish(t, files), log), test.target)
		if got.Code != test.code || (test.code == 500) != (log.String() != "") {
			t.Errorf("%s: %d %s, want %d; logged: %s", test.about, got.Code, got.Body, test.code, log)
		}
	}
}

// TestCatalogueIsSlice checks that limit and offset cut a catalogue like a slice.
func TestCatalogueIsSlice(t *testing.T) {
	t.Parallel()
	const total = 237
	q := parse(t, "/discovery/resources", "")
	files := map[string][]byte{}
	var lines [][]byte
	for i := range total {
		lines = append(lines, []byte(fmt.Sprintf(`{"resource":"https://api.acme.test/%d"}`, i)))
	}
	naive := func(limit, offset, total int) string {
		text := "{\"x402Version\":2,\"items\":[\n"
		if from := min(offset, total); from < total {
			var rows []string
			for _, l := range lines[from:min(from+limit, total)] {
				rows = append(rows, string(l))
			}
			text += strings.Join(rows, ",\n") + "\n"
		}
		return text + fmt.Sprintf("],\"pagination\":{\"limit\":%d,\"offset\":%d,\"total\":%d}}\n", limit, offset, total)
	}
	for file := range 3 {
		files[q.WindowFile(file).Key()] = []byte(naive(100, 100*file, total))
	}
	files[q.Key()] = []byte(naive(100, 0, total))
	files[site.IndexFile] = rowOf(t, site.Index{Lists: map[string]int{q.ListKey(): total}, Slugs: []string{}})
	h := handlerOf(t, publish(t, files), t.Output())
	rapid.Check(t, func(t *rapid.T) {
		limit, offset, size := rapid.IntRange(1, 100).Draw(t, "limit"), rapid.IntRange(0, total+120).Draw(t, "offset"),
			total
		query := fmt.Sprintf("limit=%d&offset=%d&facilitator=ignored", limit, offset)
		switch rapid.SampledFrom([]string{"", "http", "mcp"}).Draw(t, "type") {
		case "http":
			query += "&type=http"
		case "mcp":
			query, size = query+"&type=mcp", 0
		}
		got := get(h, "/discovery/resources?"+query)
		if diff := cmp.Diff(naive(limit, offset, size), got.Body.String()); got.Code != 200 || diff != "" {
			t.Fatalf("%s: %d (-want +got):\n%s", query, got.Code, diff)
		}
	})
	for _, target := range []string{"/discovery/resources?limit=101", "/discovery/resources?type=grpc",
		"/discovery/resources?offset=-1", "/discovery/nothing"} {
		if got := get(h, target); got.Code/100 != 4 || got.Header().Get("Content-Type") != typeJSON {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
}

// BenchmarkSearch searches 20,000 services. First, names consist of three of two hundred words. Then all names begin
// alike, which is the worst case for shards.
func BenchmarkSearch(b *testing.B) {
	words := make([]string, 200)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		for range 4 + r.IntN(5) {
			words[i] += string(rune('a' + r.IntN(26)))
		}
	}
	alike := nasty(20_000, []string{"Service"})
	for i := range alike {
		alike[i].Name = fmt.Sprintf("Service %d", i)
	}
	named := searchHandler(b, nasty(20_000, words))
	same := searchHandler(b, alike)
	for _, test := range []struct {
		name, target string
		h            *handler
		cold         bool
	}{
		{"answer seen", "/v1/services?q=" + words[7], named, false},
		{"one word", "/v1/services?page=%d&q=" + words[7], named, false},
		{"two words and a filter", "/v1/services?status=online&sort=uptime&page=%d&q=" + words[7] + "+" + words[8][:3],
			named, false},
		{"one letter", "/v1/services?page=%d&q=" + words[7][:1], named, false},
		{"one word, nothing in memory", "/v1/services?page=%d&q=" + words[7], named, true},
		{"nothing found", "/v1/services?q=%d", named, false},
		{"all alike, one word", "/v1/services?page=%d&q=service", same, false},
		{"all alike, two words", "/v1/services?page=%d&q=service+123", same, false},
	} {
		b.Run(test.name, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("Accept-Encoding", "gzip")
			out := discard{header: http.Header{}}
			if test.cold {
				defer func(c *cache) { test.h.cache = c }(test.h.cache)
				test.h.cache = newCache(0)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				target := test.target
				if strings.Contains(target, "%d") {
					target = fmt.Sprintf(target, i%site.MaxPage+1) // a different key each time, as from many readers
				}
				request.URL, _ = url.Parse(target)
				clear(out.header)
				test.h.ServeHTTP(&out, request)
				if out.code != 200 {
					b.Fatal(out.code)
				}
			}
		})
	}
}

func searchHandler(b *testing.B, items []site.ServiceListItem) *handler {
	began := time.Now()
	files := searchFiles(b, items)
	bytes := 0
	for _, data := range files {
		bytes += len(data)
	}
	b.Logf("%d services: %d files, %.1f MB, in %v", len(items), len(files), float64(bytes)/1e6, time.Since(began))
	return handlerOf(b, publish(b, files), io.Discard).(*handler)
}
