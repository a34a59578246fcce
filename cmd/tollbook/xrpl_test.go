package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// TestIndexXRPL reads payments on the XRP Ledger with the shipped list, to the recipient of a listed service: from
// empty, again, and with new payments. The figures are then in the snapshot, XRP without a volume in dollars.
func TestIndexXRPL(t *testing.T) {
	t.Parallel()
	history := chaintest.XRPLHistory(211)
	for _, row := range history[200:] { // the last ones are in XRP
		row["meta"].(map[string]any)["delivered_amount"] = "250000"
	}
	node := chaintest.NewXRPL(history[:101])
	server := httptest.NewServer(node)
	defer server.Close()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "own.toml")
	write(t, config, fmt.Sprintf("[[network]]\ncaip2 = \"xrpl\"\nrpc = [%q]\n", server.URL))
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "facilitators", "import")
	listRecipient(t, dsn, chaintest.XRPLID, chaintest.XRPLRecipients[0])
	for _, c := range []struct {
		name   string
		change func()
		want   string // beginning of what is printed
	}{
		{"from empty", func() {}, "XRP Ledger (xrpl:0): 40 new settlements, 0 rolled back; 50 transactions read"},
		{"again", func() {}, "XRP Ledger (xrpl:0): 0 new settlements, 0 rolled back; 0 transactions read"},
		{"with new ones", func() { node.Grow(history) }, "XRP Ledger (xrpl:0): 44 new settlements"},
	} {
		c.change()
		if got := ran(t, env, "index", "--once", "--config", config); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: prints %q, want %q", c.name, got, c.want)
		}
	}

	ran(t, env, "build", "--data", data, "--config", config)
	published := func(path string) string {
		text, err := os.ReadFile(filepath.Join(data, "public", "current", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t54 := decode[struct {
		Data struct {
			Chains   []map[string]any
			Settlers []map[string]any
		}
	}](t, published("v1/facilitators/t54.json")).Data
	var got [][]any
	for _, c := range t54.Chains {
		got = append(got, []any{c["asset_name"], c["token_address"], c["tx_count_all"], c["volume_usd_all"]})
	}
	// even numbers to 200 without tens, in thousandths; then XRP
	want := [][]any{{"RLUSD", chaintest.XRPLRLUSD, 80.0, 8.0}, {"XRP", "XRP", 4.0, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens, settlements and volume (-want +got):\n%s", diff)
	}
	if len(t54.Settlers) != 1 || t54.Settlers[0]["kind"] != "source_tag" ||
		t54.Settlers[0]["address"] != "source_tag:804681468" {
		t.Errorf("settlers %v, want the source tag", t54.Settlers)
	}
	coverage := decode[struct {
		Data struct{ Networks []map[string]any }
	}](t, published("v1/coverage.json")).Data.Networks
	if len(coverage) != 1 || coverage[0]["measured"] != true || coverage[0]["filling"] != 0.0 ||
		coverage[0]["head_block"] != 100_000_106.0 {
		t.Errorf("coverage %v, want the network measured up to its head", coverage)
	}
	// a page names a mark, and links it nowhere
	if page := published("facilitators/t54.html"); !strings.Contains(page, "<code>source_tag:804681468</code>") ||
		strings.Contains(page, "accounts/source_tag") {
		t.Errorf("the page does not show the mark as one:\n%s", page)
	}
}

// listRecipient lists a service that asks to be paid at an address.
func listRecipient(t *testing.T, dsn, network, recipient string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := time.Now().UTC().Truncate(time.Second)
	if err := db.AddListings(t.Context(), []postgres.Listing{{Slug: "acme", Name: "Acme", Description: "d",
		BaseURL: "https://acme.test", Category: "AI", Source: "imported:file", CreatedAt: at,
		Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/a"}}}}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", at, time.Minute, 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d services due, error %v", len(due), err)
	}
	online, ms := "online", 120
	e := due[0].Endpoints[0].ID
	if err := db.RecordVisits(t.Context(), []checks.Visit{{
		Check: checks.Check{ServiceID: due[0].ID, CheckedAt: at, ID: uuid.New(), Counted: true, Status: &online,
			IsUp: true, StatusCode: new(402), ResponseTimeMS: &ms, EndpointsFound: 1},
		NextCheckAt: at.Add(time.Hour),
		Endpoints: []checks.EndpointVisit{{ID: e, ProbedAt: at, Class: "paid", PricesChanged: true,
			Prices: []checks.Price{{EndpointID: e, Since: at, PayTo: recipient, NetworkCAIP2: &network,
				Amount: "1"}}}},
	}}); err != nil {
		t.Fatal(err)
	}
}
