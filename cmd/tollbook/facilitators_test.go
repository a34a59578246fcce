package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
)

// facilitatorFields lists the fields of the contract.
const facilitatorFields = `
	facilitator_id string
	name string
	website_url uri
	volume_usd_24h number
	volume_usd_7d number
	volume_usd_30d number
	volume_usd_all number
	tx_count_24h integer
	tx_count_7d integer
	tx_count_30d integer
	tx_count_all integer
	last_activity_at date-time|null
	settler_count integer
	verification string
	first_activity_at date-time|null`

func init() { // adds them to the other resources of the contract
	for name, fields := range map[string]string{
		"FacilitatorListItem":       facilitatorFields,
		"FacilitatorChains":         facilitatorFields + "\nchains FacilitatorChain[]",
		"FacilitatorSeries":         facilitatorFields + "\ntimeseries VolumePoint[]",
		"FacilitatorBoth":           facilitatorFields + "\ntimeseries VolumePoint[]\nchains FacilitatorChain[]",
		"FacilitatorPaginationMeta": contract["PaginationMeta"] + "\ntimeframe string",
		"VolumePoint":               "date string\nvolume_usd number\ntx_count integer",
		"FacilitatorChain": `
			network string
			network_caip2 string
			token_address string
			token_address_norm string
			asset_name string
			volume_usd_24h number|null
			volume_usd_7d number|null
			volume_usd_30d number|null
			volume_usd_all number|null
			tx_count_24h integer
			tx_count_7d integer
			tx_count_30d integer
			tx_count_all integer
			last_activity_at date-time|null
			verification string
			first_activity_at date-time|null`,
	} {
		contract[name] = fields
	}
	for _, e := range []struct{ query, row string }{
		{"", "FacilitatorListItem"}, {"?timeframe=all&per_page=100", "FacilitatorListItem"},
		{"?include=chains", "FacilitatorChains"},
		{"?include=timeseries&days=1", "FacilitatorSeries"},
		{"?include=timeseries,chains&per_page=7&page=3", "FacilitatorBoth"},
	} {
		endpoints = append(endpoints, struct{ path, data, meta string }{"/v1/facilitators" + e.query, e.row + "[]",
			"FacilitatorPaginationMeta"})
	}
}

// TestFacilitators imports a list, records settlements and builds. It compares the responses for every parameter with a
// naive count of the settlements.
func TestFacilitators(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	data := t.TempDir()
	tell := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := tollbook(t, env, append(args, "--data", data)...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}
	if got := tell("facilitators",
		"list"); got != "No facilitators are stored. Add those that come with Tollbook: tollbook facilitators "+
		"import\n" {
		t.Errorf("list of nothing: %q", got)
	}
	if got := tell("facilitators", "import"); !strings.HasPrefix(got, "91 added: 402104 anyspend ") ||
		!strings.HasSuffix(got,
			"\n0 changed\n0 unchanged\n286 accounts added, 0 removed; 0 facilitators are not in this list and stay\n") {
		t.Errorf("import says:\n%s", got)
	}
	if got := tell("facilitators", "import"); !strings.Contains(got, "\n91 unchanged\n0 accounts added") {
		t.Errorf("a second import says:\n%s", got)
	}
	file := filepath.Join(data, "list.json")
	if err := os.WriteFile(file,
		[]byte(
			`{"facilitators": [{"id": "acme", "name": "Acme", "facilitator_url": "https://acme.test/x402", `+
				`"upstream_status": "merged", "addresses": []}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := tell("facilitators", "import", file, "--json"), `{"accounts_added":0,"accounts_removed":0,`+
		`"added":["acme"],"changed":[],"left":[],"others":91}`+"\n"; got != want {
		t.Errorf("import of a file says: %s", got)
	}
	tell("facilitators", "trust", "b402")
	list := decode[[]struct {
		ID        string `json:"id"`
		Status    string `json:"upstream_status"`
		Trusted   bool   `json:"trusted"`
		Addresses []struct {
			Network, Address string
			Tokens           []string
		}
	}](t, tell("facilitators", "list", "--json"))
	if len(list) != 92 {
		t.Fatalf("%d are listed, want 92", len(list))
	}
	if got := tell("facilitators", "list"); strings.Count(got, "\n") != 93 || !strings.Contains(got, "b402") {
		t.Errorf("list:\n%s", got)
	}

	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UTC()
	r := rand.New(rand.NewPCG(4020, 402))
	var settled []ledger.Settlement
	counts := map[string]bool{}
	for _, f := range list {
		counts[f.ID] = len(f.Addresses) > 0 && (f.Trusted || f.ID == "mpp" || f.ID == "t54" ||
			strings.HasPrefix(f.Status, "merged"))
		for _, a := range f.Addresses {
			for i := range r.IntN(20) {
				at := now.Add(-time.Duration(r.Int64N(int64(80 * 24 * time.Hour)))).Truncate(time.Second)
				settled = append(settled, ledger.Settlement{
					Network: a.Network, Block: at.Unix(), Time: at, Transaction: fmt.Sprint(a.Address, i),
					LogIndex: r.IntN(3), Facilitator: f.ID,
					Settler: a.Address, Token: a.Tokens[0], Payer: "payer", Payee: "payee",
					Amount: strconv.Itoa(r.IntN(1e9)),
				})
			}
		}
	}
	if n, err := db.RecordSettlements(t.Context(), settled); err != nil || n != int64(len(settled)) {
		t.Fatalf("%d of %d recorded, error %v", n, len(settled), err)
	}
	tell("build")
	source, err := output.OpenSource(filepath.Join(data, "public"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	now = snap.Checkpoint.Built().UTC() // windows end at the build
	snap.Release()
	h := serve.NewHandler(serve.Options{Source: source})
	ask := func(query string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/facilitators"+query, nil))
		return w.Code, w.Body.String()
	}
	checkFacilitatorContract(t, ask)
	checkFacilitatorSums(t, ask, settled, counts, now)
	checkFacilitatorWindows(t, ask)
}

// checkFacilitatorContract compares responses with the contract's fields. Wrong values must return a 400 that names
// them.
func checkFacilitatorContract(t *testing.T, ask func(string) (int, string)) {
	t.Helper()
	for query, row := range map[string]string{
		"": "FacilitatorListItem", "?include=": "FacilitatorListItem",
		"?timeframe=all&per_page=100": "FacilitatorListItem",
		"?include=chains":             "FacilitatorChains", "?include=timeseries&days=1": "FacilitatorSeries",
		"?include=timeseries,chains&per_page=7&page=3": "FacilitatorBoth",
		"?page=1000000": "FacilitatorListItem",
	} {
		code, body := ask(query)
		if faults := checkBody(body, row+"[]", "FacilitatorPaginationMeta"); code != 200 || len(faults) > 0 {
			t.Errorf("%s: %d\n%s", query, code, strings.Join(faults[:min(len(faults), 10)], "\n"))
		}
	}
	for _, id := range []string{"b402", "payAI", "acme", "b402?period=all&series_by=chain", "payAI?period=all"} {
		code, body := ask("/" + id)
		if faults := checkBody(body, "FacilitatorDetail", ""); code != 200 || len(faults) > 0 {
			t.Errorf("/%s: %d\n%s", id, code, strings.Join(faults[:min(len(faults), 10)], "\n"))
		}
	}
	for _, id := range []string{"nobody", "payai", "B402", "-", "..", "b402.x"} {
		if code, body := ask("/" + id); code != 404 {
			t.Errorf("/%s: %d %.200s, want 404", id, code, body)
		}
	}
	for query, field := range map[string]string{
		"?timeframe=90d": "timeframe", "?include=all": "include", "?days=0": "days", "?days=91": "days",
		"?per_page=0": "per_page", "?page=-1": "page",
		"/b402?period=7d": "period", "/b402?series_by=token": "series_by",
	} {
		if code, body := ask(query); code != 400 || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
}

type facilitatorList struct {
	Data []site.FacilitatorListItem
	Meta struct {
		site.PaginationMeta
		Timeframe string
	}
}

// checkFacilitatorSums counts settlements by facilitator, by window and by day.
func checkFacilitatorSums(t *testing.T, ask func(string) (int, string), settled []ledger.Settlement,
	counts map[string]bool, now time.Time) {
	t.Helper()
	_, body := ask("?per_page=100&include=timeseries,chains&days=90&timeframe=all")
	got := decode[facilitatorList](t, body)
	hour, today := now.Truncate(time.Hour), now.Truncate(24*time.Hour)
	verified := 0
	for _, f := range got.Data {
		n := map[string]int64{}
		days := map[string]int64{}
		var last time.Time
		for _, s := range settled {
			if s.Facilitator != f.FacilitatorID || !counts[f.FacilitatorID] {
				continue
			}
			n["all"]++
			days[s.Time.Format(time.DateOnly)]++
			if !s.Time.Before(hour.Add(-24 * time.Hour)) {
				n["24h"]++
			}
			if !s.Time.Before(today.AddDate(0, 0, -6)) {
				n["7d"]++
			}
			if !s.Time.Before(today.AddDate(0, 0, -29)) {
				n["30d"]++
			}
			if s.Time.After(last) {
				last = s.Time
			}
		}
		want := []int64{n["24h"], n["7d"], n["30d"], n["all"]}
		if diff := gocmp.Diff(want, []int64{f.TxCount24h, f.TxCount7d, f.TxCount30d, f.TxCountAll}); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", f.FacilitatorID, diff)
		}
		if (f.LastActivityAt == nil) != last.IsZero() || f.LastActivityAt != nil && !f.LastActivityAt.Equal(last) {
			t.Errorf("%s: last activity %v, want %v", f.FacilitatorID, f.LastActivityAt, last)
		}
		if on := f.Verification == site.VerificationOnChain; on != counts[f.FacilitatorID] {
			t.Errorf("%s: %s", f.FacilitatorID, f.Verification)
		} else if on {
			verified++
		}
		if len(f.Timeseries) != 90 {
			t.Fatalf("%s: %d days", f.FacilitatorID, len(f.Timeseries))
		}
		for i, p := range f.Timeseries {
			if date := today.AddDate(0, 0, i-89).Format(time.DateOnly); p.Date != date || p.TxCount != days[date] {
				t.Errorf("%s: day %d is %+v, want %s with %d", f.FacilitatorID, i, p, date, days[date])
			}
		}
		chains := int64(0)
		for _, c := range f.Chains {
			chains += c.TxCountAll
		}
		if chains != f.TxCountAll {
			t.Errorf("%s: chains have %d settlements of %d", f.FacilitatorID, chains, f.TxCountAll)
		}
	}
	if verified != 35 { // 34 of the list, two by marks, and the one that the operator trusts
		t.Errorf("%d are measured, want 35", verified)
	}
}

// checkFacilitatorWindows checks that any request returns the matching page of the whole list.
func checkFacilitatorWindows(t *testing.T, ask func(string) (int, string)) {
	t.Helper()
	_, body := ask("?per_page=100&include=timeseries,chains&days=90")
	whole := decode[facilitatorList](t, body).Data
	rapid.Check(t, func(r *rapid.T) {
		timeframe := rapid.SampledFrom(append([]string{""}, site.Timeframes...)).Draw(r, "timeframe")
		include := rapid.SampledFrom([]string{"", "chains", "timeseries", "timeseries,chains", "chains,timeseries"}).
			Draw(r, "include")
		days, per := rapid.IntRange(0, 90).Draw(r, "days"), rapid.IntRange(0, 100).Draw(r, "per_page")
		page := rapid.IntRange(1, 8).Draw(r, "page")
		query := fmt.Sprintf("?timeframe=%s&include=%s&page=%d", timeframe, include, page)
		if days > 0 {
			query += "&days=" + strconv.Itoa(days)
		}
		if per > 0 {
			query += "&per_page=" + strconv.Itoa(per)
		}
		timeframe, days, per = cmp.Or(timeframe, "7d"), cmp.Or(days, 30), cmp.Or(per, 25)

		ordered := slices.Clone(whole)
		slices.SortFunc(ordered, func(a, b site.FacilitatorListItem) int {
			return cmp.Or(b.Volume(timeframe).Compare(a.Volume(timeframe)),
				cmp.Compare(a.FacilitatorID, b.FacilitatorID))
		})
		want := facilitatorList{Data: []site.FacilitatorListItem{}}
		for i := (page - 1) * per; i < page*per && i < len(ordered); i++ {
			f := ordered[i]
			f.Timeseries = f.Timeseries[90-days:]
			if !strings.Contains(include, "timeseries") {
				f.Timeseries = nil
			}
			if !strings.Contains(include, "chains") {
				f.Chains = nil
			}
			want.Data = append(want.Data, f)
		}
		want.Meta.PaginationMeta = site.PaginationMeta{Total: len(whole), Page: page, PerPage: per,
			TotalPages: (len(whole) + per - 1) / per}
		want.Meta.Timeframe = timeframe
		code, body := ask(query)
		var got facilitatorList
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 {
			r.Fatalf("%s: %d, %v", query, code, err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			r.Fatalf("%s (-want +got):\n%s", query, diff)
		}
	})
}

// TestFacilitatorsImportFaults checks that an invalid list is refused completely, by name, before a database is opened.
func TestFacilitatorsImportFaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "list.json")
	for _, c := range []struct{ text, want string }{
		{`{"facilitators": [{"id": "acme", "name": "Acme", "upstream_status": "merged"}]}`,
			"facilitator acme: has neither website_url nor facilitator_url"},
		{"{\"facilitators\": [\n}", "line 2: invalid character '}'"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := tollbook(t, nil, "facilitators", "import", file, "--data",
			filepath.Join(t.TempDir(), "data"))
		if code != 1 || stdout != "" || !strings.Contains(stderr, "nothing was imported:\n"+file+": "+c.want) {
			t.Errorf("exit %d, stderr\n%swant %s", code, stderr, c.want)
		}
	}
	code, _, stderr := tollbook(t, nil, "facilitators", "import", filepath.Join(t.TempDir(), "none.json"))
	if code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("no file: exit %d, %s", code, stderr)
	}
	code, _, stderr = tollbook(t, nil, "facilitators", "trust")
	if code != 2 || !strings.Contains(stderr, "ID is missing") {
		t.Errorf("trust of nobody: exit %d, %s", code, stderr)
	}
}
