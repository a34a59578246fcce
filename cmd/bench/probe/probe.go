// Package probe measures rounds of visits, including everything that is parsed, judged and stored, beside ab, which
// stores nothing:
//
//	go run ./cmd/bench probe -services 10000 -runs 5
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
package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/site/postgres/private"
)

// options are the flags.
type options struct {
	services, senders, runs int
	http2                   bool
	profile                 string
	role                    string // of the processes that the bench starts itself
}

// Command is the bench.
var Command = harness.Command{Name: "probe", Short: "measure rounds of visits, beside ab",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var o options
		flags.IntVar(&o.services, "services", 10_000, "services with an endpoint each")
		flags.IntVar(&o.senders, "senders", 128, "requests at once, of either side")
		flags.IntVar(&o.runs, "runs", 5, "runs of each side")
		flags.BoolVar(&o.http2, "http2", false, "let the server offer HTTP/2, which ab does not support")
		flags.StringVar(&o.profile, "profile", "", "file for a CPU profile of our last run")
		flags.StringVar(&o.role, "role", "", "of the processes that the bench starts itself")
		return func(ctx context.Context) error {
			switch o.role {
			case "server":
				return serve(o.http2)
			case "ours":
				return ours(ctx, o)
			}
			return run(ctx, o)
		}
	}}

// bench is the state that both sides share.
type bench struct {
	options
	server   *private.Server
	target   target
	db       string // database of the run
	crawler  *process
	sessions []float64 // share of the second round's handshakes that resumed a session
}

func run(ctx context.Context, o options) error {
	if err := harness.Install(ctx, harness.Peer{Program: "ab", Package: "apache2-utils"}); err != nil {
		return err
	}
	dir, err := harness.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	postgres, err := private.Start(ctx, private.Options{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return err
	}
	defer postgres.Stop(context.WithoutCancel(ctx))
	b := &bench{options: o, server: postgres}
	server, err := start(ctx, nil, "-role", "server", fmt.Sprintf("-http2=%t", o.http2))
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
	results, err := harness.Alternate(ctx, o.runs, b.first, b.second, b.peer)
	if err != nil {
		return err
	}
	report := harness.NewReport(o.runs)
	peer := fmt.Sprintf("ab -n %d -c %d", o.services, o.senders)
	report.Compare("first round: probes with checks and storage, TLS", peer, "probes/s", results[0], results[2],
		harness.Bound{Target: 0.9, Hoped: 1.1})
	report.Compare("second round: TLS sessions resumed", peer, "probes/s", results[1], results[2],
		harness.Bound{Target: 1.1, Hoped: 1.5})
	report.Add("second round: handshakes that resumed a session", "%", b.sessions...)
	return report.Print()
}

// first runs a round over unvisited services, in a new process with a new database.
func (b *bench) first(ctx context.Context) (float64, error) {
	b.crawler.end()
	conn, err := pgx.Connect(ctx, b.server.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if b.db != "" {
		if _, err := conn.Exec(ctx, `DROP DATABASE `+b.db+` WITH (FORCE)`); err != nil {
			return 0, err
		}
	}
	b.db = fmt.Sprintf("probe_%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+b.db); err != nil {
		return 0, err
	}
	env := []string{"DATABASE_URL=" + b.server.DSNFor(b.db), "TARGET=" + b.target.Address,
		"SSL_CERT_FILE=" + b.target.authority, "SSL_CERT_DIR=/nonexistent"}
	b.crawler, err = start(ctx, env, "-role", "ours", "-services", fmt.Sprint(b.services), "-senders",
		fmt.Sprint(b.senders), "-profile", b.profile)
	if err != nil {
		return 0, err
	}
	return b.round(ctx, 1)
}

// second visits all of them again, in the process of the first round.
func (b *bench) second(ctx context.Context) (float64, error) {
	rate, err := b.round(ctx, 2)
	if err != nil {
		return 0, err
	}
	return rate, b.crawler.wait()
}

// round lets our process visit all services and checks what it stored.
func (b *bench) round(ctx context.Context, n int) (float64, error) {
	before, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	var r round
	if err := b.crawler.ask(&r); err != nil {
		return 0, fmt.Errorf("round %d: %w", n, err)
	}
	after, err := b.target.count(ctx)
	if err != nil {
		return 0, err
	}
	if got := after.Requests - before.Requests; got != int64(b.services) || r.Online != b.services {
		return 0, fmt.Errorf("round %d: %d requests and %d services online, want %d of each", n, got, r.Online,
			b.services)
	}
	handshakes, resumed := after.Handshakes-before.Handshakes, after.Resumed-before.Resumed
	log.Printf(
		"    round %d: %.2f s, CPU %.2f s of the crawler (%.0f MB), %.2f s of the server, %d connections, %d resumed",
		n, r.Seconds, r.CPU, r.Memory, after.CPU-before.CPU, handshakes, resumed)
	if n == 2 {
		b.sessions = append(b.sessions, 100*float64(resumed)/float64(handshakes))
	}
	return float64(b.services) / r.Seconds, b.check(ctx, n)
}

// check checks that the database has n checks of each service, all online, with an envelope and a price of each
// endpoint.
func (b *bench) check(ctx context.Context, n int) error {
	conn, err := pgx.Connect(ctx, b.server.DSNFor(b.db))
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
				AND endpoints_found = 1`, n * b.services},
		{"services that are known to be online",
			`SELECT count(*) FROM service_states WHERE last_status = 'online' AND next_check_at > last_checked_at`,
			b.services},
		{"envelopes",
			`SELECT count(*) FROM envelopes WHERE status_code = 402 AND tls_verified AND header ? 'Payment-Required'`,
			b.services},
		{"prices", `SELECT count(*) FROM prices WHERE until IS NULL AND amount = 10000`, b.services},
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

// counts are the counts of the server.
type counts struct {
	Requests, Handshakes, Resumed int64
	CPU                           float64 // seconds
}

// target describes the server.
type target struct {
	Address   string // "127.0.0.1:port"
	Control   string // URL of its counts
	Authority string // PEM

	authority string // file with Authority
}

func (t target) count(ctx context.Context) (c counts, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Control, nil)
	if err != nil {
		return c, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	return c, json.NewDecoder(resp.Body).Decode(&c)
}

// process is a process of the bench that answers each line with a line.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, env []string, args ...string) (*process, error) {
	cmd, err := harness.Role(ctx, env, args...)
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
	return &process{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (p *process) ask(answer any) error {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return err
	}
	return p.read(answer)
}

func (p *process) read(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

func (p *process) wait() error {
	p.in.Close()
	return p.cmd.Wait()
}

// end kills the process if it is running.
func (p *process) end() {
	if p != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}
