package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/postgrestest"
)

// TestMigrate checks what migrate prints for a database of the first schema: the plan, which changes nothing, and what
// was done; then that nothing is left to do.
func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	conn := postgrestest.Connect(t, dsn)
	if err := migration.To(t.Context(), conn, 1); err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=" + dsn}
	tollbook := func(args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := tollbook(t, env, append(args, "--data", t.TempDir())...)
		if code != 0 {
			t.Fatalf("tollbook %s: exit %d: %s", strings.Join(args, " "), code, stderr)
		}
		return stdout, stderr
	}
	contains := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
	}
	for range 2 { // a plan changes nothing
		plan, _ := tollbook("migrate", "--plan")
		if strings.Contains(plan, "For operators:") {
			t.Errorf("the plan says whom it is for with each migration:\n%s", plan)
		}
		contains(plan, "The database has schema 1. This program needs schema ", "\n  002_reasons\n    For readers who ",
			"\n  003_operation\n", "Nothing is changed yet. Back up the database, then run tollbook migrate.\n")
	}
	var plan struct {
		Schema, Newest int
		Migrations     []migration.Step
		Done           bool
	}
	text, _ := tollbook("migrate", "--plan", "--json")
	if err := json.Unmarshal([]byte(text), &plan); err != nil || plan.Done || plan.Schema != 1 ||
		plan.Migrations[0].Name != "002_reasons" {
		t.Errorf("the plan as JSON is %s (%v), want one from schema 1 by 002_reasons", text, err)
	}
	done, log := tollbook("migrate")
	if want := fmt.Sprintf("The database had schema 1. It has schema %d now.\n", migration.NewestSchema()); done != want {
		t.Errorf("migrate prints %q, want %q: the log has its steps, and migrate --plan the plan", done, want)
	}
	contains(log, `msg="migrating the database, 002_reasons: For readers who `,
		`msg="migrating the database, 003_operation: `)
	again, log := tollbook("migrate")
	contains(again, " of tollbook ", "This program needs no other.\n")
	if log != "" {
		t.Errorf("a second migrate logs %q, want nothing", log)
	}
}
