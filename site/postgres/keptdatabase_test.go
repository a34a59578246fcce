package postgres_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec" // exec is a function of these tests
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

var update = flag.Bool("update", false, "let TestKeptDatabase write the database that testdata/databases lacks")

// keptSchemas returns how many schemas have a kept database in testdata/databases: 001.sql.gz and so on. Each has
// content in every table, and never changes.
func keptSchemas(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob(keptFile("*", "sql.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/databases has no kept database: %v", err)
	}
	return len(files)
}

// keptFile returns the path of a file about the kept database of a schema, which has three digits.
func keptFile(schema, ext string) string { return "testdata/databases/" + schema + "." + ext }

// restoreKept makes a database of a kept one.
func restoreKept(t *testing.T, schema int) (dsn string) {
	t.Helper()
	return postgrestest.Restore(t, keptFile(fmt.Sprintf("%03d", schema), "sql.gz"))
}

// keep returns a database of a schema as a kept file. It migrates the database of the schema before, and adds the rows
// of NNN.sql, if there is such a file: those of the tables that the schema adds.
func keep(t *testing.T, dsn string, schema int) []byte {
	t.Helper()
	conn := postgrestest.Connect(t, dsn)
	if err := migration.To(t.Context(), conn, int32(schema)); err != nil {
		t.Fatalf("migrate the kept database of schema %d to schema %d: %v", schema-1, schema, err)
	}
	rows := keptFile(fmt.Sprintf("%03d", schema), "sql")
	if sql, err := os.ReadFile(rows); err == nil {
		if _, err := conn.Exec(t.Context(), string(sql)); err != nil {
			t.Fatalf("insert the rows of site/postgres/%s: %v", rows, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for table, columns := range tableColumns(t, conn) {
		if len(tableRows(t, conn, table, columns)) == 0 && !isVolatile(table) {
			t.Errorf("the table %s would have no row in the kept database of schema %d: insert one in site/postgres/%s",
				table, schema, rows)
		}
	}
	dump := osexec.CommandContext(t.Context(), "pg_dump", "--inserts", "--rows-per-insert=200", "--no-owner",
		"--no-privileges", dsn)
	dump.Stderr = t.Output()
	out, err := dump.Output()
	if err != nil {
		t.Fatalf("dump the database of schema %d: %v", schema, err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, `\restrict`) || strings.HasPrefix(line, `\unrestrict`) {
			continue // commands of psql, with a random word
		}
		if _, err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestKeptDatabase checks that each schema before the newest has a kept database, and that one can be made: from the
// newest kept one, so that every row stays as it is. With -update it writes the file that is missing.
func TestKeptDatabase(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("pg_dump"); err != nil {
		testgate.Missing(t, "pg_dump is missing; install it (Debian: apt-get install postgresql-client)")
	}
	kept, newest := keptSchemas(t), int(migration.NewestSchema())
	if kept < newest-1 {
		next := fmt.Sprintf("%03d", kept+1)
		if !*update {
			t.Fatalf("migration %d needs a kept database of schema %d: run go test ./site/postgres -run TestKeptDatabase "+
				"-update until it passes without, and commit site/postgres/%s", newest, kept+1, keptFile(next, "sql.gz"))
		}
		data := keep(t, restoreKept(t, kept), kept+1)
		if t.Failed() {
			return
		}
		if err := os.WriteFile(keptFile(next, "sql.gz"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("wrote site/postgres/%s", keptFile(next, "sql.gz"))
		return
	}
	dsn := restoreKept(t, kept)
	copied := filepath.Join(t.TempDir(), "copy.sql.gz")
	if err := os.WriteFile(copied, keep(t, dsn, kept), 0o644); err != nil {
		t.Fatal(err)
	}
	was, is := postgrestest.Connect(t, dsn), postgrestest.Connect(t, postgrestest.Restore(t, copied))
	tables := tableColumns(t, was)
	if diff := cmp.Diff(tables, tableColumns(t, is)); diff != "" {
		t.Fatalf("columns of a kept database (-before +after):\n%s", diff)
	}
	for table, columns := range tables {
		if diff := cmp.Diff(tableRows(t, was, table, columns), tableRows(t, is, table, columns)); diff != "" {
			t.Errorf("rows of %s (-before +after):\n%s", table, diff)
		}
	}
}
