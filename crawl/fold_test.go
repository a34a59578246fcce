package crawl

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// records returns all change records, oldest first.
func (m *memory) records(t *testing.T) []checks.Change {
	t.Helper()
	rows, err := m.conn.Query(t.Context(),
		`SELECT service_id, type, observed_at, summary, old_snapshot, new_snapshot FROM changes ORDER BY `+
			`observed_at, id`)
	if err != nil {
		t.Fatal(err)
	}
	records, err := pgx.CollectRows(rows, pgx.RowToStructByPos[checks.Change])
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestFolding changes a price at some minutes and checks the records: at most one an hour, each of which starts from
// the prices that the record before ended with.
func TestFolding(t *testing.T) {
	t.Parallel()
	type step struct {
		minute int
		price  string // "" for a 404
	}
	for _, test := range []struct {
		name  string
		steps []step
		want  []string // minute: old -> new
	}{
		{"one change", []step{{0, "1"}, {15, "2"}, {30, "2"}, {90, "2"}}, []string{"15: 1 -> 2"}},
		{"first change at once, further ones an hour later",
			[]step{{0, "1"}, {15, "2"}, {30, "3"}, {45, "4"}, {60, "4"}, {75, "4"}, {90, "4"}},
			[]string{"15: 1 -> 2", "75: 2 -> 4"}},
		{"a price that changed and came back makes no record",
			[]step{{0, "1"}, {15, "2"}, {30, "3"}, {45, "2"}, {75, "2"}, {90, "2"}, {150, "2"}},
			[]string{"15: 1 -> 2"}},
		{"a change on the hour", []step{{0, "1"}, {15, "2"}, {30, "3"}, {75, "4"}, {90, "4"}, {135, "4"}},
			[]string{"15: 1 -> 2", "75: 2 -> 4"}},
		{"held back while the service is down", []step{{0, "1"}, {15, "2"}, {30, "3"}, {45, ""}, {75, ""}, {90, "3"}},
			[]string{"15: 1 -> 2", "75: 2 -> 3"}},
		{"at once again after an hour without changes",
			[]step{{0, "1"}, {15, "2"}, {75, "2"}, {80, "3"}, {85, "4"}, {140, "4"}},
			[]string{"15: 1 -> 2", "80: 2 -> 3", "140: 3 -> 4"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var price atomic.Value
			base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if p := price.Load().(string); p != "" {
					pay(w, v2("10000", p))
				} else {
					http.NotFound(w, r)
				}
			}))
			m := open(t)
			l := oneEndpoint("acme", base, "/x")
			l.Interval = time.Second
			m.list(t, l)
			now := &clock{}
			for _, s := range test.steps {
				c := crawler(t, m, Options{Now: now.Now}, o) // a new crawler each time: only Postgres has state
				price.Store(s.price)
				now.set(dawn.Add(time.Duration(s.minute) * time.Minute))
				round(t, c)
			}
			var got []string
			for _, c := range m.records(t) {
				var s site.PriceSummary
				if err := json.Unmarshal(c.Summary, &s); err != nil || len(s.PriceChanges) != 1 {
					t.Fatalf("summary %s of %s: %v", c.Summary, c.Type, err)
				}
				got = append(got, fmt.Sprintf("%.0f: %s -> %s", c.ObservedAt.Sub(dawn).Minutes(),
					s.PriceChanges[0].OldPrice, s.PriceChanges[0].NewPrice))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFlood visits a service 500 times, seven minutes apart. Price, recipient and timeout differ in every answer. There
// must be at most one record per type and hour, each snapshot must begin where the last one ended, and the last terms
// must be reported within the hour.
func TestFlood(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := n.Load()
		if r.Method == http.MethodGet {
			i = n.Add(1)
		}
		pay(w, v2("10000", strconv.FormatInt(10000+i, 10), ":60", fmt.Sprintf(":%d", 60+i),
			"0x209693Bc6afc0C5328bA36FaF03C514EF312287C", fmt.Sprintf("0x%040x", i)))
	}))
	m := open(t)
	l := oneEndpoint("acme", base, "/x")
	l.Interval = time.Second
	m.list(t, l)
	now := &clock{}
	c := crawler(t, m, Options{Now: now.Now}, o)
	const visits, apart = 500, 7 * time.Minute
	for i := range visits {
		now.set(dawn.Add(time.Duration(i) * apart))
		round(t, c)
	}
	last := map[string]checks.Change{}
	counts := map[string]int{}
	for _, r := range m.records(t) {
		before, ok := last[r.Type]
		if ok && r.ObservedAt.Sub(before.ObservedAt) < time.Hour {
			t.Errorf("%s: a record %s after another", r.Type, r.ObservedAt.Sub(before.ObservedAt))
		}
		if ok && string(before.NewSnapshot) != string(r.OldSnapshot) {
			t.Errorf("%s at %s: old snapshot\n%s\nbut the record before ended with\n%s", r.Type, r.ObservedAt,
				r.OldSnapshot,
				before.NewSnapshot)
		}
		last[r.Type] = r
		counts[r.Type]++
	}
	const each = 1 + (visits-2)*7/63 // one at the second visit, then one every ninth visit
	if diff := cmp.Diff(map[string]int{"schema_changed": each, "price_changed": each, "payto_changed": each},
		counts); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	const looks = 3 * 3 // three days, with two more readers and a second look as the first each
	if requests, ok := n.Load(), last[site.PriceChanged].NewSnapshot; requests != visits+looks ||
		!strings.Contains(string(ok), `"price": "1`) {
		t.Errorf("%d requests, last snapshot %s", requests, ok)
	}
}

// TestRecordFields checks a stored record field by field: every member of the published change events, null for unknown
// values, extra as JSON text, EIP-55 addresses, abbreviated recipients, and UNKNOWN for an unknown asset.
func TestRecordFields(t *testing.T) {
	t.Parallel()
	const before = `{"x402Version":2,"resource":{"url":"http://x","mimeType":"text/csv"},"accepts":[` +
		`{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
		`"asset":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",` +
		`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"extra":{"name":"USD ` +
		`Coin","version":"2"}},` +
		`{"scheme":"upto","network":"eip155:8453","amount":"7","asset":"0x1111111111111111111111111111111111111111",` +
		`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}]}`
	after := strings.NewReplacer("10000", "20000", "USD Coin", "USDC", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed").Replace(before)
	var body atomic.Value
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, body.Load().(string)) }))
	m := open(t)
	m.list(t, oneEndpoint("acme", base, "/x y"))
	now := &clock{}
	c := crawler(t, m, Options{Now: now.Now}, o)
	for i, b := range []string{before, after} {
		body.Store(b)
		now.set(dawn.Add(time.Duration(i) * time.Hour))
		round(t, c)
	}
	var got []string
	for _, r := range m.records(t) {
		for _, text := range []json.RawMessage{r.Summary, r.OldSnapshot, r.NewSnapshot} {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			plain, err := json.Marshal(v) // members sorted
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.ReplaceAll(string(plain), base, "BASE"))
		}
		got = append(got, r.Type)
	}
	entry := func(asset, name, extra, payTo, price, scheme, timeout string) string {
		return `{"asset":"` + asset + `","assetName":"` + name + `","endpoint":"GET /x y","extra":` + extra +
			`,"maxTimeoutSeconds":` + timeout +
			`,"mimeType":"text/csv","network":"eip155:8453","payTo":"` + payTo + `","price":"` + price +
			`","resource":"BASE/x y","scheme":"` + scheme + `","x402Version":2}`
	}
	const usdc, odd = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x1111111111111111111111111111111111111111"
	old := "[" + entry(usdc, "USDC", `"{\"name\":\"USD Coin\",\"version\":\"2\"}"`, "0x2096…287C", "10000", "exact",
		"60") + "," +
		entry(odd, "UNKNOWN", "null", "0x2096…287C", "7", "upto", "null") + "]"
	new := "[" + entry(usdc, "USDC", `"{\"name\":\"USDC\",\"version\":\"2\"}"`, "0x5aAe…eAed", "20000", "exact", "60") +
		"," +
		entry(odd, "UNKNOWN", "null", "0x5aAe…eAed", "7", "upto", "null") + "]"
	line := func(extra string) string {
		return `"GET /x%20y exact eip155:8453 ` + usdc + ` USDC 2  60 {\"name\":\"` + extra + `\",\"version\":\"2\"}"`
	}
	const move = `{"endpoint":"GET /x y","network":"eip155:8453",` +
		`"newPayTo":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",` +
		`"oldPayTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}`
	want := []string{
		`{"endpointsAdded":[],"endpointsRemoved":[],"schemaAdded":[` + line("USDC") + `],"schemaRemoved":[` +
			line(`USD\\u0020Coin`) + `]}`, old, new, "schema_changed",
		`{"priceChanges":[{"assetName":"USDC","endpoint":"GET /x y","network":"eip155:8453","newPrice":"20000",` +
			`"oldPrice":"10000"}]}`, old, new, "price_changed",
		`{"payToAdded":["0x5aAe…eAed"],"payToChanges":[` + move + `],` +
			`"payToRemoved":["0x2096…287C"]}`, old, new, "payto_changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestCompareFails checks that no change is lost if a comparison fails: the next record contains it.
func TestCompareFails(t *testing.T) {
	t.Parallel()
	var price atomic.Value
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pay(w, v2("10000", price.Load().(string)))
	}))
	m := open(t)
	l := oneEndpoint("acme", base, "/x")
	l.Interval = time.Second
	m.list(t, l)
	now := &clock{}
	c := crawler(t, m, Options{Now: now.Now}, o)
	visit := func(minute int, p string) {
		price.Store(p)
		now.set(dawn.Add(time.Duration(minute) * time.Minute))
		round(t, c)
	}
	visit(0, "1")
	if _, err := m.conn.Exec(t.Context(), `ALTER TABLE prices RENAME COLUMN position TO place`); err != nil {
		t.Fatal(err)
	}
	due, err := m.TakeServices(t.Context(), "", dawn.Add(10*time.Minute), time.Second, 1)
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	price.Store("2")
	now.set(dawn.Add(10 * time.Minute))
	v, ok := c.visit(t.Context(), due[0])
	if _, err := m.conn.Exec(t.Context(), `ALTER TABLE prices RENAME COLUMN place TO position`); err != nil {
		t.Fatal(err)
	}
	if err := m.RecordVisits(t.Context(), []checks.Visit{v}); err != nil || !ok || v.BaselineAt == nil {
		t.Fatal(v.BaselineAt, ok, err)
	}
	visit(20, "2")
	visit(70, "2")
	var got []string
	for _, r := range m.records(t) {
		got = append(got, fmt.Sprintf("%.0f %s", r.ObservedAt.Sub(dawn).Minutes(), r.Type))
	}
	if diff := cmp.Diff([]string{"70 price_changed"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
