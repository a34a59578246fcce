// Package duckdbtest recomputes what a snapshot publishes from its Parquet files: most statistics, the uptime of every
// service and the volume of every facilitator. DuckDB runs the queries; in a browser it reads files by ranges over
// HTTP.
//
// Some statistics follow from no table: checks_per_hour counts visits of today, opted_out hosts that are listed
// nowhere, and measured_since is when networks began to be read. The package must never know how a build computes a
// figure.
package duckdbtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tollbook/build/data"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/routes"
)

// Queries returns queries for the figures of a snapshot that was built at a time, each for rows of a name and a value.
// They read the Parquet files below a URL or a folder.
func Queries(z *archive.ZipFile, base string, now time.Time) ([]string, error) {
	var index data.Package
	if err := readJSON(z, archive.DataIndex, &index); err != nil {
		return nil, err
	}
	uptime, settled := filesOf(&index, base, data.Uptime.Name), filesOf(&index, base, data.Settlements.Name)
	services, endpoints := `'`+base+`/services.parquet'`, `'`+base+`/endpoints.parquet'`
	measured := `(FROM ` + services + ` WHERE traction = 'measured' AND volume_usd_30d IS NOT NULL)`
	today := `DATE '` + now.Format(time.DateOnly) + `'`
	queries := []string{
		`SELECT 'total_services', count(*) FROM ` + services,
		`SELECT 'total_endpoints', count(*) FROM ` + endpoints + ` WHERE is_active`,
		`SELECT 'verified', count(*) FROM ` + services + ` WHERE verified`,
		`SELECT 'payment_ready', count(*) FROM ` + services + ` WHERE payment_ready`,
		`SELECT 'new_30d', count(*) FROM ` + services + ` WHERE created_at > TIMESTAMPTZ '` +
			now.AddDate(0, 0, -30).Format(time.RFC3339) + `'`,
		`SELECT 'avg_uptime_24h', round(avg(uptime_24h), 2) FROM ` + services,
		`SELECT 'avg_uptime_7d', round(avg(uptime_7d), 2) FROM ` + services,
		`SELECT 'avg_response_time_ms', round(avg(avg_response_time_ms), 2) FROM ` + services,
		`SELECT 'min_price', min(min_price_usd) FROM ` + endpoints,
		`SELECT 'max_price', max(min_price_usd) FROM ` + endpoints,
		`SELECT 'avg_price', round(avg(min_price_usd), 9) FROM ` + endpoints,
		// median() of the DuckDB for browsers is another value for an even number of decimals
		`SELECT 'median_price', round(avg(p), 9) FROM (SELECT min_price_usd AS p, count(*) OVER () AS c, row_number()
			OVER (ORDER BY min_price_usd) AS n FROM ` + endpoints + ` WHERE min_price_usd IS NOT NULL)
			WHERE n IN ((c + 1) // 2, c // 2 + 1)`,
		`SELECT 'new_7d', count(*) FROM ` + services + ` WHERE created_at > TIMESTAMPTZ '` +
			now.AddDate(0, 0, -7).Format(time.RFC3339) + `'`,
		`SELECT 'measured_services', count(*) FROM ` + measured,
		`SELECT 'traction_volume', sum(volume_usd_30d) FROM ` + measured,
		`SELECT 'traction_settlements', sum(settlements_30d) FROM ` + measured,
		`SELECT 'traction_coverage', round(100 * (SELECT sum(volume_usd_30d) FROM ` + measured + `) / sum(volume_usd),
			2) FROM ` + settled + ` WHERE day > ` + today + ` - 30`,
		`SELECT 'network ' || network, count(*) FROM (SELECT trim(unnest(networks::VARCHAR[]), '"') AS network FROM ` +
			services + `) GROUP BY 1`,
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
	return queries, nil
}

// filesOf returns the expression that reads all files of a table by day.
func filesOf(index *data.Package, base, table string) string {
	list := []string{"'" + base + "/" + table + ".parquet'"}
	for _, r := range index.Resources {
		for _, p := range r.Parts {
			if r.Name == table {
				list = append(list, "'"+base+"/"+p.Path+"'")
			}
		}
	}
	return "read_parquet([" + strings.Join(list, ", ") + "])"
}

// Published returns the same figures as the API publishes them, by name.
func Published(z *archive.ZipFile) (map[string]string, error) {
	want := map[string]string{}
	var stats site.One[site.AggregateStats]
	if err := readJSON(z, "v1/stats.json", &stats); err != nil {
		return nil, err
	}
	addStatistics(want, &stats.Data)
	if err := addUptime(z, want); err != nil {
		return nil, err
	}
	if err := addVolumes(z, want); err != nil {
		return nil, err
	}
	for name, text := range want {
		want[name] = Plain(text)
	}
	return want, nil
}

// addStatistics adds the figures of /v1/stats that follow from tables.
func addStatistics(want map[string]string, s *site.AggregateStats) {
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
}

// addUptime adds the uptime of every service.
func addUptime(z *archive.ZipFile, want map[string]string) error {
	var status site.One[site.StatusSummary]
	if err := readJSON(z, "v1/status.json", &status); err != nil {
		return err
	}
	for _, of := range status.Data.Services {
		var detail site.One[site.ServiceDetail]
		if err := readJSON(z, "v1/services/"+of.Slug+".json", &detail); err != nil {
			return err
		}
		for days, percent := range map[int]*float64{7: detail.Data.Uptime.D7, 30: detail.Data.Uptime.D30,
			90: detail.Data.Uptime.D90} {
			if percent != nil {
				want[fmt.Sprintf("%s %dd", of.Slug, days)] = fmt.Sprint(*percent)
			}
		}
	}
	return nil
}

// addVolumes adds the volume of every facilitator.
func addVolumes(z *archive.ZipFile, want map[string]string) error {
	var index routes.Index
	if err := readJSON(z, routes.IndexFile, &index); err != nil {
		return err
	}
	for _, id := range index.Facilitators {
		var f site.One[site.FacilitatorDetail]
		if err := readJSON(z, "v1/facilitators/"+id+".json", &f); err != nil {
			return err
		}
		for days, usd := range map[int]site.Decimal{7: f.Data.VolumeUSD7d, 30: f.Data.VolumeUSD30d,
			10_000: f.Data.VolumeUSDAll} {
			want[fmt.Sprintf("%s %dd", id, days)] = string(usd)
		}
	}
	return nil
}

// readJSON reads a file of a snapshot.
func readJSON(z *archive.ZipFile, name string, v any) error {
	text, err := z.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// Plain returns a number or an instant in one form, and any other text unchanged.
func Plain(text string) string {
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
