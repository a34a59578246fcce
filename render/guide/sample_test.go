package guide

import (
	"fmt"
	"go/format"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/testgate"
)

const (
	usdc   = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	mint   = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	base   = "eip155:8453"
	solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
)

func TestFindOffer(t *testing.T) {
	t.Parallel()
	const facilitator = `{"name":"USD Coin","facilitatorAddress":"` + usdc + `"}`
	for _, c := range []struct {
		name                                        string
		scheme, caip2, network, asset, price, extra string
		want                                        Offer
	}{
		{"Base", "exact", base, base, usdc, "10000", "", Offer{base, base, usdc, "10000", false, false}},
		{"version 1", "exact", base, "base", usdc, "10000", "", Offer{base, "base", usdc, "10000", false, false}},
		{"Solana", "exact", solana, solana, mint, "1", "", Offer{solana, solana, mint, "1", false, false}},
		{"by Permit2", "exact", base, base, usdc, "10000", `{"assetTransferMethod":"permit2"}`,
			Offer{base, base, usdc, "10000", false, true}},
		{"a maximum", "upto", base, base, usdc, "10000", facilitator, Offer{base, base, usdc, "10000", true, true}},
		{"a maximum without facilitator", "upto", base, base, usdc, "10000", "", Offer{}},
		{"a maximum with a hostile facilitator", "upto", base, base, usdc, "10000",
			`{"facilitatorAddress":["0x1"]}`, Offer{}},
		{"a maximum in version 1", "upto", base, "base", usdc, "10000", facilitator, Offer{}},
		{"a maximum on Solana", "upto", solana, solana, mint, "10000", facilitator, Offer{}},
		{"a maximum in a hostile asset", "upto", base, base, usdc + `"`, "1", facilitator, Offer{}},
		{"another scheme", "batch-settlement", base, base, usdc, "10000", facilitator, Offer{}},
		{"another chain", "exact", "stellar:pubnet", "stellar:pubnet", usdc, "1", "", Offer{}},
		{"no network", "exact", "", "base", usdc, "1", "", Offer{}},
		{"hostile network", "exact", base, `base"); evil("`, usdc, "1", "", Offer{}},
		{"hostile asset", "exact", base, base, usdc + `"`, "1", "", Offer{}},
		{"ticker", "exact", base, base, "USDC", "1", "", Offer{}},
		{"an asset of the other kind", "exact", base, base, mint, "1", "", Offer{}},
		{"hostile amount", "exact", base, base, usdc, "1;", "", Offer{}},
		{"exponent", "exact", base, base, usdc, "1e4", "", Offer{}},
	} {
		p := site.PricingEntry{Scheme: c.scheme, Network: c.network, AssetAddress: c.asset, Price: c.price}
		if c.caip2 != "" {
			p.NetworkCAIP2 = &c.caip2
		}
		got, ok := findOffer(&site.Endpoint{Pricing: []site.PricingEntry{p}}, []site.PricingTerms{{Extra: c.extra}})
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != Offer{}) {
			t.Errorf("%s: found %v (-want +got):\n%s", c.name, ok, diff)
		}
	}
}

// TestFindOfferOfFirstVersion checks that the newest terms say by which name clients of version 1 sign.
func TestFindOfferOfFirstVersion(t *testing.T) {
	t.Parallel()
	e := &site.Endpoint{Pricing: []site.PricingEntry{{Scheme: "exact", Network: base, NetworkCAIP2: new(base),
		AssetAddress: usdc, Price: "1"}}}
	got, ok := findOffer(e, []site.PricingTerms{{Name: "base"}})
	if diff := cmp.Diff(Offer{base, "base", usdc, "1", false, false}, got); !ok || diff != "" {
		t.Errorf("found %v (-want +got):\n%s", ok, diff)
	}
}

// TestFindOfferOrder checks that a fixed price comes before a maximum.
func TestFindOfferOrder(t *testing.T) {
	t.Parallel()
	price := func(scheme, amount string) site.PricingEntry {
		return site.PricingEntry{Scheme: scheme, Network: base, NetworkCAIP2: new(base), AssetAddress: usdc,
			Price: amount}
	}
	terms := slices.Repeat([]site.PricingTerms{{Extra: `{"facilitatorAddress":"` + usdc + `"}`}}, 3)
	e := &site.Endpoint{Pricing: []site.PricingEntry{price("upto", "1"), price("upto", "2"), price("exact", "3")}}
	if got, _ := findOffer(e, terms); got.Amount != "3" {
		t.Errorf("with a fixed price: %v", got)
	}
	e.Pricing = e.Pricing[:2]
	if got, _ := findOffer(e, terms); got.Amount != "1" {
		t.Errorf("without: %v", got)
	}
}

// sampleCases are requests and offers that reach every branch of the templates.
func sampleCases() (samples [][]Sample) {
	for _, r := range []Request{
		{Method: "GET", URL: "https://acme.test/quote?symbol=A%22"},
		{Method: "POST", URL: "https://acme.test/search", Body: "{\"q\":\"it's \\\"é\\\" \\\\ 😀 \u2028\"}"},
		{Method: "DELETE", URL: "https://acme.test/draft"},
		{Method: "POST", URL: "https://acme.test/search", Body: "{}", Missing: "the body"},
	} {
		for _, o := range []Offer{{base, base, usdc, "10000", false, false}, {base, base, usdc, "10000", true, true},
			{base, "base", usdc, strings.Repeat("9", 40), false, false},
			{solana, solana, mint, "1", false, false}, {solana, "solana", mint, "1", false, false}} {
			samples = append(samples, PaySamples(r, o))
		}
	}
	return samples
}

// TestGetSamples checks that every program without packages prints the data of a server's answer.
func TestGetSamples(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":%q}`, r.URL.RequestURI())
	}))
	defer server.Close()
	programs := map[string][]string{"curl": {"sh"}, "JavaScript": {"node", "--input-type=module"},
		"Python": {"python3"}, "Go": {"go", "run"}}
	for _, s := range GetSamples(server.URL + "/v1/search?q=a%22b&status=online") {
		program := programs[s.Language]
		if _, err := exec.LookPath(program[0]); err != nil {
			testgate.Missing(t, "%s is missing; install it", program[0])
		}
		if s.Language == "Go" { // reads no program from stdin
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(s.Code), 0o600); err != nil {
				t.Fatal(err)
			}
			program = append(program, file)
		}
		cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
		cmd.Stdin = strings.NewReader(s.Code)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "/v1/search?q=a%22b&status=online") {
			t.Errorf("%s: %v\n%s", s.Language, err, out)
		}
	}
}

// TestGoSamples checks that the programs in Go are as gofmt writes them.
func TestGoSamples(t *testing.T) {
	t.Parallel()
	for _, samples := range sampleCases() {
		code := samples[2].Code
		formatted, err := format.Source([]byte(code))
		if err != nil {
			t.Fatalf("%v in\n%s", err, code)
		}
		if diff := cmp.Diff(string(formatted), code); diff != "" {
			t.Errorf("gofmt (-want +got):\n%s", diff)
		}
	}
}

// TestPythonSamples checks that Python compiles the programs, and that the body is what the request has.
func TestPythonSamples(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		testgate.Missing(t, "python3 is missing; install it (Debian: apt-get install python3)")
	}
	for _, samples := range sampleCases() {
		cmd := exec.Command(python, "-c", "import ast, sys\n"+
			"tree = ast.parse(sys.stdin.read())\ncompile(tree, 'sample.py', 'exec')\n"+
			"print(*[ast.literal_eval(k.value.func.value) for n in ast.walk(tree) if isinstance(n, ast.Call) "+
			"for k in n.keywords if k.arg == 'data'], sep='')")
		cmd.Env = []string{"PYTHONIOENCODING=utf-8"}
		cmd.Stdin = strings.NewReader(samples[1].Code)
		out, err := cmd.CombinedOutput()
		want := ""
		if strings.Contains(samples[1].Code, "data=") {
			want = "{\"q\":\"it's \\\"é\\\" \\\\ 😀 \u2028\"}"
			if strings.HasPrefix(samples[1].Code, "raise") {
				want = "{}"
			}
		}
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != want {
			t.Errorf("python3: %v, body %q, want %q, from\n%s", err, got, want, samples[1].Code)
		}
	}
}
