package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// probeStage measures rounds of visits, including everything that is parsed, judged and stored, beside ab, which
// stores nothing.
//
// A server in a process of its own answers each request with 402 and an x402 envelope of version 2, over TLS with an
// ECDSA P-256 certificate. Ours is a process with the parts of "tollbook crawl --once": the crawler, its pace shared
// through Postgres, and the whole guard. Its resolver returns a public address for each name; only the dial leads to
// loopback. It visits every service once from an empty database (first round), then all of them again (second round).
// Between the rounds it closes connections, as fifteen minutes would, but keeps TLS sessions.
//
// The peer sends as many requests to one name, from as many concurrent senders, each on a new connection, as in a first
// contact. It does not verify the certificate, resumes no session, and cannot use HTTP/2.
//
// An endpoint gets HEAD once a day; the bench marks it as sent. The server counts the requests of each side. Postgres
// must have a check of each visit, online, with its envelope and its price.
var probeStage = stage{"probe", "measure rounds of visits, beside ab",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var o probeOptions
		flags.IntVar(&o.Services, "services", 10_000, "services with an endpoint each")
		flags.IntVar(&o.Senders, "senders", 128, "requests at once, of either side")
		runs := flags.Int("runs", 5, "runs of each side")
		http2 := flags.Bool("http2", false, "let the server offer HTTP/2, which ab does not support")
		flags.StringVar(&o.Profile, "profile", "", "file for a CPU profile of our last run")
		return func(ctx context.Context, r *report) error {
			return measureProbes(ctx, r, &probing{probeOptions: o}, *runs, *http2)
		}
	}}

// probeOptions are what the crawler's process gets.
type probeOptions struct {
	Services, Senders int
	Profile           string
}

// probing is the state that both sides share.
type probing struct {
	probeOptions
	server   *database
	target   probeTarget
	crawler  *dialogue
	sessions []float64 // share of the second round's handshakes that resumed a session
}

func measureProbes(ctx context.Context, r *report, b *probing, runs int, http2 bool) error {
	if err := install(ctx, "ab.sh"); err != nil {
		return err
	}
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if b.server, err = startPostgres(ctx, filepath.Join(dir, "postgres"), false); err != nil {
		return err
	}
	defer b.server.end()
	server, err := startDialogue(ctx, nil, "probe server", http2)
	if err != nil {
		return err
	}
	defer server.end()
	if err := server.read(&b.target); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	b.target.authority = filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(b.target.authority, []byte(b.target.Authority), 0o600); err != nil {
		return err
	}
	defer func() { b.crawler.end() }()
	results, err := alternate(ctx, runs, b.first, b.second, b.peer)
	if err != nil {
		return err
	}
	peer := fmt.Sprintf("ab -n %d -c %d", b.Services, b.Senders)
	r.compare("first round: probes with checks and storage, TLS", peer, "probes/s", results[0], results[2],
		atLeast(0.9))
	r.compare("second round: TLS sessions resumed", peer, "probes/s", results[1], results[2], atLeast(1.1))
	r.add("second round: handshakes that resumed a session", "%", limit{}, b.sessions...)
	return nil
}

// first runs a round over unvisited services, in a new process with a new database.
func (b *probing) first(ctx context.Context) (rate float64, err error) {
	b.crawler.end()
	if err := b.server.create(ctx, "probe", ""); err != nil {
		return 0, err
	}
	env := []string{"DATABASE_URL=" + b.server.DSNFor("probe"), "TARGET=" + b.target.Address,
		"SSL_CERT_FILE=" + b.target.authority, "SSL_CERT_DIR=/nonexistent"}
	if b.crawler, err = startDialogue(ctx, env, "crawler", b.probeOptions); err != nil {
		return 0, err
	}
	return b.round(ctx, 1)
}

// second visits all of them again, in the process of the first round.
func (b *probing) second(ctx context.Context) (float64, error) {
	rate, err := b.round(ctx, 2)
	if err != nil {
		return 0, err
	}
	return rate, b.crawler.wait()
}

// round lets our process visit all services and checks what it stored.
func (b *probing) round(ctx context.Context, n int) (float64, error) {
	before, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	var r probeRound
	if err := b.crawler.ask(&r); err != nil {
		return 0, fmt.Errorf("round %d: %w", n, err)
	}
	after, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	if got := after.Requests - before.Requests; got != int64(b.Services) || r.Online != b.Services {
		return 0, fmt.Errorf("round %d: %d requests and %d services online, want %d of each", n, got, r.Online,
			b.Services)
	}
	handshakes, resumed := after.Handshakes-before.Handshakes, after.Resumed-before.Resumed
	log.Printf(
		"    round %d: %.2f s, CPU %.2f s of the crawler (%.0f MB), %.2f s of the server, %d connections, %d resumed",
		n, r.Seconds, r.CPU, r.Memory, after.CPU-before.CPU, handshakes, resumed)
	if n == 2 {
		b.sessions = append(b.sessions, 100*float64(resumed)/float64(handshakes))
	}
	return float64(b.Services) / r.Seconds, b.check(ctx, n)
}

var (
	abRate   = regexp.MustCompile(`Requests per second:\s+([0-9.]+)`)
	abNot2xx = regexp.MustCompile(`Non-2xx responses:\s+([0-9]+)`)
	abFailed = regexp.MustCompile(`Failed requests:\s+([0-9]+)`)
)

// peer runs ab: as many requests as there are services, each on its own connection.
func (b *probing) peer(ctx context.Context) (float64, error) {
	before, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	cmd := peer(ctx, nil, "ab.sh", "-q", "-n", fmt.Sprint(b.Services), "-c", fmt.Sprint(b.Senders),
		"-H", "Accept: application/json", "-H", "Accept-Encoding: gzip", "-H", "Cache-Control: no-cache",
		"https://"+b.target.Address+"/quote")
	out, _, err := run(cmd)
	if err != nil {
		return 0, err
	}
	after, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	rate := parseNumber(abRate, out)
	if n := after.Requests - before.Requests; n != int64(b.Services) || rate <= 0 ||
		parseNumber(abNot2xx, out) != float64(b.Services) || parseNumber(abFailed, out) != 0 {
		return 0, fmt.Errorf("ab sent %d requests of %d\n%s", n, b.Services, out)
	}
	seconds, _ := used(cmd)
	log.Printf("    ab: CPU %.2f s, %.2f s of the server, %d connections, %d resumed", seconds, after.CPU-before.CPU,
		after.Handshakes-before.Handshakes, after.Resumed-before.Resumed)
	return rate, nil
}

// parseNumber returns a number of ab's report, -1 if it is missing.
func parseNumber(what *regexp.Regexp, out []byte) float64 {
	m := what.FindSubmatch(out)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return -1
	}
	return n
}

// check checks that the database has n checks of each service, all online, with an envelope and a price of each
// endpoint.
func (b *probing) check(ctx context.Context, n int) error {
	conn, err := pgx.Connect(ctx, b.server.DSNFor("probe"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, want := range []struct {
		what, sql string
		count     int
	}{
		{"checks",
			`SELECT count(*) FROM checks WHERE counted AND status = 'online' AND status_code = 402
				AND endpoints_found = 1`, n * b.Services},
		{"services that are known to be online",
			`SELECT count(*) FROM service_states WHERE last_status = 'online' AND next_check_at > last_checked_at`,
			b.Services},
		{"envelopes",
			`SELECT count(*) FROM envelopes WHERE status_code = 402 AND tls_verified AND header ? 'Payment-Required'`,
			b.Services},
		{"prices", `SELECT count(*) FROM prices WHERE until IS NULL AND amount = 10000`, b.Services},
	} {
		var got int
		if err := conn.QueryRow(ctx, want.sql).Scan(&got); err != nil {
			return err
		}
		if got != want.count {
			return fmt.Errorf("%d %s are stored after round %d, want %d", got, want.what, n, want.count)
		}
	}
	return nil
}

// probeCounts are the counts of the server.
type probeCounts struct {
	Requests, Handshakes, Resumed int64
	CPU                           float64 // seconds
}

// probeTarget describes the server.
type probeTarget struct {
	Address   string // "127.0.0.1:port"
	Control   string // URL of its counts
	Authority string // PEM

	authority string // file with Authority
}

func (t probeTarget) count(ctx context.Context) (c probeCounts, err error) {
	data, _, err := readBody(ctx, t.Control)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// dialogue is a role that answers each line with a line.
type dialogue struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startDialogue(ctx context.Context, env []string, name string, args any) (*dialogue, error) {
	cmd, err := role(ctx, env, name, args)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &dialogue{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (p *dialogue) ask(answer any) error {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return err
	}
	return p.read(answer)
}

func (p *dialogue) read(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

func (p *dialogue) wait() error {
	p.in.Close()
	return p.cmd.Wait()
}

// end kills the process if it is running.
func (p *dialogue) end() {
	if p != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// probeRound is the report of the crawler about a round.
type probeRound struct {
	Online       int
	Seconds, CPU float64
	Memory       float64 // maximum resident memory, in MB
}

// publicAddress is the address of all names: one that the guard accepts.
var publicAddress = netip.MustParseAddr("93.184.215.14")

// names resolves every name to publicAddress.
type names struct{}

func (names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{publicAddress}, nil
}

// crawlRounds lists the services, then does a round for each line on stdin.
func crawlRounds(ctx context.Context, o probeOptions) error {
	debug.SetGCPercent(crawl.GCPercent)
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := listServices(ctx, db, o.Services); err != nil {
		return err
	}
	guard := &probe.Guard{Resolver: names{}, Connect: func(ctx context.Context, network string,
		_ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, os.Getenv("TARGET"))
	}}
	c := crawl.New(db, crawl.Options{Workers: o.Senders, HostGap: time.Nanosecond}, probe.Options{Guard: guard})
	defer c.Close()
	stop, err := profile(o.Profile)
	if err != nil {
		return err
	}
	defer stop()
	orders := bufio.NewScanner(os.Stdin)
	for first := true; orders.Scan(); first = false {
		if !first {
			c.Close() // closes connections, as fifteen minutes without use would; the crawler stays usable
			if err := executeAll(ctx, `UPDATE service_states SET next_check_at = now() - interval '1 minute'`,
				`VACUUM ANALYZE`); err != nil {
				return err
			}
		}
		before, began := selfCPU(), time.Now()
		report, err := c.Round(ctx)
		if err != nil {
			return err
		}
		r := probeRound{Online: report.Online, Seconds: time.Since(began).Seconds(), CPU: selfCPU() - before}
		if r.Memory, err = memoryOf(os.Getpid(), "VmHWM"); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// listServices lists services whose HEAD was already sent today.
func listServices(ctx context.Context, db *postgres.DB, n int) error {
	if err := db.AddListings(ctx, numberedListings(n, time.Now().Add(-time.Minute))); err != nil {
		return err
	}
	return executeAll(ctx, `UPDATE endpoints SET head_at = now()`, `VACUUM ANALYZE`)
}

func executeAll(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	for _, s := range statements {
		if _, failed := conn.Exec(ctx, s); failed != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", s, failed))
		}
	}
	return cmp.Or(err, conn.Close(ctx))
}
