package build_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// catalogueFilter contains the filters of a request for the catalogue. "" is an absent filter.
type catalogueFilter struct{ payTo, scheme, network, extensions string }

func (f catalogueFilter) query() string {
	values := url.Values{}
	for name, v := range map[string]string{"payTo": f.payTo, "scheme": f.scheme, "network": f.network,
		"extensions": f.extensions} {
		if v != "" {
			values.Set(name, v)
		}
	}
	return values.Encode()
}

// passes reports whether an item passes the filter: one of its payment options must match all that is said of options.
func (f catalogueFilter) passes(item *site.CatalogueItem) bool {
	if f.extensions != "" && f.extensions != "bazaar" {
		return false
	}
	return slices.ContainsFunc(item.Accepts, func(a site.CatalogueAccept) bool {
		isSame := a.PayTo == f.payTo || strings.HasPrefix(a.PayTo, "0x") && strings.EqualFold(a.PayTo, f.payTo)
		return (f.payTo == "" || isSame) && (f.scheme == "" || a.Scheme == f.scheme) &&
			(f.network == "" || a.Network == f.network)
	})
}

// checkCatalogueFilters asks for each value of each filter, and for combinations that no single payment option has.
// Each response must be the part of the whole catalogue that passes.
func checkCatalogueFilters(r client) {
	all, raw := listCatalogue(r, "limit=100")
	filters := map[catalogueFilter]bool{
		{extensions: "bazaar"}: true, {extensions: "Bazaar"}: true, {extensions: "sign-in-with-x"}: true,
		{payTo: "0xNobody"}: true, {scheme: "Exact"}: true, {network: "eip155:0"}: true, {network: "base"}: true,
	}
	for i := range all {
		for _, a := range all[i].Accepts {
			for _, payTo := range []string{a.PayTo, strings.ToLower(a.PayTo), "0x" + strings.ToUpper(a.PayTo[2:])} {
				filters[catalogueFilter{payTo: payTo}] = true
				filters[catalogueFilter{payTo, a.Scheme, a.Network, "bazaar"}] = true
			}
			filters[catalogueFilter{scheme: a.Scheme}], filters[catalogueFilter{network: a.Network}] = true, true
			for _, b := range all[i].Accepts {
				filters[catalogueFilter{scheme: a.Scheme, network: b.Network}] = true
				filters[catalogueFilter{payTo: a.PayTo, network: b.Network}] = true
			}
		}
	}
	mixed := 0
	for f := range filters {
		var want []string
		for i := range all {
			if f.passes(&all[i]) {
				want = append(want, raw[i])
			} else if f.scheme != "" && (catalogueFilter{scheme: f.scheme}).passes(&all[i]) &&
				(catalogueFilter{network: f.network}).passes(&all[i]) {
				mixed++
			}
		}
		_, got := listCatalogue(r, "limit=7&"+f.query())
		if diff := cmp.Diff(want, got); diff != "" {
			r.t.Errorf("%s (-by hand +response):\n%s", f.query(), diff)
		}
	}
	if mixed == 0 {
		r.t.Error("no resource has a scheme and a network in different payment options")
	}
	for _, query := range []string{"type=mcp&scheme=upto", "offset=1000&scheme=exact"} {
		if _, got := listCatalogue(r, query); len(got) != 0 {
			r.t.Errorf("%s: %d resources", query, len(got))
		}
	}
	long := "payTo=" + strings.Repeat("a", 701)
	if code, body := r.get("/discovery/resources?"+long, nil); code != http.StatusBadRequest {
		r.t.Errorf("%s: %d %s", long, code, body)
	}
}

// listCatalogue reads the resources of a request from its first page to its last. offset in query replaces the first.
func listCatalogue(r client, query string) (items []site.CatalogueItem, raw []string) {
	for offset := 0; ; {
		var p struct {
			Items      []json.RawMessage        `json:"items"`
			Pagination site.CataloguePagination `json:"pagination"`
		}
		if code, body := r.get("/discovery/resources?"+query+"&offset="+strconv.Itoa(offset), &p); code != http.StatusOK {
			r.t.Fatalf("%s: %d %s", query, code, body)
		}
		for _, item := range p.Items {
			var decoded site.CatalogueItem
			if err := json.Unmarshal(item, &decoded); err != nil {
				r.t.Fatal(err)
			}
			items, raw = append(items, decoded), append(raw, string(item))
		}
		if offset += len(p.Items); len(p.Items) == 0 {
			if p.Pagination.Total != len(items) && !strings.Contains(query, "offset=") {
				r.t.Errorf("%s: total %d for %d resources", query, p.Pagination.Total, len(items))
			}
			return items, raw
		}
	}
}
