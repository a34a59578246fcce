package data

import (
	"strings"
)

// Question is a question that the tables answer.
type Question struct {
	Name   string // in URLs
	Title  string
	sqlite string // {category} and {slug} are replaced by literals
	duckdb string // likewise; {base} is the URL of the data folder, {recent:table} the last 30 days of a table
}

// Subject is what the questions are about where they need an example.
type Subject struct {
	Category string
	Slug     string // of a service
}

// SQLite returns the query for the SQLite file.
func (q Question) SQLite(s Subject) string { return s.fill(q.sqlite) }

// DuckDB returns the statements for the Parquet files below a URL or folder, such as https://directory.example/data.
func (q Question) DuckDB(base string, s Subject) string {
	text := q.duckdb
	for _, t := range Tables() {
		if name := "{recent:" + t.Name + "}"; strings.Contains(text, name) {
			text = recentFiles(t.Name) + strings.ReplaceAll(text, name, "read_parquet(getvariable('files'))")
		}
	}
	return strings.ReplaceAll(s.fill(text), "{base}", strings.ReplaceAll(base, "'", "''"))
}

// fill replaces the names of what a query is about.
func (s Subject) fill(query string) string {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	return strings.NewReplacer("{category}", quote(s.Category), "{slug}", quote(s.Slug)).Replace(query)
}

// recentFiles returns the statement that finds the files of a table's last 30 days, today included.
func recentFiles(table string) string {
	return "SET VARIABLE files = (SELECT list('{base}/' || p.path ORDER BY p.path) || ['{base}/" + table +
		".parquet'] FROM (SELECT created, unnest(r.parts) AS p FROM (SELECT created, unnest(resources) AS r " +
		"FROM read_json('{base}/datapackage.json')) WHERE r.name = '" + table + "') WHERE p.path >= '" + table +
		"/' || strftime(created::TIMESTAMP - INTERVAL 29 DAY, '%Y-%m-%d')); "
}

// Questions lists the questions of the page about data, in its order. Both queries of a question return the same rows.
var Questions = []Question{
	{
		"cheapest", "Which services of a category are the cheapest?",
		`SELECT slug, min_price_usd, uptime_30d, grade FROM services WHERE category = {category} AND min_price_usd IS
NOT NULL
ORDER BY CAST(min_price_usd AS REAL), slug LIMIT 10`,
		`SELECT slug, min_price_usd, uptime_30d, grade FROM '{base}/services.parquet' WHERE category = {category}
AND min_price_usd IS NOT NULL ORDER BY min_price_usd, slug LIMIT 10`,
	},
	{
		"uptime", "How often were services up in 30 days?",
		`SELECT slug, sum(up_ms) AS up_ms, sum(known_ms) AS known_ms, round(100.0 * sum(up_ms) / sum(known_ms), 2) AS percent
FROM uptime GROUP BY slug HAVING sum(known_ms) > 0 ORDER BY percent, slug LIMIT 10`,
		`SELECT slug, sum(up_ms) AS up_ms, sum(known_ms) AS known_ms, round(100.0 * sum(up_ms) / sum(known_ms), 2) AS percent
FROM {recent:uptime} GROUP BY slug HAVING sum(known_ms) > 0 ORDER BY percent, slug LIMIT 10`,
	},
	{
		"volume", "What did each facilitator settle on each network in 30 days?",
		`SELECT facilitator_id, network_caip2, sum(settlements) AS settlements,
round(sum(CAST(volume_usd AS REAL)), 6) AS usd FROM settlements WHERE volume_usd IS NOT NULL
GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2`,
		`SELECT facilitator_id, network_caip2, sum(settlements) AS settlements, round(sum(volume_usd), 6) AS usd
FROM {recent:settlements} WHERE volume_usd IS NOT NULL GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2`,
	},
	{
		"price-changes", "Which prices of a service changed?",
		`SELECT e.method, e.path, p.network, p.asset_name, p.since, p.amount, p.price_usd FROM prices p
JOIN endpoints e USING (endpoint_id) WHERE p.slug = {slug} AND EXISTS (SELECT * FROM prices before
WHERE before.endpoint_id = p.endpoint_id AND before.until <= p.since) ORDER BY p.since, e.path, e.method, p.position`,
		`SELECT e.method, e.path, p.network, p.asset_name, p.since, p.amount, p.price_usd FROM '{base}/prices.parquet' p
JOIN '{base}/endpoints.parquet' e USING (endpoint_id) WHERE p.slug = {slug} AND EXISTS (SELECT * FROM
'{base}/prices.parquet' before WHERE before.endpoint_id = p.endpoint_id AND before.until <= p.since)
ORDER BY p.since, e.path, e.method, p.position`,
	},
	{
		"new-services", "How many services were listed on each day?",
		`SELECT substr(created_at, 1, 10) AS day, count(*) AS services FROM services GROUP BY 1 ORDER BY 1 DESC LIMIT
30`,
		`SELECT strftime(created_at AT TIME ZONE 'UTC', '%Y-%m-%d') AS day, count(*) AS services
FROM '{base}/services.parquet' GROUP BY 1 ORDER BY 1 DESC LIMIT 30`,
	},
	{
		"networks", "On which networks can services be paid?",
		`SELECT n.value AS network, count(*) AS services, round(100.0 * count(*) / (SELECT count(*) FROM services), 2)
AS percent FROM services, json_each(networks) AS n GROUP BY 1 ORDER BY 2 DESC, 1`,
		`SELECT network, count(*) AS services, round(100.0 * count(*) / (SELECT count(*) FROM
'{base}/services.parquet'), 2)
AS percent FROM (SELECT unnest(networks::VARCHAR[]) AS network FROM '{base}/services.parquet') GROUP BY 1 ORDER BY 2
DESC, 1`,
	},
	{
		"grades", "Which grades do services have?",
		`SELECT grade, count(*) AS services, round(avg(CAST(uptime_30d AS REAL)), 2) AS uptime_30d FROM services
GROUP BY 1 ORDER BY 1`,
		`SELECT grade, count(*) AS services, round(avg(uptime_30d), 2) AS uptime_30d FROM '{base}/services.parquet'
GROUP BY 1 ORDER BY 1`,
	},
	{
		"recipients", "Which recipients were paid most in 30 days?",
		`SELECT payee, round(sum(CAST(volume_usd AS REAL)), 6) AS usd, sum(settlements) AS settlements FROM settlements
WHERE volume_usd IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
		`SELECT payee, round(sum(volume_usd), 6) AS usd, sum(settlements) AS settlements FROM {recent:settlements}
WHERE volume_usd IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
	},
	{
		"price-history", "What did the cheapest call of a service cost over time?",
		`SELECT t.since, (SELECT min(CAST(p.price_usd AS REAL)) FROM prices p WHERE p.slug = {slug} AND p.since <=
t.since
AND (p.until IS NULL OR p.until > t.since)) AS usd FROM (SELECT DISTINCT since FROM prices WHERE slug = {slug}) AS t
ORDER BY 1`,
		`SELECT t.since, min(p.price_usd) AS usd FROM (SELECT DISTINCT since FROM '{base}/prices.parquet'
WHERE slug = {slug}) t LEFT JOIN '{base}/prices.parquet' p ON p.slug = {slug} AND p.since <= t.since
AND (p.until IS NULL OR p.until > t.since) GROUP BY 1 ORDER BY 1`,
	},
	{
		"facilitators", "For how many services does each facilitator settle?",
		`SELECT t.facilitator_id, count(DISTINCT p.slug) AS services FROM (SELECT DISTINCT facilitator_id,
network_caip2,
payee FROM settlements) t JOIN prices p ON p.pay_to = t.payee AND p.network_caip2 = t.network_caip2
WHERE p.until IS NULL GROUP BY 1 ORDER BY 2 DESC, 1`,
		`SELECT t.facilitator_id, count(DISTINCT p.slug) AS services FROM (SELECT DISTINCT facilitator_id,
network_caip2,
payee FROM {recent:settlements}) t JOIN '{base}/prices.parquet' p ON p.pay_to = t.payee
AND p.network_caip2 = t.network_caip2 WHERE p.until IS NULL GROUP BY 1 ORDER BY 2 DESC, 1`,
	},
}

// SQLiteStatements returns the statements that add indexes and views for the questions to the tables.
func SQLiteStatements() []string {
	return []string{
		`CREATE INDEX services_category ON services (category, slug)`,
		`CREATE INDEX endpoints_slug ON endpoints (slug, path, method)`,
		`CREATE INDEX prices_slug ON prices (slug, since)`,
		`CREATE INDEX prices_pay_to ON prices (pay_to) WHERE until IS NULL`,
		`CREATE INDEX changes_slug ON changes (slug, number)`,
		`CREATE INDEX settlements_payee ON settlements (payee)`,
		`CREATE VIEW current_prices AS SELECT e.slug, e.method, e.path, p.* FROM prices p
JOIN endpoints e USING (endpoint_id) WHERE p.until IS NULL`,
		`CREATE VIEW uptime_30d AS SELECT slug, sum(up_ms) AS up_ms, sum(known_ms) AS known_ms,
round(100.0 * sum(up_ms) / sum(known_ms), 2) AS percent FROM uptime GROUP BY slug HAVING sum(known_ms) > 0`,
		`CREATE VIEW facilitator_volume_30d AS SELECT facilitator_id, network_caip2, sum(settlements) AS settlements,
sum(CAST(volume_usd AS REAL)) AS usd FROM settlements WHERE volume_usd IS NOT NULL GROUP BY 1, 2`,
		`CREATE VIEW payees_30d AS SELECT payee, network_caip2, sum(settlements) AS settlements,
sum(CAST(volume_usd AS REAL)) AS usd FROM settlements WHERE volume_usd IS NOT NULL GROUP BY 1, 2`,
		`CREATE VIEW new_services AS SELECT substr(created_at, 1, 10) AS day, count(*) AS services FROM services GROUP
BY 1`,
	}
}
