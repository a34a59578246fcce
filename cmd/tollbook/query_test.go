package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/data/datatest"
)

// writeTables writes a SQLite file with some rows into a new folder.
func writeTables(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	table := datatest.Table()
	f, err := data.CreateSQLite(t.Context(), filepath.Join(folder, sqliteFile), []*data.Table{table})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range datatest.Rows(table, 3) {
		if err := f.Appender(table).Write(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestQuery(t *testing.T) {
	folder := writeTables(t)
	table := datatest.Table().Name
	for _, test := range []struct {
		name  string
		args  []string
		want  string
		fault string // part of the error, "" for none
	}{
		{"table", []string{"SELECT count(*) AS rows, NULL AS unknown FROM " + table}, "rows  unknown\n3     -\n", ""},
		{"lines and invisible characters", []string{"SELECT 'a' || char(10) || 'b' || char(8238) AS x"},
			"x\na b\n", ""},
		{"CSV", []string{"--csv", "SELECT 'a,b' AS x, NULL AS y, 1.5 AS z"}, "x,y,z\n\"a,b\",,1.5\n", ""},
		{"JSON", []string{"--json", "SELECT 1 AS x, NULL AS y"},
			`{"columns":["x","y"],"rows":[["1",null]]}` + "\n", ""},
		{"no rows", []string{"--csv", "SELECT 1 AS x WHERE 0"}, "x\n", ""},
		{"no table", []string{"SELECT * FROM other"}, "", "no such table: other"},
		{"a write", []string{"DELETE FROM " + table}, "", "readonly"},
		{"two forms", []string{"--json", "--csv", "SELECT 1"}, "", "exclude each other"},
		{"no file", []string{"--from", "nowhere", "SELECT 1"}, "", "tollbook data pull URL --to nowhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := newQueryCommand()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(append([]string{"--from", folder}, test.args...))
			err := cmd.ExecuteContext(t.Context())
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got error %v, want one with %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
