package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// call is a request of the script, as it is sent.
type call struct {
	method, target string
	header         string // header lines, each with CRLF
}

func (c call) String() string {
	return c.method + " " + c.target + strings.ReplaceAll(" "+c.header, "\r\n", " ")
}

// script returns every kind of request: for each route of the table, every parameter at its bounds, beyond them and
// together with others, and then requests with errors that clients make.
func (w *world) script(t *testing.T) []call {
	t.Helper()
	if err := json.Unmarshal(w.lines[routes.IndexFile], &w.index); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(402, 4020))
	var list []call
	get := func(target string) { list = append(list, call{"GET", target, ""}) }
	for i := range routes.All {
		route := &routes.All[i]
		for _, path := range w.paths(t, route) {
			get(path)
			get("/api" + path)
			get(path + "/")
			get(path + route.Ext)
			get(path + "?utm_source=x&_=1")
			get(path + "?strict=1")
			get(path + "?strict=1&utm_source=x&utm_source=y")
			if len(route.Params) == 0 {
				continue
			}
			for _, p := range route.Params {
				for _, v := range values(&p) {
					get(path + "?" + p.Name + "=" + v)
				}
			}
		}
		if path := w.paths(t, route)[0]; len(route.Params) > 0 {
			for range 40 {
				get(path + "?" + randomQuery(r, route))
			}
		}
	}
	for _, q := range []string{"fire", "FIRE+fox", "caf%C3%A9", "cafe", "unicode", "%E6%9D%B1%E4%BA%AC", "%E4%BA%AC",
		"api", "strasse", "stra%C3%9Fe", "%CF%83%CE%B5%CF%85%CF%82", "%CE%9F%CE%94",
		"%ED%95%9C", "fine", "istanbul", "%C4%B0stanbul", "a", "-", "%20", "1", "zzz", "fire+zzz", "constructor",
		"__proto__", "odd+lant", "s%C3%B6hne+%26"} {
		get("/v1/services?q=" + q)
		get("/v1/services?q=" + q + "&sort=cheapest&per_page=3&page=2")
		get("/v1/services?sort=uptime&category=AI&q=" + q + "&status=online")
	}
	list = append(list, w.catalogue(t)...)
	list = append(list, w.catalogueSearches()...)
	list = append(list, searches(r)...)
	for _, p := range routes.ByName("services").Params { // every filter and order with others
		for _, v := range values(&p) {
			get("/v1/services?network=BSE&status=online&max_price_usd=0.05&" + p.Name + "=" + v + "&per_page=7")
			get("/v1/services?verified=false&sort=volume&" + p.Name + "=" + v + "&include=assessment&per_page=3")
		}
	}
	for _, v := range []string{"imported", "imported:file", "submitted", "GET", "POST", "eip155:1"} {
		get("/v1/services?source=" + v)
		get("/v1/services?method=" + v)
		get("/v1/services?network=" + v + "&sort=response")
	}
	list = append(list, w.lookups(t)...)
	list = append(list, w.odd()...)
	for _, c := range slices.Clone(list)[:] {
		if r.IntN(12) == 0 {
			list = append(list, call{"HEAD", c.target, ""}, call{"GET", c.target, "Accept-Encoding: gzip\r\n"})
		}
		if r.IntN(20) == 0 {
			sep := "?"
			if strings.Contains(c.target, "?") {
				sep = "&"
			}
			for _, id := range w.snaps {
				get(c.target + sep + "snapshot=" + id)
			}
		}
	}
	for range 150 { // any file by its name, and by the request whose key it is
		key := w.names[r.IntN(len(w.names))]
		get("/" + key)
		path, query, err := routes.Request(key)
		if err != nil {
			t.Fatal(err)
		}
		get((&url.URL{RawPath: path, Path: mustUnescape(t, path), RawQuery: query}).String())
	}
	return list
}

func mustUnescape(t *testing.T, s string) string {
	t.Helper()
	u, err := url.PathUnescape(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// paths returns paths of a route, with names that exist and names that do not.
func (w *world) paths(t *testing.T, route *routes.Route) []string {
	t.Helper()
	head, rest, ok := strings.Cut(route.Pattern, "{")
	if !ok {
		return []string{route.Pattern}
	}
	name, tail, _ := strings.Cut(rest, "}")
	names := append(slices.Clone(w.index.Slugs[:1]), "odd-0-00", "nope", "-x", "UPPER", strings.Repeat("a", 81), "a.b")
	if name == "facilitator" {
		names = append(slices.Clone(w.index.Facilitators[:1]), "f.001", "nope", ".x", "UPPER", strings.Repeat("a", 65),
			"a.json")
	}
	if name == "source" {
		names = append(slices.Clone(w.index.Sources), "nope", "-x", "UPPER", "a.b")
	}
	if name == "category" || name == "network" {
		names = []string{map[string]string{"category": "ai", "network": "bse"}[name], "odd-even", "nope", "-x", "AI",
			"Ai", strings.Repeat("a", 81), "ai.b", "constructor"}
	}
	if route.Rule == routes.RuleLookup {
		return []string{"/v1/lookup/url/" + strings.Repeat("0", 64)}
	}
	var paths []string
	for _, n := range names {
		paths = append(paths, head+n+tail)
	}
	return paths
}

// values returns valid and invalid values of a parameter, in the form of a query.
func values(p *routes.Param) []string {
	list := []string{"", "%20", "%", "%zz", "%ff", "%00", "a%00b", "%C3%A9", "a,b", "'\"<>&x=1", "+", "%2525", "007",
		strings.Repeat("x", 101), "%F0%9F%98%80", "%E2%80%A8", "%07%7f%C2%85"}
	switch p.Kind {
	case routes.KindChoice, routes.KindSet:
		for _, v := range p.Values {
			list = append(list, v, strings.ToUpper(v), url.QueryEscape(v+" "), v+"&"+p.Name+"=nope", "&"+p.Name+"="+v)
		}
		if p.Kind == routes.KindSet && len(p.Values) > 1 {
			list = append(list, p.Values[0]+","+p.Values[1], p.Values[1]+","+p.Values[0], p.Values[1]+"%2C"+p.Values[0],
				",", ",,"+p.Values[0]+",", p.Values[0]+",nope", p.Values[0]+","+p.Values[0])
		}
	case routes.KindBoolean:
		list = append(list, "true", "false", "True", "1", "true%20")
	case routes.KindDecimal:
		list = append(list, "0", "0.01", "00.010", "1.", ".5", "-1", "1e3", "100", "100.1", "0.0000000000000000001",
			"1234567890123456789")
	case routes.KindInteger:
		for _, n := range []int{p.Min - 1, p.Min, p.Min + 1, 7, 25, 99, 100, p.Max - 1, p.Max, p.Max + 1} {
			list = append(list, strconv.Itoa(n))
		}
		list = append(list, "1.0", "1e3", "+1", "0x1", "%31", "1 1"[:1]+"%20", "99999999999999999999",
			p.Default+"&"+p.Name+"=nope", "&"+p.Name+"=2")
	default:
		list = append(list, "BSE", "SOL", "bse", "AI", "Data", "Odd+%26+%3Ceven%3E%2F~", "odd-0-00", "lanternfish-chat",
			"None", "bas", "polygn", "Dta", ".", "..", "a~b", "~2f", strings.Repeat("%C3%A9", 100),
			strings.Repeat("%C3%A9", 101))
	}
	return list
}

// randomQuery returns a query with some parameters of a route in random order, most of them with valid values.
func randomQuery(r *rand.Rand, route *routes.Route) string {
	var pairs []string
	for _, p := range route.Params {
		if r.IntN(3) == 0 {
			continue
		}
		v := p.Default
		switch {
		case len(p.Values) > 0:
			v = p.Values[r.IntN(len(p.Values))]
		case p.Kind == routes.KindInteger:
			v = strconv.Itoa([]int{1, 2, 3, 25, 100, p.Min, p.Max, p.Min + r.IntN(120)}[r.IntN(8)])
		case p.Kind == routes.KindBoolean:
			v = []string{"true", "false"}[r.IntN(2)]
		case p.Kind == routes.KindDecimal:
			v = []string{"0", "0.01", "0.5", "99.5"}[r.IntN(4)]
		case p.Name == "service":
			v = []string{"lanternfish-chat", "odd-0-00", "nope"}[r.IntN(3)]
		case p.Name == "query":
			v = []string{"chat", "speech+to+text", "fire", "image", "zzzz"}[r.IntN(5)]
		case p.Kind == routes.KindText:
			v = []string{"BSE", "AI", "Data", "fire", "SOL"}[r.IntN(5)]
		}
		if r.IntN(25) == 0 {
			all := values(&p)
			v = all[r.IntN(len(all))]
		}
		pairs = append(pairs, p.Name+"="+v)
	}
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return strings.Join(pairs, "&")
}

// catalogue returns requests for rows of the catalogue by their payment options.
func (w *world) catalogue(t *testing.T) (list []call) {
	t.Helper()
	var file struct{ Items []site.CatalogueItem }
	if err := json.Unmarshal(w.lines[catalogueFile], &file); err != nil {
		t.Fatal(err)
	}
	get := func(target string) { list = append(list, call{"GET", "/discovery/resources?" + target, ""}) }
	for _, i := range []int{0, 1, len(file.Items) / 2, len(file.Items) - 1} {
		for _, a := range file.Items[i].Accepts {
			payTo, network, scheme := url.QueryEscape(a.PayTo), url.QueryEscape(a.Network), url.QueryEscape(a.Scheme)
			get("payTo=" + payTo)
			get("payTo=" + strings.ToUpper(payTo))
			get("payTo=0x" + strings.ToUpper(strings.TrimPrefix(payTo, "0x")) + "&limit=2&offset=1")
			get("network=" + network + "&limit=100&offset=30")
			get("scheme=" + scheme + "&network=" + network + "&payTo=" + payTo)
			get("type=http&scheme=" + scheme + "&extensions=bazaar&limit=7&offset=14")
			get("type=mcp&scheme=" + scheme)
			get("scheme=" + scheme + "&network=nope")
		}
	}
	for _, target := range []string{"extensions=nope", "extensions=bazaar", "payTo=0x", "payTo=0X12", "payTo=nope",
		"payTo=" + strings.Repeat("a", 701), "payTo=" + strings.Repeat("%C3%A9", 700), "scheme=exact&offset=1000000",
		"type=mcp&network=eip155:8453&limit=5&offset=8", "type=mcp&network=eip155:137"} {
		get(target)
	}
	return list
}

// catalogueSearches returns searches of the catalogue, with valid and invalid cursors.
func (w *world) catalogueSearches() (list []call) {
	get := func(target string) { list = append(list, call{"GET", "/discovery/search?" + target, ""}) }
	for _, query := range []string{"", "chat", "speech+to+text", "transcribtion", "fire", "odd+cafe", "weathr", "the",
		"zzzz",
		"image+generation", "caf%C3%A9", "%E6%9D%B1%E4%BA%AC", strings.Repeat("chat+", 80), strings.Repeat("x", 401)} {
		for _, more := range []string{"", "&limit=1", "&limit=3&scheme=exact", "&limit=100&network=eip155:8453",
			"&type=mcp", "&extensions=bazaar&payTo=0x"} {
			get("query=" + query + more)
			for _, skip := range []int{0, 1, 2, 7, 100, 999999999} {
				get(fmt.Sprintf("query=%s%s&cursor=%s.%d", query, more, w.snaps[skip%2], skip))
			}
		}
	}
	for _, cursor := range []string{".1", w.snaps[0], w.snaps[0] + ".", w.snaps[0] + ".-1", w.snaps[0] + ".01",
		w.snaps[0] + ".1.1", w.snaps[0] + ".1000000000", "20261320T123000Z-ffffff.1", "20261120T123000Z-ffffff.1",
		"20261120T123000Z-ffffff.1&limit=x", w.snaps[0] + ".1&snapshot=" + w.snaps[0],
		w.snaps[0] + ".1&snapshot=" + w.snaps[1], w.snaps[1] + ".20&snapshot=", "&snapshot=" + w.snaps[0]} {
		get("query=chat&cursor=" + cursor)
	}
	return list
}

// searches returns searches and requests for recommendations: words of every kind, with every filter, order and
// preference.
func searches(r *rand.Rand) (list []call) {
	words := []string{"chat", "speech+to+text", "transcribe+audio", "transcribtion", "weathr", "image+generation",
		"tra",
		"the", "price+of+bitcoin", "fire", "caf%C3%A9", "%E6%9D%B1%E4%BA%AC", "zzzz", "constructor", "-", "%20",
		"search+the+web", "llm+under+%240.01+on+base", "odd+%26+even", "unicode+street", "q", "stra%C3%9Fe",
		"%ED%95%9C%EA%B5%AD"}
	get := func(target string) { list = append(list, call{"GET", target, ""}) }
	for i := range routes.All {
		route := &routes.All[i]
		if route.Name != "search" && route.Name != "best" {
			continue
		}
		for _, q := range words {
			get(route.Pattern + "?q=" + q)
			get(route.Pattern + "?q=" + q + "&include=facets&per_page=2&limit=2")
			get(route.Pattern + "?q=" + q + "&include=facets,assessment&per_page=3")
			get(route.Pattern + "?q=" + q + "&network=BSE&max_price_usd=0.01&status=online&per_page=3&page=2")
			get(route.Pattern + "?q=" + q + "&grade=F&verified=true&method=PATCH&include=facets")
			for _, p := range route.Params {
				all := values(&p)
				v := all[r.IntN(len(all))]
				if len(p.Values) > 0 && r.IntN(4) > 0 {
					v = p.Values[r.IntN(len(p.Values))]
				}
				get(route.Pattern + "?q=" + q + "&" + p.Name + "=" + v)
			}
		}
		for range 150 {
			query := randomQuery(r, route)
			if r.IntN(3) > 0 {
				query = "q=" + words[r.IntN(len(words))] + "&" + query
			}
			get(route.Pattern + "?" + query)
		}
	}
	return list
}

// lookups returns look-ups of items that are in the shards, and of items that are not.
func (w *world) lookups(t *testing.T) (list []call) {
	t.Helper()
	var index routes.LookupIndex
	if err := json.Unmarshal(w.lines[routes.LookupFile], &index); err != nil {
		t.Fatal(err)
	}
	get := func(target string) { list = append(list, call{"GET", target, ""}) }
	for _, slug := range []string{w.index.Slugs[3], "odd-0-00", "lanternfish-chat"} {
		for _, path := range []string{"/q", "/v1/chat", "/"} {
			normal, err := listing.NormalURL("https://" + slug + ".test" + path)
			if err != nil {
				t.Fatal(err)
			}
			get("/v1/lookup/url/" + site.Hash(normal))
			get("/v1/lookup/url/" + site.Hash(normal) + ".json?include=assessment")
		}
	}
	for _, hash := range w.rowHashes() {
		get("/v1/lookup/url/" + hash)
		get("/v1/lookup/url/" + strings.ToUpper(hash) + ".json")
		get("/v1/lookup/url/" + hash + "?include=assessment,")
	}
	for _, item := range []string{"eip155:8453/0x209693bc6afc0c5328ba36faf03c514ef312287c", "eip155:8453/0xNOPE",
		"solana:x/y", "a:b/../c", "a:b/%E2%84%AA", "a:b/c d", "nocolon/x", "a:b/", "a:b/c/d",
		"eip155:8453/0x209693bc6afc0c5328ba36faf03c514ef312287c/include=assessment", "a:b/include=x/c", "a:b/c=d",
		"a:b/" + strings.Repeat("x", 700)} {
		get("/v1/lookup/pay-to/" + strings.ReplaceAll(item, " ", "%20"))
		get("/v1/lookup/pay-to/" + strings.ReplaceAll(item, " ", "%20") + ".json")
		get("/v1/lookup/pay-to/" + strings.ReplaceAll(item, " ", "%20") + "?include=assessment")
	}
	for _, digits := range slices.Sorted(maps.Keys(index.PayTo))[:2] {
		get("/v1/lookup/pay-to/" + digits + ".json")
	}
	for _, digits := range slices.Sorted(maps.Keys(index.URL))[:2] {
		get("/v1/lookup/url/" + digits + ".json")
	}
	get("/v1/lookup/url/" + strings.Repeat("g", 64))
	get("/v1/lookup/url/0")
	return list
}

// odd returns unusual requests that the route table does not suggest.
func (w *world) odd() (list []call) {
	for _, target := range []string{
		"/v1", "/v1/", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/api/v1/services", "/nope", "/nope.json",
		"/v1/nope", "/v1/nope.json", "/discovery", "/discovery/nope",
		"//v1/services", "/v1//services", "/v1/services//", "/v1/%73ervices", "/v1/%73ervices?page=2&per_page=25",
		"/v1%2Fservices", "/V1/services", "/v1/services%2ejson", "/v1/services.JSON",
		"/%zz", "/v1/%", "/v1/services/a%2", "/v1/%00", "/v1/services/%00", "/v1/%ff", "/%ff", "/v1/services/%C3%A9",
		"/v1/services;x=1", "/v1/services,", "/*",
		"/v1/../v1/services", "/v1/./services", "/v1/%2e%2e/v1/stats", "/v1/services/..", "/v1/.well-known/x",
		"/v1\\stats", "/../v1/stats",
		"/v1/services?", "/v1/services?&", "/v1/services?=", "/v1/services?page", "/v1/services?p%61ge=2",
		"/v1/services?PAGE=2", "/v1/services?page=2;per_page=1", "/v1/services?a%zz=1&page=2",
		"/v1/services?page=1&page=2", "/v1/services?page=&page=2", "/v1/services?page=x&page=2",
		"/v1/services?page=2&page=x", "/v1/services?xpage=2", "/v1/checks?per_page=5&page=2", "/v1/services?limit=5&offset=2", "/v1/services?page=2=3", "/v1/services?page=%32",
		"/v1/services?" + strings.Repeat("a", 8192), "/v1/services?" + strings.Repeat("a", 8193),
		"/v1/services.json?" + strings.Repeat("a=1&", 2100), "/v1/stats?" + strings.Repeat("a", 8193),
		"/v1/stats?strict=2", "/v1/stats?strict=&x=", "/v1/stats?strict=1&strict=x", "/v1/stats?strict=x&strict=1",
		"/v1/stats?verifed=true", "/v1/services?verifed=true&CATEGORY=AI&categry=x&per_page=3",
		"/v1/services?network=bas", "/v1/services?sort=price&per_page=3", "/v1/services?sort=Speed&network=BSE",
		"/v1/services?category=%3Cd%26%E2%80%AE%22&network=polygn&per_page=7&page=3&sort=response",
		"/v1/services?sort=uptime_30d&per_page=3", "/v1/services?sort=uptime_24h&page=2", "/v1/services?sort=fastest",
		"/v1/search?q=a&sort=cheapest",
		"/v1/search?sort=best&per_page=100", "/v1/search?q=a&sort=best", "/v1/search?q=a&sort=grade&per_page=2", "/v1/search?q=a&sort=fastest",
		"/v1/services?network=bas&strict=1", "/v1/services?category=Dta&network=BSE&strict=1&q=a",
		"/v1/services?network=BSE&strict=1",
		"/v1/services?strict=1&verifed=true&per_page=3", "/v1/services.json?page=3&strict=1",
		"/feed.xml?page=3&strict=1",
		"/v1/stats?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1", "/v1/stats?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&strict=1",
		"/v1/stats?%=1&%ff=1&%0a=1&%C3%A9t%C3%A9=1&a%20b=1&a+b=1&<x>=1", "/v1/stats?" + strings.Repeat("n", 40) + "=1",
		"/v1/stats?" + strings.Repeat("%C3%A9", 21) + "=1&" + strings.Repeat("n", 41) + "=1&strict=1",
		"/v1/stats?snapshots=x", "/v1/stats?Snapshot=x", "/v1/stats?stric=1", "/v1/stats?=1", "/v1/nope?x=1",
		"/v1/services/nope?pages=2", "/v1/services/nope?pages=2&strict=1", "/services?utm_source=x&strict=1",
		"/v1/services.json?page=2", "/v1/services.json?per_page=x", "/v1/services.html", "/services.html",
		"/services.json", "/sources/index.md", "/sources/nope.md", "/v1/sources/index.md", "/index.html", "/index",
		"/index.json", "/404.html", "/favicon.ico", "/robots.txt",
		"/llms.txt", "/feed.xml", "/sitemap.xml", "/SHA256SUMS", "/checkpoint.json",
		"/.well-known/http-message-signatures-directory",
		"/snapshots/" + w.snaps[0] + ".zip", "/v1/index.json", "/v1/index", "/v1/routes.json", "/v1/openapi.json",
		"/.well-known/x", "/..json", "/v1/...",
		"/v1/search.json", "/v1/search/fi.json", "/v1/search/zz.json", "/v1/search/~zz.json", "/v1/lookup.json",
		"/discovery/services.json", "/discovery/search.json", "/discovery/search/limit=2.json",
		"/discovery/search/type=http/limit=2/cursor=" + w.snaps[0] + ".2.json",
		"/discovery/columns/pay_to.json", "/discovery/columns/nope.json", "/discovery/columns/",
		"/v1/terms.json", "/v1/vocabulary.json", "/v1/terms/tr.json", "/v1/terms/qq.json", "/v1/terms/constructor.json",
		"/v1/terms/", "/v1/terms", "/v1/rows/0.json", "/v1/rows/99.json", "/v1/rows/00.json", "/v1/columns/name.json",
		"/v1/columns/nope.json", "/v1/search.json", "/v1/best.json", "/v1/search.json?page=2", "/v1/best.json?limit=2",
		"/v1/search/q=chat/per_page=10/page=1.json", "/v1/best/q=chat/prefer=balanced/limit=5.json",
		"/v1/checks/log.json", "/v1/checks/block=0.json", "/v1/changes/log.json",
		"/v1/services/odd-0-00/checks/log.json",
		"/v1/services?snapshot=nope", "/v1/services?snapshot=", "/v1/services?snapshot=20261120T123000Z-ffffff",
		"/v1/services?snapshot=20261320T123000Z-ffffff", "/v1/services?snapshot=x&page=x",
		"/v1/services?page=x&snapshot=20261120T123000Z-ffffff",
		"/v1/services.json?snapshot=" + w.snaps[0], "/nope?snapshot=" + w.snaps[0],
		"/services?snapshot=" + w.snaps[0] + "&page=2", "/?snapshot=" + w.snaps[1],
		"/v1/nope?snapshot=20261120T123000Z-ffffff",
		"/v1/checks?limit=100&offset=250", "/v1/checks?limit=100&offset=1000000000",
		"/v1/services/lanternfish-chat/checks?limit=100&offset=50", "/v1/services/lanternfish-chat/price?period=7d",
		"/v1/services/lanternfish-chat/price.json",
		"/v1/services/lanternfish-chat/scores/period=all.json", "/v1/services/lanternfish-chat/scores/period=7d.json",
		"/v1/services/lanternfish-chat/uptime?period=7d", "/v1/services/lanternfish-chat/uptime/period=7d.json",
		"/v1/facilitators?include=timeseries&days=7&per_page=60&page=2", "/v1/facilitators?include=chains&days=7",
		"/v1/facilitators?include=chains&days=91", "/v1/facilitators?days=90",
		"/v1/facilitators/timeframe=7d/days=90/per_page=25/page=2.json",
		"/v1/services/sort=newest/per_page=25/page=1.json", "/v1/services/sort=newest/per_page=25/page=99.json",
		"/v1/services/category=None/sort=newest/per_page=25/page=1.json", "/v1/services/~/page=1.json",
		"/v1/changes?service=lanternfish-chat&per_page=1",
		"/v1/changes?service=nope&type=price_changed", "/discovery/resources?limit=30&offset=90",
		"/discovery/resources?type=mcp", "/discovery/resources?type=mcp&limit=5&offset=8",
		"/discovery/resources?limit=100&offset=100", "/discovery/resources?offset=5",
		"/discovery/resources?asset=USDC", "/discovery/resources?type=mcp&asset=USDC&limit=3&max%5B%5D=1",
		"/discovery/search?query=chat&maxPrice=1", "/discovery/resources?scheme=exact&nope=1",
		"/discovery/resources?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1", "/discovery/resources?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1",
	} {
		list = append(list, call{"GET", target, ""})
	}
	zip := "/snapshots/" + w.snaps[1] + ".zip"
	for _, header := range []string{"bytes=0-9", "bytes=5-", "bytes=-7", "bytes=99999999999-", "bytes=9-5",
		"bytes=0-0,5-6", "lines=1-2", "bytes=a-b", "bytes=100-99999999999"} {
		list = append(list, call{"GET", zip, "Range: " + header + "\r\n"},
			call{"HEAD", zip, "Range: " + header + "\r\n"})
	}
	for _, target := range []string{"/checkpoint.json", zip, "/snapshots/20261120T123000Z-ffffff.zip",
		"/snapshots/x.zip", "/packs/2026112011.zip", "/packs/1999010100.zip", "/api/snapshots/x.zip"} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			list = append(list, call{method, target, ""}, call{method, target, "Accept-Encoding: gzip\r\n"},
				call{method, target, "If-None-Match: *\r\n"})
		}
	}
	for _, target := range []string{"/", "/v1/services", "/v1/nope", "/nope", "/services", "/v1/services?page=x",
		"/v1/stats", "/v1/submit", "/api/v1/submit", "/v1/submissions/x", "/v1/suggestions", "/api/v1/suggestions",
		"/v1/services/x/recheck", "/api/v1/services/x/recheck", "/v1/services/x/y/recheck", "/v1/services//recheck"} {
		for _, method := range []string{"HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"} {
			list = append(list, call{method, target, ""})
		}
		for _, header := range []string{
			"Accept-Encoding: gzip", "Accept-Encoding: gzip;q=0", "Accept-Encoding: br, *;q=0.5",
			"Accept-Encoding: identity, gzip;q=0.5", "Accept-Encoding: gzip;q=x", "Accept-Encoding: deflate",
			"If-None-Match: *", `If-None-Match: "nope"`, "If-None-Match: nope",
			"If-Modified-Since: Fri, 20 Nov 2026 12:45:00 GMT", "If-Modified-Since: Fri, 20 Nov 2026 12:44:59 GMT",
			"If-Modified-Since: Wed, 20 Nov 2030 12:44:59 GMT",
			"If-Modified-Since: soon", "If-Modified-Since: Wed, 20 Nov 2030 12:44:59 GMT\r\nIf-None-Match: \"nope\"",
			"Range: bytes=0-9",
		} {
			list = append(list, call{"GET", target, header + "\r\n"})
		}
	}
	return list
}

// rowHashes returns hashes of some listed URLs.
func (w *world) rowHashes() (list []string) {
	for i := range 4 {
		normal, err := listing.NormalURL(fmt.Sprintf("https://odd-%d-%02d.test/q", i, i))
		if err == nil {
			list = append(list, site.Hash(normal))
		}
	}
	return list
}
