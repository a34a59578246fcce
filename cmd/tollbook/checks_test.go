package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// TestVoidCommand checks that void, its list and unvoid say what they did, that void needs a time with checks and a
// reason, and that the build after it publishes the reason.
func TestVoidCommand(t *testing.T) {
	t.Parallel()
	dsn, data := postgrestest.NewDatabase(t), memoryDir(t)
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "services", "import", writeFile(t, "services.json", listOfServices(2, "d")), "--data", data)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := time.Now().UTC().Add(-2 * time.Hour).Truncate(time.Minute)
	var visits []checks.Visit
	for id := range int64(2) {
		visits = append(visits, checks.Visit{NextCheckAt: at.Add(time.Hour), FailingSince: &at, Check: checks.Check{
			ServiceID: id + 1, CheckedAt: at, ID: uuid.New(), Counted: true, Status: new("offline"),
			ErrorMessage: new("DNS lookup failed"), ConsecutiveFailures: 1, IntervalS: 900}})
	}
	if err := db.RecordVisits(t.Context(), visits); err != nil {
		t.Fatal(err)
	}
	from, to := at.Add(-time.Minute).Format("2006-01-02T15:04Z"), at.Add(time.Minute).Format("2006-01-02T15:04Z")
	fails(t, env, "no check of that time counts", "checks", "void", "--from", to, "--to",
		at.Add(2*time.Minute).Format(time.RFC3339), "--reason", "Our line was down.", "--data", data)
	out := ran(t, env, "checks", "void", "--from", from, "--to", to, "--reason", "Our line was down.", "--as", "anna",
		"--data", data)
	if want := "2 checks of 2 services count in nothing; the next build publishes it. To undo it: tollbook checks unvoid 1\n"; out != want {
		t.Errorf("void: %swant: %s", out, want)
	}
	list := ran(t, env, "checks", "void", "--list", "--data", data)
	if !strings.Contains(list, " by anna: Our line was down.\n1 time void\n") {
		t.Errorf("list: %s", list)
	}
	ran(t, env, "build", "--data", data)
	tree := data + "/public/current/v1/"
	var coverage struct {
		Data struct{ Voids []struct{ Reason string } }
	}
	if err := json.Unmarshal([]byte(readFile(t, tree+"coverage.json")), &coverage); err != nil ||
		len(coverage.Data.Voids) != 1 || coverage.Data.Voids[0].Reason != "Our line was down." {
		t.Errorf("coverage: %+v, %v", coverage, err)
	}
	if status := readFile(t, tree+"status.json"); !strings.Contains(status, `"offline":0`) {
		t.Errorf("status with void checks: %s", status)
	}
	out = ran(t, env, "checks", "unvoid", "1", "--as", "bert", "--data", data)
	if !strings.Contains(out, " count again; the next build publishes it\n") {
		t.Errorf("unvoid: %s", out)
	}
	list = ran(t, env, "checks", "void", "--list", "--data", data)
	if !strings.Contains(list, " by bert)\n0 times void\n") {
		t.Errorf("list: %s", list)
	}
	fails(t, env, "no void has the id 1", "checks", "unvoid", "1", "--data", data)
	for _, args := range [][]string{{"--list", "--reason", "x"}, {"--from", from, "--to", to}, {"--from", to, "--to",
		from, "--reason", "x"}, {"--from", "yesterday", "--to", to, "--reason", "x"}} {
		if code, _, stderr := tollbook(t, env, append([]string{"checks", "void", "--data", data}, args...)...); code != 2 {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
	}
}
