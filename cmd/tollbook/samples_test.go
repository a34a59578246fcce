package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"tollbook/cmd/nodetest"
	"tollbook/render/guide"
	"tollbook/site/testgate"
)

const (
	sampleKey  = "0x0101010101010101010101010101010101010101010101010101010101010101"
	sampleUSDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

// loopbackOnly is a module that makes every request to another host fail, so that no test asks a chain.
const loopbackOnly = `const ask = globalThis.fetch
globalThis.fetch = (input, options) => {
  const { hostname } = new URL(input instanceof Request ? input.url : input)
  if (hostname !== "127.0.0.1") throw new Error("asked " + hostname)
  return ask(input, options)
}
`

// TestSamplesPay runs the commands and programs that pages show against a server of the official SDK, which accepts
// what they sign. The Python program is only compiled where the package x402 is missing.
func TestSamplesPay(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	var peer struct{ Port int }
	startNodeProgram(t, "testdata/sdk", "payable.mjs", &peer)
	base := fmt.Sprintf("http://127.0.0.1:%d", peer.Port)
	onBase := guide.Offer{Network: "eip155:8453", Name: "eip155:8453", Asset: sampleUSDC, Amount: "10000"}
	expensive, first, lower, maximum, lowerMaximum := onBase, onBase, onBase, onBase, onBase
	expensive.Amount, first.Name, lower.Amount = "2500000", "base", "9999"
	maximum.Amount, maximum.IsMaximum = "1500000", true
	lowerMaximum.Amount, lowerMaximum.IsMaximum = "1499999", true
	solana := guide.Offer{Network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
		Name: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", Asset: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
		Amount: "10000"}
	seed := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	folder := newProgramFolder(t)
	for _, c := range []struct {
		name    string
		request guide.Request
		offer   guide.Offer
		key     string
		want    string // the output
		fault   string // part of the error of a program that does not pay
		signed  []string
	}{
		{name: "get", request: guide.Request{Method: "GET", URL: base + "/quote?symbol=a%22b"}, offer: onBase,
			want: `200 {"symbol":"a\"b"}`, signed: []string{"10000"}},
		{name: "post, above the SDK's limit of a dollar", offer: expensive,
			request: guide.Request{Method: "POST", URL: base + "/search", Body: `{"q":"it's \"é\""}`},
			want:    `200 {"q":"it's \"é\""}`, signed: []string{"2500000"}},
		{name: "delete", request: guide.Request{Method: "DELETE", URL: base + "/draft"}, offer: onBase,
			want: `200 {"deleted":true}`, signed: []string{"10000"}},
		{name: "version 1", request: guide.Request{Method: "GET", URL: base + "/first"}, offer: first,
			want: `200 {"version":1}`, signed: []string{"10000"}},
		{name: "a maximum", offer: maximum,
			request: guide.Request{Method: "POST", URL: base + "/chat", Body: `{"q":"1"}`},
			want:    `200 {"q":"1"}`, signed: []string{"1500000"}},
		{name: "a maximum that rose", offer: lowerMaximum,
			request: guide.Request{Method: "POST", URL: base + "/chat", Body: `{}`},
			fault:   "rejected by spendControls"},
		{name: "a price that rose", request: guide.Request{Method: "GET", URL: base + "/quote"}, offer: lower,
			fault: "rejected by spendControls"},
		{name: "Solana", request: guide.Request{Method: "GET", URL: base + "/solana"}, offer: solana,
			key: base58.Encode(seed), fault: "asked api.mainnet-beta.solana.com"},
	} {
		curl := exec.CommandContext(t.Context(), "sh", "-c", c.request.Curl())
		if out, err := curl.Output(); err != nil || !bytes.HasPrefix(out, []byte("HTTP/1.1 402 ")) {
			t.Errorf("%s: curl: %v\n%s", c.name, err, out)
		}
		before := len(readSigned(t, base))
		programs := guide.PaySamples(c.request, c.offer)
		if c.key == "" {
			c.key = sampleKey
		}
		out, err := folder.run(t, programs[0].Code, c.key)
		if c.fault == "" && (err != nil || strings.TrimSpace(out) != c.want) ||
			c.fault != "" && (err == nil || !strings.Contains(out, c.fault)) {
			t.Errorf("%s: JavaScript: %v\n%s\nwant %s%s from\n%s", c.name, err, out, c.want, c.fault, programs[0].Code)
		}
		if diff := gocmp.Diff(c.signed, readSigned(t, base)[before:], equateEmpty); diff != "" {
			t.Errorf("%s: signed amounts (-want +got):\n%s", c.name, diff)
		}
	}
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

func newProgramFolder(t *testing.T) programFolder {
	t.Helper()
	dir := t.TempDir()
	modules := nodetest.Install(t, "testdata/sdk", withoutPeers)
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "loopback.mjs"), []byte(loopbackOnly), 0o600); err != nil {
		t.Fatal(err)
	}
	return programFolder(dir)
}

// run runs a program and returns what it prints, its errors included.
func (f programFolder) run(t *testing.T, code, key string) (string, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(f), "sample.mjs"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--import", "./loopback.mjs", "sample.mjs")
	cmd.Dir = string(f)
	cmd.Env = append(os.Environ(), "KEY="+key)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
