package build_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"tollbook/build/data"
	"tollbook/output/archive"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// hidden are characters of every kind that strangers may use to hide or reverse words.
const hidden = "\u202e\u2066\u200b\ufeff\U000e0041\u0085\x7f\x1b\u2028\ue000\u3164"

// ownColumns lists text columns that are no words of strangers: keys, enumerations and what the crawler has normalised.
var ownColumns = map[string]bool{
	"services.slug": true, "services.base_url": true, "service_states.last_status": true, "endpoints.method": true,
	"endpoints.verdict": true, "endpoints.class": true, "endpoints.fingerprint": true, "envelopes.method": true,
	"responses.method": true, "prices.network": true, "prices.network_caip2": true, "changes.type": true,
	"change_log.type": true, "change_positions.type": true, "change_blocks.type": true, "change_days.type": true,
	"checks.status": true, "site_facts.domain": true, "domain_facts.domain": true, "syntheses.input_hash": true,
	"chains.network": true, "tokens.network": true, "tokens.address": true, "facilitator_tokens.token": true,
	"facilitators.id": true, "accounts.address": true, "settlers.network": true, "settlers.address": true,
	"walks.network": true, "walks.address": true, "scan_settlers.network": true, "scan_settlers.address": true,
	"facilitator_tokens.facilitator_id": true, "settlers.facilitator_id": true, "audit.action": true,
	"removed_services.slug": true, "authorization_days.token": true, "sender_days.token": true,
}

// hideIn returns a JSON document with hidden characters in every string, and in every name of a member unless names is
// false. It returns other bytes with the characters at their end.
func hideIn(document []byte, names bool) []byte {
	var v any
	if json.Unmarshal(document, &v) != nil {
		return append(bytes.Clone(document), hidden...)
	}
	var hide func(v any) any
	hide = func(v any) any {
		switch v := v.(type) {
		case string:
			return v + hidden
		case []any:
			for i := range v {
				v[i] = hide(v[i])
			}
		case map[string]any:
			for name, of := range maps.Clone(v) {
				if name == "request_body" {
					continue // bytes, which the crawler sent
				}
				v[name] = hide(of)
				if names {
					v[name+hidden] = v[name]
				}
			}
		}
		return v
	}
	out, _ := json.Marshal(hide(v))
	return out
}

// hideEverywhere adds hidden characters to every text that a stranger may have written: columns of text and JSON, and
// the headers and bodies of envelopes.
func hideEverywhere(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, c := range readColumns(t, conn) {
		name := c.table + "." + c.name
		if ownColumns[name] || ownColumns[strings.TrimRight(c.table, "_0123456789")+"."+c.name] {
			continue
		}
		table, column := pgx.Identifier{c.table}.Sanitize(), pgx.Identifier{c.name}.Sanitize()
		switch {
		case c.kind == "text":
			if _, err := conn.Exec(t.Context(), `UPDATE `+table+` SET `+column+` = `+column+` || $1`,
				hidden); err != nil {
				t.Logf("%s stays: %v", name, err)
			}
		case c.kind == "jsonb" || name == "envelopes.body" || name == "responses.body":
			hideInColumn(t, conn, table, column, name)
		}
	}
}

// hideInColumn adds hidden characters to each document of a column. Headers contain the terms of version 2.
func hideInColumn(t *testing.T, conn *pgx.Conn, table, column, name string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT ctid::text, `+column+` FROM `+table+` WHERE `+column+` IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		At   string
		Text []byte
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		text := hideIn(r.Text, name == "envelopes.body")
		if column == `"header"` {
			header := http.Header{}
			if err := json.Unmarshal(r.Text, &header); err != nil {
				t.Fatal(err)
			}
			for key, values := range header {
				for i, value := range values {
					if terms, err := base64.StdEncoding.DecodeString(value); err == nil && json.Valid(terms) {
						header[key][i] = base64.StdEncoding.EncodeToString(hideIn(terms, true))
					} else {
						header[key][i] = value + "\u202e\u200b\U000e0041"
					}
				}
			}
			text, _ = json.Marshal(header)
		}
		if _, err := conn.Exec(t.Context(), `UPDATE `+table+` SET `+column+` = $2 WHERE ctid = $1::text::tid`, r.At,
			text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// TestInvisibleCharacters builds a directory in which every text of a stranger has invisible characters. No published
// file may contain one as it is.
func TestInvisibleCharacters(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	for _, source := range []struct {
		name     string
		template interface{ Database(t testing.TB) string }
	}{{"generated", damagedTemplate}, {"sample", sampleTemplate}} {
		t.Run(source.name, func(t *testing.T) {
			t.Parallel()
			dsn := source.template.Database(t)
			conn := postgrestest.Connect(t, dsn)
			hideEverywhere(t, conn)
			db, err := postgres.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			dir := tempDir(t)
			if r := run(t, db, dir, options(moment)); len(r.SetAside) > 0 || r.Services < 5 {
				t.Errorf("%d services, set aside: %+v", r.Services, r.SetAside)
			}
			zips, err := filepath.Glob(filepath.Join(dir, "*", "*.zip"))
			if err != nil || len(zips) < 2 {
				t.Fatalf("%d zips: %v", len(zips), err)
			}
			escaped := 0
			for _, zip := range zips {
				escaped += checkVisible(t, zip)
			}
			if escaped < 100 {
				t.Errorf("%d files have an escaped character, want 100", escaped)
			}
		})
	}
}

// tableTexts returns the texts of a Parquet file, one a line.
func tableTexts(t *testing.T, name string, file []byte) []byte {
	t.Helper()
	table := data.TableOf(strings.TrimSuffix(path.Base(name), ".parquet"))
	f, err := data.OpenParquet(bytes.NewReader(file), int64(len(file)), table)
	if err != nil {
		t.Fatal(err)
	}
	var texts []byte
	err = data.EachParquetRow(f, table, func(row data.Row) error {
		for _, v := range row {
			texts = append(append(texts, v.Text()...), '\n')
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// checkVisible checks the files of a snapshot or pack, and returns how many contain an escaped U+202E.
func checkVisible(t *testing.T, zip string) (escaped int) {
	t.Helper()
	z, err := archive.OpenZipFile(zip)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, name := range z.Names() {
		data, err := z.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch path.Ext(name) {
		case ".png", ".ico", ".woff2", ".bin", ".sqlite": // a SQLite file has the rows of the Parquet files
			continue
		case ".parquet":
			data = tableTexts(t, name, data)
		case ".gz":
			data = unzip(t, data)
		}
		if strings.ContainsFunc(name, invisible.Is) {
			t.Errorf("%q is the name of a file", name)
		}
		text := string(data)
		if !utf8.ValidString(text) {
			t.Errorf("%s is no UTF-8", name)
		}
		visible := strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(text)
		if at := strings.IndexFunc(visible, invisible.Is); at >= 0 {
			t.Errorf("%s has an invisible character: %q", name, visible[max(0, at-100):min(len(visible), at+20)])
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(data) {
			t.Errorf("%s is no JSON", name)
		}
		if strings.Contains(text, `\u202e`) {
			escaped++
		}
	}
	return escaped
}
