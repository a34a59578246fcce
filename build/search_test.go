package build_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/serve"
	"tollbook/site/testgate"
	"tollbook/site/x402"
)

// client requests JSON from a server.
type client struct {
	t    *testing.T
	base string
}

// get returns the status and the body, and decodes the body into v.
func (r client) get(target string, v any) (int, []byte) {
	r.t.Helper()
	response, err := http.Get(r.base + target)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && v != nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		r.t.Fatalf("GET %s: %v: %.200s", target, err, body)
	}
	return response.StatusCode, body
}

// serveFolder serves a publication until the test ends.
func serveFolder(t *testing.T, dir string) client {
	t.Helper()
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	server := httptest.NewServer(serve.NewHandler(serve.Options{Source: source,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}))
	t.Cleanup(server.Close)
	return client{t, server.URL}
}

// TestSearchAndLookUp publishes the sample directory. Over HTTP it searches for each service by name, looks up its URLs
// and recipients, and reads the catalogue.
func TestSearchAndLookUp(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	dir, _ := buildSample(t)
	r := serveFolder(t, dir)

	all := listServices(r, "")
	if len(all) < 40 {
		t.Fatalf("the sample directory has %d services, want 40", len(all))
	}
	priced := 0
	for _, item := range all {
		checkSearch(r, item, all)
		priced += checkLookUps(r, item.Slug)
	}
	if got := listServices(r, "&q=%21%3F"); len(got) != 0 {
		t.Errorf("a query without words finds %d services", len(got))
	}
	checkCatalogue(r, priced)
	checkCatalogueFilters(r)
	for _, target := range []string{"/v1/lookup/url/" + site.Hash("https://nobody.test/") + ".json",
		"/v1/lookup/pay-to/eip155:8453/0xdead.json"} {
		if code, body := r.get(target, nil); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", target, code, body)
		}
	}
}

// listServices reads all pages of a list.
func listServices(r client, query string) []site.ServiceListItem {
	var all []site.ServiceListItem
	for page := 1; ; page++ {
		var list site.List[site.ServiceListItem, site.PaginationMeta]
		if code, body := r.get(fmt.Sprintf("/v1/services?per_page=7&page=%d%s", page, query),
			&list); code != http.StatusOK {
			r.t.Fatalf("%s: %d %s", query, code, body)
		}
		if len(list.Data) == 0 {
			if list.Meta.Total != len(all) {
				r.t.Errorf("%s: %d services of %d", query, len(all), list.Meta.Total)
			}
			return all
		}
		all = append(all, list.Data...)
	}
}

// checkSearch searches for a service by its whole name, with filters that match it and with one that does not.
func checkSearch(r client, item site.ServiceListItem, all []site.ServiceListItem) {
	q := "&q=" + url.QueryEscape(strings.ToUpper(item.Name))
	got := listServices(r, q+"&category="+url.QueryEscape(item.Category)+"&sort=cheapest")
	if !slices.ContainsFunc(got, func(g site.ServiceListItem) bool { return cmp.Equal(g, item) }) {
		r.t.Errorf("%s: a search for %q finds %d other services", item.Slug, item.Name, len(got))
	}
	for _, other := range []string{"&category=Nothing", "&network=NIL"} {
		if got := listServices(r, q+other); len(got) != 0 {
			r.t.Errorf("%s%s finds %d services", q, other, len(got))
		}
	}
	letter := "&q=" + url.QueryEscape(string([]rune(item.Name)[:1]))
	if got := listServices(r, letter); len(got) == 0 || len(got) > len(all) {
		r.t.Errorf("%s finds %d services", letter, len(got))
	}
}

// checkLookUps looks up a service's endpoints and recipients. It returns the number of endpoints in the catalogue:
// those with a price, of services without a recipient that keeps changing.
func checkLookUps(r client, slug string) (priced int) {
	var detail site.One[site.ServiceDetail]
	r.get("/v1/services/"+slug, &detail)
	isUnstable := slices.ContainsFunc(detail.Data.Assessment.Risk.Flags, func(f site.RiskFlag) bool {
		return f.Code == "pay_to_unstable"
	})
	for _, e := range detail.Data.Endpoints {
		address := detail.Data.BaseURL + e.Path
		normal, err := listing.NormalURL(address + "?x=1")
		if err != nil {
			r.t.Fatal(err)
		}
		var row site.One[site.AddressLookup]
		code, body := r.get("/v1/lookup/url/"+site.Hash(normal)+".json", &row)
		if code != http.StatusOK || len(body) >= site.MaxLookup || row.Data.Service.Slug != slug &&
			!slices.Contains(row.Data.AlsoListed, slug) {
			r.t.Errorf("%s: %d, %d bytes, %s", address, code, len(body), body)
		}
		if len(e.X402Pricing()) > 0 && !isUnstable && !strings.Contains(e.Path, "#") { // tools are of another list
			priced++
		}
		for _, p := range e.X402Pricing() {
			var paid site.One[site.RecipientLookup]
			target := "/v1/lookup/pay-to/" + url.PathEscape(*p.NetworkCAIP2) + "/" + url.PathEscape(p.PayTo) + ".json"
			code, body := r.get(target, &paid)
			has := slices.ContainsFunc(paid.Data.Services, func(s site.RecipientService) bool { return s.Slug == slug })
			if code != http.StatusOK || len(body) >= site.MaxLookup || !has && !paid.Data.Clipped {
				r.t.Errorf("%s: %d, %d bytes, %s", target, code, len(body), body)
			}
		}
	}
	return priced
}

// checkCatalogue reads the catalogue in windows of 7 and of 100 rows until a page is empty.
func checkCatalogue(r client, want int) {
	type page struct {
		X402Version int               `json:"x402Version"`
		Items       []json.RawMessage `json:"items"`
		Pagination  site.CataloguePagination
	}
	walks := map[int][]string{}
	for _, limit := range []int{7, 100} {
		for offset := 0; ; {
			var p page
			r.get(fmt.Sprintf("/discovery/resources?type=http&limit=%d&offset=%d", limit, offset), &p)
			if diff := cmp.Diff(site.CataloguePagination{Limit: limit, Offset: offset, Total: want},
				p.Pagination); diff != "" || p.X402Version != 2 {
				r.t.Fatalf("version %d, pagination (-want +got):\n%s", p.X402Version, diff)
			}
			if len(p.Items) == 0 {
				break
			}
			offset += len(p.Items)
			for _, item := range p.Items {
				walks[limit] = append(walks[limit], string(item))
			}
		}
	}
	if diff := cmp.Diff(walks[7], walks[100]); diff != "" || len(walks[7]) != want {
		r.t.Errorf("%d items, want %d (-by 7 +by 100):\n%s", len(walks[7]), want, diff)
	}
	networks := map[string]bool{}
	for _, item := range walks[7] {
		e, ok := x402.Reread(json.RawMessage(item), x402.ChannelBody, "json")
		if !ok || e.Version != 2 || len(e.Accepts) == 0 || e.Discovery == nil {
			r.t.Fatalf("not readable: %s", item)
		}
		for _, a := range e.Accepts {
			networks[a.NetworkCAIP2] = true
			if !a.Usable() || a.Network != a.NetworkCAIP2 || a.Amount != a.AmountRaw || a.MaxTimeoutSeconds == nil {
				r.t.Errorf("a client cannot pay with %s", a.Raw)
			}
		}
	}
	if len(networks) < 2 {
		r.t.Errorf("the catalogue has networks %v", slices.Sorted(maps.Keys(networks)))
	}
	var tools page
	if r.get("/discovery/resources?type=mcp", &tools); len(tools.Items) != 2 || tools.Pagination.Total != 2 {
		r.t.Errorf("%d tools, total %d; want those of marginalia-tools", len(tools.Items), tools.Pagination.Total)
	}
}
