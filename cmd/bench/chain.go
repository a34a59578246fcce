package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/postgres"
)

// chainStage measures Tollbook's reader of EVM chains beside ponder 1.0.0. Both read alternately from one node into
// one Postgres.
//
// The node is crawl/chain/chaintest in a process of its own. Its blocks have eight to twelve transactions of two logs
// each: an authorisation and its transfer. Listed settlers send most of them.
//
// Both sides store every settlement as a row, with sums by facilitator and day. Tollbook also stores sums by hour,
// payee and payer. Each run begins with an empty database. Its time goes from the start of the process until every row
// is committed. Rows and sums must be equal.
var chainStage = stage{"chain", "measure indexing an EVM chain, beside ponder",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		var b chaining
		flags.Int64Var(&b.blocks, "blocks", 5000, "blocks of the chain, with some 20 logs each")
		flags.IntVar(&b.runs, "runs", 5, "runs of each side")
		flags.StringVar(&b.profile, "profile", "", "file for a CPU profile of our last run")
		return b.measure
	}}

// chaining is the state that both sides share.
type chaining struct {
	blocks  int64
	runs    int
	profile string

	node    *exec.Cmd
	rpc     string // URL of the node
	server  *database
	project string // ponder's folder
	sum     string // of all amounts; "" before the first run

	cpu series // seconds of our runs, and of the node and Postgres during them
}

func (b *chaining) measure(ctx context.Context, r *report) error {
	dir, err := temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.project, b.cpu = filepath.Join(dir, "ponder"), series{}
	if _, _, err := run(peer(ctx, nil, "ponder.sh", "install", b.project)); err != nil {
		return err
	}
	if b.server, err = startPostgres(ctx, filepath.Join(dir, "postgres"), false); err != nil {
		return err
	}
	defer b.server.end()
	if err := b.startNode(ctx); err != nil {
		return fmt.Errorf("start the node: %w", err)
	}
	defer func() { _ = b.node.Process.Kill(); _ = b.node.Wait() }()
	events, settlements := expectedEvents(b.blocks)
	log.Printf("%d blocks, %d events, %d settlements", b.blocks, events, settlements)
	results, err := alternate(ctx, b.runs, b.ours, b.peer)
	if err != nil {
		return err
	}
	r.compare("settlements of a chain, stored and summed", "ponder 1.0.0", "events/s", results[0], results[1],
		atLeast(20))
	r.add("processor time of ours, without Postgres", "s", limit{}, b.cpu["ours"]...)
	r.add("processor time of the node meanwhile", "s", limit{}, b.cpu["node"]...)
	r.add("processor time of Postgres meanwhile", "s", limit{}, b.cpu["Postgres"]...)
	return nil
}

// startNode starts the node in a process of its own.
func (b *chaining) startNode(ctx context.Context) (err error) {
	if b.node, err = role(ctx, nil, "chain node", b.blocks); err != nil {
		return err
	}
	if _, err := b.node.StdinPipe(); err != nil { // the node stops when its stdin closes
		return err
	}
	out, err := b.node.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.node.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	b.rpc = strings.TrimSpace(line)
	return err
}

// ours runs a process that indexes the chain.
func (b *chaining) ours(ctx context.Context) (float64, error) {
	const check = `SELECT count(*), sum(amount)::text FROM settlements`
	return b.side(ctx, "ours", check, func(dsn string) error {
		cmd, err := role(ctx, []string{"DATABASE_URL=" + dsn, "RPC=" + b.rpc}, "indexer", b.profile)
		if err != nil {
			return err
		}
		node, err := cpuOf(b.node.Process.Pid)
		if err != nil {
			return err
		}
		server := b.server.cpu()
		if _, _, err := run(cmd); err != nil {
			return err
		}
		after, err := cpuOf(b.node.Process.Pid)
		seconds, _ := used(cmd)
		b.cpu.add("ours", seconds)
		b.cpu.add("node", after-node)
		b.cpu.add("Postgres", b.server.cpu()-server)
		return err
	})
}

// indexOnce reads the chain once into an empty database.
func indexOnce(ctx context.Context, profileFile string) error {
	stop, err := profile(profileFile)
	if err != nil {
		return err
	}
	defer stop()
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ImportFacilitators(ctx, listedSettlers()); err != nil {
		return err
	}
	x, err := crawl.NewIndexer(db, []chain.Network{{ID: chainNetwork, RPC: []string{os.Getenv("RPC")},
		Confirmations: confirmations}}, chain.Options{})
	if err != nil {
		return err
	}
	reports, err := x.Once(ctx)
	if err == nil {
		fmt.Fprintf(os.Stderr, "    %+v\n", reports[0])
	}
	return err
}

// side times a job with a database of its own, and compares its rows with those of previous runs.
func (b *chaining) side(ctx context.Context, name, check string, job func(dsn string) error) (float64, error) {
	events, want := expectedEvents(b.blocks)
	if err := b.server.create(ctx, name, ""); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := job(b.server.DSNFor(name)); err != nil {
		return 0, err
	}
	took := time.Since(began).Seconds()
	var count int64
	var sum string
	if err := b.server.on(ctx, name, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, check).Scan(&count, &sum)
	}); err != nil {
		return 0, err
	}
	if count != want || b.sum != "" && sum != b.sum {
		return 0, fmt.Errorf("%s: %d settlements of %s, want %d of %s", name, count, sum, want, b.sum)
	}
	b.sum = sum
	return float64(events) / took, nil
}

// peer runs ponder, with a handler that stores each settlement and adds to its day, until it reports that all past
// blocks are indexed.
func (b *chaining) peer(ctx context.Context) (float64, error) {
	const check = `SELECT count(*), sum(amount)::text FROM bench.settlement`
	return b.side(ctx, "ponder", check, func(dsn string) error {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		var names []string
		for _, f := range listedSettlers() {
			for _, s := range f.Settlers {
				names = append(names, s.Address+"="+f.ID)
			}
		}
		cmd := peer(ctx, []string{"DATABASE_URL=" + dsn, "RPC=" + b.rpc, "SETTLERS=" + strings.Join(names, ","),
			"END=" + fmt.Sprint(b.blocks)}, "ponder.sh", b.project, port)
		said, err := os.Create(filepath.Join(b.project, "log"))
		if err != nil {
			return err
		}
		defer said.Close()
		cmd.Stdout, cmd.Stderr = said, said
		s, _, err := startServer(ctx, cmd, address, "/ready")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, tail(said.Name()))
		}
		defer s.end()
		for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if _, _, err := readBody(ctx, "http://"+address+"/ready"); err == nil {
				return nil
			}
			if ctx.Err() != nil || time.Now().After(deadline) {
				return fmt.Errorf("ponder did not index the chain\n%s", tail(said.Name()))
			}
		}
	})
}

// tail returns the end of a log.
func tail(name string) []byte {
	data, _ := os.ReadFile(name) // no log says enough
	return data[max(0, len(data)-3000):]
}
