package build_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tollbook/build/data/figure"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// An owner of a published value is one of three, as a line of testdata/owners.txt says:
//
//	FIELD  input WHO             somebody said or recorded it, and no formula makes it: WHO says who
//	FIELD  table TABLE.COLUMN    it is in this column of the tables of /data/, with the same value
//	FIELD  rule SECTION          a formula makes it, which this section of the methodology explains
//
// FIELD is the type of the contract and the name in JSON, as in AggregateStats.total_services, or the kind of file and
// the path in it. It may end in *. The first line that fits counts.
type owner struct {
	field, kind, what string
	line              int
	used              bool
}

func (o *owner) fits(field string) bool {
	if prefix, ok := strings.CutSuffix(o.field, "*"); ok {
		return strings.HasPrefix(field, prefix)
	}
	return field == o.field
}

func readOwners(t *testing.T) []*owner {
	t.Helper()
	text, err := os.ReadFile("testdata/owners.txt")
	if err != nil {
		t.Fatal(err)
	}
	var owners []*owner
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "# ")
		if strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 || !slices.Contains([]string{"input", "table", "rule"}, f[1]) {
			t.Fatalf("testdata/owners.txt:%d: %q is not: FIELD input|table|rule WHAT", n, line)
		}
		owners = append(owners, &owner{field: f[0], kind: f[1], what: strings.Join(f[2:], " "), line: n})
	}
	return owners
}

// TestEveryValueHasAnOwner walks all JSON files of a snapshot of the sample directory. Each value in them is copied from
// a table, said by somebody, or the result of a rule that the methodology explains.
func TestEveryValueHasAnOwner(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	dir, _ := buildSample(t)
	files := map[string][]byte{}
	for _, pattern := range []string{"snapshots/*.zip", "packs/*.zip"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			z, err := zip.OpenReader(name)
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close()
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				if files[f.Name], err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	found := map[string]map[string]string{} // values as text by field, with a file that has each
	for name, body := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kind, of := kindOf(name)
		walkValue(of, kind, v, func(field, value string) {
			if found[field] == nil {
				found[field] = map[string]string{}
			}
			found[field][value] = name
		})
	}

	owners := readOwners(t)
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`<h[2-4] id="([^"]+)"`).FindAllSubmatch(files["methodology.html"], -1) {
		sections[string(m[1])] = true
	}
	for _, p := range figure.Proofs() {
		if !sections[p.Section] {
			t.Errorf("templates/proofs/%s.sql: the methodology has no section #%s", p.Name, p.Section)
		}
	}
	columns := readTables(t, files["data/tollbook.sqlite"])
	for _, field := range slices.Sorted(maps.Keys(found)) {
		i := slices.IndexFunc(owners, func(o *owner) bool { return o.fits(field) })
		if i < 0 {
			for value, file := range found[field] {
				t.Errorf("%s has no owner: say in testdata/owners.txt who it is (%s has %s)", field, file, value)
				break
			}
			continue
		}
		o := owners[i]
		o.used = true
		switch o.kind {
		case "rule":
			if !sections[o.what] {
				t.Errorf("testdata/owners.txt:%d: the methodology has no section #%s", o.line, o.what)
			}
		case "table":
			column, ok := columns[o.what]
			if !ok {
				t.Errorf("testdata/owners.txt:%d: no table of /data/ has %s", o.line, o.what)
				continue
			}
			for value, file := range found[field] {
				if value != "null" && !column[value] {
					t.Errorf("%s: %s is %s in %s, which is not in column %s", o.field, field, value, file, o.what)
					break
				}
			}
		}
	}
	for _, o := range owners {
		if !o.used {
			t.Errorf("testdata/owners.txt:%d: no value is %s, or an earlier line has them all", o.line, o.field)
		}
	}
}

// shardRow is a row of a file that look-ups are cut from.
type shardRow[T any] struct {
	Hash string `json:"hash"`
	Data T      `json:"data"`
}

// kindOf returns the kind of a file, and the type of its body if it is a response of a route.
func kindOf(name string) (string, reflect.Type) {
	path := strings.TrimSuffix(name, ".json")
	var plain []string
	for part := range strings.SplitSeq(path, "/") {
		if strings.Contains(part, "=") {
			continue
		}
		plain = append(plain, part)
	}
	if plain[len(plain)-1] != "log" {
		if q, err := routes.ParseRequest("/"+strings.Join(plain, "/"), ""); err == nil {
			if body, ok := routes.Responses[q.Route.Name]; ok {
				return q.Route.Name, reflect.TypeOf(body)
			}
		}
	}
	for prefix, body := range map[string]any{
		"v1/rows/":          site.List[site.ServiceRow, site.TotalMeta]{},
		"v1/allow/rows/":    site.List[site.Allowance, site.TotalMeta]{},
		"v1/lookup/url/":    site.List[shardRow[site.AddressLookup], site.TotalMeta]{},
		"v1/lookup/pay-to/": site.List[shardRow[site.RecipientLookup], site.TotalMeta]{},
	} {
		if strings.HasPrefix(path, prefix) {
			return strings.TrimSuffix(prefix, "/"), reflect.TypeOf(body)
		}
	}
	for _, folder := range []string{"v1/columns", "discovery/columns", "v1/terms"} {
		if strings.HasPrefix(path, folder+"/") {
			return folder, nil
		}
	}
	if strings.HasSuffix(path, "/log") {
		return "log", nil
	}
	if strings.HasPrefix(path, "services/") {
		return "services/changes", nil
	}
	return path, nil
}

// walkValue calls leaf for each value of v that has no parts.
func walkValue(of reflect.Type, field string, v any, leaf func(field, value string)) {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch v := v.(type) {
	case []any:
		var elem reflect.Type
		if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Array) {
			elem = of.Elem()
		}
		if len(v) == 0 {
			leaf(field, "[]")
		}
		for _, e := range v {
			walkValue(elem, field, e, leaf)
		}
		return
	case map[string]any:
		for name, e := range v {
			next, t := field+"."+name, reflect.Type(nil)
			switch {
			case of != nil && of.Kind() == reflect.Struct:
				if f, owner, ok := fieldOf(of, name); ok {
					next, t = owner+"."+name, f
				}
			case of != nil && of.Kind() == reflect.Map:
				next, t = field+".*", of.Elem()
			}
			walkValue(t, next, e, leaf)
		}
		return
	case nil:
		leaf(field, "null")
	case string:
		leaf(field, v)
	default:
		leaf(field, fmt.Sprint(v))
	}
}

// fieldOf returns the type of a struct's field by its name in JSON, and the name of the type that declares it.
func fieldOf(of reflect.Type, name string) (reflect.Type, string, bool) {
	for i := range of.NumField() {
		f := of.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if embedded.Kind() == reflect.Struct {
				if t, owner, ok := fieldOf(embedded, name); ok {
					return t, owner, true
				}
			}
			continue
		}
		if tag == name {
			owner, _, _ := strings.Cut(of.Name(), "[")
			return f.Type, owner, true
		}
	}
	return nil, "", false
}

// readTables returns the values of all columns of a SQLite file, each as text, by table.column.
func readTables(t *testing.T, file []byte) map[string]map[string]bool {
	t.Helper()
	name := filepath.Join(tempDir(t), "tables.sqlite")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	query := func(q string) (values [][2]string) {
		rows, err := db.QueryContext(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		defer rows.Close()
		for rows.Next() {
			var v [2]string
			if err := rows.Scan(&v[0], &v[1]); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			values = append(values, v)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return values
	}
	columns := map[string]map[string]bool{}
	for _, c := range query(`SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`) {
		values := map[string]bool{}
		for _, v := range query(fmt.Sprintf(`SELECT DISTINCT CAST("%s" AS TEXT), '' FROM "%s" WHERE "%[1]s" IS NOT NULL`,
			c[1], c[0])) {
			values[v[0]] = true
		}
		columns[c[0]+"."+c[1]] = values
	}
	return columns
}
