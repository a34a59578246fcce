package gate

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/cmd/nodetest"
	"tollbook/site/listing"
	"tollbook/site/testgate"
)

// withoutPeers omits peer dependencies that an SDK lists but a client does not need.
const withoutPeers = "--legacy-peer-deps"

// TestClientsLock checks that the lock file has versions and hashes but no registry.
func TestClientsLock(t *testing.T) {
	nodetest.CheckLock(t, "testdata/clients", map[string]string{"@x402/fetch": "2.27.0", "x402-fetch": "1.2.0",
		"@x402/axios": "2.11.0", "mppx": "0.11.0", "@modelcontextprotocol/sdk": "1.32.2"})
}

// startListening runs a program until the test ends. It returns what follows the prefix in the first line that has it.
func startListening(t testing.TB, cmd *exec.Cmd, prefix string) (after string) {
	t.Helper()
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // reports the kill
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			go func() {
				for lines.Scan() { // a full pipe would stop the program
				}
			}()
			return rest
		}
	}
	t.Fatalf("%s ended before it listened", cmd.Path)
	return ""
}

// startChain runs a real node of an EVM chain and returns its URL.
func startChain(t testing.TB) string {
	t.Helper()
	program := filepath.Join(nodetest.Install(t, "../../crawl/chain/evm/testdata/node"),
		"@foundry-rs/anvil-linux-amd64/bin/anvil")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		var err error
		if program, err = exec.LookPath("anvil"); err != nil {
			testgate.Missing(t, "anvil is missing: npm has it for Linux on amd64, Foundry for others")
		}
	}
	return "http://" + startListening(t, exec.CommandContext(t.Context(), program, "--port", "0", "--chain-id", "8453"),
		"Listening on ")
}

// newProgramFolder returns a folder with the programs of testdata/clients and their modules.
func newProgramFolder(t testing.TB) (dir string) {
	t.Helper()
	modules := nodetest.Install(t, "testdata/clients", withoutPeers)
	dir = t.TempDir()
	for _, name := range []string{"seller.mjs", "clients.mjs"} {
		program, err := os.ReadFile(filepath.Join("testdata/clients", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), program, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startSeller runs the seller of testdata/clients and returns its URL.
func startSeller(t testing.TB, dir string) string {
	t.Helper()
	contracts, err := filepath.Abs("../../crawl/chain/evm/testdata/contracts/contracts.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "seller.mjs", startChain(t), contracts)
	cmd.Dir = dir
	port := startListening(t, cmd, `{"port":`)
	return "http://127.0.0.1:" + strings.TrimSuffix(port, "}")
}

// pathUSD is the token of the seller's charges over MPP.
const (
	pathUSD = "0x20c0000000000000000000000000000000000000"
	tempo   = "eip155:4217"
)

// sellersFile is the file of a directory that has observed what the seller asks at /match, at all its paths but
// /unlisted, and advises against /danger.
func sellersFile(t testing.TB, seller string, at time.Time) []byte {
	t.Helper()
	var w Writer
	for _, path := range []string{"match", "danger", "swapped", "dear", "token", "both"} {
		level := LevelGood
		if path == "danger" {
			level = LevelDanger
		}
		for _, protocol := range []string{"v1", "v2", "mcp", "mpp"} {
			normal, err := listing.NormalURL(seller + "/" + protocol + "/" + path)
			if err != nil {
				t.Fatal(err)
			}
			option := Option{base, usdc, payTo, "10000"}
			if protocol == "mpp" {
				option = Option{tempo, pathUSD, payTo, "10000"}
			}
			w.Add(normal, level, []Option{option})
		}
	}
	data, err := w.Encode(at)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// outcome is what a client did: the verdict of a gate that refused, or the status, the calls of the signer, and what
// the recipients got.
type outcome struct {
	Result               string
	Signed, Payee, Thief int
	MS                   float64
}

// runClients runs the clients of testdata/clients, and returns outcomes by client and case.
func runClients(t testing.TB, dir string, input any) (results map[string]map[string]outcome) {
	t.Helper()
	runProgram(t, dir, "clients.mjs", input, &results)
	return results
}

// TestClients pays a seller made of the official SDKs, whose facilitator settles at a real node, with the clients that
// buyers use. The gate is below each client. The signer must not be called for what the directory has not observed.
func TestClients(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dir := newProgramFolder(t)
	seller := startSeller(t, dir)
	directory := func(change func(*madeDirectory)) string {
		d := &madeDirectory{file: sellersFile(t, seller, time.Now().Add(-time.Hour))}
		d.sign(7)
		change(d)
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		return server.URL
	}
	good := directory(func(*madeDirectory) {})
	const away = "http://127.0.0.1:1" // a port that was free a moment ago may be another test's
	tampered := directory(func(d *madeDirectory) {
		for i := HeaderSize; i < len(d.file); i++ {
			d.file[i] ^= 1
		}
	})
	paid := outcome{"200", 1, 10000, 0, 0}
	refused := func(reason string) outcome { return outcome{Result: reason} }
	type options map[string]any
	gate := func(directory string, more ...options) options {
		o := options{"directory": directory, "key": keyPEM(t, key), "unreachable": "refuse"}
		for _, m := range more {
			for name, value := range m {
				o[name] = value
			}
		}
		return o
	}
	cases := []struct {
		name, path string
		gate       options
		want       outcome
		clients    []string // nil for all
	}{
		{"without a gate", "swapped", nil, outcome{"200", 1, 0, 10000, 0}, nil},
		{"match", "match", gate(good), paid, nil},
		{"another recipient", "swapped", gate(good), refused("new-recipient"), nil},
		{"a higher price", "dear", gate(good), refused("new-price"), nil},
		{"a higher price, allowed", "dear", gate(good, options{"policy": options{"new-price": []options{
			{"upTo": "10001", "then": "allow"}}}}), outcome{"200", 1, 10001, 0, 0}, nil},
		{"a higher price, too high", "dear", gate(good, options{"policy": options{"new-price": []options{
			{"upTo": "10000", "then": "allow"}}}}), refused("new-price"), nil},
		{"one option of two", "both", gate(good), paid, []string{"@x402/fetch", "@x402/axios", "mppx, x402"}},
		{"another token", "token", gate(good), refused("other-token"), nil},
		{"danger", "danger", gate(good), refused("danger"), nil},
		{"not listed", "unlisted", gate(good), refused("unknown: unlisted"), nil},
		{"not listed, allowed", "unlisted", gate(good, options{"policy": options{"unknown": "allow"}}), paid, nil},
		{"stale", "match", gate(good, options{"maxAge": time.Minute.Milliseconds()}), refused("unknown: stale"), nil},
		{"the directory is away", "match", gate(away), refused("unknown: unreachable"), nil},
		{"the directory is away, allowed", "match", gate(away, options{"unreachable": "allow"}), paid, nil},
		{"the file is changed", "match", gate(tampered), refused("unknown: unreachable"), nil},
		{"another key", "match", gate(good, options{"key": keyPEM(t, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8},
			ed25519.SeedSize)))}), refused("unknown: unreachable"), nil},
	}
	var list []any
	for _, c := range cases {
		list = append(list, map[string]any{"name": c.name, "path": c.path, "gate": c.gate, "clients": c.clients})
	}
	results := runClients(t, dir, map[string]any{"seller": seller, "cases": list})
	if len(results) != 7 {
		t.Errorf("%d clients paid, want 7", len(results))
	}
	for client, got := range results {
		for _, c := range cases {
			if c.clients != nil && !slices.Contains(c.clients, client) {
				continue
			}
			if diff := cmp.Diff(c.want, got[c.name], cmpopts.IgnoreFields(outcome{}, "MS")); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", client, c.name, diff)
			}
		}
	}
}

// TestTypes compiles a program that uses the package's types with those of the clients.
func TestTypes(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	modules := nodetest.Install(t, "testdata/clients", withoutPeers)
	dir := newProgramFolder(t)
	if err := os.Remove(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(modules)
	if err != nil {
		t.Fatal(err)
	}
	link := func(from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, "node_modules", to)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(dir, "node_modules", to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		link(filepath.Join(modules, e.Name()), e.Name())
	}
	npm, err := filepath.Abs("npm")
	if err != nil {
		t.Fatal(err)
	}
	link(npm, "@tollbook/gate")
	program, err := os.ReadFile("testdata/clients/types.ts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "types.mts"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "typescript/bin/tsc"), "--strict", "--noEmit",
		"--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,dom.iterable",
		"--noUncheckedIndexedAccess", "types.mts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNames compares the names of networks that the package knows with those for which the SDKs sign, in version 1 of
// x402. It leaves out test networks of Solana, whose long ids cost more than they bring.
func TestNames(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	modules := nodetest.Install(t, "testdata/clients", withoutPeers)
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", `
		import { EVM_NETWORK_CHAIN_ID_MAP as chains } from "@x402/evm/v1";
		import { EvmNetworkToChainId, SupportedSVMNetworks } from "x402/types";
		const all = { ...Object.fromEntries(EvmNetworkToChainId), ...chains };
		for (const name of SupportedSVMNetworks) all[name] = 0;
		console.log(JSON.stringify(all));`)
	cmd.Dir, cmd.Stderr = filepath.Dir(modules), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var chains map[string]int
	if err := json.Unmarshal(out, &chains); err != nil || len(chains) < 20 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, chain := range chains {
		if strings.HasPrefix(name, "solana-") {
			continue
		}
		if !slices.Contains(paidNames, name) {
			t.Errorf("the package does not know %s", name)
		}
		if want := fmt.Sprintf("eip155:%d", chain); chain > 0 && networkID(name) != want {
			t.Errorf("%s is %s, the SDKs say %s", name, networkID(name), want)
		}
	}
}

// BenchmarkClients prints how long each client takes for a hundred paid requests, without and with the gate.
func BenchmarkClients(b *testing.B) {
	testgate.All(b)
	dir := newProgramFolder(b)
	seller := startSeller(b, dir)
	d := &madeDirectory{file: sellersFile(b, seller, time.Now())}
	d.sign(1)
	server := httptest.NewServer(d)
	defer server.Close()
	without := map[string]any{"name": "without", "path": "match"}
	with := map[string]any{"name": "with", "path": "match", "gate": map[string]any{"directory": server.URL,
		"key": keyPEM(b, key), "unreachable": "refuse"}}
	for b.Loop() {
		for client, got := range runClients(b, dir, map[string]any{"seller": seller, "repeat": 100,
			"cases": []any{without, with}}) {
			if got["with"].Signed != 100 || got["without"].Signed != 100 {
				b.Errorf("%s: %+v", client, got)
			}
			b.Logf("%-24s %7.0f ms without, %7.0f ms with the gate", client, got["without"].MS, got["with"].MS)
		}
	}
}
