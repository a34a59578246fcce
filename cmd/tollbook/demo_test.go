//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/testgate"
)

// startDemo runs the demo on a free port until its first page responds. It returns the URL of the pages without a
// trailing slash.
func startDemo(t *testing.T, data string) (*program, string) {
	t.Helper()
	p := command(t, nil, "demo", "--data", data, "--listen", "127.0.0.1:0", "--interval", "5s").start(t)
	return p, strings.TrimSuffix(p.await(t, "Pages "), "/")
}

// startShippedDemo is like startDemo, but runs the program as it is shipped, with more visits.
func startShippedDemo(t *testing.T, data string) (*program, string) {
	t.Helper()
	p := command(t, nil, "demo", "--data", data, "--listen", "127.0.0.1:0", "--interval", "2s").shipped(t).start(t)
	return p, strings.TrimSuffix(p.await(t, "Pages "), "/")
}

// copyDemo returns a new data folder in which a demo was stopped, so that the next one continues with its data. To start
// one from nothing takes four times as long.
func copyDemo(t *testing.T) (data string) {
	t.Helper()
	needPostgres(t)
	stopped := demoFolder.get(t, func(folder string) {
		data := filepath.Join(folder, "data")
		p, _ := startShippedDemo(t, data)
		p.interrupt(t, os.Interrupt)
		if t.Failed() {
			t.FailNow()
		}
		tree := filepath.Join(data, "public", "tree") // half of the bytes; a build writes what is missing
		if err := errors.Join(os.Remove(filepath.Join(data, "public", "current")), os.RemoveAll(tree)); err != nil {
			t.Fatal(err)
		}
	})
	data = filepath.Join(t.TempDir(), "data")
	// The files of Postgres belong to another user if root runs the tests.
	if out, err := exec.Command("cp", "-a", filepath.Join(stopped, "data"), data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return data
}

// TestDemo checks what a newcomer sees: the demo starts from nothing, shows every kind of data, changes, and stops.
func TestDemo(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	needPostgres(t)
	data := filepath.Join(t.TempDir(), "data")
	p, base := startDemo(t, data)

	t.Run("contract", func(t *testing.T) { checkContract(t, base) })
	t.Run("world", func(t *testing.T) { checkWorld(t, base) })
	t.Run("pages", func(t *testing.T) { checkPages(t, base) })
	t.Run("settlements", func(t *testing.T) { checkSettled(t, base) })
	t.Run("same folder", func(t *testing.T) {
		code, _, stderr := tollbook(t, nil, "demo", "--data", data, "--listen", "127.0.0.1:0")
		want := fmt.Sprintf("data folder in use: %s is held by process %d", filepath.Join(data, "postgres"),
			p.Process.Pid)
		if code != 1 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d, stderr\n%swant 1 and one line with\n%s", code, stderr, want)
		}
	})
	t.Run("same port", func(t *testing.T) {
		other := t.TempDir()
		address := strings.TrimPrefix(base, "http://")
		code, stdout, stderr := tollbook(t, nil, "demo", "--data", other, "--listen", address)
		if code != 1 || stdout != "" || !strings.Contains(stderr,
			"listen on "+address+": another program uses this address") {
			t.Errorf("exit %d, stdout %q, stderr\n%s", code, stdout, stderr)
		}
		checkEmpty(t, other)
	})
	t.Run("side by side", func(t *testing.T) {
		testgate.All(t)
		second, address := startShippedDemo(t, copyDemo(t))
		for _, b := range []string{base, address} {
			if a := get(t, b+"/v1/stats"); a.status != 200 {
				t.Errorf("GET %s/v1/stats: %d %s", b, a.status, a.body)
			}
		}
		second.interrupt(t, syscall.SIGTERM)
	})
	t.Run("moves", func(t *testing.T) {
		first := get(t, base+"/v1/checks")
		var total site.TotalMeta
		until(t, base+"/v1/checks", "later snapshot with more checks", func(a answer) bool {
			total = decode[struct{ Meta site.TotalMeta }](t, a.body).Meta
			before := decode[struct{ Meta site.TotalMeta }](t, first.body).Meta
			return a.header.Get("X-Snapshot") > first.header.Get("X-Snapshot") && total.Total > before.Total &&
				a.header.Get("ETag") != first.header.Get("ETag")
		})
	})
	left := serverProcesses(data)
	if len(left) == 0 {
		t.Error("no Postgres of the demo was found: the check that none is left can't fail")
	}
	hold, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")) // an idle connection must not delay the shutdown
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	p.interrupt(t, os.Interrupt)
	checkGone(t, data, base, left)

	// The figures of the last snapshot, of services that take payments over every protocol, follow from its tables.
	var figures strings.Builder
	err = runVerify(t.Context(), verifyOptions{Figures: true}, filepath.Join(data, "public"), &figures)
	if err != nil {
		t.Errorf("%v:\n%s", err, figures.String())
	}
	t.Log(strings.TrimSpace(figures.String()))
}

// checkContract requests every route of the contract. It requests per-service routes for every service.
func checkContract(t *testing.T, base string) {
	list := decode[struct{ Data []site.ServiceListItem }](t, get(t, base+"/v1/services?per_page=100").body).Data
	for _, e := range endpoints {
		slugs := []string{""}
		if strings.Contains(e.path, "{slug}") {
			slugs = nil
			for _, s := range list {
				slugs = append(slugs, s.Slug)
			}
		}
		for _, slug := range slugs {
			path := strings.ReplaceAll(e.path, "{slug}", slug)
			a := get(t, base+path)
			if a.status != 200 || a.header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("GET %s: %d %s", path, a.status, a.header.Get("Content-Type"))
				continue
			}
			if faults := checkBody(a.body, e.data, e.meta); len(faults) > 0 {
				t.Errorf("GET %s:\n%s", path, strings.Join(faults[:min(len(faults), 10)], "\n"))
			}
		}
	}
	for path, want := range map[string]int{
		"/v1/services/nobody": 404, "/v1/services/nobody/uptime": 404, "/v1/services/nobody/checks": 404,
		"/v1/nothing":         404,
		"/v1/services?page=0": 400, "/v1/services?per_page=101": 400, "/v1/services?sort=best": 400,
		"/v1/services?status=unknown": 400,
		"/v1/checks?limit=0":          400, "/v1/checks?offset=-1": 400,
		"/v1/changes?days=0": 400, "/v1/changes?days=366": 400, "/v1/changes?type=moved": 400,
		"/v1/changes?page=x":        400,
		"/v1/services/nobody/price": 404, "/v1/services/nobody/scores?period=all": 404,
		"/v1/services/nobody/price?period=1y": 400,
		"/v1/services/nobody/volume":          404, "/v1/services/nobody/buyers?period=7d": 404,
		"/v1/facilitators/nobody": 404,
	} {
		if a := get(t, base+path); a.status != want ||
			!strings.HasPrefix(a.body, `{"error":{"code":`+strconv.Itoa(want)+`,`) {
			t.Errorf("GET %s: %d, want %d and an error object\n%s", path, a.status, want, a.body)
		}
	}
}

// checkWorld checks that there are many sample services, in every state, and that each is marked as sample data. The
// good services must have grade A.
func checkWorld(t *testing.T, base string) {
	list := decode[struct {
		Data []site.ServiceListItem
		Meta site.PaginationMeta
	}](t, get(t, base+"/v1/services?per_page=100").body)
	if list.Meta.Total < 40 || len(list.Data) != list.Meta.Total {
		t.Errorf("%d services, %d on the page of 100; want 40 or more, all of them", list.Meta.Total, len(list.Data))
	}
	const good = "/v1/services/firefly-embeddings"
	until(t, base+good, "grade A", func(a answer) bool {
		return strings.Contains(a.body, `"grade":"A","passed":14,"total":14`)
	})
	states, grades, priced := map[string]int{}, map[string]int{}, 0
	for _, s := range list.Data {
		states[s.Status]++
		d := decode[struct{ Data site.ServiceDetail }](t, get(t, base+"/v1/services/"+s.Slug).body).Data
		grades[d.Assessment.Compliance.Grade]++
		if u, err := url.Parse(d.BaseURL); err != nil || !strings.HasSuffix(u.Host, ".sample.test") {
			t.Errorf("%s has the address %s, want one under sample.test", s.Slug, d.BaseURL)
		}
		if !strings.Contains(strings.ToLower(d.Provenance.Source), "sample data") {
			t.Errorf("%s: provenance.source is %q, want it to say that this is sample data", s.Slug,
				d.Provenance.Source)
		}
		if d.MinPriceUSD != nil {
			priced++
		}
	}
	for _, state := range []string{site.StatusOnline, site.StatusDegraded, site.StatusOffline} {
		if states[state] == 0 {
			t.Errorf("no service is %s: %v", state, states)
		}
	}
	if grades["A"] == 0 || grades["F"] == 0 || len(grades) < 4 || priced < 30 {
		t.Errorf("grades %v, %d services with a price in USD; want A, F and others, and 30 prices", grades, priced)
	}
	days := decode[struct{ Data []site.UptimeDataPoint }](t,
		get(t, base+"/v1/services/"+list.Data[len(list.Data)-1].Slug+"/uptime?period=90d").body).Data
	if len(days) < 80 {
		t.Errorf("the oldest service has %d days of history, want about ninety", len(days))
	}
}

func checkPages(t *testing.T, base string) {
	slug := decode[struct{ Data []site.ServiceListItem }](t, get(t, base+"/v1/services?per_page=1").body).Data[0].Slug
	for _, path := range []string{"/", "/services", "/services?page=2", "/services/" + slug, "/services.html",
		"/status", "/status.html"} {
		a := get(t, base+path)
		if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(strings.ToLower(a.body), "sample data") {
			t.Errorf("GET %s: %d %s; want HTML that says that it shows sample data:\n%.1000s", path, a.status,
				a.header.Get("Content-Type"), a.body)
		}
	}
	if a := get(t, base+"/services/nobody"); a.status != 404 {
		t.Errorf("GET /services/nobody: %d, want 404", a.status)
	}
}

// history contains the values that must stay the same when a demo continues: the addresses, and sums of their history.
type history struct {
	Addresses map[string]string // by slug
	Listed    map[string]string // time of listing, by slug
	Endpoints int
}

func readHistory(t *testing.T, base string) (h history, checks int64) {
	t.Helper()
	h = history{Addresses: map[string]string{}, Listed: map[string]string{}}
	for _, s := range decode[struct{ Data []site.ServiceListItem }](t,
		get(t, base+"/v1/services?per_page=100").body).Data {
		h.Addresses[s.Slug], h.Listed[s.Slug] = s.BaseURL, fmt.Sprint(s.CreatedAt)
	}
	h.Endpoints = decode[struct{ Data site.AggregateStats }](t, get(t, base+"/v1/stats").body).Data.TotalEndpoints
	return h, int64(decode[struct{ Meta site.TotalMeta }](t, get(t, base+"/v1/checks").body).Meta.Total)
}

// secondOf returns the second in which a snapshot was built. The IDs of two snapshots of the same second don't say
// which is newer.
func secondOf(t *testing.T, snapshot string) time.Time {
	t.Helper()
	at, ok := archive.ParseSnapshotID(snapshot)
	if !ok {
		t.Fatalf("%q is no snapshot", snapshot)
	}
	return at
}

// TestDemoGoesOn checks that a demo continues its history after it was stopped, or killed with or without its Postgres.
func TestDemoGoesOn(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	data := copyDemo(t)
	p, base := startShippedDemo(t, data)
	want, checks := readHistory(t, base)
	if len(want.Addresses) < 40 || checks < 1000 {
		t.Fatalf("%d services with %d checks", len(want.Addresses), checks)
	}
	for _, tt := range []struct {
		name string
		end  func(*testing.T, *program)
	}{
		{"interrupt", func(t *testing.T, p *program) { p.interrupt(t, os.Interrupt) }},
		{"kill", func(t *testing.T, p *program) { kill(t, p.Process.Pid); <-p.exited }},
		{"kill its Postgres too", func(t *testing.T, p *program) {
			for _, pid := range append(serverProcesses(data), p.Process.Pid) {
				kill(t, pid)
			}
			<-p.exited
		}},
	} {
		snapshot := get(t, base+"/v1/stats").header.Get("X-Snapshot")
		tt.end(t, p)
		p, base = startShippedDemo(t, data)
		t.Run(tt.name, func(t *testing.T) {
			if said := p.said(); !strings.Contains(said, "Continuing with the sample data of the last run") ||
				strings.Contains(said, "Writing ninety days") {
				t.Errorf("the next demo says\n%s", said)
			}
			got, more := readHistory(t, base)
			if got.Endpoints < want.Endpoints { // services that change may have gained an endpoint
				t.Errorf("%d endpoints, before %d", got.Endpoints, want.Endpoints)
			}
			got.Endpoints = want.Endpoints
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("services before and after (-want +got):\n%s", diff)
			}
			if more < checks || more > checks+20_000 {
				t.Errorf("%d checks, before %d; want no fewer, and no second history", more, checks)
			}
			checks = more
			if now := get(t, base+"/v1/stats").header.Get("X-Snapshot"); now == snapshot ||
				secondOf(t, now).Before(secondOf(t, snapshot)) {
				t.Errorf("snapshot %s after %s", now, snapshot)
			}
		})
	}
	p.interrupt(t, os.Interrupt)
}

// TestDemoFollowsPrices moves the sample services' clock to the step at which a service raises its price. The new price
// must arrive in the API and on the page.
func TestDemoFollowsPrices(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	data := copyDemo(t)
	const slug = "firefly-embeddings"
	var offset atomic.Int64
	began := time.Now()
	o := demoOptions{
		dataOptions: dataOptions{Data: data}, listenOptions: listenOptions{Listen: "127.0.0.1:0"},
		Interval:  time.Second,
		now:       func() time.Time { return began.Add(time.Duration(offset.Load())) }, // it never advances by itself
		stopLimit: time.Minute,
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := runDemo(ctx, o, out)
		out.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	base := pagesLine(t, said)

	price := func(a answer) string {
		d := decode[struct{ Data site.ServiceDetail }](t, a.body).Data
		if len(d.Endpoints) != 1 || len(d.Endpoints[0].Pricing) != 1 || d.MinPriceUSD == nil {
			t.Fatalf("%s: endpoints %+v", slug, d.Endpoints)
		}
		return d.Endpoints[0].Pricing[0].Price
	}
	// The first visit under the stopped clock records the current price.
	visited := func(a answer) bool {
		at := decode[struct{ Data site.ServiceDetail }](t, a.body).Data.LastCheckedAt
		return at != nil && at.After(began)
	}
	before := price(until(t, base+"/v1/services/"+slug, "visit", visited))
	offset.Store(int64(5 * time.Minute))
	a := until(t, base+"/v1/services/"+slug, "other price than "+before, func(a answer) bool {
		return price(a) != before
	})
	usd := decode[struct{ Data site.ServiceDetail }](t, a.body).Data.MinPriceUSD
	until(t, base+"/services/"+slug, "page with $"+string(*usd), func(a answer) bool {
		return strings.Contains(a.body, "$"+string(*usd))
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// pagesLine reads a demo's output up to the line with the URL of its pages, and continues to read in the background.
func pagesLine(t *testing.T, said io.Reader) string {
	t.Helper()
	address := make(chan string, 1)
	go func() {
		defer close(address)
		for s := bufio.NewScanner(said); s.Scan(); {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(s.Text()), "Pages "); ok {
				address <- strings.TrimSuffix(strings.TrimSpace(rest), "/")
			}
		}
	}()
	base, ok := <-address
	if !ok {
		t.Fatal("the demo ended before its first page")
	}
	return base
}
