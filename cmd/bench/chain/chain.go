// Package chain measures Tollbook's reader of EVM chains beside ponder 1.0.0. Both read alternately from one node into
// one Postgres:
//
//	go run ./cmd/bench chain -blocks 5000 -runs 5
//
// The node is crawl/chain/chaintest in a process of its own. Its blocks have eight to twelve transactions of two logs
// each: an authorisation and its transfer. Listed settlers send most of them.
//
// Both sides store every settlement as a row, with sums by facilitator and day. Tollbook also stores sums by hour,
// payee and payer. Each run begins with an empty database. Its time goes from the start of the process until every row
// is committed. Rows and sums must be equal.
package chain

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/site/postgres/private"
)

// Command is the bench.
var Command = harness.Command{Name: "chain", Short: "measure indexing an EVM chain, beside ponder",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var b bench
		flags.Int64Var(&b.blocks, "blocks", 5000, "blocks of the chain, with some 20 logs each")
		flags.IntVar(&b.runs, "runs", 5, "runs of each side")
		flags.StringVar(&b.dir, "dir", "",
			"folder for Postgres and ponder; a temporary one in memory where there is none")
		flags.BoolVar(&b.alone, "alone", false, "run ours only")
		flags.StringVar(&b.profile, "profile", "", "file for a CPU profile of our last run")
		role := flags.String("role", "", "of the processes that the bench starts itself")
		return func(ctx context.Context) error {
			switch *role {
			case "node":
				return serve(b.blocks)
			case "ours":
				return index(ctx, b.profile)
			}
			return b.run(ctx)
		}
	}}

// bench is the state that both sides share.
type bench struct {
	blocks       int64
	runs         int
	dir, profile string
	alone        bool

	node       *exec.Cmd
	rpc        string // URL of the node
	server     *private.Server
	postmaster int    // process of the Postgres server
	project    string // ponder's folder
	sum        string // of all amounts; "" before the first run

	// Processor time of our runs in seconds, and of the node and Postgres during them.
	cpu, nodeCPU, serverCPU []float64
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = harness.Folder(); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	if b.server, err = private.Start(ctx, private.Options{Dir: filepath.Join(b.dir, "postgres")}); err != nil {
		return err
	}
	defer b.server.Stop(context.WithoutCancel(ctx))
	if b.postmaster, err = usage.Postmaster(filepath.Join(b.dir, "postgres")); err != nil {
		return err
	}
	b.project = filepath.Join(b.dir, "ponder")
	if !b.alone {
		if err := install(ctx, b.project); err != nil {
			return fmt.Errorf("install ponder: %w", err)
		}
	}
	if b.node, err = b.startNode(ctx); err != nil {
		return err
	}
	defer func() { _ = b.node.Process.Kill(); _ = b.node.Wait() }()
	events, settlements := expected(b.blocks)
	log.Printf("%d blocks, %d events, %d settlements", b.blocks, events, settlements)
	sides := []harness.Side{b.ours, b.peer}
	if b.alone {
		sides = sides[:1]
	}
	results, err := harness.Alternate(ctx, b.runs, sides...)
	if err != nil {
		return err
	}
	report := harness.NewReport(b.runs)
	if b.alone {
		report.Add("settlements of a chain, stored and summed", "events/s", results[0]...)
	} else {
		report.Compare("settlements of a chain, stored and summed", "ponder 1.0.0", "events/s", results[0], results[1],
			harness.Bound{Target: 20, Hoped: 100})
	}
	report.Add("processor time of ours, without Postgres", "s", b.cpu...)
	report.Add("processor time of the node meanwhile", "s", b.nodeCPU...)
	report.Add("processor time of Postgres meanwhile", "s", b.serverCPU...)
	return report.Print()
}

// startNode starts the node in a process of its own.
func (b *bench) startNode(ctx context.Context) (*exec.Cmd, error) {
	node, err := harness.Role(ctx, nil, "-role", "node", "-blocks", fmt.Sprint(b.blocks))
	if err != nil {
		return nil, err
	}
	if _, err := node.StdinPipe(); err != nil { // the node stops when its stdin closes
		return nil, err
	}
	out, err := node.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := node.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = node.Process.Kill()
		_ = node.Wait()
		return nil, fmt.Errorf("start the node: %w", err)
	}
	b.rpc = strings.TrimSpace(line)
	return node, nil
}
