package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestCut checks that a text has at most so many bytes of JSON, is valid and ends with an ellipsis if it is shortened.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"abc", 5, "abc"},
		{"abcde", 5, "abcde"},
		{"abcdef", 5, "ab…"},
		{"ééééé", 8, "éé…"},
		{"<<<", 12, "<…"},
		{"a\n\nb", 5, "a b"},
		{`""""`, 8, `""""`},
		{`"""""`, 8, `""…`},
		{"\u202e\u200bab", 5, "ab"},
	} {
		got := cut(tt.in, tt.limit)
		data, err := json.Marshal(got)
		if got != tt.want || err != nil || len(data)-2 > tt.limit {
			t.Errorf("cut(%q, %d) = %q of %d bytes, want %q", tt.in, tt.limit, got, len(data)-2, tt.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a <b> &\u2028 \"\\\" é 😀 \xff", 9)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 3), 200)
		got := cut(s, limit)
		data, err := json.Marshal(got)
		if err != nil || len(data)-2 > limit || !utf8.ValidString(got) {
			t.Errorf("cut(%q, %d) = %q, %s, %v", s, limit, got, data, err)
		}
	})
}

// TestHostileTextsStaySmall checks the size of results in which each text that a stranger chooses is as long as can be
// and each byte of it needs six in JSON.
func TestHostileTextsStaySmall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 400)
	slug := strings.Repeat("a", 80)
	list := func(row string, n int) string {
		return strings.Join(strings.Split(strings.Repeat(row+"\n", n), "\n")[:n], ",")
	}
	networks := list(`"`+strings.Repeat("x", 8)+":"+strings.Repeat("y", 32)+`"`, 40)
	row := fmt.Sprintf(`{"slug":%q,"name":%q,"description":%q,"category":%q,"status":"degraded",`+
		`"min_price_usd":0.000000000000000001,"networks":[%s],"uptime_24h":99.99,"risk_level":"danger",`+
		`"risk_reason":%q,"created_at":"2026-11-20T00:00:00.000Z","score":100,"matched":["name"],"assessment":`+
		`{"compliance_grade":"unknown","reliability_uptime_30d":99.99},"endpoints":[{"method":%q,"path":%q,`+
		`"price_usd":"0.000000000000000001",`+
		`"networks":[%s],"matched":["path"]}]}`, slug, long, long, long, networks, long, long, long, networks)
	advice := fmt.Sprintf(`{"slug":%q,"name":%q,"endpoint":{"method":%q,"path":%q,"url":%q,"description":%q},`+
		`"price_usd":"0.000000000000000001","network":"BSE","score":99.9,"why":%q}`, slug, long, long, long, long, long,
		strings.Repeat("why ", 60))
	excluded := fmt.Sprintf(`{"slug":%q,"code":"danger","reason":%q}`, slug, strings.Repeat("why ", 30))
	price := fmt.Sprintf(`{"network":%q,"asset_name":%q,"price":%q,"price_usd":"0.1","pay_to":%q}`, long, long, long,
		long)
	endpoint := fmt.Sprintf(`{"method":%q,"path":%q,"description":%q,"networks":[%s],"pricing":[%s]}`, long, long, long,
		networks, list(price, 8))
	flag := fmt.Sprintf(`{"level":"danger","code":"x","title":%q,"evidence":%q}`, long, long)
	service := fmt.Sprintf(`{"slug":%q,"name":%q,"description":%q,"base_url":%q,"category":%q,"networks":[%s],`+
		`"endpoints":[%s],"assessment":{"risk":{"level":"danger","flags":[%s]},"compliance":{"grade_reason":%q}}}`,
		slug, long, long, long, long, networks, list(endpoint, 12), list(flag, 20), long)
	change := fmt.Sprintf(`{"slug":%q,"name":%q,"type":"schema_changed","observed_at":"2026-11-20T00:00:00.000Z",`+
		`"summary":{"schemaAdded":[%s]}}`, slug, long, list(fmt.Sprintf("%q", long), 50))
	for _, tt := range []struct {
		tool, args, body string
		most             int
	}{
		{"search_services", `{}`, `{"data":[` + list(row, 10) +
			`],"meta":{"total":10000,"page":1,"per_page":10,"total_pages":1000}}`, 4096},
		{"search_services", `{}`, `{"data":[` + list(row, 100) + `],"meta":{"total":100}}`, 40960},
		{"best_service", `{}`,
			`{"data":[` + list(advice, 5) + `],"meta":{"excluded":[` + list(excluded, 20) + `]}}`, 4096},
		{"best_service", `{}`, `{"data":[],"meta":{"excluded":[` + list(excluded, 20) + `]}}`, 4096},
		{"get_service", `{"slug":"a"}`, `{"data":` + service + `}`, 4096},
		{"list_changes", `{}`, `{"data":[` + list(change, 10) + `],"meta":{"total":10}}`, 4096},
	} {
		s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Snapshot", "20261120T123000Z-70a77d")
			_, _ = io.WriteString(w, tt.body)
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, body := post(t, listen(t, NewHandler(s, nil)), fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tt.tool, tt.args),
			nil)
		if len(body) > tt.most || !strings.Contains(body, `"structuredContent":`) || !strings.Contains(body, slug) {
			t.Errorf("%s: %d bytes, want at most %d:\n%.3000s", tt.tool, len(body), tt.most, body)
		}
	}
}

// TestCompactChanges checks that compact change records have the changes of each type, and say how many they leave out.
func TestCompactChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		summary string
		want    changeRow
	}{
		{`{"priceChanges":[{"network":"n","endpoint":"GET /a","newPrice":"2","oldPrice":"1","assetName":"USDC"}]}`,
			changeRow{Changes: []string{"GET /a n USDC: 1 → 2"}}},
		{`{"priceChanges":[{"network":"n","endpoint":"GET /a","newPrice":"2","oldPrice":"1","assetName":"USDC"},{}],
			"omitted":{"differences":40,"entries":9}}`,
			changeRow{Changes: []string{"GET /a n USDC: 1 → 2"}, MoreChanges: 41}},
		{`{"payToChanges":[{"network":"n","endpoint":"GET /a","newPayTo":"x","oldPayTo":null}],"payToAdded":["x"],
			"omitted":{"differences":3,"entries":0}}`,
			changeRow{Changes: []string{"GET /a n: none → x"}, MoreChanges: 3}},
		{`{"endpointsAdded":["GET /b"],"schemaAdded":["GET /b exact"],"omitted":{"differences":5,"entries":0}}`,
			changeRow{Changes: []string{"endpoint added: GET /b"}, MoreChanges: 6}},
		{`[]`, changeRow{Changes: []string{}}},
	} {
		v := &site.List[site.ChangeRecord, json.RawMessage]{Data: []site.ChangeRecord{
			{Summary: json.RawMessage(test.summary)}}}
		got := compactChanges(v, size{rows: 1, text: 100, name: 100}).(compactList[changeRow]).Data
		if diff := cmp.Diff([]changeRow{test.want}, got, cmp.AllowUnexported(site.Time{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.summary, diff)
		}
	}
}
