//go:build unix

package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/run"
	"tollbook/output/outputtest"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

var updateWeek = flag.Bool("update-week", false, "write the outputs of the first week into its page")

const (
	weekPage    = "templates/pages/operations/start.md"
	weekHeading = "## The first week\n"
	pageAddress = "http://127.0.0.1:4020"
)

// identifier matches the name of a submission or of a snapshot.
var identifier = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}`)

// moving matches what differs from one run of the first week to the next: identifiers, sums, times, sizes and costs.
var moving = regexp.MustCompile(identifier.String() + `|[0-9a-f]{64}` +
	`|\bkey [0-9a-f]{16}\b|key, [0-9a-f]{16}\b` + // the id of a key
	`|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+Z?` + // a time
	`|tollbook (?:v[0-9]+\.[0-9]+\.[0-9]+|devel)\b` + // a version
	`|\$[0-9.]+|[0-9,.]+ (?:MB|kB|GB|s|files|objects|packs|new packs|reused|unchanged|written|deleted|writes|reads)\b`)

// week runs the commands of the page in a folder, as a shell would.
type week struct {
	t          *testing.T
	dir        string
	env        []string
	names      *strings.Replacer // from the names on the page to those of this machine
	pageNames  *strings.Replacer // and back
	values     map[string]string // identifiers, from the page to this run
	address    string            // of up, which the page calls pageAddress
	database   string            // that the workers share; "" before the page names one
	background []*program
	printed    []string // identifiers that were printed, the newest last
}

// TestFirstWeek runs the section "The first week" of the page /operations/start, command by command, and compares what
// each prints. -update-week writes the page.
func TestFirstWeek(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	page := readFile(t, filepath.Join(root, weekPage))
	_, section, ok := strings.Cut(page, weekHeading)
	if !ok {
		t.Fatalf("%s has no section %q", weekPage, strings.TrimSpace(weekHeading))
	}
	section, _, _ = strings.Cut(section, "\n## ")
	w := newWeek(t)
	var written strings.Builder
	blocks := regexp.MustCompile(`(?m)^    .*\n(?:\n*    .*\n)*`)
	rest := section
	for _, at := range blocks.FindAllStringIndex(section, -1) {
		block := section[at[0]:at[1]]
		before, _, _ := strings.Cut(rest, block)
		_, rest, _ = strings.Cut(rest, block)
		written.WriteString(before + w.run(block))
	}
	written.WriteString(rest)
	for _, p := range w.background {
		if p != nil {
			p.interrupt(t, os.Interrupt)
		}
	}
	if *updateWeek {
		page = strings.Replace(page, section, written.String(), 1)
		if err := os.WriteFile(filepath.Join(root, weekPage), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// newWeek starts the services and the bucket, and prepares an empty folder.
func newWeek(t *testing.T) *week {
	t.Helper()
	w := &week{t: t, dir: t.TempDir(), values: map[string]string{}}
	store := outputtest.Versity(t)
	bucket := store.Bucket(t)
	names := []string{"s3://acme/directory", bucket}
	for _, s := range [][2]string{
		{"https://weather.acme.example", "sdk"}, {"https://quotes.acme.example", "peers/hono"},
		{"https://bolt.example", "peers/express-v1"}, {"https://cove.example", "peers/mppx"},
		{"https://dune.example", "sdk"},
	} {
		var said struct{ Port int }
		startNode(t, filepath.Join("testdata", s[1]), &said)
		names = append(names, s[0], fmt.Sprintf("http://127.0.0.1:%d", said.Port))
	}
	var back []string
	for i := 0; i < len(names); i += 2 {
		back = append(back, names[i+1], names[i])
	}
	w.names, w.pageNames = strings.NewReplacer(names...), strings.NewReplacer(back...)
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "tollbook")); err != nil {
		t.Fatal(err)
	}
	w.env = append(store.Env(store.Address), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "DATABASE_URL=",
		"USER=keeper", "TOLLBOOK_CRAWL_ALLOW_PRIVATE=127.0.0.1", "TOLLBOOK_CRAWL_HOST_GAP=10ms",
		"TOLLBOOK_SERVE_LISTEN=127.0.0.1:0")
	w.storeBootstrap()
	return w
}

// storeBootstrap stores an empty list of registries, so that the crawler asks none about the submitted domain.
func (w *week) storeBootstrap() {
	w.t.Helper()
	db, err := run.OpenDatabase(w.t.Context(), run.DatabaseOptions{Data: filepath.Join(w.dir, "tollbook-data")})
	if err != nil {
		w.t.Fatal(err)
	}
	none := []byte(`{"services": [[["invalid"], ["https://registry.invalid/"]]]}`)
	if err := db.StoreBootstrap(w.t.Context(), none, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// run writes the files of a block, or runs its commands, and returns the block with what they printed.
func (w *week) run(block string) string {
	w.t.Helper()
	text := strings.TrimPrefix(strings.ReplaceAll("\n"+block, "\n    ", "\n"), "\n")
	if !strings.HasPrefix(text, "$ ") {
		w.writeFiles(text)
		return block
	}
	var printed strings.Builder
	for _, part := range strings.Split("\n"+strings.TrimSuffix(text, "\n"), "\n$ ")[1:] {
		line, want := cutCommand(part)
		if *updateWeek {
			line = w.guess(line)
		}
		got := w.command(line, want)
		if w.address != "" {
			got = strings.ReplaceAll(got, w.address, pageAddress)
		}
		got = w.pageNames.Replace(got)
		if *updateWeek {
			got = strings.ReplaceAll(got, "tollbook devel", "tollbook v0.1.0")
			w.printed = append(w.printed, identifier.FindAllString(got, -1)...)
		} else {
			w.compare(line, want, got)
		}
		printed.WriteString("$ " + strings.ReplaceAll(line, "\n", "\n> ") + "\n" + wrapLines(got))
	}
	out := "    " + strings.ReplaceAll(strings.TrimSuffix(printed.String(), "\n"), "\n", "\n    ") + "\n"
	return strings.ReplaceAll(out, "    \n", "\n")
}

// cutCommand splits a command, whose further lines begin with "> ", from what it prints.
func cutCommand(text string) (line, want string) {
	line, want, _ = strings.Cut(text, "\n")
	for strings.HasPrefix(want, "> ") {
		next, rest, _ := strings.Cut(want[2:], "\n")
		line, want = line+"\n"+next, rest
	}
	return line, want
}

// wrapLines breaks lines that are too long for the page. The next line is indented.
func wrapLines(text string) string {
	const most = 112
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		for line = strings.TrimSuffix(line, "\n"); len(line) > most; {
			at := strings.LastIndex(line[:most], " ")
			if at < most/3 {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = "    " + line[at+1:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// writeFiles writes each file of a block. A file begins with a comment that names it.
func (w *week) writeFiles(text string) {
	w.t.Helper()
	starts := regexp.MustCompile(`(?m)^# (\w+\.toml)$`).FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		w.t.Fatalf("neither commands nor files:\n%s", text)
	}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := text[at[2]:at[3]]
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(w.names.Replace(text[at[0]:end])),
			0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// command runs a line and returns what it printed. A line that ends with & runs until it is killed.
func (w *week) command(line, want string) string {
	w.t.Helper()
	line = w.names.Replace(line)
	if w.address != "" {
		line = strings.ReplaceAll(line, pageAddress, w.address)
	}
	for _, page := range slices.Sorted(maps.Keys(w.values)) {
		line = strings.ReplaceAll(line, page, w.values[page])
	}
	if number, ok := strings.CutPrefix(line, "kill %"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n > len(w.background) {
			w.t.Fatalf("no process for %q", line)
		}
		if w.database != "" {
			w.awaitWorkers(len(w.background) - 1) // all but up
		}
		w.background[n-1].interrupt(w.t, syscall.SIGTERM)
		w.background[n-1] = nil
		return ""
	}
	if strings.HasPrefix(line, "export DATABASE_URL=") {
		w.database = lastReleaseOffline(w.t)
		w.env = append(w.env, "DATABASE_URL="+w.database)
		return ""
	}
	if args, ok := strings.CutSuffix(line, " &"); ok {
		p := command(w.t, w.env, strings.Fields(args)[1:]...)
		p.Dir = w.dir
		w.background = append(w.background, p.start(w.t))
		got := p.await(w.t, "")
		if address := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(got); address != "" {
			w.address = address
		}
		return got
	}
	return w.shell(line, want)
}

// awaitWorkers waits until so many workers have taken jobs of the last minutes.
func (w *week) awaitWorkers(want int) {
	w.t.Helper()
	conn := postgrestest.Connect(w.t, w.database)
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		var n int
		if err := conn.QueryRow(w.t.Context(), `SELECT count(DISTINCT attempted_by[array_length(attempted_by, 1)])
			FROM river_job WHERE attempted_at > now() - interval '10 minutes'`).Scan(&n); err != nil {
			w.t.Fatal(err)
		}
		if n >= want {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d workers have taken jobs, want %d", n, want)
		}
	}
}

// shell runs a line to its end. A list is asked for until it is as on the page, because visits are going on.
func (w *week) shell(line, want string) string {
	w.t.Helper()
	limit := patience
	if *updateWeek {
		limit = 20 * time.Second // until all visits are through
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		cmd := exec.CommandContext(w.t.Context(), "bash", "-c", line)
		cmd.Dir, cmd.Env = w.dir, append(os.Environ(), w.env...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		w.t.Logf("$ %s\n%s%s", line, stdout.String(), stderr.String())
		got := stdout.String()
		if err != nil {
			got += stderr.String()
		}
		isList := strings.HasSuffix(line, " list")
		if !isList || mask(want) == mask(w.pageNames.Replace(got)) || time.Now().After(deadline) {
			return got
		}
	}
}

// mask returns a text with … for each moving value, and one space for many and for an indented line.
func mask(s string) string {
	spaces := regexp.MustCompile(`\n* {2,}`) // a long line is broken on the page
	return strings.TrimSpace(moving.ReplaceAllString(spaces.ReplaceAllString(s, " "), "…"))
}

// compare checks what a command printed, and learns the values that the next commands use.
func (w *week) compare(line, want, got string) {
	w.t.Helper()
	if diff := gocmp.Diff(mask(want), mask(got)); diff != "" {
		w.t.Fatalf("$ %s (-page +printed):\n%s", line, diff)
	}
	printed := identifier.FindAllString(got, -1)
	for i, value := range identifier.FindAllString(want, -1) {
		w.values[value] = printed[i]
	}
}

// guess returns a line with the values of this run, for a page that has those of another one: the submission that was
// printed last, or the snapshot before the newest.
func (w *week) guess(line string) string {
	id := identifier.FindString(line)
	if id == "" {
		return line
	}
	var same []string
	for _, v := range w.printed {
		if len(v) == len(id) && !slices.Contains(same, v) {
			same = append(same, v)
		}
	}
	if strings.Contains(id, "T") { // a snapshot
		same = same[:len(same)-1]
	}
	return strings.ReplaceAll(line, id, same[len(same)-1])
}

// lastReleaseOffline returns a database of the last release whose list of registries is recent, so that workers do not
// ask for a new one.
func lastReleaseOffline(t *testing.T) (dsn string) {
	t.Helper()
	dsn = restoreLastRelease(t)
	conn := postgrestest.Connect(t, dsn)
	if _, err := conn.Exec(t.Context(), `UPDATE rdap_bootstrap SET fetched_at = now()`); err != nil {
		t.Fatal(err)
	}
	return dsn
}
