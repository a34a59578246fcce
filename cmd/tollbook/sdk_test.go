package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
)

// seller is what the server of testdata/sdk says of itself: its port, and what the official SDK makes of its routes.
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

// TestSDKServerFromImportToPage puts a seller made of the official x402 SDK through the whole line: it is imported, crawled,
// built and read back, and what its own SDK declares must arrive.
func TestSDKServerFromImportToPage(t *testing.T) { // not parallel: DATABASE_URL is the process's
	peer := startSeller(t)
	t.Setenv("DATABASE_URL", postgrestest.NewDatabase(t))
	data := dataOptions{Data: t.TempDir()}
	address := fmt.Sprintf("127.0.0.1:%d", peer.Port)

	var listed []string
	for _, d := range peer.Declared {
		listed = append(listed, d.Endpoint)
	}
	listed[0] = strings.TrimPrefix(listed[0], "GET ") // its method is for the crawler to find
	list, err := json.Marshal([]map[string]any{{
		"service_name": "SDK Weather", "description": "Made of the official SDK.", "url": "http://" + address + "/", "category": "Data", "endpoints": listed,
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runServicesImport(t.Context(), data, file, io.Discard); err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	crawl := crawlOptions{dataOptions: data, Once: true, HostGap: time.Millisecond, AllowPrivate: []string{address}, Contact: "https://tollbook.example/bot", JSON: true}
	if err := runCrawl(t.Context(), crawl, &report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(report.String(), `"online":1`) {
		t.Errorf("the crawl says %s, want one service online", report.String())
	}
	build := buildOptions{dataOptions: data, siteOptions: siteOptions{Title: "Tollbook", BaseURL: "http://127.0.0.1:4020"}, Expand: string(output.ExpandAll), Every: 15 * time.Minute}
	if err := runBuild(t.Context(), build, io.Discard); err != nil {
		t.Fatal(err)
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

// checkCompliance: an SDK server breaks no rule of the protocol; only that it is asked without TLS counts against it, and
// keeps it from more than a C.
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
		t.Errorf("grade %s, %d of %d, recipient from %v; want C, 13 of 14, payTo", c.Grade, c.Passed, c.Total, c.PayToSource)
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
				Scheme: a.Scheme, Network: a.Network, CAIP2: a.Network, Asset: a.Asset, AssetNorm: norm, AssetName: "USDC",
				Price: a.Amount, USD: string(dollars(t, a.Dollars)), To: a.PayTo, Timeout: a.MaxTimeoutSeconds,
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
				Asset: p.AssetAddress, AssetNorm: p.AssetAddressNorm, AssetName: p.AssetName, Price: p.Price, To: p.PayTo,
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

// serviceSummary is what the service's record says beside its ways to pay.
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
		Status: d.Status, PaymentReady: d.PaymentReady, Endpoints: d.EndpointCount, Cheapest: deref(d.MinPriceUSD), Asset: deref(d.Asset),
		Networks: slices.Sorted(slices.Values(d.NetworksCAIP2)),
	}
}

// read asks the handler that serve runs.
func read(t *testing.T, o dataOptions, target string, into any) {
	t.Helper()
	source, err := output.OpenSource(o.public(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	w := httptest.NewRecorder()
	serve.NewHandler(serve.Options{Source: source}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
}

// startSeller runs testdata/sdk/server.mjs until the test ends.
func startSeller(t *testing.T) (s seller) {
	t.Helper()
	modules := installSDK(t)
	dir := t.TempDir()
	program, err := os.ReadFile("testdata/sdk/server.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "server.mjs") // killed when the test ends
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // its error is that it was killed
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the SDK server did not start: %v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("the SDK server says %q: %v", line, err)
	}
	return s
}

// installSDK installs what testdata/sdk/package-lock.json pins, once, into the user's cache, and gives the folder of
// modules. Nothing is installed into the repository.
func installSDK(t *testing.T) (modules string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "%s is missing; install Node.js 20 or newer with npm (Debian: apt-get install nodejs npm; macOS: brew install node)", program)
		}
	}
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("testdata/sdk", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
		hash.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	cache = filepath.Join(cache, "tollbook-test")
	final := filepath.Join(cache, "sdk-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	modules = filepath.Join(final, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	building, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(building) // nothing is left of it when it was renamed
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(building, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Peers that the SDK names but a server does not need (a paywall for browsers) are left out.
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
	cmd.Dir = building
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "npm ci could not install the x402 SDK of testdata/sdk (%v); it needs a way to the npm registry once:\n%s", err, out)
	}
	if err := os.Rename(building, final); err != nil {
		if _, there := os.Stat(modules); there != nil { // else another test process was faster
			t.Fatal(err)
		}
	}
	return modules
}

// missing skips a test whose component is not there, and under CI=true fails it.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// TestSDKLockNamesNoRegistry: the lock holds versions and their hashes; where packages come from is everybody's own setting.
func TestSDKLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/sdk/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 100 || !strings.HasPrefix(lock.Packages["node_modules/@x402/express"].Version, "2.") {
		t.Errorf("the lock pins %d packages, @x402/express %q among them", len(lock.Packages), lock.Packages["node_modules/@x402/express"].Version)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" || name != "" && p.Integrity == "" {
			t.Errorf("%s: resolved %q, integrity %q; want no address and a hash", name, p.Resolved, p.Integrity)
		}
	}
}
