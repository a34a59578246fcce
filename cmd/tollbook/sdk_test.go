package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/settings"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// seller contains what the server of testdata/sdk prints: its port, and its routes as the official SDK describes them.
type seller struct {
	Port     int
	Declared []struct {
		Endpoint    string // "POST /search"
		Description string
		MimeType    string
		Accepts     []struct {
			Scheme, Network, Amount, Asset, PayTo string
			MaxTimeoutSeconds                     int
			Dollars                               string // as the seller wrote it, "$0.01"
		}
	}
}

// TestSDKServerFromImportToPage imports, crawls, builds and reads back a server made of the official x402 SDK. The
// result must contain everything that the SDK declares.
func TestSDKServerFromImportToPage(t *testing.T) { // not parallel: DATABASE_URL is the process's
	testgate.All(t)
	var peer seller
	startNode(t, "testdata/sdk", &peer)
	t.Setenv("DATABASE_URL", postgrestest.NewDatabase(t))
	data := dataOptions{Data: t.TempDir()}
	address := fmt.Sprintf("127.0.0.1:%d", peer.Port)

	var listed []string
	for _, d := range peer.Declared {
		listed = append(listed, d.Endpoint)
	}
	listed[0] = strings.TrimPrefix(listed[0], "GET ") // the crawler must find the method
	list, err := json.Marshal([]map[string]any{{
		"service_name": "SDK Weather", "description": "Made of the official SDK.", "url": "http://" + address + "/",
		"category": "Data", "endpoints": listed,
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := importFile(t.Context(), data, file); err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	crawl := crawlOptions{
		dataOptions: data, Once: true, JSON: true, paceOptions: paceOptions{HostGap: time.Millisecond},
		visitOptions: visitOptions{AllowPrivate: []string{address}},
	}
	if err := runCrawl(t.Context(), crawl, nil, &report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.String(), `"online":1`) {
		t.Errorf("the crawl says %s, want one service online", report.String())
	}
	build := buildOptions{
		dataOptions: data, Expand: string(output.ExpandAll), Every: 15 * time.Minute,
		siteOptions: siteOptions{
			appearanceOptions: appearanceOptions{settings.Appearance{Title: "Tollbook"}},
			BaseURL:           "http://127.0.0.1:4020",
		},
	}
	if err := runBuild(t.Context(), build, io.Discard); err != nil {
		t.Fatal(err)
	}

	var figures bytes.Buffer
	if err := runVerify(t.Context(), verifyOptions{Figures: true}, filepath.Join(data.Data, "public"), &figures); err != nil {
		t.Errorf("%v:\n%s", err, figures.String())
	}

	var answer struct{ Data site.ServiceDetail }
	read(t, data, "/v1/services/sdk-weather", &answer)
	got := answer.Data
	if diff := gocmp.Diff(peer.ways(t), ways(got)); diff != "" {
		t.Errorf("ways to pay, as the SDK declares them and as the directory shows them (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(peer.summary(t), summary(got)); diff != "" {
		t.Errorf("the service (-want +got):\n%s", diff)
	}
	checkCompliance(t, got.Assessment.Compliance)

	var items struct{ Data []site.ServiceListItem }
	read(t, data, "/v1/services?network=SOL&status=online&sort=cheapest&per_page=7", &items)
	if len(items.Data) != 1 || items.Data[0].Slug != "sdk-weather" || *items.Data[0].MinPriceUSD != "0.002" {
		t.Errorf("the list of what is paid on Solana holds %+v, want sdk-weather from $0.002", items.Data)
	}
}

// checkCompliance checks that an SDK server breaks no rule of the protocol. Only the missing TLS fails, and limits the
// grade to C.
func checkCompliance(t *testing.T, c site.Compliance) {
	t.Helper()
	var failed []string
	for _, check := range c.Checks {
		if !check.Pass {
			failed = append(failed, check.ID)
		}
	}
	if diff := gocmp.Diff([]string{"transport_https"}, failed); diff != "" {
		t.Errorf("checks that fail (-want +got):\n%s", diff)
	}
	if c.Grade != "C" || c.Passed != 13 || c.Total != 14 || c.PayToSource == nil || *c.PayToSource != "payTo" {
		t.Errorf("grade %s, %d of %d, recipient from %v; want C, 13 of 14, payTo", c.Grade, c.Passed, c.Total,
			c.PayToSource)
	}
}

// way is one way to pay an endpoint.
type way struct {
	Endpoint, Description, MimeType             string
	Variable                                    bool
	Scheme, Network, CAIP2                      string
	Asset, AssetNorm, AssetName, Price, USD, To string
	Timeout                                     int
}

func (p seller) ways(t *testing.T) (list []way) {
	for _, d := range p.Declared {
		for _, a := range d.Accepts {
			norm := a.Asset
			if strings.HasPrefix(norm, "0x") {
				norm = strings.ToLower(norm)
			}
			list = append(list, way{
				Endpoint: d.Endpoint, Description: d.Description, MimeType: d.MimeType, Variable: a.Scheme == "upto",
				Scheme: a.Scheme, Network: a.Network, CAIP2: a.Network, Asset: a.Asset, AssetNorm: norm,
				AssetName: "USDC",
				Price:     a.Amount, USD: string(dollars(t, a.Dollars)), To: a.PayTo, Timeout: a.MaxTimeoutSeconds,
			})
		}
	}
	slices.SortFunc(list, compareWays)
	return list
}

func ways(d site.ServiceDetail) (list []way) {
	for _, e := range d.Endpoints {
		for _, p := range e.Pricing {
			w := way{
				Endpoint: e.Method + " " + e.Path, Variable: e.VariableAmount, Scheme: p.Scheme, Network: p.Network,
				Asset: p.AssetAddress, AssetNorm: p.AssetAddressNorm, AssetName: p.AssetName, Price: p.Price,
				To: p.PayTo,
			}
			w.Description, w.MimeType = deref(e.Description), deref(e.MimeType)
			w.CAIP2, w.USD, w.Timeout = deref(p.NetworkCAIP2), deref(p.PriceUSD), deref(p.MaxTimeoutSeconds)
			list = append(list, w)
		}
	}
	slices.SortFunc(list, compareWays)
	return list
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func compareWays(a, b way) int {
	return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Network, b.Network))
}

func dollars(t *testing.T, price string) site.Decimal {
	t.Helper()
	d, err := site.ParseDecimal(strings.TrimPrefix(price, "$"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// serviceSummary contains the fields of the service's record besides its ways to pay.
type serviceSummary struct {
	Status       string
	PaymentReady bool
	Endpoints    int
	Cheapest     site.Decimal
	Asset        string
	Networks     []string // CAIP-2, sorted
}

func (p seller) summary(t *testing.T) serviceSummary {
	s := serviceSummary{Status: site.StatusOnline, PaymentReady: true, Endpoints: len(p.Declared), Asset: "USDC"}
	for _, d := range p.Declared {
		for _, a := range d.Accepts {
			if usd := dollars(t, a.Dollars); s.Cheapest == "" || usd.Compare(s.Cheapest) < 0 {
				s.Cheapest = usd
			}
			s.Networks = append(s.Networks, a.Network)
		}
	}
	slices.Sort(s.Networks)
	s.Networks = slices.Compact(s.Networks)
	return s
}

func summary(d site.ServiceDetail) serviceSummary {
	return serviceSummary{
		Status: d.Status, PaymentReady: d.PaymentReady, Endpoints: d.EndpointCount, Cheapest: deref(d.MinPriceUSD),
		Asset:    deref(d.Asset),
		Networks: slices.Sorted(slices.Values(d.NetworksCAIP2)),
	}
}

// read sends a request to the handler that serve runs.
func read(t *testing.T, o dataOptions, target string, into any) {
	t.Helper()
	source, err := output.OpenSource(o.Public(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	w := httptest.NewRecorder()
	serve.NewHandler(serve.Options{Source: source}).ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
}
