package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/listing"
	"tollbook/site/serve/mcp"
)

// readDirectory decodes what the handler of a directory answers.
func readDirectory[T any](t *testing.T, h http.Handler, path string) (v T) {
	t.Helper()
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	if r.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %.200s", path, r.Code, r.Body)
	}
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return v
}

// TestDoorsAgree checks for each service of the demo that the record, the list, the page, the badge, the look-ups, the
// command check, /v1/best and the tools of MCP say the same about paying it.
func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, err := mcp.New(mcp.Options{Reader: w.handler, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	tool := func(name, argument, value string) string {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name,
			Arguments: map[string]any{argument: value}})
		if err != nil || result.IsError {
			t.Fatalf("%s %s: %v %v", name, value, err, result)
		}
		var text strings.Builder
		for _, c := range result.Content {
			if c, isText := c.(*sdk.TextContent); isText {
				text.WriteString(c.Text)
			}
		}
		return text.String()
	}
	colors := map[string]string{site.AdviceDoNotPay: "#b3261e", site.AdviceUnknown: "#646a75"}
	verdicts := map[string]string{site.AdviceGood: verdictListed, site.AdviceCaution: verdictListed,
		site.AdviceDoNotPay: resultDanger, site.AdviceUnknown: resultUnknown}
	levels := map[string]int{}
	for _, row := range readDirectory[site.List[site.ServiceListItem, site.PaginationMeta]](t, w.handler, "/v1/services?per_page=100").Data {
		d := readDirectory[site.One[site.ServiceDetail]](t, w.handler, "/v1/services/"+row.Slug).Data
		level := d.Assessment.Advice.Level
		levels[level]++
		words := display.AdviceLevel(level)
		if row.AdviceLevel != level {
			t.Errorf("%s: the list says %s, the record %s", row.Slug, row.AdviceLevel, level)
		}
		page := httptest.NewRecorder()
		w.handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/services/"+row.Slug+".html", nil))
		for text, want := range map[string]bool{
			`class="advice advice-` + level + `"><p><strong>` + words + `</strong>`: true,
			"payment ready</span>": level == site.AdviceGood,
		} {
			if has := strings.Contains(page.Body.String(), text); has != want && (want || level != site.AdviceCaution) {
				t.Errorf("%s is %s: its page has %q: %v", row.Slug, level, text, has)
			}
		}
		if verdicts[level] != verdictListed && strings.Contains(page.Body.String(), "allowedAssets") {
			t.Errorf("%s is %s: its page has a program that pays", row.Slug, level)
		}
		badge := readDirectory[site.Badge](t, w.handler, "/services/"+row.Slug+"/badge.json")
		isGreen := badge.Color == "#1b7a48"
		if isGreen != (level == site.AdviceGood && d.Status == site.StatusOnline) ||
			colors[level] != "" && badge.Color != colors[level] ||
			level == site.AdviceDoNotPay && !strings.HasPrefix(badge.Message, "do not pay") {
			t.Errorf("%s is %s: its badge is %s, %q", row.Slug, level, badge.Color, badge.Message)
		}
		if text := tool("get_service", "slug", row.Slug); !strings.Contains(text, words) {
			t.Errorf("%s is %s: MCP says %s", row.Slug, level, text)
		}
		payable := 0
		for i := range d.Endpoints {
			address := d.BaseURL + d.Endpoints[i].Path
			normal, err := listing.NormalURL(address)
			if err != nil {
				continue
			}
			found := readDirectory[site.One[site.AddressLookup]](t, w.handler, "/v1/lookup/url/"+site.Hash(normal)+".json").Data
			if found.Service.Slug != row.Slug { // it lists the URL, too
				continue
			}
			want := verdicts[level]
			if found.Signable {
				payable++
			} else if want == verdictListed {
				want = resultUnknown
			}
			_, printed := runReader(t, "check", address, "--json", "--directory", w.url)
			var got struct{ Verdict string }
			if err := json.Unmarshal([]byte(strings.SplitN(printed, "\ntollbook: ", 2)[0]), &got); err != nil {
				t.Fatalf("check %s: %v in %s", address, err, printed)
			}
			if diff := cmp.Diff(want, got.Verdict); diff != "" || found.Service.Advice != level {
				t.Errorf("%s is %s: the look-up of %s says %s, check (-want +got):\n%s", row.Slug, level, address,
					found.Service.Advice, diff)
			}
			if text := tool("lookup_address", "url", address); !strings.Contains(text, level) &&
				!strings.Contains(text, words) {
				t.Errorf("%s is %s: MCP says of %s: %s", row.Slug, level, address, text)
			}
		}
		if level == site.AdviceGood && payable == 0 {
			t.Errorf("%s is good, and clients can pay none of its endpoints", row.Slug)
		}
		best := readDirectory[site.List[site.Recommendation, site.RankingMeta]](t, w.handler, "/v1/best?limit=10&q="+url.QueryEscape(row.Name))
		for _, r := range best.Data {
			if r.Slug == row.Slug && (level == site.AdviceDoNotPay || level == site.AdviceUnknown || payable == 0) {
				t.Errorf("%s is %s with %d endpoints that clients can pay: best recommends it", row.Slug, level, payable)
			}
		}
		for _, x := range best.Meta.Excluded {
			if x.Slug == row.Slug && level == site.AdviceGood {
				t.Errorf("%s is good: best excludes it, %s", row.Slug, x.Reason)
			}
		}
	}
	if levels[site.AdviceGood] < 20 || levels[site.AdviceCaution] < 5 || levels[site.AdviceDoNotPay] < 5 ||
		levels[site.AdviceUnknown] < 3 {
		t.Errorf("the sample has the levels %v", levels)
	}
}
