package edge

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/testgate"
)

// vectorDecimals matches the decimals of a vector, which JavaScript must not read as numbers.
var vectorDecimals = regexp.MustCompile(`("(?:price|dearest_usd|organic_volume_usd_30d|max_price_usd|[A-Z]{3})":)([0-9.]+)`)

// TestBest checks that the worker answers every vector of search.FindBest with the same bytes.
func TestBest(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	data, err := os.ReadFile("../../search/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Data []struct{ Name, Response string }
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	program, err := Worker(Cloudflare{Bucket: "BUCKET", Limiter: "LIMITER", Serve: "SERVE", RateLimit: 200})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "worker.mjs")
	if err := os.WriteFile(file, []byte(string(program)+`
import { readFileSync } from "node:fs";
const responses = [];
for (const { wanted, services, now } of JSON.parse(readFileSync(0)).data) {
	for (const e of services.flatMap((s) => s.endpoints ?? [])) [e.networks, e.prices] = [e.networks ?? [], e.prices ?? {}];
	for (const s of services) s.endpoints ??= [];
	const [list, meta] = RANKING.recommend(await RANKING.rank(wanted, services, Date.parse(now), async (facts) => facts));
	responses.push(frame(null, list.map(results.rowJSON), results.rowJSON(meta)));
}
console.log(JSON.stringify(responses));`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", file)
	cmd.Stdin = bytes.NewReader(vectorDecimals.ReplaceAll(data, []byte(`$1"$2"`)))
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var responses []string
	if err := json.Unmarshal(out, &responses); err != nil {
		t.Fatal(err)
	}
	if len(responses) != len(vectors.Data) || len(responses) < 20 {
		t.Fatalf("%d responses to %d vectors", len(responses), len(vectors.Data))
	}
	for i, v := range vectors.Data {
		if diff := cmp.Diff(v.Response, responses[i]); diff != "" {
			t.Errorf("%s (-go +worker):\n%.1500s", v.Name, diff)
		}
	}
}
