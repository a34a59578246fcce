package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tollbook/site/postgres/migration"
	"tollbook/site/testgate"
)

const (
	dashboardFile = "packaging/grafana/tollbook.json"
	rulesFile     = "packaging/prometheus/rules.yml"
)

// shownQuery is an expression of the dashboard, with the panel that shows it.
type shownQuery struct{ panel, expr, legend string }

// dashboardQueries returns the queries of the panels, with values in place of Grafana's variables.
func dashboardQueries(t *testing.T) []shownQuery {
	t.Helper()
	data, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID    string
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			Datasource  struct{ Type, UID string }
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" {
		t.Error("the dashboard has no uid: each provisioning would make another one")
	}
	var list []shownQuery
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if cells[at] != "" || at[0] >= 24 {
					t.Errorf("panel %q lies over %q, or beyond the edge", p.Title, cells[at])
				}
				cells[at] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q says nothing of itself, names a data source, or asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*").Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("panel %q: a variable that nothing sets: %s", p.Title, expr)
			}
			list = append(list, shownQuery{p.Title, expr, target.LegendFormat})
		}
	}
	return list
}

var (
	metricName = regexp.MustCompile(`\b(?:tollbook|go|process)_[a-z0-9_]+\b`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`(?m)^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$`)
)

// figuresOfUp returns the metrics of a running directory that visits a service, asks a facilitator, reads a source and
// a chain, and serves a snapshot.
func figuresOfUp(t *testing.T) string {
	t.Helper()
	n := newNodes(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/supported" {
			fmt.Fprint(w, `{"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:8453"}]}`)
			return
		}
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	facilitators := filepath.Join(dir, "facilitators.json")
	write(t, facilitators, fmt.Sprintf(`{"facilitators": [{"id": "acme", "name": "Acme", "upstream_status": "merged",
		"facilitator_url": %q}]}`, service.URL))
	ran(t, n.env, "facilitators", "import", facilitators)
	list := filepath.Join(dir, "services.toml")
	write(t, list,
		fmt.Sprintf(
			"[[service]]\nservice_name = \"Acme\"\ndescription = \"Prices.\"\nurl = %q\nwebsite_url = "+
				"%q\ncategory = \"Finance\"\nendpoints = [\"/quote\"]\n", service.URL, service.URL))
	if code, _, stderr := tollbook(t, n.env, "services", "import", list); code != 0 {
		t.Fatal(stderr)
	}
	c, config := newCatalogue(t)
	c.set(3, 0, nil)
	p := command(t, n.env,
		append([]string{"up", "--config", config, "--data", dir, "--serve-listen", "127.0.0.1:0",
			"--serve-metrics", "127.0.0.1:0", "--crawl-allow-private", "127.0.0.1", "--schedule-build", "2s",
			"--schedule-index", "1s", "--serve-submissions", "--crawl-contact", testContact, "--submissions-notify",
			"true"}, n.rpc...)...).
		start(t)
	_, base, _ := strings.Cut(p.await(t, "Serving "), " on ")
	base, _, _ = strings.Cut(base, " ")
	figures := p.await(t, "Metrics on ")
	until(t, base+"v1/services", "snapshot", func(a answer) bool { return a.status == http.StatusOK })
	a := until(t, figures, "figures of everything", func(a answer) bool {
		for _, begin := range []string{"tollbook_index_lag_seconds{", "tollbook_http_requests_total{code=\"200\",route=\"services\"",
			"tollbook_jobs_done_total{kind=\"visit\"}",
			"tollbook_facilitator_last_answer_timestamp_seconds{facilitator=\"acme\"}",
			"tollbook_step_last_success_timestamp_seconds{step=\"build\"}", "tollbook_visit_overdue_seconds ",
			"tollbook_snapshot_age_seconds ", "tollbook_source_last_success_timestamp_seconds{"} {
			if !strings.Contains(a.body, "\n"+begin) {
				return false
			}
		}
		return true
	})
	return a.body
}

// TestWatching checks that the dashboard and the alerts query existing metrics and leave none out. The alerts
// themselves are tested by rules_test.yml.
func TestWatching(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	figures := figuresOfUp(t)
	metrics := map[string]bool{"tollbook_index_errors_total": true} // has no sample until a node fails
	for _, m := range typeLine.FindAllStringSubmatch(figures, -1) {
		metrics[m[1]] = true
		if m[2] == "histogram" {
			metrics[m[1]+"_bucket"], metrics[m[1]+"_sum"], metrics[m[1]+"_count"] = true, true, true
		}
	}
	if len(metrics) < 30 {
		t.Fatalf("a directory at work tells %d figures:\n%s", len(metrics), figures)
	}
	queries := dashboardQueries(t)
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, q := range queries {
		for _, name := range metricName.FindAllString(q.expr, -1) {
			shown[name] = true
			if !metrics[name] {
				t.Errorf("panel %q asks for %s, which nothing tells", q.panel, name)
			}
		}
	}
	for _, name := range metricName.FindAllString(string(rules), -1) {
		if !metrics[name] {
			t.Errorf("an alert asks for %s, which nothing tells", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"),
			"_count"); !shown[name] && !shown[base+"_bucket"] {
			t.Errorf("no panel shows %s", name)
		}
	}
	askPrometheus(t, figures, queries)
}

// askPrometheus evaluates every query with promtool, over an hour of the metrics. It fails on a syntax error and on a
// query without a result.
func askPrometheus(t *testing.T, figures string, queries []shownQuery) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		promtool = filepath.Join(cache, "tollbook", "bin", "promtool")
		if _, err := os.Stat(promtool); err != nil {
			testgate.Missing(t, "no promtool: cmd/tollbook/packaging/check fetches it")
		}
	}
	var b strings.Builder
	b.WriteString("evaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n")
	samples := sampleLine.FindAllStringSubmatch(figures, -1)
	for _, s := range samples {
		if _, err := strconv.ParseFloat(s[3], 64); err != nil {
			t.Fatalf("no sample: %s", s[0])
		}
		labels := `job="tollbook",instance="a"`
		if s[2] != "" {
			labels += "," + s[2]
		}
		fmt.Fprintf(&b, "      - {series: '%s{%s}', values: '%sx60'}\n", s[1], strings.ReplaceAll(labels, "'", "''"),
			s[3])
	}
	b.WriteString("    promql_expr_test:\n")
	for _, q := range queries {
		if strings.Contains(q.expr, "tollbook_index_errors_total") {
			continue // no node failed; the alert's test checks these labels
		}
		fmt.Fprintf(&b, "      - expr: %q\n        eval_time: 1h\n        exp_samples: [{labels: '{}', value: 1}]\n",
			"count("+q.expr+") > bool 0")
	}
	file := filepath.Join(t.TempDir(), "test.yml")
	write(t, file, b.String())
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
	if err != nil {
		t.Errorf("promtool test rules: %v\n%.5000s", err, out)
	}
}

// TestReleaseNeedsNotes checks that a version without notes in the changelog can't be released, and that the notes of
// the newest version name the schema that this program makes.
func TestReleaseNeedsNotes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		testgate.Missing(t, "no bash to run packaging/release")
	}
	dist := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "packaging/release", dist)
	cmd.Env = append(os.Environ(), "VERSION=v999.0.0", "COMMIT=0", "SOURCE_DATE_EPOCH=0")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), `changelog.md has no section "## v999.0.0"; write one`) {
		t.Errorf("a release without notes: %v: %s", err, out)
	}
	if left, err := os.ReadDir(dist); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v), want nothing", left, err)
	}
	_, notes, _ := strings.Cut(readFile(t, filepath.Join(root, "templates/pages/changelog.md")), "\n## ")
	notes, _, _ = strings.Cut(notes, "\n## ")
	if want := fmt.Sprintf("The schema gets version %d.", migration.NewestSchema()); !strings.HasPrefix(notes, "v0.1.0\n") ||
		!strings.Contains(strings.Join(strings.Fields(notes), " "), want) {
		t.Errorf("the newest notes of the changelog do not say %q", want)
	}
}

// TestUnitsUseOneFolder checks that the units and the settings in /etc/tollbook name the same data folder: commands beside
// them use it.
func TestUnitsUseOneFolder(t *testing.T) {
	t.Parallel()
	var printed []struct {
		Key   string
		Value any
	}
	if err := json.Unmarshal([]byte(ran(t, nil, "config", "--json", "--config", "packaging/systemd/tollbook.toml")),
		&printed); err != nil {
		t.Fatal(err)
	}
	var want any
	for _, v := range printed {
		if v.Key == "data" {
			want = v.Value
		}
	}
	units, err := filepath.Glob("packaging/systemd/tollbook-*.service")
	if err != nil || len(units) < 8 {
		t.Fatalf("units: %v %v", units, err)
	}
	for _, unit := range units {
		_, data, _ := strings.Cut(readFile(t, unit), " --data ")
		if data = strings.Fields(data + " none")[0]; data != want {
			t.Errorf("%s has --data %s, tollbook.toml %v", unit, data, want)
		}
	}
}
