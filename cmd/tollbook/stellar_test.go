package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
)

// TestIndexStellar reads a Horizon server behind a URL with a key: from empty, again, with new transactions, and while
// it is down. The figures are then in the snapshot.
func TestIndexStellar(t *testing.T) {
	t.Parallel()
	history, settler := chaintest.StellarHistory(105)
	horizon := chaintest.NewStellar(history[:100])
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/"+nodeKey) || r.URL.Query().Get("apikey") != nodeKey:
			w.WriteHeader(http.StatusUnauthorized)
		case down.Load():
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		default:
			horizon.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	list, data := filepath.Join(dir, "list.json"), filepath.Join(dir, "data")
	write(t, list, fmt.Sprintf(`{"facilitators": [{"id": "acme", "name": "Acme", "upstream_status": "merged",
		"website_url": "https://acme.test",
		"addresses": [{"network": "stellar:pubnet", "address": %q, "tokens": [%q]}]}]}`, settler,
		chaintest.StellarUSDC))
	write(t, filepath.Join(dir, "own.toml"), fmt.Sprintf("[[network]]\ncaip2 = \"stellar\"\nrpc = [%q]\n",
		server.URL+"/"+nodeKey+"?apikey="+nodeKey))
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	ran(t, env, "facilitators", "import", list)
	for _, c := range []struct {
		name   string
		change func()
		code   int
		want   string // beginning of what is printed
	}{
		{"from empty", func() {}, 0,
			"Stellar (stellar:pubnet): 80 new settlements, 0 rolled back; 80 transactions read"},
		{"again", func() {}, 0, "Stellar (stellar:pubnet): 0 new settlements, 0 rolled back; 0 transactions read"},
		{"with new ones", func() { horizon.Grow(history) }, 0, "Stellar (stellar:pubnet): 4 new settlements"},
		{"down", func() { down.Store(true) }, 1, "tollbook: index stellar:pubnet: http://127.0.0.1:"},
	} {
		c.change()
		code, stdout, stderr := tollbook(t, env, "index", "--once", "--config", filepath.Join(dir, "own.toml"))
		if code != c.code || code == 0 && !strings.HasPrefix(stdout, c.want) ||
			!strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", c.name, code, c.code, c.want, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, nodeKey) {
			t.Errorf("%s: a key is shown:\n%s%s", c.name, stdout, stderr)
		}
	}

	ran(t, env, "build", "--data", data, "--config", filepath.Join(dir, "own.toml"))
	published := func(path string) string {
		text, err := os.ReadFile(filepath.Join(data, "public", "current", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	acme := decode[struct{ Data map[string]any }](t, published("v1/facilitators/acme.json")).Data
	want := map[string]any{"volume_usd_all": 0.000441, "tx_count_all": 84.0, "settler_count": 1.0,
		"verification": "on-chain", "last_activity_at": "2026-07-01T00:04:25.000Z"} // 1 to 105 without each fifth
	for member, value := range want {
		if acme[member] != value {
			t.Errorf("%s of the facilitator: %v, want %v", member, acme[member], value)
		}
	}
	at := site.NewTime(chaintest.StellarStart.Add(63 * 5 * time.Second)) // of ledger 61000063
	since, filling, head, mainnet := site.NewTime(chaintest.StellarStart), int64(0), int64(61_000_063), true
	got := decode[struct {
		Data struct{ Networks []site.NetworkCoverage }
	}](t, published("v1/coverage.json")).Data.Networks
	if len(got) != 1 {
		t.Fatalf("%d networks are covered, want 1", len(got))
	}
	got[0].HeadPolledAt, got[0].Cursor.AgeSeconds = nil, nil // depend on the clock
	if diff := cmp.Diff(site.NetworkCoverage{Network: "XLM", NetworkCAIP2: "stellar:pubnet", Name: "Stellar",
		IsMainnet: &mainnet, Measured: true, MeasuredSince: &since, Cursor: &site.ChainCursor{Time: &at},
		HeadBlock: &head, ComparedNodes: new(1),
		Filling: &filling, Tokens: []site.TokenCoverage{}, Timeseries: []site.VolumePoint{},
		TimeseriesByToken: []site.TokenSeries{}, Facilitators: []site.NetworkFacilitator{}}, got[0]); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
}
