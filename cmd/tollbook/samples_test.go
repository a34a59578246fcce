package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"tollbook/cmd/nodetest"
	"tollbook/render/guide"
	"tollbook/site"
	"tollbook/site/rail/railtest"
	"tollbook/site/testgate"
)

const (
	sampleKey  = "0x0101010101010101010101010101010101010101010101010101010101010101"
	sampleUSDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

// sampleCase is a request that a page shows how to pay, and what comes of it.
type sampleCase struct {
	name     string
	seller   string // the URL of the server, which lists what it was paid
	request  guide.Request
	program  guide.Sample // in JavaScript
	secrets  []string     // KEY=… or WALLET=…
	asks     string       // what curl gets must contain
	want     string       // the output
	fault    string       // part of the error of a program that does not pay
	payments []string     // the amounts
}

// TestSamplesPay runs the commands and programs that pages show against servers of the official SDKs, which accept
// what they sign: version 2 and 1 of x402, exact and upto, with EIP-3009 and Permit2, on Base and on Solana, over HTTP
// and MCP; MPP; and L402. Each pays once. A price that rose, and input that is missing, is paid by none.
func TestSamplesPay(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	start := func(folder, name string) string {
		var peer struct{ Port int }
		startNodeProgram(t, folder, name, &peer)
		return fmt.Sprintf("http://127.0.0.1:%d", peer.Port)
	}
	second, first := start("testdata/sdk", "payable.mjs"), start("testdata/peers/express-v1", "server.mjs")
	tools, charges := start("testdata/mcp", "server.mjs"), start("testdata/peers/mppx", "server.mjs")
	lightning := startLightning(t)
	offer := func(amount string) guide.Offer {
		return guide.Offer{Network: "eip155:8453", Name: "eip155:8453", Asset: sampleUSDC, Amount: amount}
	}
	maximum := func(amount string) guide.Offer {
		o := offer(amount)
		o.IsMaximum, o.HasPermit = true, true
		return o
	}
	permit, firstVersion := offer("10000"), offer("10000")
	permit.HasPermit, firstVersion.Name = true, "base"
	solana := guide.Offer{Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
		Name: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Asset: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
		Amount: "10000"}
	seed := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	pay := func(c sampleCase, o guide.Offer) sampleCase {
		c.program = guide.PaySamples(c.request, o)[0]
		return c
	}
	payOther := func(c sampleCase, p site.PricingEntry) sampleCase {
		program, ok := guide.OtherSample(c.request, &p)
		if !ok {
			t.Fatalf("%s: no program", c.name)
		}
		c.program = program
		return c
	}
	charge := site.PricingEntry{Protocol: "mpp", Scheme: "tempo/charge", Price: "10000",
		AssetAddress: "0x20C0000000000000000000000000000000000000"}
	invoice := site.PricingEntry{Protocol: "l402", Scheme: "bolt11", Price: "21000", AssetAddress: "BTC"}
	lowerCharge, lowerInvoice := charge, invoice
	lowerCharge.Price, lowerInvoice.Price = "9999", "20999"
	get := func(url string) guide.Request { return guide.Request{Method: "GET", URL: url} }
	post := func(url, body string) guide.Request { return guide.Request{Method: "POST", URL: url, Body: body} }
	forecast := guide.Request{Method: "POST", URL: tools + "/mcp", Tool: "forecast", Body: `{"city":"Köln \"'\""}`}
	asText := forecast
	asText.Body = `{"city":"as text"}`
	without := post(second+"/search", "{}")
	without.Missing = "q"
	folder := newProgramFolder(t)
	for _, c := range []sampleCase{
		pay(sampleCase{name: "get", request: get(second + "/quote?symbol=a%22b"), want: `200 {"symbol":"a\"b"}`,
			payments: []string{"10000"}}, offer("10000")),
		pay(sampleCase{name: "post, above the SDK's limit of a dollar",
			request: post(second+"/search", `{"q":"it's \"é\""}`),
			want:    `200 {"q":"it's \"é\""}`, payments: []string{"2500000"}}, offer("2500000")),
		pay(sampleCase{name: "delete", request: guide.Request{Method: "DELETE", URL: second + "/draft"},
			want: `200 {"deleted":true}`, payments: []string{"10000"}}, offer("10000")),
		pay(sampleCase{name: "version 1", seller: first, request: get(first + "/weather?city=K%C3%B6ln"),
			want: `200 {"temp":3}`, payments: []string{"10000"}}, firstVersion),
		pay(sampleCase{name: "Permit2", request: get(second + "/permit"), want: `200 {"paid":true}`,
			payments: []string{"10000"}}, permit),
		pay(sampleCase{name: "a maximum", request: post(second+"/chat", `{"q":"1"}`), want: `200 {"q":"1"}`,
			payments: []string{"1500000"}}, maximum("1500000")),
		pay(sampleCase{name: "a maximum that rose", request: post(second+"/chat", `{"q":"1"}`),
			fault: "rejected by spendControls"}, maximum("1499999")),
		pay(sampleCase{name: "a price that rose", request: get(second + "/quote"), fault: "rejected by spendControls"},
			offer("9999")),
		pay(sampleCase{name: "missing input", request: without, fault: "Fill in q first, then delete this."},
			offer("2500000")),
		pay(sampleCase{name: "Solana", request: get(second + "/solana"), secrets: []string{"KEY=" + base58.Encode(seed)},
			want: `200 {"paid":true}`, payments: []string{"10000"}}, solana),
		pay(sampleCase{name: "MCP", seller: tools, request: forecast, asks: `"x402Version":2`,
			want: `[{"type":"text","text":"forecast of Köln \"'\""}]`, payments: []string{"10000"}}, offer("10000")),
		pay(sampleCase{name: "MCP, a price that rose", seller: tools, request: forecast, asks: `"x402Version":2`,
			fault: "rejected by spendControls"}, offer("9999")),
		pay(sampleCase{name: "MCP, terms as text", seller: tools, request: asText, asks: `\"x402Version\":2`,
			want: `[{"type":"text","text":"forecast of as text"}]`, payments: []string{"10000"}}, offer("10000")),
		payOther(sampleCase{name: "MPP", seller: charges, request: post(charges+"/pay", `{"q":"it's"}`),
			want: `200 {"paid":true}`, payments: []string{"10000"}}, charge),
		payOther(sampleCase{name: "MPP, a price that rose", seller: charges, request: get(charges + "/pay"),
			fault: "the price rose to 10000"}, lowerCharge),
		payOther(sampleCase{name: "L402", seller: lightning, request: post(lightning+"/pay", `{"q":"it's"}`),
			secrets: []string{"WALLET=" + lightning + "/wallet"}, want: `200 {"q":"it's"}`,
			payments: []string{"21000"}}, invoice),
		payOther(sampleCase{name: "L402, a price that rose", seller: lightning, request: get(lightning + "/pay"),
			secrets: []string{"WALLET=" + lightning + "/wallet"}, fault: "the price rose to 21000"}, lowerInvoice),
	} {
		if c.seller == "" {
			c.seller = second
		}
		c.check(t, folder)
	}
}

// check runs the command and the program, and compares what was paid.
func (c sampleCase) check(t *testing.T, folder programFolder) {
	t.Helper()
	before := len(readSigned(t, c.seller))
	asked, err := exec.CommandContext(t.Context(), "sh", "-c", c.request.Curl()).Output()
	if want := cmp.Or(c.asks, "HTTP/1.1 402 "); err != nil || !strings.Contains(string(asked), want) {
		t.Errorf("%s: curl: %v\n%s\nwant %s", c.name, err, asked, want)
	}
	out, err := folder.run(t, c.program.Code, append([]string{"KEY=" + sampleKey}, c.secrets...))
	if c.fault == "" && (err != nil || strings.TrimSpace(out) != c.want) ||
		c.fault != "" && (err == nil || !strings.Contains(out, c.fault)) {
		t.Errorf("%s: %v\n%s\nwant %s%s from\n%s", c.name, err, out, c.want, c.fault, c.program.Code)
	}
	if diff := gocmp.Diff(c.payments, readSigned(t, c.seller)[before:], equateEmpty); diff != "" {
		t.Errorf("%s: payments (-want +got):\n%s", c.name, diff)
	}
}

// startLightning starts a service that sells over L402 for 21 satoshi, with a wallet at /wallet that pays its invoices.
// GET /signed returns what the wallet has paid.
func startLightning(t *testing.T) (address string) {
	t.Helper()
	const preimage = "6120707265696d616765" // of railtest's invoices
	var mu sync.Mutex
	payments := []map[string]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("/pay", func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "L402 "); ok &&
			strings.HasSuffix(token, ":"+preimage) {
			_, _ = io.Copy(w, r.Body) // the program sees the rest of an error
			return
		}
		railtest.Handler("bc210n").ServeHTTP(w, r)
	})
	mux.HandleFunc("/wallet", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		payments = append(payments, map[string]string{"value": "21000"})
		fmt.Fprintf(w, `{"preimage":%q}`, preimage)
	})
	mux.HandleFunc("/signed", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(payments) // as above
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// equateEmpty treats an empty list like nil.
var equateEmpty = gocmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, gocmp.Ignore())

// readSigned returns the amounts of the payments that the server has accepted.
func readSigned(t *testing.T, base string) []string {
	t.Helper()
	answer, err := http.Get(base + "/signed")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all []struct{ Value string }
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	amounts := make([]string, len(all))
	for i, a := range all {
		amounts[i] = a.Value
	}
	return amounts
}

// programFolder is a folder with the modules of npm that JavaScript samples need.
type programFolder string

// wallet stands for @getalby/sdk, whose wallet needs a relay: it asks the test's own wallet at the given URL.
const wallet = `export class NWCClient {
  constructor({ nostrWalletConnectUrl: url }) { this.url = url }
  async payInvoice({ invoice }) {
    return (await fetch(this.url, { method: "POST", body: invoice })).json()
  }
  close() {}
}
`

func newProgramFolder(t *testing.T) programFolder {
	t.Helper()
	dir := t.TempDir()
	for folder, packages := range map[string][]string{
		"testdata/sdk": {"@x402/core", "@x402/evm", "@x402/fetch", "@x402/svm", "@scure/base", "@solana/kit", "viem"},
		"testdata/mcp": {"@modelcontextprotocol/sdk"}, "testdata/peers/mppx": {"mppx"},
		"../../site/rail/testdata/clients": {"@getalby/lightning-tools"},
	} {
		modules := nodetest.Install(t, folder, withoutPeers)
		for _, name := range packages {
			at := filepath.Join(dir, "node_modules", name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(modules, name), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	sdk := filepath.Join(dir, "node_modules", "@getalby", "sdk")
	if err := os.MkdirAll(sdk, 0o700); err != nil {
		t.Fatal(err)
	}
	loopback, err := os.ReadFile("testdata/sdk/loopback.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(dir, "loopback.mjs"): string(loopback),
		filepath.Join(sdk, "package.json"): `{"type":"module","main":"index.js"}`,
		filepath.Join(sdk, "index.js"):     wallet} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return programFolder(dir)
}

// run runs a program with variables of its environment and returns what it prints, its errors included.
func (f programFolder) run(t *testing.T, code string, secrets []string) (string, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(f), "sample.mjs"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--import", "./loopback.mjs", "sample.mjs")
	cmd.Dir = string(f)
	cmd.Env = append(os.Environ(), secrets...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
