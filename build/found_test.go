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
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/lookup"
	"tollbook/site/serve"
	"tollbook/site/x402"
)

// reader asks a server for JSON.
type reader struct {
	t    *testing.T
	base string
}

// get answers the status, the bytes, and what they say.
func (r reader) get(target string, v any) (int, []byte) {
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

// TestFound publishes the sample directory and asks over HTTP, as its users do, for each service by the words of its
// name, by its addresses and by its recipients, and walks the catalogue.
func TestFound(t *testing.T) {
	t.Parallel()
	db := openSample(t)
	dir := scratch(t)
	run(t, db, dir, options(moment.Add(time.Minute)))
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	server := httptest.NewServer(serve.NewHandler(serve.Options{Source: source,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}))
	t.Cleanup(server.Close)
	r := reader{t, server.URL}

	all := services(r, "")
	if len(all) < 40 {
		t.Fatalf("the sample directory has %d services, want 40", len(all))
	}
	priced := 0
	for _, item := range all {
		findByName(r, item, all)
		priced += findByAddress(r, item.Slug)
	}
	if got := services(r, "&q=%21%3F"); len(got) != 0 {
		t.Errorf("a query without words finds %d services", len(got))
	}
	walkCatalogue(r, priced)
	for _, target := range []string{"/v1/lookup/url/" + site.Hash("https://nobody.test/") + ".json",
		"/v1/lookup/pay-to/eip155:8453/0xdead.json"} {
		if code, body := r.get(target, nil); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", target, code, body)
		}
	}
}

// services walks the pages of a list.
func services(r reader, query string) []site.ServiceListItem {
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

// findByName searches for a service by its whole name, with filters that it passes and one that it does not.
func findByName(r reader, item site.ServiceListItem, all []site.ServiceListItem) {
	q := "&q=" + url.QueryEscape(strings.ToUpper(item.Name))
	got := services(r, q+"&category="+url.QueryEscape(item.Category)+"&sort=cheapest")
	if !slices.ContainsFunc(got, func(g site.ServiceListItem) bool { return cmp.Equal(g, item) }) {
		r.t.Errorf("%s is not found by its name %q: %d others are", item.Slug, item.Name, len(got))
	}
	for _, other := range []string{"&category=Nothing", "&network=NIL"} {
		if got := services(r, q+other); len(got) != 0 {
			r.t.Errorf("%s%s finds %d services", q, other, len(got))
		}
	}
	letter := "&q=" + url.QueryEscape(string([]rune(item.Name)[:1]))
	if got := services(r, letter); len(got) == 0 || len(got) > len(all) {
		r.t.Errorf("%s finds %d services", letter, len(got))
	}
}

// findByAddress looks a service's endpoints and recipients up, and counts the endpoints with a price.
func findByAddress(r reader, slug string) (priced int) {
	var detail site.One[site.ServiceDetail]
	r.get("/v1/services/"+slug, &detail)
	for _, e := range detail.Data.Endpoints {
		address := detail.Data.BaseURL + e.Path
		normal, err := lookup.NormalURL(address + "?x=1")
		if err != nil {
			r.t.Fatal(err)
		}
		var known site.One[site.AddressLookup]
		code, body := r.get("/v1/lookup/url/"+site.Hash(normal)+".json", &known)
		if code != http.StatusOK || len(body) >= site.MaxLookup || known.Data.Service.Slug != slug &&
			!slices.Contains(known.Data.AlsoListed, slug) {
			r.t.Errorf("%s: %d, %d bytes, %s", address, code, len(body), body)
		}
		if len(e.Pricing) > 0 {
			priced++
		}
		for _, p := range e.Pricing {
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

// walkCatalogue reads the catalogue as a facilitator's is read, in odd windows and at once, until a page is empty.
func walkCatalogue(r reader, want int) {
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
				r.t.Errorf("nobody can pay by %s", a.Raw)
			}
		}
	}
	if len(networks) < 2 {
		r.t.Errorf("the catalogue has networks %v", slices.Sorted(maps.Keys(networks)))
	}
	var none page
	if r.get("/discovery/resources?type=mcp", &none); len(none.Items) != 0 || none.Pagination.Total != 0 {
		r.t.Errorf("mcp: %+v", none)
	}
}
