package build_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/data/csvfile"
	"tollbook/build/data/sqlitefile"
	"tollbook/cmd/nodetest"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

const duckdbTools = "testdata/duckdb"

// TestDuckDBLock checks that DuckDB is pinned.
func TestDuckDBLock(t *testing.T) {
	t.Parallel()
	nodetest.CheckLock(t, duckdbTools, map[string]string{"@duckdb/node-api": "1.5.5-r.5"})
}

// duckdb returns the rows of the last statement of each list of statements, as texts; "NULL" for null.
func duckdb(t *testing.T, queries ...string) [][][]string {
	t.Helper()
	modules := nodetest.Install(t, duckdbTools)
	script, err := filepath.Abs(filepath.Join(duckdbTools, "query.js"))
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Env = append(os.Environ(), "MODULES="+modules)
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%.3000s", err, stderr.String())
	}
	var answers [][][]*string
	if err := json.Unmarshal(stdout.Bytes(), &answers); err != nil {
		t.Fatal(err)
	}
	out := make([][][]string, len(answers))
	for i, rows := range answers {
		out[i] = [][]string{}
		for _, row := range rows {
			texts := make([]string, len(row))
			for k, v := range row {
				if texts[k] = "NULL"; v != nil {
					texts[k] = *v
				}
			}
			out[i] = append(out[i], texts)
		}
	}
	return out
}

// historyFolder returns the data files of the generated directory with its whole history.
func historyFolder(t *testing.T) (dir, snapshot, folder string) {
	t.Helper()
	testgate.All(t)
	db := openCopy(t, historyTemplate)
	dir = tempDir(t)
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	return dir, r.Snapshot, unpackData(t, dir, r.Snapshot)
}

// TestDuckDBReadsAlike checks that DuckDB and parquet-go read the same values from every Parquet file.
func TestDuckDBReadsAlike(t *testing.T) {
	t.Parallel()
	_, _, folder := historyFolder(t)
	var queries, files []string
	var tables []*data.Table
	for _, table := range data.Tables() {
		var columns []string
		for _, c := range table.Columns {
			column := c.Name
			switch c.Kind {
			case data.Timestamp:
				column = `strftime(` + c.Name + ` AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`
			}
			columns = append(columns, column)
		}
		for _, file := range tableFiles(t, folder, table) {
			files, tables = append(files, file), append(tables, table)
			queries = append(queries, "SELECT "+strings.Join(columns, ", ")+" FROM '"+file+"'")
		}
	}
	for i, got := range duckdb(t, queries...) {
		want := [][]string{}
		for _, row := range readTable(t, files[i], tables[i]) {
			texts := make([]string, len(row))
			for k, v := range row {
				texts[k] = duckdbText(&tables[i].Columns[k], v)
			}
			want = append(want, texts)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-parquet-go +duckdb):\n%.2000s", files[i], diff)
		}
	}
}

// duckdbText returns a value as DuckDB writes it.
func duckdbText(c *data.Column, v data.Value) string {
	text := csvfile.Format(c, v)
	if v.IsNull() {
		return "NULL"
	}
	if c.Kind == data.Decimal && c.Scale > 0 {
		whole, frac, _ := strings.Cut(text, ".")
		return whole + "." + frac + strings.Repeat("0", c.Scale-len(frac))
	}
	return text
}

// TestDuckDBAnswers checks that the queries of each question give the same answer on the Parquet files and on the
// SQLite file.
func TestDuckDBAnswers(t *testing.T) {
	t.Parallel()
	_, _, folder := historyFolder(t)
	db, err := sqlitefile.Open(filepath.Join(folder, "tollbook.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s data.Subject
	err = db.QueryRowContext(t.Context(), `SELECT s.category, s.slug FROM services s JOIN prices p USING (slug)
		WHERE p.until IS NOT NULL AND p.price_usd IS NOT NULL ORDER BY slug LIMIT 1`).Scan(&s.Category, &s.Slug)
	if err != nil {
		t.Fatal(err)
	}
	queries := make([]string, len(data.Questions))
	for i, q := range data.Questions {
		queries[i] = q.DuckDB(folder, s)
	}
	for i, got := range duckdb(t, queries...) {
		q := data.Questions[i]
		want := querySQLite(t, db, q.SQLite(s))
		for _, rows := range [][][]string{want, got} {
			for _, row := range rows {
				for k := range row {
					row[k] = plainText(row[k])
				}
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: no answer", q.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-sqlite +duckdb):\n%.2000s", q.Name, diff)
		}
	}
}

func querySQLite(t *testing.T, db *sql.DB, query string) [][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	list := [][]string{}
	for rows.Next() {
		values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			if row[i] = "NULL"; v.Valid {
				row[i] = v.String
			}
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// plainText returns a number or an instant in one form, and any other text unchanged.
func plainText(text string) string {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', 12, 64)
	}
	for _, layout := range []string{site.TimeLayout, "2006-01-02 15:04:05.999999-07"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

// TestDuckDBRecomputes checks that the API's statistics, the uptime of every service and the volume of every
// facilitator follow from the rows of the Parquet files. Some statistics follow from no table: checks_per_hour counts
// visits of today, opted_out hosts that are listed nowhere, and measured_since is when networks began to be read.
func TestDuckDBRecomputes(t *testing.T) {
	t.Parallel()
	dir, snapshot, folder := historyFolder(t)
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	answers := duckdb(t, recomputations(folder)...)
	got := map[string]string{}
	for _, rows := range answers {
		for _, row := range rows {
			got[row[0]] = plainText(row[1])
		}
	}
	want := map[string]string{}
	published(t, z, want)
	for name, text := range want {
		want[name] = plainText(text)
	}
	if len(want) < 150*3+20 {
		t.Errorf("%d figures", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-published +recomputed):\n%.3000s", diff)
	}
}

// recomputations returns queries for figures, each a name and a value.
func recomputations(base string) []string {
	uptime := `read_parquet(['` + base + `/uptime/*.parquet', '` + base + `/uptime.parquet'])`
	settled := `read_parquet(['` + base + `/settlements/*.parquet', '` + base + `/settlements.parquet'])`
	services, endpoints := `'`+base+`/services.parquet'`, `'`+base+`/endpoints.parquet'`
	measured := `(FROM ` + services + ` WHERE traction = 'measured' AND volume_usd_30d IS NOT NULL)`
	today := `DATE '` + moment.Format(time.DateOnly) + `'`
	queries := []string{
		`SELECT 'total_services', count(*) FROM ` + services,
		`SELECT 'total_endpoints', count(*) FROM ` + endpoints + ` WHERE is_active`,
		`SELECT 'verified', count(*) FROM ` + services + ` WHERE verified`,
		`SELECT 'payment_ready', count(*) FROM ` + services + ` WHERE payment_ready`,
		`SELECT 'new_30d', count(*) FROM ` + services + ` WHERE created_at > TIMESTAMPTZ '` +
			moment.Add(time.Minute).AddDate(0, 0, -30).Format(time.RFC3339) + `'`,
		`SELECT 'avg_uptime_24h', round(avg(uptime_24h), 2) FROM ` + services,
		`SELECT 'avg_uptime_7d', round(avg(uptime_7d), 2) FROM ` + services,
		`SELECT 'avg_response_time_ms', round(avg(avg_response_time_ms), 2) FROM ` + services,
		`SELECT 'min_price', min(min_price_usd) FROM ` + endpoints,
		`SELECT 'max_price', max(min_price_usd) FROM ` + endpoints,
		`SELECT 'avg_price', round(avg(min_price_usd), 9) FROM ` + endpoints,
		`SELECT 'median_price', round(median(min_price_usd), 9) FROM ` + endpoints,
		`SELECT 'new_7d', count(*) FROM ` + services + ` WHERE created_at > TIMESTAMPTZ '` +
			moment.Add(time.Minute).AddDate(0, 0, -7).Format(time.RFC3339) + `'`,
		`SELECT 'measured_services', count(*) FROM ` + measured,
		`SELECT 'traction_volume', sum(volume_usd_30d) FROM ` + measured,
		`SELECT 'traction_settlements', sum(settlements_30d) FROM ` + measured,
		`SELECT 'traction_coverage', round(100 * (SELECT sum(volume_usd_30d) FROM ` + measured + `) / sum(volume_usd),
			2) FROM ` + settled + ` WHERE day > ` + today + ` - 30`,
		`SELECT 'network ' || network, count(*) FROM (SELECT unnest(networks::VARCHAR[]) AS network FROM ` + services +
			`) GROUP BY 1`,
		`SELECT 'facilitator_volume_30d', sum(volume_usd) FROM ` + settled + ` WHERE day > ` + today + ` - 30`,
	}
	for _, n := range []int{1, 10} {
		queries = append(queries, fmt.Sprintf(`SELECT 'top %d', round(100 * sum(volume_usd_30d) / (SELECT
			sum(volume_usd_30d) FROM %s), 2) FROM (FROM %s ORDER BY volume_usd_30d DESC LIMIT %d)`,
			n, measured, measured, n))
	}
	for _, days := range []int{7, 30, 90} {
		queries = append(queries, fmt.Sprintf(`SELECT slug || ' %dd', ((20000 * sum(up) + sum(counted)) // (2 *
sum(counted)))
			/ 100 FROM %s WHERE day > %s - %d GROUP BY slug HAVING sum(counted) > 0`, days, uptime, today, days))
	}
	for _, days := range []int{7, 30, 10_000} {
		queries = append(queries, fmt.Sprintf(`SELECT f.facilitator_id || ' %dd', coalesce(sum(s.volume_usd), 0)
			FROM '%s/facilitators.parquet' f LEFT JOIN %s s ON s.facilitator_id = f.facilitator_id AND s.day > %s - %d
			GROUP BY 1, f.facilitator_id`, days, base, settled, today, days))
	}
	return queries
}

// published adds the figures that the API publishes.
func published(t *testing.T, z *archive.ZipFile, want map[string]string) {
	t.Helper()
	read := func(name string, v any) {
		text, err := z.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var stats site.One[site.AggregateStats]
	read("v1/stats.json", &stats)
	s := stats.Data
	want["total_services"], want["total_endpoints"] = strconv.Itoa(s.TotalServices), strconv.Itoa(s.TotalEndpoints)
	want["verified"], want["payment_ready"] = strconv.Itoa(s.VerifiedCount), strconv.Itoa(s.PaymentReadyCount)
	want["new_30d"] = strconv.Itoa(s.ListingGrowth.New30d)
	want["avg_uptime_24h"], want["avg_uptime_7d"] = fmt.Sprint(*s.AvgUptime24h), fmt.Sprint(*s.AvgUptime7d)
	want["avg_response_time_ms"] = fmt.Sprint(*s.AvgResponseTimeMS)
	want["min_price"], want["max_price"] = string(*s.Pricing.MinPriceUSD), string(*s.Pricing.MaxPriceUSD)
	want["avg_price"], want["median_price"] = string(*s.Pricing.AvgPriceUSD), string(*s.Pricing.MedianPriceUSD)
	want["new_7d"] = strconv.Itoa(s.ListingGrowth.New7d)
	traction := &s.Traction
	want["measured_services"] = strconv.Itoa(traction.MeasuredServices)
	want["traction_volume"] = string(*traction.VolumeUSD30d)
	want["traction_settlements"] = strconv.FormatInt(*traction.SettlementCount30d, 10)
	want["traction_coverage"] = fmt.Sprint(*traction.CoverageOfMeasuredFlowPct)
	want["top 1"] = fmt.Sprint(*traction.Top1ServiceSharePct)
	want["top 10"] = fmt.Sprint(*traction.Top10ServicesSharePct)
	want["facilitator_volume_30d"] = string(*s.FacilitatorVolumeUSD30d)
	for _, n := range s.Networks {
		want["network "+n.Abbreviation] = strconv.Itoa(n.ServiceCount)
	}
	var status site.One[site.StatusSummary]
	read("v1/status.json", &status)
	for _, of := range status.Data.Services {
		var detail site.One[site.ServiceDetail]
		read("v1/services/"+of.Slug+".json", &detail)
		for days, percent := range map[int]*float64{7: detail.Data.Uptime.D7, 30: detail.Data.Uptime.D30,
			90: detail.Data.Uptime.D90} {
			if percent != nil {
				want[fmt.Sprintf("%s %dd", of.Slug, days)] = fmt.Sprint(*percent)
			}
		}
	}
	var index routes.Index
	read(routes.IndexFile, &index)
	for _, id := range index.Facilitators {
		var f site.One[site.FacilitatorDetail]
		read("v1/facilitators/"+id+".json", &f)
		for days, usd := range map[int]site.Decimal{7: f.Data.VolumeUSD7d, 30: f.Data.VolumeUSD30d,
			10_000: f.Data.VolumeUSDAll} {
			want[fmt.Sprintf("%s %dd", id, days)] = string(usd)
		}
	}
}
