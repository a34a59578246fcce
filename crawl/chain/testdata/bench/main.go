// Command bench measures Tollbook's reader of EVM chains beside ponder 1.0.0, in turn, on one machine, from one node into one
// Postgres:
//
//	go run ./crawl/chain/testdata/bench -blocks 5000 -runs 5
//
// The node is crawl/chain/chaintest in a process of its own: blocks with eight to twelve transactions of two logs each, an authorisation
// and its transfer, most of them sent by listed settlers. The job is the same: every settlement as a row, with its sums by
// facilitator and day; Tollbook keeps its sums by hour, payee and payer too. Each run begins with an empty database, and
// its time goes from the start of the process until every row is committed. Rows and sums must be equal. Text goes to
// stderr, the figures as JSON to stdout.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

const (
	network       = "eip155:8453"
	usdc          = "833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	transfer      = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	authorization = "98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
	txsPerBlock   = 10
	settlers      = 9 // of ten senders
	facilitators  = 3
	confirmations = 1
)

func main() {
	log.SetFlags(0)
	blocks := flag.Int64("blocks", 5000, "blocks of the chain, with some 20 logs each")
	runs := flag.Int("runs", 5, "runs of each")
	dir := flag.String("dir", "", "folder for Postgres and ponder; a temporary one in memory where there is none")
	peer := flag.Bool("peer", true, "run ponder too")
	profile := flag.String("profile", "", "file for a CPU profile of our last run")
	role := flag.String("role", "", "of the processes that the bench starts itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch *role {
	case "node":
		err = serve(*blocks)
	case "ours":
		err = ours(ctx, *profile)
	default:
		err = run(ctx, *blocks, *runs, *dir, *peer, *profile)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse[T chaintest.Address | chaintest.Hash](digits string) (out T) {
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(out) {
		panic(digits)
	}
	for i := range raw {
		out[i] = raw[i]
	}
	return out
}

// person is the nth account of a kind.
func person(kind byte, n int64) (a chaintest.Address) {
	a[0] = kind
	binary.BigEndian.PutUint64(a[12:], uint64(n)+1)
	return a
}

func word(a chaintest.Address) (h chaintest.Hash) {
	copy(h[12:], a[:])
	return h
}

// serve makes the chain and answers until it is killed.
func serve(blocks int64) error {
	c := chaintest.New(8453, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	token, used, moved := parse[chaintest.Address](usdc), parse[chaintest.Hash](authorization), parse[chaintest.Hash](transfer)
	for n := range blocks {
		txs := make([]chaintest.Tx, txsOf(n))
		for i := range txs {
			at := n*16 + int64(i)
			buyer, seller := word(person('b', at*7919%2000)), word(person('r', at*104729%300))
			var nonce chaintest.Hash
			binary.BigEndian.PutUint64(nonce[:], uint64(at))
			txs[i] = chaintest.Tx{From: person('s', int64(i)%txsPerBlock), To: token, Nonce: uint64(at), Input: make([]byte, 292), Logs: []chaintest.Log{
				{Contract: token, Topics: []chaintest.Hash{used, buyer, nonce}},
				{Contract: token, Topics: []chaintest.Hash{moved, buyer, seller}, Data: big.NewInt(1000 + at%9000).FillBytes(make([]byte, 32))},
			}}
		}
		c.Add(c.Head().Time.Add(2*time.Second), txs...)
	}
	for range 64 { // ponder calls a chain indexed when it is so up to some blocks below the newest
		c.Add(c.Head().Time.Add(2 * time.Second))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, c)
}

// txsOf is how many transactions a block has: on no real chain do ranges hold round numbers of logs.
func txsOf(n int64) int64 { return txsPerBlock - 2 + int64(uint32(n)*2654435761>>16)%5 }

// expected counts what serve makes.
func expected(blocks int64) (events, settlements int64) {
	for n := range blocks {
		txs := txsOf(n)
		events += 2 * txs
		settlements += txs
		if txs >= txsPerBlock {
			settlements-- // the tenth sender is on no list
		}
	}
	return events, settlements
}

func listed() (list []postgres.Facilitator) {
	for f := range facilitators {
		one := postgres.Facilitator{ID: fmt.Sprintf("facilitator-%d", f), Name: "F", WebsiteURL: "https://f.test", UpstreamStatus: "merged"}
		for s := f; s < settlers; s += facilitators {
			a := person('s', int64(s))
			one.Settlers = append(one.Settlers, postgres.Settler{Network: network, Address: "0x" + hex.EncodeToString(a[:]), Tokens: []string{"0x" + usdc}})
		}
		list = append(list, one)
	}
	return list
}

// ours indexes once, from an empty database.
func ours(ctx context.Context, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ImportFacilitators(ctx, listed()); err != nil {
		return err
	}
	x, err := crawl.NewIndexer(db, []chain.Network{{ID: network, RPC: []string{os.Getenv("RPC")}, Confirmations: confirmations}}, chain.Options{})
	if err != nil {
		return err
	}
	reports, err := x.Once(ctx)
	if err == nil {
		fmt.Fprintf(os.Stderr, "    %+v\n", reports[0])
	}
	return err
}

// result is what the bench says.
type result struct {
	Blocks, Events, Settlements int64
	Machine                     string
	Ours, Ponder                figures
	Ratio                       *spread // of events per second, run by run
}

type figures struct {
	Seconds         []float64
	EventsPerSecond *spread
}

type spread struct{ Min, Median, Max float64 }

func spreadOf(list []float64) *spread {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(list))
	return &spread{sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]}
}

func run(ctx context.Context, blocks int64, runs int, dir string, peer bool, profile string) error {
	if dir == "" {
		base := "/dev/shm"
		if _, err := os.Stat(base); err != nil {
			base = ""
		}
		var err error
		if dir, err = os.MkdirTemp(base, "tollbook-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	server, err := private.Start(ctx, private.Options{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return err
	}
	defer server.Stop(context.Background())
	project := filepath.Join(dir, "ponder")
	if peer {
		if err := install(ctx, project); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	node := exec.CommandContext(ctx, self, "-role", "node", "-blocks", fmt.Sprint(blocks))
	out, err := node.StdoutPipe()
	if err != nil {
		return err
	}
	if err := node.Start(); err != nil {
		return err
	}
	defer func() { _ = node.Process.Kill(); _ = node.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	rpc := strings.TrimSpace(line)
	events, settlements := expected(blocks)
	r := result{Blocks: blocks, Events: events, Settlements: settlements, Machine: fmt.Sprintf("%d cores, %s, %s", runtime.NumCPU(), runtime.GOARCH, runtime.Version())}
	fmt.Fprintf(os.Stderr, "%d blocks, %d events, %d settlements; %s\n", r.Blocks, r.Events, r.Settlements, r.Machine)
	var ratios, oursRate, ponderRate []float64
	for i := range runs {
		a, err := measure(ctx, server, fmt.Sprintf("ours_%d", i), r.Settlements, `SELECT count(*), sum(amount)::text FROM settlements`, func(dsn string) error {
			cmd := exec.CommandContext(ctx, self, "-role", "ours", "-profile", profile)
			cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn, "RPC="+rpc)
			cmd.Stderr = os.Stderr
			return cmd.Run()
		})
		if err != nil {
			return fmt.Errorf("ours: %w", err)
		}
		r.Ours.Seconds = append(r.Ours.Seconds, a)
		oursRate = append(oursRate, float64(r.Events)/a)
		fmt.Fprintf(os.Stderr, "run %d: ours %.2f s, %.0f events/s\n", i+1, a, float64(r.Events)/a)
		if !peer {
			continue
		}
		b, err := measure(ctx, server, fmt.Sprintf("ponder_%d", i), r.Settlements, `SELECT count(*), sum(amount)::text FROM bench.settlement`, func(dsn string) error {
			return ponder(ctx, project, dsn, rpc, blocks)
		})
		if err != nil {
			return fmt.Errorf("ponder: %w", err)
		}
		r.Ponder.Seconds = append(r.Ponder.Seconds, b)
		ponderRate = append(ponderRate, float64(r.Events)/b)
		ratios = append(ratios, b/a)
		fmt.Fprintf(os.Stderr, "run %d: ponder %.2f s, %.0f events/s; ratio %.1f\n", i+1, b, float64(r.Events)/b, b/a)
	}
	r.Ours.EventsPerSecond, r.Ponder.EventsPerSecond, r.Ratio = spreadOf(oursRate), spreadOf(ponderRate), spreadOf(ratios)
	for _, one := range []struct {
		name string
		s    *spread
	}{{"ours, events/s", r.Ours.EventsPerSecond}, {"ponder, events/s", r.Ponder.EventsPerSecond}, {"ratio", r.Ratio}} {
		if one.s != nil {
			fmt.Fprintf(os.Stderr, "%-18s min %.1f  median %.1f  max %.1f\n", one.name, one.s.Min, one.s.Median, one.s.Max)
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

var sums = map[string]string{}

// measure takes the time of a run in a database of its own, and holds its rows to those of the runs before.
func measure(ctx context.Context, server *private.Server, name string, want int64, check string, job func(dsn string) error) (float64, error) {
	conn, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := job(server.DSNFor(name)); err != nil {
		return 0, err
	}
	took := time.Since(begun).Seconds()
	result, err := pgx.Connect(ctx, server.DSNFor(name))
	if err != nil {
		return 0, err
	}
	defer result.Close(ctx)
	var count int64
	var sum string
	if err := result.QueryRow(ctx, check).Scan(&count, &sum); err != nil {
		return 0, err
	}
	if before, known := sums["sum"]; count != want || known && before != sum {
		return 0, fmt.Errorf("%d settlements of %s, want %d of %s", count, sum, want, before)
	}
	sums["sum"] = sum
	return took, nil
}

// install copies the peer's project and installs what it needs.
func install(ctx context.Context, project string) error {
	_, file, _, _ := runtime.Caller(0)
	from := filepath.Join(filepath.Dir(file), "ponder")
	if err := os.CopyFS(project, os.DirFS(from)); err != nil && !os.IsExist(err) {
		return err
	}
	if _, err := os.Stat(filepath.Join(project, "node_modules/ponder")); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = project, os.Stderr, os.Stderr
	return cmd.Run()
}

// ponder runs until it says that all of the past is indexed.
func ponder(ctx context.Context, project, dsn, rpc string, blocks int64) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	var names []string
	for _, f := range listed() {
		for _, s := range f.Settlers {
			names = append(names, s.Address+"="+f.ID)
		}
	}
	if err := os.RemoveAll(filepath.Join(project, ".ponder")); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "node_modules/ponder/dist/esm/bin/ponder.js", "start", "--port", port, "--hostname", "127.0.0.1", "--schema", "bench")
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "PONDER_TELEMETRY_DISABLED=true", "DATABASE_URL="+dsn, "RPC="+rpc, "SETTLERS="+strings.Join(names, ","), "END="+fmt.Sprint(blocks))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	for {
		select {
		case err := <-died:
			return fmt.Errorf("ended early: %v\n%s", err, said.Bytes()[max(0, said.Len()-3000):])
		case <-time.After(20 * time.Millisecond):
		}
		resp, err := http.Get("http://127.0.0.1:" + port + "/ready")
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			cancel()
			<-died
			return nil
		}
	}
}
