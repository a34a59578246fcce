package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// Variables that TestVantages passes to itself in the network of a place.
const (
	placeDatabase = "TOLLBOOK_TEST_PLACE_DATABASE"
	placeName     = "TOLLBOOK_TEST_PLACE"
	placeAnswer   = "TOLLBOOK_TEST_PLACE_ANSWER" // what the service asks there: a recipient, or nothing
)

// placeAddress is where each place finds the service.
const placeAddress = "127.0.0.1:8402"

const (
	placeSeller = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	placeThief  = "0x1111111111111111111111111111111111111111"
)

// TestVantages crawls one service from three network namespaces that share a database. One of them is lied to: first it
// reaches nothing at the service's address, then a service that names another recipient. The directory stays true: the
// service is online, its recipient did not change, and the page, the API and the risk say what the one place saw.
func TestVantages(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	if dsn := os.Getenv(placeDatabase); dsn != "" {
		crawlFromPlace(t, dsn, os.Getenv(placeName), os.Getenv(placeAnswer))
		return
	}
	needPostgres(t)
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte(
		`[{"service_name":"Acme","description":"d","url":"http://`+placeAddress+`","category":"AI","endpoints":["GET /x"]}]`)))
	visit := func(place, answer, want string) {
		t.Helper()
		runInNetwork(t, placeDatabase+"="+dsn, placeName+"="+place, placeAnswer+"="+answer)
		if got := query(t, dsn, `
			SELECT c.vantage || ' ' || s.last_status || coalesce(' ' || c.uncounted_reason, '') ||
				coalesce(' ' || asked_of::text, '')
			FROM checks c JOIN service_states s USING (service_id) ORDER BY c.checked_at DESC LIMIT 1`); got != want {
			t.Errorf("after the visit from %s: %s, want %s", place, got, want)
		}
	}
	due := func() { query(t, dsn, `UPDATE service_states SET next_check_at = now()`) }
	data := t.TempDir()
	published := func(file string, want ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(data, "public", "current", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if isAbsent := strings.HasPrefix(w, "!"); strings.Contains(string(text), strings.TrimPrefix(w, "!")) == isAbsent {
				t.Errorf("%s: want %s\n%.3000s", file, w, text)
			}
		}
	}
	visit("ams", placeSeller, "ams online")
	for _, place := range []string{"fra", "nyc"} { // nothing is due, but the places are known from now on
		visit(place, placeSeller, "ams online")
	}
	for _, place := range []string{"ams", "fra", "nyc"} {
		due()
		visit(place, placeSeller, place+" online")
	}
	due()
	visit("nyc", "", `nyc online other_places ["ams", "fra"]`)
	visit("nyc", "", `nyc online other_places ["ams", "fra"]`) // only the others may visit it
	visit("fra", placeSeller, `fra online ["ams"]`)
	visit("ams", placeSeller, "ams online")
	ran(t, env, "build", "--data", data)
	published("v1/services/acme.json", `"status":"online"`, `"consecutive_failures":0`, `"vantage":"nyc"`,
		`"risk":{"level":"`)
	published("services/acme.html", "down from 1 of 3 places")
	published("v1/coverage.json", `"vantages":[{"vantage":"ams"`, `{"vantage":"fra"`, `{"vantage":"nyc"`)

	due()
	visit("nyc", placeThief, `nyc online ["ams", "fra"]`)
	visit("ams", placeSeller, `ams online ["fra"]`)
	visit("fra", placeSeller, "fra online")
	due()
	visit("nyc", placeThief, "nyc online")
	due()
	visit("fra", placeSeller, "fra online")
	ran(t, env, "build", "--data", data)
	published("v1/services/acme.json", `"code":"terms_differ_by_place"`, placeThief, "GET /x asks ", " to "+placeSeller,
		`"pay_to_changes":[]`, `!"pay_to_changed"`)
	published("services/acme.html", "Other terms from another place", "!down from")
	for what, sql := range map[string]string{
		"changes":             `SELECT count(*)::text FROM changes`,
		"prices of the thief": `SELECT count(*)::text FROM prices WHERE pay_to = '` + placeThief + `'`,
	} {
		if got := query(t, dsn, sql); got != "0" {
			t.Errorf("%s %s, want none", got, what)
		}
	}
}

// crawlFromPlace starts the service as a place sees it, in the place's network namespace, and visits it if it is due.
func crawlFromPlace(t *testing.T, dsn, place, answer string) {
	for _, name := range []string{placeDatabase, placeName, placeAnswer} {
		os.Unsetenv(name) // the program does not know these variables
	}
	setDevice(t, "lo", unix.SIOCSIFFLAGS, deviceUp)
	if answer != "" {
		l, err := net.Listen("tcp", placeAddress)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusPaymentRequired)
			io.WriteString(w, fmt.Sprintf(`{"x402Version":1,"error":"pay","accepts":[{"scheme":"exact","network":"base",`+
				`"maxAmountRequired":"1000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":%q,`+
				`"maxTimeoutSeconds":60,"resource":"http://x","description":"d","extra":{"name":"USD Coin","version":"2"}}]}`,
				answer))
		})}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
	}
	ran(t, []string{"DATABASE_URL=" + dsn}, "crawl", "--once", "--crawl-vantage", place, "--crawl-allow-private",
		placeAddress, "--crawl-host-gap", "1ms")
}
