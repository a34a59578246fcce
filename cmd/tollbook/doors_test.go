package main

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/gate"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/serve/mcp"
	"tollbook/site/testgate"
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

// TestDoorsAgree checks that all doors of the demo say the same about paying each of its services.
func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	levels := checkDoors(t, w.handler, w.url)
	if levels[site.AdviceGood] < 20 || levels[site.AdviceCaution] < 5 || levels[site.AdviceDoNotPay] < 5 ||
		levels[site.AdviceUnknown] < 3 {
		t.Errorf("the sample has the levels %v", levels)
	}
}

// TestDoorsOfCrowdAgree checks the same for a made-up directory of 2,000 services.
func TestDoorsOfCrowdAgree(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	const services = 2000
	db, err := postgres.OpenFor(t.Context(), postgrestest.NewDatabase(t), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := crowd.Load(t.Context(), db, crowd.Options{Services: services, Seed: 7, Moment: crowd.Moment, Days: 30,
		Raw: 1}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build.Run(t.Context(), db, folder, build.Options{Now: crowd.Moment, Every: 15 * time.Minute,
		LogDelay: crowd.LogDelay, Expand: output.ExpandNone, Site: render.Site{BaseURL: "https://tollbook.example"},
	}); err != nil {
		t.Fatal(err)
	}
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	handler := serve.NewHandler(serve.Options{Source: source,
		Now: func() time.Time { return crowd.Moment.Add(time.Minute) }})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	levels := checkDoors(t, handler, server.URL)
	if n := levels[site.AdviceGood] + levels[site.AdviceCaution] + levels[site.AdviceDoNotPay] +
		levels[site.AdviceUnknown]; n < services*9/10 || levels[site.AdviceGood] == 0 || levels[site.AdviceDoNotPay] == 0 {
		t.Errorf("the crowd has the levels %v", levels)
	}
	t.Logf("levels %v", levels)
}

// readColumn returns a column of a table to download, by its key.
func readColumn(t *testing.T, h http.Handler, table, key, column string) map[string]string {
	t.Helper()
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/data/"+table+".csv.gz", nil))
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatalf("GET /data/%s.csv.gz: %d %v", table, r.Code, err)
	}
	rows, err := csv.NewReader(zip).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, of := slices.Index(rows[0], column), slices.Index(rows[0], key)
	values := map[string]string{}
	for _, row := range rows[1:] {
		values[row[of]] = row[at]
	}
	return values
}

// checkDoors checks for each service of a directory that the record, the list, the search, the page, its Markdown, its
// feed, the badge, the card, the tables, the look-ups, the gate, the allow-list, the commands check and show, /v1/best, the picks and the
// tools of MCP say the same about paying it. It returns the number of services by level.
func checkDoors(t *testing.T, handler http.Handler, directory string) map[string]int {
	t.Helper()
	server, err := mcp.New(mcp.Options{Reader: handler, Version: "test"})
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
	asked, err := gate.New(gate.Options{Directory: directory, Unverified: true, MaxAge: 100 * 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	colors := map[string]string{site.AdviceGood: "#1b7a48", site.AdviceCaution: "#8f5600",
		site.AdviceDoNotPay: "#b3261e", site.AdviceUnknown: "#646a75"}
	verdicts := map[string]string{site.AdviceGood: verdictListed, site.AdviceCaution: verdictListed,
		site.AdviceDoNotPay: resultDanger, site.AdviceUnknown: resultUnknown}
	levels := map[string]int{}
	var rows []site.ServiceListItem
	for page := 1; ; page++ {
		list := readDirectory[site.List[site.ServiceListItem, site.PaginationMeta]](t, handler,
			fmt.Sprintf("/v1/services?per_page=100&page=%d", page))
		if rows = append(rows, list.Data...); page >= list.Meta.TotalPages {
			break
		}
	}
	for _, tag := range readDirectory[site.List[site.Tag, site.TotalMeta]](t, handler, "/v1/tags").Data {
		for _, pick := range []*site.Pick{tag.Cheapest, tag.MostUsed} {
			i := slices.IndexFunc(rows, func(r site.ServiceListItem) bool { return pick != nil && r.Slug == pick.Slug })
			if pick != nil && (i < 0 || rows[i].AdviceLevel != site.AdviceGood) {
				t.Errorf("%s is picked for %s", pick.Slug, tag.Tag)
			}
		}
	}
	allowed := map[string]site.Allowance{}
	for page := 1; ; page++ {
		list := readDirectory[site.List[site.Allowance, site.PaginationMeta]](t, handler,
			fmt.Sprintf("/v1/allow?verdict=caution&per_page=100&page=%d", page))
		for _, a := range list.Data {
			allowed[a.Slug] = a
		}
		if page >= list.Meta.TotalPages {
			break
		}
	}
	services := readColumn(t, handler, "services", "slug", "advice_level")
	endpoints := readColumn(t, handler, "endpoints", "endpoint_id", "verdict_level")
	for _, row := range rows {
		d := readDirectory[site.One[site.ServiceDetail]](t, handler, "/v1/services/"+row.Slug).Data
		level := d.Assessment.Advice.Level
		levels[level]++
		words := display.AdviceLevel(level)
		if row.AdviceLevel != level || services[row.Slug] != level {
			t.Errorf("%s: the list says %s, the table %s, the record %s", row.Slug, row.AdviceLevel, services[row.Slug], level)
		}
		page := httptest.NewRecorder()
		handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/services/"+row.Slug+".html", nil))
		for text, want := range map[string]bool{
			`class="advice advice-` + level + `"><p><strong>` + words + `</strong>`: true,
			"payment ready</span>":                level == site.AdviceGood,
			"/services/" + row.Slug + "/card.png": true,
		} {
			if has := strings.Contains(page.Body.String(), text); has != want && (want || level != site.AdviceCaution) {
				t.Errorf("%s is %s: its page has %q: %v", row.Slug, level, text, has)
			}
		}
		if verdicts[level] != verdictListed && strings.Contains(page.Body.String(), "allowedAssets") {
			t.Errorf("%s is %s: its page has a program that pays", row.Slug, level)
		}
		reason := ""
		if row.AdviceReason != nil {
			reason = display.Line(*row.AdviceReason, display.MaxLine)
		}
		for path, text := range map[string]string{
			"/services/" + row.Slug + "/page.md":      "Should I pay? " + words,
			"/services/" + row.Slug + "/changes.json": words,
			"/services/" + row.Slug + "/changes.xml":  words,
		} {
			door := httptest.NewRecorder()
			handler.ServeHTTP(door, httptest.NewRequest(http.MethodGet, path, nil))
			isEmpty := !strings.Contains(door.Body.String(), "Should I pay") // a feed without an entry
			if has := strings.Contains(door.Body.String(), text); door.Code != http.StatusOK || !has && !isEmpty ||
				isEmpty && strings.HasSuffix(path, ".md") {
				t.Errorf("%s is %s: GET %s: %d, without %q", row.Slug, level, path, door.Code, text)
			}
		}
		for _, found := range readDirectory[site.List[site.ServiceListItem, json.RawMessage]](t, handler,
			"/v1/search?q="+url.QueryEscape(row.Name)).Data {
			if found.Slug == row.Slug && (found.AdviceLevel != level || (found.AdviceReason == nil) != (reason == "")) {
				t.Errorf("%s is %s: the search says %s", row.Slug, level, found.AdviceLevel)
			}
		}
		if _, printed := runReader(t, "show", row.Slug, "--directory", directory); !strings.Contains(printed,
			"Should I pay? "+words) {
			t.Errorf("%s is %s: show says %.200s", row.Slug, level, printed)
		}
		if d.PaymentReady && verdicts[level] != verdictListed || row.PaymentReady != d.PaymentReady {
			t.Errorf("%s is %s, and payment ready: %t in the record, %t in the list", row.Slug, level, d.PaymentReady,
				row.PaymentReady)
		}
		badge := readDirectory[site.Badge](t, handler, "/services/"+row.Slug+"/badge.json")
		picture := httptest.NewRecorder()
		handler.ServeHTTP(picture, httptest.NewRequest(http.MethodGet, "/services/"+row.Slug+"/badge.svg", nil))
		if badge.Color != colors[level] || !strings.Contains(picture.Body.String(), `fill="`+badge.Color+`"`) ||
			level == site.AdviceGood && (d.Status != site.StatusOnline || d.Uptime.D30 == nil || *d.Uptime.D30 < site.GoodUptime) ||
			level != site.AdviceGood && !strings.HasPrefix(badge.Message, strings.ToLower(words)) {
			t.Errorf("%s is %s: its badge is %s, %q", row.Slug, level, badge.Color, badge.Message)
		}
		if text := tool("get_service", "slug", row.Slug); !strings.Contains(text, words) {
			t.Errorf("%s is %s: MCP says %s", row.Slug, level, text)
		}
		payable := 0
		for i := range d.Endpoints {
			e := &d.Endpoints[i]
			if endpoints[e.ID] != e.Verdict.Level {
				t.Errorf("%s: %s is %s in the table, %s in the record", row.Slug, e.Path, endpoints[e.ID], e.Verdict.Level)
			}
			isAdvised := e.Verdict.IsAdvised()
			if isAdvised && verdicts[level] != verdictListed || len(e.Verdict.Reasons) == 0 {
				t.Errorf("%s is %s: its endpoint %s %s is %s", row.Slug, level, e.Method, e.Path, e.Verdict.Level)
			}
			for _, p := range e.Pricing {
				if p.VerdictLevel == site.AdviceGood && e.Verdict.Level != site.AdviceGood ||
					(p.VerdictCode == nil) != (p.VerdictLevel == site.AdviceGood) {
					t.Errorf("%s: an option of %s is %s, the endpoint %s", row.Slug, e.Path, p.VerdictLevel, e.Verdict.Level)
				}
				if p.NetworkCAIP2 == nil || p.Protocol != "x402" {
					continue
				}
				recipient := httptest.NewRecorder()
				handler.ServeHTTP(recipient, httptest.NewRequest(http.MethodGet, "/v1/lookup/pay-to/"+*p.NetworkCAIP2+"/"+
					url.PathEscape(p.PayTo)+".json", nil))
				var found site.One[site.RecipientLookup]
				if err := json.Unmarshal(recipient.Body.Bytes(), &found); err != nil {
					t.Errorf("%s: look up %s: %d %v", row.Slug, p.PayTo, recipient.Code, err)
				}
				for _, of := range found.Data.Services {
					if of.Slug == row.Slug && (of.Advice != level || of.Payable && !isAdvised) {
						t.Errorf("%s is %s: the look-up of %s says %s, payable %t", row.Slug, level, p.PayTo, of.Advice, of.Payable)
					}
				}
			}
			address := d.BaseURL + d.Endpoints[i].Path
			normal, err := listing.NormalURL(address)
			if err != nil {
				continue
			}
			found := readDirectory[site.One[site.AddressLookup]](t, handler, "/v1/lookup/url/"+site.Hash(normal)+".json").Data
			if found.Service.Slug != row.Slug { // it lists the URL, too
				continue
			}
			want := verdicts[found.Verdict]
			if verdicts[level] != verdictListed && site.IsWorse(level, found.Verdict) || found.Payable && verdicts[found.Verdict] != verdictListed {
				t.Errorf("%s is %s: the look-up of %s says %s, payable %t", row.Slug, level, address, found.Verdict,
					found.Payable)
			}
			if found.Payable {
				if payable++; !isAdvised {
					t.Errorf("%s: %s is payable, its verdict is %s", row.Slug, address, e.Verdict.Level)
				}
			} else if want == verdictListed {
				want = resultUnknown
			}
			passes := map[string]string{verdictListed: gate.Match, resultDanger: gate.Danger, resultUnknown: gate.Unknown}[want]
			for _, p := range found.Prices {
				if p.NetworkCAIP2 == nil {
					continue
				}
				r, err := asked.Check(t.Context(), gate.Requirement{Network: *p.NetworkCAIP2, Asset: p.AssetAddress, PayTo: p.PayTo,
					Amount: p.Price}, address)
				if err != nil || r.Verdict != passes {
					t.Errorf("%s is %s: the gate says of %s: %+v, %v, want %s", row.Slug, level, address, r, err, passes)
				}
			}
			_, printed := runReader(t, "check", address, "--json", "--directory", directory)
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
		a, isAllowed := allowed[row.Slug]
		if isAllowed != (verdicts[level] == verdictListed) || len(a.Options) > 0 && payable == 0 ||
			isAllowed && a.AdviceLevel != level {
			t.Errorf("%s is %s with %d endpoints that clients can pay: the allow-list has %+v", row.Slug, level, payable, a)
		}
		if level == site.AdviceGood && payable == 0 {
			t.Errorf("%s is good, and clients can pay none of its endpoints", row.Slug)
		}
		best := readDirectory[site.List[site.Recommendation, site.RankingMeta]](t, handler, "/v1/best?limit=10&q="+url.QueryEscape(row.Name))
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
	return levels
}
