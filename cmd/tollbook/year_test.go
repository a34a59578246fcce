//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/chain/chaintest"
	"tollbook/output/outputtest"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

const (
	// yearVariable names the number of days that TestYear simulates. 365 days with 200 services take more than an hour.
	yearVariable = "TOLLBOOK_TEST_YEAR"

	// yearFiguresVariable names a folder for the figures of each week and their chart.
	yearFiguresVariable = "TOLLBOOK_TEST_YEAR_FIGURES"

	// asClock names the variable that sets the clock of the program.
	asClock = "TOLLBOOK_TEST_CLOCK"

	// yearVisits is the number of visits of each service in a simulated day.
	yearVisits = 2

	// yearFirstHostile is the number of the first hostile seller; the others follow it.
	yearFirstHostile = 3
)

// useClock lets the program use the clock of a test.
func useClock() {
	if text := os.Getenv(asClock); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(err)
		}
		offset := time.Until(at)
		run.Now = func() time.Time { return time.Now().Add(offset) }
	}
}

// year is a directory whose days pass as fast as its programs run. Every step is the real program in a process of its
// own, on a real database and a real bucket.
type year struct {
	start      time.Time
	day, visit int
	clock      time.Duration // since midnight
	sellers    []*merchant
	chain      *chaintest.Chain
	nonce      uint64
	truth

	mu   sync.Mutex
	rand *rand.Rand

	older                 string // a program
	upgrade               int    // the first day of the present program
	dsn, data, to, config string
	server                *outputtest.Server
	lasts                 map[string]time.Duration // a command without a kill
	memory                map[string]int64         // the most of a command since the last figures, in bytes
	killable, kills       int
	weeks                 []yearWeek
}

// truth is what happened, as an independent witness saw it.
type truth struct {
	visits map[int][]visited // of a seller's number, yearVisits a day
	paid   map[int][]payment
}

// visited says how often a service was visited at a time: at least and at most, for a visit that was killed may have
// been stored before.
type visited struct {
	least, most int
	up          bool
}

type payment struct {
	day    int
	amount int64
}

// copied returns a copy that later events do not change.
func (v truth) copied() truth {
	c := truth{map[int][]visited{}, v.paid} // what is on chain is read again
	for n, list := range v.visits {
		c.visits[n] = append([]visited{}, list...)
	}
	return c
}

// yearWeek are figures of the directory, in bytes.
type yearWeek struct {
	day                      int
	database, bucket, folder int64
	memory                   map[string]int64
}

func (y *year) now() time.Time { return y.start.AddDate(0, 0, y.day).Add(y.clock) }

func (y *year) env() []string {
	return append(y.server.Env(y.server.Address), "DATABASE_URL="+y.dsn, "TOLLBOOK_CONFIG="+y.config, "USER=keeper",
		ownCollector, asClock+"="+y.now().Format(time.RFC3339))
}

// TestYear lets days pass for a directory of which ten services are hostile, one of two lists lies and one of three
// nodes lies, and whose operator voids a bad night, restores a back-up and removes services, while programs are killed
// again and again. An independent reader finds in the published directory what happened: each service, price, recipient,
// visit and payment, and nothing of what was removed.
func TestYear(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	days, services := 21, 24
	if text := os.Getenv(yearVariable); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 21 {
			t.Fatalf("%s=%s: it is a number of days, 21 or more", yearVariable, text)
		}
		services = min(200, 24+days)
	}
	y := newYear(t, days, services)
	voided, saved, restored := days/4, days/2, days/2+3
	removals := map[int][]int{days / 3: {1}, saved + 1: {14}, days - 3: {services - 1, services - 2}}
	var dump string
	var then truth
	for ; y.day < days; y.day++ {
		for y.visit = range yearVisits {
			y.clock = time.Duration(11+12*y.visit) * time.Hour
			y.crawl(t)
		}
		y.pay()
		y.clock += 5 * time.Minute
		y.runs(t, "index", "--once")
		if y.older != "" && y.day == y.upgrade { // the older program may have believed the node that lies
			y.runs(t, "index", "--again", "base", "--from", y.start.Format(time.DateOnly))
		}
		if y.day%3 == 1 {
			y.pull(t)
		}
		if y.day == voided+1 {
			from := y.start.AddDate(0, 0, voided)
			y.runs(t, "checks", "void", "--from", from.Format(time.RFC3339), "--to",
				from.Add(12*time.Hour).Format(time.RFC3339), "--reason", "our line was down")
			for _, list := range y.visits {
				list[voided*yearVisits] = visited{}
			}
		}
		for _, n := range removals[y.day] {
			y.sellers[n].removed = true
			y.runs(t, "services", "remove", "--yes", "--reason", "a court said so", y.sellers[n].slug)
		}
		force := []string{}
		if y.day == restored {
			y.restore(t, dump)
			y.truth = then
			again := y.sellers[removals[saved+1][0]].slug
			if code, stdout, stderr := tollbook(t, y.env(), "build", "--data", y.data, "--expand", "none"); code != 1 ||
				!strings.Contains(stderr, "--force") || !strings.Contains(stderr, "it lists "+again+" again") {
				t.Fatalf("build of a restored back-up: exit %d\n%s%s", code, stdout, stderr)
			}
			y.runs(t, "services", "remove", "--yes", "--reason", "a court said so", again)
			force = []string{"--force"}
		}
		if y.day%3 == 2 || y.day > saved && y.day <= restored || y.day == days-1 {
			y.runs(t, append([]string{"build", "--data", y.data, "--expand", "none"}, force...)...)
			y.runs(t, append([]string{"publish", "--data", y.data, "--publish-to", y.to, "--expand", "none"}, force...)...)
			if y.day%5 == 0 {
				y.runs(t, "prune", "--data", y.data, "--publish-to", y.to)
			}
			if y.day >= y.upgrade && (y.day%2 == 0 || y.day == days-1 || y.day == restored) {
				y.read(t) // by a server of the present program, which migrates the database
			}
		}
		if y.day == saved {
			dump = filepath.Join(memoryDir(t), "tollbook.dump")
			tool(t, "pg_dump", "--format=custom", "--file="+dump, y.dsn)
			then = y.copied()
		}
		if y.day%7 == 6 {
			y.measure(t)
		}
		if t.Failed() {
			t.Fatalf("day %d", y.day)
		}
	}
	y.day--
	ran(t, y.env(), "verify", y.to)
	if y.kills == 0 {
		t.Error("no program was killed")
	}
	for _, root := range []string{y.data, y.server.Dir} {
		for _, list := range removals {
			for _, n := range list {
				for _, found := range findWords(t, root, y.sellers[n].slug, yearWord(n), y.sellers[n].host) {
					t.Errorf("removed, but in %s: %s", root, found)
				}
			}
		}
	}
	last := y.weeks[len(y.weeks)-1]
	t.Logf("figures: %d days of %d services: %d kills; database %d MB, bucket %d MB, folder %d MB; most memory in MB: %s",
		days, services, y.kills, last.database>>20, last.bucket>>20, last.folder>>20, y.mostMemory())
	y.write(t)
}

// newYear starts everything that a directory of so many services meets, and lists them.
func newYear(t *testing.T, days, services int) *year {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	y := &year{start: start, rand: rand.New(rand.NewPCG(41, 0)), chain: chaintest.New(8453, start.Add(-time.Hour)),
		truth: truth{map[int][]visited{}, map[int][]payment{}}, lasts: map[string]time.Duration{},
		memory: map[string]int64{}, server: outputtest.Versity(t), data: memoryDir(t), dsn: postgrestest.NewDatabase(t)}
	y.chain.Finality = 1
	if y.older = os.Getenv(olderVariable); y.older != "" {
		y.upgrade = days / 6 // before the first command that is new
	}
	y.to = y.server.Bucket(t)
	var text strings.Builder
	for n := range services {
		s := newSeller(t, y, n)
		y.sellers = append(y.sellers, s)
		fmt.Fprintf(&text, "[[service]]\nservice_name = %q\ndescription = \"Sells quotes.\"\nurl = \"http://%s\"\n"+
			"category = \"Data\"\nslug = %q\nendpoints = [\"/quote\"]\n\n", s.name, s.host, s.slug)
	}
	listed := writeFile(t, "services.toml", []byte(text.String()))
	config := fmt.Sprintf("[site]\nbase_url = \"https://tollbook.example\"\n[crawl]\nallow_private = [\"127.0.0.1\"]\n"+
		"host_gap = \"1ms\"\n[[network]]\ncaip2 = \"eip155:8453\"\nrpc = [%s]\nstart = \"2026-01-01\"\n",
		strings.Join([]string{y.serve(t, lyingNode(y.chain)), y.serve(t, y.chain), y.serve(t, y.chain)}, ", "))
	for _, lies := range []bool{false, true} {
		config += fmt.Sprintf("[[source]]\nname = \"lies-%t\"\nkind = \"x402-discovery\"\naddress = %s\n", lies,
			y.serve(t, &yearList{y, lies}))
	}
	y.config = writeFile(t, "tollbook.toml", []byte(config))
	facilitators := writeFile(t, "facilitators.json", fmt.Appendf(nil, `{"facilitators": [{"id": "acme", "name": "Acme",
		"facilitator_url": "https://acme.test/x402", "upstream_status": "merged", "addresses": [{"network": "eip155:8453",
		"address": %q, "tokens": ["0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"]}]}]}`, settlerOnBase))
	y.runs(t, "facilitators", "import", facilitators)
	y.runs(t, "services", "apply", "--new-categories", listed)
	return y
}

// serve starts a server and returns its URL as a string of TOML.
func (y *year) serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strconv.Quote(s.URL)
}

// command is a command of the program of the day.
func (y *year) command(t *testing.T, args ...string) *program {
	t.Helper()
	p := command(t, y.env(), args...)
	if y.day < y.upgrade {
		p.Path = y.older
	}
	return p
}

// maybeKill runs every twelfth command that may be run again, and kills it at a moment of its usual time.
func (y *year) maybeKill(t *testing.T, args ...string) (killed bool) {
	t.Helper()
	usual, ok := y.lasts[args[0]]
	if !ok || !slices.Contains(yearCommands, args[0]) {
		return false
	}
	if y.killable++; y.killable%12 != 0 {
		return false
	}
	p := y.command(t, args...).start(t)
	p.unread()
	select {
	case <-time.After(time.Duration(y.draw(int(usual * 3 / 4)))):
		kill(t, p.Process.Pid)
		<-p.exited
		y.kills++
	case <-p.exited:
	}
	return true
}

// runs runs a command to its end.
func (y *year) runs(t *testing.T, args ...string) string {
	t.Helper()
	if args[0] != "crawl" { // whose truth the caller knows
		y.maybeKill(t, args...)
	}
	began := time.Now()
	p := y.watched(t, args...)
	if code := p.status(t); code != 0 {
		t.Fatalf("day %d: tollbook %s: exit %d\n%s", y.day, strings.Join(args, " "), code, p.said())
	}
	y.lasts[args[0]] = time.Since(began)
	return p.said()
}

// draw returns a number below n.
func (y *year) draw(n int) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.rand.IntN(n)
}

// watched starts a command and records its memory. The system's own figure of a process that has ended is never below
// the memory of the process that started it.
func (y *year) watched(t *testing.T, args ...string) *program {
	t.Helper()
	p := y.command(t, args...).start(t)
	go func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-p.exited:
				tick.Stop()
				return
			case <-tick.C:
				y.mu.Lock()
				y.memory[args[0]] = max(y.memory[args[0]], int64(memoryKiB(p.Process.Pid, "VmHWM:"))<<10)
				y.mu.Unlock()
			}
		}
	}()
	return p
}

// crawl visits all services, and writes down which of them saw it.
func (y *year) crawl(t *testing.T) {
	t.Helper()
	query(t, y.dsn, "DELETE FROM hosts") // what may be asked in an hour is counted by the database's clock
	at := y.day*yearVisits + y.visit
	seen := func(least int) {
		for _, s := range y.sellers {
			list := y.visits[s.n]
			for len(list) <= at {
				list = append(list, visited{})
			}
			if s.wasSeen() {
				list[at] = visited{max(list[at].least, least), 1, s.isUp(y.day, y.visit)}
			}
			y.visits[s.n] = list
		}
	}
	args := []string{"crawl", "--once"}
	least := 1
	if y.maybeKill(t, args...) {
		least = 0 // a visit may have been stored or not, and its service waits until the killed program's lease ends
		seen(least)
		query(t, y.dsn, "DELETE FROM hosts") // which the killed program holds for a minute of the database's clock
	}
	y.runs(t, args...)
	seen(least)
}

// pull reads both lists. The answer of the lying one may be held back.
func (y *year) pull(t *testing.T) {
	t.Helper()
	query(t, y.dsn, "DELETE FROM hosts")
	p := y.watched(t, "sources", "pull")
	if code := p.status(t); code > 1 {
		t.Fatalf("day %d: sources pull: exit %d\n%s", y.day, code, p.said())
	}
}

// restore puts a back-up into a new database, with which the directory goes on.
func (y *year) restore(t *testing.T, dump string) {
	t.Helper()
	y.dsn = postgrestest.NewDatabase(t)
	tool(t, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+y.dsn, dump)
	y.runs(t, "index", "--once")
}

// read compares the published directory with what happened.
func (y *year) read(t *testing.T) {
	t.Helper()
	base, p := serving(t, y.env(), y.data, "--serve-rate-limit", "0")
	defer p.interrupt(t, os.Interrupt)
	listed := map[string]site.ServiceListItem{}
	for page := 1; ; page++ {
		var body struct {
			Data []site.ServiceListItem
			Meta struct {
				TotalPages int `json:"total_pages"`
			}
		}
		y.get(t, base+"/v1/services?per_page=100&page="+strconv.Itoa(page), &body)
		for _, s := range body.Data {
			listed[s.Slug] = s
		}
		if page >= body.Meta.TotalPages {
			break
		}
	}
	for _, s := range y.sellers {
		if t.Failed() {
			return
		}
		is, ok := listed[s.slug]
		if ok && s.removed || !ok && !s.removed && s.attack == nil {
			t.Errorf("day %d: %s: listed %t, removed %t", y.day, s.slug, ok, s.removed)
		}
		if s.attack != nil && !s.removed { // one that never answers leaves the lists and keeps its page
			y.readHostile(t, base, s)
		}
		if !ok || s.removed || s.attack != nil {
			continue
		}
		y.readHonest(t, base, s, is)
	}
}

// get decodes a response.
func (y *year) get(t *testing.T, url string, into any) (body string) {
	t.Helper()
	a := get(t, url)
	if a.status != http.StatusOK {
		t.Fatalf("day %d: GET %s: %d %s", y.day, url, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("day %d: GET %s: %v", y.day, url, err)
	}
	return a.body
}

// yearService is what the reader compares of a service.
type yearService struct {
	Assessment struct {
		Advice   struct{ Level string }
		Traction struct {
			TxCount30d       int64       `json:"tx_count_30d"`
			TxCountAllTime   int64       `json:"tx_count_all_time"`
			VolumeUSD30d     json.Number `json:"volume_usd_30d"`
			VolumeUSDAllTime json.Number `json:"volume_usd_all_time"`
		}
	}
}

func (y *year) readHonest(t *testing.T, base string, s *merchant, is site.ServiceListItem) {
	t.Helper()
	fault := func(what string, got, want any) {
		t.Errorf("day %d: %s: %s is %v, want %v", y.day, s.slug, what, got, want)
	}
	list := append([]visited{}, y.visits[s.n]...)
	list = append(list, make([]visited, (y.day+1)*yearVisits-len(list))...) // after a restore, days are missing
	// Prices at the newest answer and those that may have come after it, and the visits since the service last changed.
	var prices []string
	tail := 0
	for at, v := range list {
		if v.up && v.least > 0 {
			prices = nil
		}
		if v.up && v.most > 0 {
			prices = append(prices, usdc(s.price(at/yearVisits)))
		}
		if v.least == 0 {
			continue
		}
		if at > 0 && v.up == list[at-1].up {
			tail++
		} else {
			tail = 0
		}
	}
	if len(prices) > 0 && (is.MinPriceUSD == nil || !slices.Contains(prices, string(*is.MinPriceUSD))) {
		fault("min_price_usd", is.MinPriceUSD, prices)
	}
	if v := list[len(list)-1]; v.least == 1 && v.up && tail > 1 && is.Status != "online" {
		fault("status", is.Status, "online")
	}

	var service struct{ Data yearService }
	text := y.get(t, base+"/v1/services/"+url.PathEscape(s.slug), &service)
	text = strings.ToLower(text) // addresses have a checksum in their case
	if strings.Contains(text, strings.ToLower(thief)) || len(prices) > 0 && !strings.Contains(text, s.recipient) {
		fault("the recipient", "another", s.recipient)
	}
	traction := service.Data.Assessment.Traction
	var all, recent, sumAll, sumRecent int64
	named := slices.IndexFunc(list, func(v visited) bool { return v.up && v.most > 0 }) / yearVisits
	for _, p := range y.paid[s.n] {
		if p.day < named {
			continue // a recipient belongs to a service from the day on which it names it
		}
		all, sumAll = all+1, sumAll+p.amount
		if p.day > y.day-30 {
			recent, sumRecent = recent+1, sumRecent+p.amount
		}
	}
	if traction.TxCountAllTime != all || traction.TxCount30d != recent {
		fault("the number of payments", fmt.Sprint(traction.TxCountAllTime, " and ", traction.TxCount30d),
			fmt.Sprint(all, " and ", recent))
	}
	if got, want := fmt.Sprint(cmp.Or(traction.VolumeUSDAllTime, "0"), cmp.Or(traction.VolumeUSD30d, "0")),
		fmt.Sprint(usdc(sumAll), usdc(sumRecent)); got != want {
		fault("the sum of payments", got, want)
	}

	var uptime struct {
		Data []struct {
			PeriodStart time.Time `json:"period_start"`
			Total       int       `json:"total_checks"`
			Successful  int       `json:"successful_checks"`
		}
	}
	y.get(t, base+"/v1/services/"+url.PathEscape(s.slug)+"/uptime?period=90d", &uptime)
	got := map[int][2]int{}
	for _, p := range uptime.Data {
		got[int(p.PeriodStart.Sub(y.start)/(24*time.Hour))] = [2]int{p.Total, p.Successful}
	}
	for day := max(0, y.day-89); day <= y.day; day++ {
		var least, most, leastUp, mostUp int
		for _, v := range list[day*yearVisits : (day+1)*yearVisits] {
			least, most = least+v.least, most+v.most
			if v.up {
				leastUp, mostUp = leastUp+v.least, mostUp+v.most
			}
		}
		if g := got[day]; g[0] < least || g[0] > most || g[1] < leastUp || g[1] > mostUp {
			fault(fmt.Sprintf("day %d has checks and successes", day), g,
				fmt.Sprintf("%d to %d and %d to %d", least, most, leastUp, mostUp))
		}
	}
}

// usdc formats an amount of atomic USDC as the API does.
func usdc(atomic int64) string {
	text := fmt.Sprintf("%d.%06d", atomic/1e6, atomic%1e6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func (y *year) readHostile(t *testing.T, base string, s *merchant) {
	t.Helper()
	var service struct{ Data yearService }
	y.get(t, base+"/v1/services/"+url.PathEscape(s.slug), &service)
	if level := service.Data.Assessment.Advice.Level; level == "good" {
		t.Errorf("day %d: %s, attack %d: the advice is %q", y.day, s.slug, s.n-yearFirstHostile, level)
	}
}

// measure records the figures of a week.
func (y *year) measure(t *testing.T) {
	t.Helper()
	size, err := strconv.ParseInt(query(t, y.dsn, "SELECT pg_database_size(current_database())::text"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	y.mu.Lock()
	memory := y.memory
	y.memory = map[string]int64{}
	y.mu.Unlock()
	y.weeks = append(y.weeks, yearWeek{y.day + 1, size, sizeOf(t, y.server.Dir), sizeOf(t, y.data), memory})
	y.write(t)
}

func sizeOf(t *testing.T, root string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

var yearCommands = []string{"crawl", "index", "sources", "build", "publish"}

func (y *year) mostMemory() string {
	var list []string
	for _, name := range yearCommands {
		var most int64
		for _, w := range y.weeks {
			most = max(most, w.memory[name])
		}
		list = append(list, fmt.Sprintf("%s %d", name, most>>20))
	}
	return strings.Join(list, ", ")
}

// write writes the figures, if a folder for them is named.
func (y *year) write(t *testing.T) {
	t.Helper()
	dir := os.Getenv(yearFiguresVariable)
	if dir == "" {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "day,database,bucket,folder,%s\n", strings.Join(yearCommands, ","))
	for _, w := range y.weeks {
		fmt.Fprintf(&b, "%d,%d,%d,%d", w.day, w.database, w.bucket, w.folder)
		for _, name := range yearCommands {
			fmt.Fprintf(&b, ",%d", w.memory[name])
		}
		b.WriteString("\n")
	}
	write(t, filepath.Join(dir, "year.csv"), b.String())
	write(t, filepath.Join(dir, "year.svg"), y.chart())
}

// chart draws the figures of all weeks: the sizes of the database and the bucket, and the memory of a crawl and a build.
func (y *year) chart() string {
	const width, height, gap = 600, 90, 40
	panels := []struct {
		title string
		of    func(w *yearWeek) int64
	}{
		{"Database", func(w *yearWeek) int64 { return w.database }},
		{"Bucket", func(w *yearWeek) int64 { return w.bucket }},
		{"Memory of a crawl, the most in a week", func(w *yearWeek) int64 { return w.memory["crawl"] }},
		{"Memory of a build, the most in a week", func(w *yearWeek) int64 { return w.memory["build"] }},
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", width+2*gap, len(panels)*(height+gap)+gap)
	last := y.weeks[len(y.weeks)-1].day
	for i, p := range panels {
		top, most := gap+i*(height+gap), int64(1)
		for _, w := range y.weeks {
			most = max(most, p.of(&w))
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s: at most %d MB</text>\n<path d=\"M%d %dh%d\" stroke=\"#999\"/>\n",
			gap, top-6, p.title, (most+1<<19)>>20, gap, top+height, width)
		b.WriteString(`<polyline fill="none" stroke="#06c" stroke-width="2" points="`)
		for _, w := range y.weeks {
			fmt.Fprintf(&b, "%d,%d ", gap+width*w.day/last, top+height-int(p.of(&w)*height/most))
		}
		b.WriteString("\"/>\n")
	}
	bottom := len(panels)*(height+gap) + gap - 20
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">day 1</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">day %d</text>\n",
		gap, bottom, gap+width, bottom, last)
	b.WriteString("</svg>\n")
	return b.String()
}
