package gate

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"

	"tollbook/site/testgate"
)

// maxPackage is the size in bytes of the package @tollbook/gate as npm packs it.
const maxPackage = 6144

// TestPackage writes the module that is published: the two of the folder npm as one, without comments and long names.
func TestPackage(t *testing.T) {
	var all []byte
	for _, name := range []string{"npm/data.mjs", "npm/index.mjs"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	text := strings.NewReplacer(`import { networks, rules } from "./data.mjs";`, "", "export const networks", "const networks",
		"export const rules", "const rules").Replace(string(all))
	var out bytes.Buffer
	if err := js.Minify(minify.New(), &out, strings.NewReader(text), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("npm/dist", 0o755); err != nil {
		t.Fatal(err)
	}
	compareFile(t, "npm/dist/index.mjs", append(out.Bytes(), '\n'))
}

// TestPackageIsSmall packs the package as npm does.
func TestPackageIsSmall(t *testing.T) {
	testgate.NotShort(t)
	npm := lookPath(t, "npm")
	cmd := exec.CommandContext(t.Context(), npm, "pack", "--dry-run", "--json", "--offline", "--ignore-scripts")
	cmd.Dir, cmd.Stderr = "npm", t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packed []struct {
		Version string
		Size    int
		Files   []struct{ Path string }
	}
	if err := json.Unmarshal(out, &packed); err != nil || len(packed) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	for _, f := range packed[0].Files {
		names = append(names, f.Path)
	}
	if diff := cmp.Diff([]string{"LICENSE", "README.md", "dist/index.mjs", "index.d.ts", "package.json"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if packed[0].Size > maxPackage {
		t.Errorf("the package has %d bytes, the limit is %d", packed[0].Size, maxPackage)
	}
	t.Logf("%d bytes packed", packed[0].Size)
	for _, name := range []string{"LICENSE"} {
		want, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("npm", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the repository's: %v", name, err)
		}
	}
}

func lookPath(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		testgate.Missing(t, "%s is missing", program)
	}
	return path
}

// runPackage runs a program in JavaScript after an import of all of the package, as runNode does.
func runPackage(t *testing.T, program string, input, result any) {
	t.Helper()
	runNode(t, "", func(module string) []string {
		return []string{"--input-type=module", "--eval", fmt.Sprintf("import * as gates from %q;\n"+
			"import { readFileSync } from 'node:fs';\nconst input = JSON.parse(readFileSync(0));\n%s", module, program)}
	}, input, result)
}

// runProgram runs a program with the module of the package as its argument, in a folder, or in this one for "".
func runProgram(t testing.TB, dir, program string, input, result any) {
	t.Helper()
	runNode(t, dir, func(module string) []string { return []string{program, module} }, input, result)
}

// runNode runs Node.js in a folder with arguments made from the URL of the package's module. input is what the program
// reads as input, and the result what it prints, as JSON.
func runNode(t testing.TB, dir string, args func(module string) []string, input, result any) {
	t.Helper()
	module, err := filepath.Abs("npm/dist/index.mjs")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), lookPath(t, "node"), args("file://"+filepath.ToSlash(module))...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(data), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%.500s", err, out)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
}

// madeCopy is an offline copy as a program in JavaScript gets it.
type madeCopy struct {
	Checkpoint map[string]any `json:"checkpoint"`
	File       []byte         `json:"file"` // in base64
}

func newMadeCopy(file []byte) madeCopy {
	d := &madeDirectory{file: file}
	d.sign(1)
	return madeCopy{d.checkpoint, file}
}

// TestPackageVectors checks that the package answers each question of the vectors as the rule in Go.
func TestPackageVectors(t *testing.T) {
	testgate.NotShort(t)
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		BuiltAt string `json:"built_at"`
		File    string
		Max     int `json:"max_age_hours"`
		Vectors []vector
	}
	if err := json.Unmarshal(data, &v); err != nil || len(v.Vectors) < 25 {
		t.Fatalf("%v, %d vectors", err, len(v.Vectors))
	}
	file, err := base64.StdEncoding.DecodeString(v.File)
	if err != nil {
		t.Fatal(err)
	}
	var got []vector
	runPackage(t, `
		const { copy, max, builtAt, vectors } = input;
		copy.file = Buffer.from(copy.file, "base64");
		const hour = 3600e3, results = [];
		for (const v of vectors) {
			Date.now = () => Date.parse(builtAt) + v.age_hours * hour;
			const gate = gates.createGate({ copy, key: null, maxAge: max * hour, unreachable: "refuse" });
			const r = await gate.check(v, v.resource);
			if (Date.parse(r.as_of) !== Date.parse(builtAt)) throw new Error(r.as_of);
			if (r.observed.prices !== null || r.evidence_url !== "") throw new Error("a copy has evidence");
			results.push({ ...v, verdict: r.verdict, reason: r.reason, observed: r.observed.amount ?? "" });
		}
		console.log(JSON.stringify(results));`,
		map[string]any{"copy": newMadeCopy(file), "max": v.Max, "builtAt": v.BuiltAt, "vectors": v.Vectors}, &got)
	if diff := cmp.Diff(v.Vectors, got); diff != "" {
		t.Errorf("answers (-go +javascript):\n%s", diff)
	}
}

// TestPackageURLs checks that the package finds a URL in each of the forms of the look-up's vectors, and none of those
// that are refused.
func TestPackageURLs(t *testing.T) {
	testgate.NotShort(t)
	data, err := os.ReadFile("../routes/testdata/lookup-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Addresses []struct{ About, Address, Normal, SHA256 string }
		Refused   []string
	}
	if err := json.Unmarshal(data, &v); err != nil || len(v.Addresses) < 30 || len(v.Refused) < 10 {
		t.Fatalf("%v, %d addresses", err, len(v.Addresses))
	}
	// Each URL has an amount of its own, by which the answer says which URL was found.
	var w Writer
	amounts, want := map[string]string{}, []string{}
	var addresses []string
	for _, a := range v.Addresses {
		if amounts[a.Normal] == "" {
			amounts[a.Normal] = fmt.Sprint(1000 + len(amounts))
			w.Add(a.Normal, LevelGood, []Option{{base, usdc, payTo, amounts[a.Normal]}})
		}
		addresses, want = append(addresses, a.Address), append(want, amounts[a.Normal])
	}
	for _, address := range v.Refused {
		addresses, want = append(addresses, address), append(want, "unlisted")
	}
	file, err := w.Encode(builtAt)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	runPackage(t, `
		const { copy, addresses, row } = input;
		copy.file = Buffer.from(copy.file, "base64");
		const gate = gates.createGate({ copy, key: null, maxAge: Infinity, unreachable: "refuse" });
		const found = [];
		for (const address of addresses) {
			const { observed, reason } = await gate.check(row, address);
			found.push(observed.amount ?? reason);
		}
		console.log(JSON.stringify(found));`,
		map[string]any{"copy": newMadeCopy(file), "addresses": addresses,
			"row": map[string]string{"network": base, "asset": usdc, "payTo": payTo, "amount": "1"}}, &got)
	for i, address := range addresses {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%q: got %s, want %s", address, got[i], want[i])
		}
	}
}

// keyPEM returns the public half of a key as a directory publishes it.
func keyPEM(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// TestPackageHooks gives 402 responses of all forms to the package.
func TestPackageHooks(t *testing.T) {
	testgate.NotShort(t)
	row := func(to string) map[string]string {
		return map[string]string{"scheme": "exact", "network": base, "asset": usdc, "payTo": to, "amount": "10000"}
	}
	runProgram(t, "", "testdata/hooks.mjs", map[string]any{"copy": newMadeCopy(sampleFile(t)),
		"rows": []any{row(payTo), row(thief)}}, new(any))
}

// TestPackageDirectory reads a directory that changes, fails and lies with the package.
func TestPackageDirectory(t *testing.T) {
	testgate.NotShort(t)
	snapshot := func(id string, generation int, with ed25519.PrivateKey) madeCopy {
		d := &madeDirectory{file: sampleFile(t)}
		d.signAs(id, generation, with)
		return madeCopy{d.checkpoint, d.file}
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	runProgram(t, "", "testdata/directory.mjs", map[string]any{"key": keyPEM(t, key), "builtAt": builtAt.Format(time.RFC3339),
		"snapshots": []madeCopy{snapshot("20261130T040000Z-aaaaaa", 7, key), snapshot("20261130T040000Z-bbbbbb", 8, key),
			snapshot("20261130T040000Z-cccccc", 8, other)},
		"row": map[string]string{"network": base, "asset": usdc, "payTo": payTo, "amount": "1"}}, new(any))
}

// BenchmarkPackage prints how long checks take with the package, of a directory with 20,000 services of three URLs.
func BenchmarkPackage(b *testing.B) {
	var w Writer
	var asked [][2]any
	for i := range 20_000 {
		to := fmt.Sprintf("0x%040x", i)
		for j := range 3 {
			address := fmt.Sprintf("https://s%d.example/%d", i, j)
			w.Add(address, LevelGood, []Option{{base, usdc, to, fmt.Sprint(i)}})
			if i%50 == 0 && j == 1 {
				asked = append(asked, [2]any{map[string]string{"network": base, "asset": usdc, "payTo": to, "amount": fmt.Sprint(i)},
					address})
			}
		}
	}
	file, err := w.Encode(builtAt)
	if err != nil {
		b.Fatal(err)
	}
	d := &madeDirectory{file: file}
	d.sign(1)
	server := httptest.NewServer(d)
	defer server.Close()
	b.Logf("the file has %d bytes", len(file))
	for b.Loop() {
		var results map[string][]float64
		runProgram(b, "", "testdata/figures.mjs", map[string]any{"directory": server.URL, "key": keyPEM(b, key),
			"copy": madeCopy{d.checkpoint, file}, "asked": asked}, &results)
		for _, name := range slices.Sorted(maps.Keys(results)) {
			ms := slices.Sorted(slices.Values(results[name]))
			b.Logf("%-8s p50 %.3f ms, p99 %.3f ms", name, ms[len(ms)/2], ms[len(ms)*99/100])
		}
	}
}

// TestPackageInBrowser asks a directory of another origin from a page, with the module that is published.
func TestPackageInBrowser(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	chromium := lookPath(t, "chromium")
	d := &madeDirectory{file: sampleFile(t)}
	d.sign(1)
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			t.Errorf("%s needs a preflight", r.URL)
		}
		d.ServeHTTP(w, r)
	}))
	defer directory.Close()
	options, err := json.Marshal(map[string]any{"directory": directory.URL, "key": keyPEM(t, key), "unreachable": "refuse",
		"maxAge": 1e15})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/index.mjs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, "npm/dist/index.mjs")
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>Test</title><body><script type="module">
			import { createGate } from "/index.mjs";
			const row = { network: "base", asset: %q, payTo: %q, amount: "1" };
			const seen = await createGate(%s).check(row, %q).then((r) => r.verdict, (error) => error.stack);
			await fetch("/seen", { method: "POST", body: seen });
		</script>`, usdc, payTo, options, quote)
	})
	seen := make(chan string, 1)
	mux.HandleFunc("/seen", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen <- string(body)
	})
	page := httptest.NewServer(mux)
	defer page.Close()
	profile, err := os.MkdirTemp("", "gate") // t.TempDir would fail while the browser's processes still write
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu",
		"--remote-debugging-port=0", "--user-data-dir="+profile, page.URL+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case verdict := <-seen:
		if verdict != Match {
			t.Errorf("the page got %s", verdict)
		}
	case err := <-ended:
		t.Fatalf("the browser ended: %v", err)
	}
	_ = cmd.Process.Kill()
	<-ended
}
