package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// nameParts are the parts of names and queries.
var nameParts = []string{
	"Acme", "acme", "ACMÉ", "Ace", "A", "ab", "Quotes", "Quote", "quiz", "24", "2", "v2.0", "Straße", "STRASSE", "Über",
	"ΟΔΟΣ", "οδός", "Київ",
	"東京", "京都", "東京都API", "カメラ", "か", "각", "가", "서울", "🚀", "—", "", "İstanbul", "ﬁn",
}

// nasty returns services whose names and values are drawn with many ties and nulls.
func nasty(n int, words []string) []site.ServiceRow {
	r := rand.New(rand.NewPCG(402, uint64(n)))
	rows := make([]site.ServiceRow, n)
	for i := range rows {
		var name []string
		for range r.IntN(4) {
			name = append(name, words[r.IntN(len(words))])
		}
		row := &rows[i]
		row.ServiceListItem = site.ServiceListItem{
			Slug: fmt.Sprintf("service-%05d", i), Name: strings.Join(name, " "),
			Description: `a "quoted" {text},"assessment":{ ` + strings.Repeat("and more ", 15),
			BaseURL:     "https://api.acme.test", Category: []string{"AI", "Data", "Odd & <even>/~"}[r.IntN(3)],
			Status: site.Statuses[r.IntN(4)], Verified: r.IntN(2) == 0,
			EndpointCount: r.IntN(3), Networks: [][]string{{}, {"BSE"}, {"BSE", "SOL"}}[r.IntN(3)],
			CreatedAt: site.NewTime(built.AddDate(0, 0, -r.IntN(5))), AdviceLevel: site.AdviceLevels[r.IntN(4)], RiskLevel: site.RiskClean,
		}
		a := &row.Assessment
		*a = site.CompactAssessment{
			ComplianceGrade: site.Grades[r.IntN(len(site.Grades))], ComplianceFailedChecks: []string{},
			RiskLevel: site.RiskClean, PaymentReady: r.IntN(2) == 0, PricesUSD: map[string]string{},
			CapabilityTags: &site.SynthesisList{Value: []string{"a,\"endpoints\":["}},
			Source:         []string{"submitted", "imported:file", "imported:x"}[r.IntN(3)],
			Protocols:      [][]string{{}, {"x402", "x402-v1"}, {"mpp", "x402", "x402-v2"}}[r.IntN(3)],
			Methods:        [][]string{{}, {"GET"}, {"GET", "POST"}}[r.IntN(3)],
		}
		row.Endpoints = []site.RowEndpoint{}
		if r.IntN(3) > 0 {
			row.Uptime24h, a.ReliabilityUptime30d = new([]float64{0, 99.99, 100}[r.IntN(3)]),
				new([]float64{0, 99.5, 100}[r.IntN(3)])
			row.AvgResponseTimeMS, a.Payable = new(r.IntN(3)*50), new(r.IntN(2) == 0)
			a.Traction.VolumeUSD30d = new(site.Decimal([]string{"0", "9.5", "10.25"}[r.IntN(3)]))
			a.Traction.UniqueBuyers30d = new(int64(r.IntN(3)))
			a.Traction.OrganicVolumeUSD30d = new(site.Decimal([]string{"0", "9", "10.125"}[r.IntN(3)]))
			a.Traction.OrganicBuyers30d = new(int64(r.IntN(3)))
		}
		for _, network := range row.Networks {
			if usd := []string{"", "0", "0.09", "0.1", "10"}[r.IntN(5)]; usd != "" {
				a.PricesUSD[network] = usd
			}
		}
		row.MinPriceUSD = lowest(a.PricesUSD, "")
	}
	return rows
}

// lowest returns the lowest price on a network, or on any for "".
func lowest(by map[string]string, network string) (least *site.Decimal) {
	for n, usd := range by {
		if d := site.Decimal(usd); (network == "" || n == network) && (least == nil || d.Compare(*least) < 0) {
			least = &d
		}
	}
	return least
}

func rowOf(t testing.TB, v any) []byte {
	t.Helper()
	row, err := encode.Row(v)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// scanFiles returns the index, the blocks of rows and the columns of services.
func scanFiles(t testing.TB, services []site.ServiceRow) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	odd := routes.Query{Route: routes.ByName("services")}.With("category", "Odd & <even>/~").ListKey() // known, also if empty
	index := routes.Index{Lists: map[string]int{odd: 0}, Slugs: []string{}, Provenance: &provenance, Format: archive.Format}
	var lines [][]byte
	for i := range services {
		index.Slugs = append(index.Slugs, services[i].Slug)
		list := routes.Query{Route: routes.ByName("services")}
		index.Lists[list.With("category", services[i].Category).ListKey()]++
		for _, network := range services[i].Networks {
			index.Lists[list.With("network", network).ListKey()]++
		}
		lines = append(lines, rowOf(t, &services[i]))
	}
	for block := range slices.Chunk(lines, site.RowsPerBlock) {
		files[routes.RowsKey(len(files))] = encode.Framing{}.List(block, []byte(`{"total":1}`))
	}
	for _, c := range site.Columns {
		values := []any{}
		for i := range services {
			values = append(values, c.Value(&services[i]))
		}
		data, err := encode.JSON(values)
		if err != nil {
			t.Fatal(err)
		}
		files[routes.ColumnKey(c.Name)] = data
	}
	files[routes.IndexFile] = rowOf(t, index)
	return files
}

// scanFilters are the filters of a list of services without columns, each with its value.
var scanFilters = map[string]func(row *site.ServiceRow, value string, v url.Values) bool{
	"q": func(row *site.ServiceRow, value string, _ url.Values) bool {
		words, query := search.Words(search.Fold(row.Name)), search.Words(search.Fold(value))
		return len(query) > 0 && !slices.ContainsFunc(query, func(w string) bool {
			return !slices.ContainsFunc(words, func(n string) bool { return strings.HasPrefix(n, w) })
		})
	},
	"network": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return slices.Contains(row.Networks, value)
	},
	"status":   func(row *site.ServiceRow, value string, _ url.Values) bool { return row.Status == value },
	"category": func(row *site.ServiceRow, value string, _ url.Values) bool { return row.Category == value },
	"verified": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return strconv.FormatBool(row.Verified) == value
	},
	"payment_ready": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return strconv.FormatBool(row.Assessment.PaymentReady) == value
	},
	"payable": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return row.Assessment.Payable != nil && strconv.FormatBool(*row.Assessment.Payable) == value
	},
	"source": func(row *site.ServiceRow, value string, _ url.Values) bool {
		kind, _, _ := strings.Cut(row.Assessment.Source, ":")
		return value == kind || value == row.Assessment.Source
	},
	"protocol": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return slices.Contains(row.Assessment.Protocols, value)
	},
	"method": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return slices.Contains(row.Assessment.Methods, value)
	},
	"verdict": func(row *site.ServiceRow, value string, _ url.Values) bool { return row.AdviceLevel == value },
	"grade": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return row.Assessment.ComplianceGrade == value
	},
	"min_grade": func(row *site.ServiceRow, value string, _ url.Values) bool {
		return row.Assessment.ComplianceGrade <= value // unknown is after F
	},
	"max_price_usd": func(row *site.ServiceRow, value string, v url.Values) bool {
		price := lowest(row.Assessment.PricesUSD, v.Get("network"))
		return price != nil && price.Compare(decimal(value)) <= 0
	},
	"min_uptime_30d": func(row *site.ServiceRow, value string, _ url.Values) bool {
		uptime := row.Assessment.ReliabilityUptime30d
		return uptime != nil && site.Decimal(fmt.Sprint(*uptime)).Compare(decimal(value)) >= 0
	},
	"max_response_ms": func(row *site.ServiceRow, value string, _ url.Values) bool {
		ms := row.AvgResponseTimeMS
		return ms != nil && site.Decimal(fmt.Sprint(*ms)).Compare(decimal(value)) <= 0
	},
}

// decimal returns a valid decimal in canonical form.
func decimal(value string) site.Decimal {
	d, err := site.ParseDecimal(value)
	if err != nil {
		panic(err)
	}
	return d
}

// spelled has the values that other spellings among those of function values mean.
var spelled = map[string]string{"bse": "BSE", "ai": "AI"}

// passes reports whether a service passes the filters of a request.
func passes(row *site.ServiceRow, v url.Values) bool {
	v = maps.Clone(v)
	for _, name := range []string{"network", "category"} {
		if value, ok := spelled[v.Get(name)]; ok {
			v.Set(name, value)
		}
	}
	for name, filter := range scanFilters {
		if value := v.Get(name); value != "" && !filter(row, value, v) {
			return false
		}
	}
	return true
}

// before compares two services by an order that is not one of the contract's, without columns.
func before(order string, a, b *site.ServiceRow) int {
	volume := func(r *site.ServiceRow) (site.Decimal, bool) {
		d := r.Assessment.Traction.VolumeUSD30d
		if order == "organic_volume" {
			d = r.Assessment.Traction.OrganicVolumeUSD30d
		}
		if d != nil {
			return *d, true
		}
		return "", false
	}
	number := func(n int, ok bool) func() (int, bool) { return func() (int, bool) { return n, ok } }
	value := func(r *site.ServiceRow) (int, bool) {
		switch {
		case order == "grade":
			return number(slices.Index(site.Grades, r.Assessment.ComplianceGrade), true)()
		case order == "buyers" && r.Assessment.Traction.UniqueBuyers30d != nil:
			return -int(*r.Assessment.Traction.UniqueBuyers30d), true
		case order == "organic_buyers" && r.Assessment.Traction.OrganicBuyers30d != nil:
			return -int(*r.Assessment.Traction.OrganicBuyers30d), true
		case order == "response" && r.AvgResponseTimeMS != nil:
			return *r.AvgResponseTimeMS, true
		case order == "uptime_30d" && r.Assessment.ReliabilityUptime30d != nil:
			return -int(math.Round(*r.Assessment.ReliabilityUptime30d * 100)), true
		}
		return 0, false
	}
	x, hasX := value(a)
	y, hasY := value(b)
	if order == "volume" || order == "organic_volume" {
		v, hasV := volume(a)
		w, hasW := volume(b)
		hasX, hasY = hasV, hasW
		if hasV && hasW {
			x = w.Compare(v)
		}
	}
	switch {
	case hasX != hasY && hasX:
		return -1
	case hasX != hasY:
		return 1
	}
	return cmp.Or(cmp.Compare(x, y), strings.Compare(a.Slug, b.Slug))
}

// scanAll returns the expected response by a scan over all services.
func scanAll(t testing.TB, services []site.ServiceRow, q routes.Query, v url.Values) string {
	t.Helper()
	var list []*site.ServiceRow
	for i := range services {
		if passes(&services[i], v) {
			list = append(list, &services[i])
		}
	}
	order := q.Text("sort")
	slices.SortFunc(list, func(a, b *site.ServiceRow) int {
		if slices.Contains(site.Orders, order) {
			return site.CompareBy(order)(&a.ServiceListItem, &b.ServiceListItem)
		}
		return before(order, a, b)
	})
	page, per := q.Int("page"), q.Int("per_page")
	var rows []string
	for i := (page - 1) * per; i < page*per && i < len(list); i++ {
		item := list[i].ServiceListItem
		if v.Get("include") == "assessment" {
			item.Assessment = &list[i].Assessment
		}
		rows = append(rows, string(rowOf(t, item)))
	}
	return string(frame(rows, fmt.Sprintf(`{"total":%d,"page":%d,"per_page":%d,"total_pages":%d}`, len(list), page, per,
		(len(list)+per-1)/per)))
}

// TestScan checks that a request with any filters, orders and pages equals a scan over all services.
func TestScan(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 20, 41, 400} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			services := nasty(n, nameParts)
			h := handlerOf(t, publish(t, scanFiles(t, services)), t.Output())
			rapid.Check(t, func(r *rapid.T) {
				v := url.Values{}
				maybe := func(name string, g *rapid.Generator[string]) {
					if rapid.IntRange(0, 3).Draw(r, "with "+name) == 0 {
						v.Set(name, g.Draw(r, name))
					}
				}
				for _, p := range routes.ByName("services").Params {
					g := values(&p)
					if g == nil || p.Column != "" && scanFilters[p.Name] == nil {
						r.Fatalf("the filter %s of site/routes/filter.go has no meaning in scanFilters of "+
							"site/serve/scan_test.go, or no values in its function values", p.Name)
					}
					maybe(p.Name, g)
				}
				q, err := routes.ParseRequest("/v1/services", v.Encode())
				if err != nil {
					r.Fatal(err)
				}
				if q.Rule() != routes.RuleScan {
					return
				}
				got := get(h, "/v1/services?"+v.Encode())
				if diff := gocmp.Diff(scanAll(t, services, q, v), got.Body.String()); got.Code != 200 || diff != "" {
					r.Fatalf("%s: %d (-want +got):\n%s", v.Encode(), got.Code, diff)
				}
			})
		})
	}
}

// values draws valid values of a parameter. It returns nil for one that it does not know.
func values(p *routes.Param) *rapid.Generator[string] {
	switch p.Name {
	case "category":
		return rapid.SampledFrom([]string{"AI", "Data", "Odd & <even>/~", "ai"})
	case "network":
		return rapid.SampledFrom([]string{"BSE", "SOL", "bse"})
	case "source":
		return rapid.SampledFrom([]string{"submitted", "imported", "imported:x", "imported:"})
	case "method":
		return rapid.SampledFrom([]string{"GET", "POST", "get"})
	case "max_price_usd":
		return rapid.SampledFrom([]string{"0", "0.09", "00.10", "9.99", "100"})
	case "min_uptime_30d":
		return rapid.SampledFrom([]string{"0", "99.5", "99.51", "100"})
	case "max_response_ms":
		return rapid.SampledFrom([]string{"0", "49", "50", "1000"})
	case "page":
		return rapid.Map(rapid.IntRange(1, 4), strconv.Itoa)
	case "per_page":
		return rapid.Map(rapid.IntRange(1, site.MaxPageSize), strconv.Itoa)
	case "q":
		part := rapid.OneOf(rapid.SampledFrom(nameParts), rapid.Map(rapid.SampledFrom(nameParts),
			func(s string) string {
				if letters := []rune(s); len(letters) > 1 {
					return string(letters[:len(letters)-1])
				}
				return s
			}), rapid.StringN(0, 3, -1))
		return rapid.Map(rapid.SliceOfN(part, 1, 3), func(parts []string) string {
			return cmp.Or(strings.ReplaceAll(strings.Join(parts, " "), "\x00", ""), " ")
		})
	}
	if p.Kind == routes.KindBoolean {
		return rapid.SampledFrom([]string{"true", "false"})
	}
	if len(p.Values) == 0 {
		return nil
	}
	return rapid.SampledFrom(p.Values)
}

// TestScanDamage checks that a block of rows or a column returns a logged 500 if it is missing or damaged, and never an
// empty list.
func TestScanDamage(t *testing.T) {
	t.Parallel()
	whole := scanFiles(t, nasty(2*site.RowsPerBlock+1, nameParts))
	block := string(whole[routes.RowsKey(2)])
	checkDamage(t, whole, []damagedFile{
		{"whole", "v1/x.json", "", "/v1/services?verified=true", 200},
		{"column missing", "v1/columns/verified.json", "", "/v1/services?verified=true", 500},
		{"another column missing", "v1/columns/verified.json", "", "/v1/services?grade=A", 200},
		{"column missing, requested by itself", "v1/columns/verified.json", "", "/v1/columns/verified.json", 500},
		{"no such column", "v1/x.json", "", "/v1/columns/colour.json", 404},
		{"short column", "v1/columns/verified.json", `{"data":[true]}`, "/v1/services?verified=true", 500},
		{"empty column", "v1/columns/verified.json", `{"data":[]}`, "/v1/services?verified=true", 500},
		{"column of another type", "v1/columns/verified.json", string(whole["v1/columns/grade.json"]),
			"/v1/services?verified=true", 500},
		{"column that is no JSON", "v1/columns/verified.json", "{", "/v1/services?verified=true", 500},
		{"column of the order missing", "v1/columns/volume_usd_30d.json", "", "/v1/services?sort=volume", 500},
		{"block missing", "v1/rows/2.json", "", "/v1/services?include=assessment&per_page=100", 500},
		{"block missing, requested by itself", "v1/rows/2.json", "", "/v1/rows/2.json", 500},
		{"no such block", "v1/x.json", "", "/v1/rows/3.json", 404},
		{"no such block, a number in another form", "v1/x.json", "", "/v1/rows/02.json", 404},
		{"short block", "v1/rows/0.json", block, "/v1/services?include=assessment&per_page=100", 500},
		{"block of other services", "v1/rows/2.json", strings.ReplaceAll(block, "service-", "servant-"),
			"/v1/services?include=assessment&per_page=100", 500},
		{"rows without assessment", "v1/rows/2.json", strings.ReplaceAll(block, `,"assessment":{"`, `,"other":{"`),
			"/v1/services?include=assessment&per_page=100", 500},
		{"block that is no list", "v1/rows/2.json", "{}", "/v1/services?include=assessment&per_page=100", 500},
	})
}

// damagedFile is a request to a publication in which one file is replaced, or removed if content is "".
type damagedFile struct {
	about, file, content string
	target               string
	code                 int
}

// checkDamage checks the status of each request, and that exactly the internal errors are logged.
func checkDamage(t *testing.T, whole map[string][]byte, tests []damagedFile) {
	t.Helper()
	for _, test := range tests {
		files := maps.Clone(whole)
		if files[test.file] = []byte(test.content); test.content == "" {
			delete(files, test.file)
		}
		log := &syncBuffer{}
		got := get(handlerOf(t, publish(t, files), log), test.target)
		if got.Code != test.code || (test.code == 500) != (log.String() != "") {
			t.Errorf("%s: %d %s, want %d; logged: %s", test.about, got.Code, got.Body, test.code, log)
		}
	}
}

// TestStatusUnknown checks that the contract's refusal names the route that accepts the value.
func TestStatusUnknown(t *testing.T) {
	t.Parallel()
	got := get(handlerOf(t, publish(t, scanFiles(t, nil)), t.Output()), "/v1/services?status=unknown")
	var body site.ErrorBody
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 400 ||
		!strings.Contains(got.Body.String(), "/v1/search accepts it") {
		t.Errorf("%d %s %v", got.Code, got.Body, err)
	}
}

// BenchmarkScan filters and orders 20,000 services.
func BenchmarkScan(b *testing.B) {
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
	named := scanHandler(b, nasty(20_000, words))
	same := scanHandler(b, alike)
	for _, test := range []struct {
		name, target string
		h            *handler
		cold         bool
	}{
		{"response seen", "/v1/services?q=" + words[7], named, false},
		{"one word", "/v1/services?page=%d&q=" + words[7], named, false},
		{"two words and a filter", "/v1/services?status=online&sort=uptime&page=%d&q=" + words[7] + "+" + words[8][:3],
			named, false},
		{"all words alike", "/v1/services?page=%d&q=service+1", same, false},
		{"one filter", "/v1/services?verified=true&page=%d", named, false},
		{"ten filters", "/v1/services?network=BSE&category=AI&verified=true&payment_ready=true&payable=true&" +
			"source=imported&protocol=x402&method=GET&min_grade=D&max_price_usd=1&min_uptime_30d=50&page=%d", named,
			false},
		{"an order", "/v1/services?sort=volume&page=%d", named, false},
		{"all with assessment, pages of 100", "/v1/services?include=assessment&per_page=100&page=%d", named, false},
		{"one word, nothing in memory", "/v1/services?page=%d&q=" + words[7], named, true},
		{"filter and order, nothing in memory", "/v1/services?sort=volume&max_price_usd=1&page=%d", named, true},
	} {
		b.Run(test.name, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("Accept-Encoding", "gzip")
			out := discard{header: http.Header{}}
			if test.cold {
				defer func(c *cache) { test.h.cache = c }(test.h.cache)
				test.h.cache = newCache(0)
			}
			var times []time.Duration
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				target := test.target
				if strings.Contains(target, "%d") {
					target = fmt.Sprintf(target, i%200+1) // a different key each time, as from many readers
				}
				request.URL, _ = url.Parse(target)
				clear(out.header)
				began := time.Now()
				test.h.ServeHTTP(&out, request)
				times = append(times, time.Since(began))
				if out.code != 200 {
					b.Fatal(out.code)
				}
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}

func scanHandler(b *testing.B, services []site.ServiceRow) *handler {
	began := time.Now()
	files := scanFiles(b, services)
	bytes := 0
	for _, data := range files {
		bytes += len(data)
	}
	b.Logf("%d services: %d files, %.1f MB, in %v", len(services), len(files), float64(bytes)/1e6, time.Since(began))
	return handlerOf(b, publish(b, files), io.Discard).(*handler)
}
