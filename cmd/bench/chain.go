package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// chainStage measures Tollbook's reader of EVM chains beside ponder 1.0.0. Both read alternately from one node into
// one Postgres.
//
// The node is crawl/chain/chaintest in a process of its own. Its blocks have eight to twelve transactions of two logs
// each: an authorisation and its transfer. Listed settlers send nine of ten.
//
// Both sides store every settlement as a row, with sums by facilitator and day. Tollbook also stores sums by hour,
// payee and payer. Each run begins with an empty database and ends when every row is committed. The number of rows and
// the sum of their amounts must be those of the chain.
var chainStage = stage{name: "chain", short: "measure indexing an EVM chain, beside ponder", runs: 5,
	flags: func(flags *flag.FlagSet) func(*bench) {
		blocks := flags.Int64("blocks", 5000, "blocks of the chain, with some 20 logs each")
		return func(b *bench) { b.measureChain(*blocks) }
	}}

const (
	chainNetwork = "eip155:8453"
	usdc         = "833589fcd6edb6e08f4c7c32d4f71b54bda02913"
)

func (b *bench) measureChain(blocks int64) {
	project := b.path("ponder")
	b.run(b.peer(nil, "ponder.sh", "install", project))
	d := b.postgres(b.path("postgres"), false)
	var rpc string
	node := b.serveRole("chain node", blocks, &rpc)
	events := 0
	var settlements, sum int64
	for n := range blocks {
		for _, t := range transfersOf(n) {
			events += 2
			if t.listed {
				settlements++
				sum += t.amount
			}
		}
	}
	b.same("the chain", fmt.Sprintf("%d settlements of %d", settlements, sum))
	into := func(name, table string, index func(dsn string)) side {
		return side{name, func() (float64, string) {
			d.create("side", "")
			before := cpuOf(node)
			began := time.Now()
			index(d.DSNFor("side"))
			took := time.Since(began).Seconds()
			log.Printf("    %.2f s, CPU %.2f s of the node", took, cpuOf(node)-before)
			return float64(events) / took,
				d.text("side", `SELECT format('%s settlements of %s', count(*), sum(amount)) FROM `+table)
		}}
	}
	b.alternate(
		into("ours", "settlements", func(dsn string) { b.indexOnce(dsn, rpc) }),
		into("ponder 1.0.0", "bench.settlement", func(dsn string) { b.ponder(dsn, rpc, project, blocks) }))
	b.compare("settlements of a chain, stored and summed", "events/s", "ours", "ponder 1.0.0", atLeast(20))
}

// indexOnce reads the chain once into an empty database.
func (b *bench) indexOnce(dsn, rpc string) {
	defer startProfile(b.profile)()
	db := must(postgres.Open(b.ctx, dsn))
	defer db.Close()
	must(db.ImportFacilitators(b.ctx, listedSettlers()))
	x := must(crawl.NewIndexer(db, []chain.Network{{ID: chainNetwork, RPC: []string{rpc}, Confirmations: 1}},
		chain.Options{}))
	log.Printf("    %+v", must(x.Once(b.ctx))[0])
}

// ponder runs ponder, with a handler that stores each settlement and adds to its day, until it reports that all past
// blocks are indexed.
func (b *bench) ponder(dsn, rpc, project string, blocks int64) {
	address := freeAddress()
	_, port, err := net.SplitHostPort(address)
	check(err)
	var names []string
	for _, f := range listedSettlers() {
		for _, s := range f.Settlers {
			names = append(names, s.Address+"="+f.ID)
		}
	}
	cmd := b.peer([]string{"DATABASE_URL=" + dsn, "RPC=" + rpc, "SETTLERS=" + strings.Join(names, ","),
		"END=" + fmt.Sprint(blocks)}, "ponder.sh", project, port)
	said := must(os.Create(b.path("ponder.log")))
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	s := b.start(cmd, address, "/ready")
	defer s.end()
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if attempt(func() { b.read("http://" + address + "/ready") }) == nil {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(deadline) {
			text := must(os.ReadFile(said.Name()))
			failf("ponder did not index the chain\n%s", text[max(0, len(text)-3000):])
		}
	}
}

func parseHex[T chaintest.Address | chaintest.Hash](digits string) (out T) {
	for i, c := range must(hex.DecodeString(digits)) {
		out[i] = c
	}
	return out
}

// person returns the nth account of a kind.
func person(kind byte, n int64) (a chaintest.Address) {
	a[0] = kind
	binary.BigEndian.PutUint64(a[12:], uint64(n)+1)
	return a
}

func word(a chaintest.Address) (h chaintest.Hash) {
	copy(h[12:], a[:])
	return h
}

// chainTransfer is a transaction of the chain.
type chainTransfer struct {
	number, sender, amount int64
	listed                 bool // the sender is a settler of a listed facilitator
}

// transfersOf returns the transactions of a block. Their number varies, because ranges of a real chain do not contain
// round numbers of logs.
func transfersOf(block int64) (list []chainTransfer) {
	for i := range 8 + int64(uint32(block)*2654435761>>16)%5 {
		n := block*16 + i
		list = append(list, chainTransfer{n, i % 10, 1000 + n%9000, i%10 < 9})
	}
	return list
}

// serveChain creates the chain, encodes it once, and answers requests.
func serveChain(_ context.Context, blocks int64) {
	c := chaintest.New(8453, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c.Keep = true // both sides read from it, and neither should wait for the encoding
	token := parseHex[chaintest.Address](usdc)
	used := parseHex[chaintest.Hash]("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5")
	moved := parseHex[chaintest.Hash]("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	for block := range blocks {
		var txs []chaintest.Tx
		for _, t := range transfersOf(block) {
			buyer, seller := word(person('b', t.number*7919%2000)), word(person('r', t.number*104729%300))
			var nonce chaintest.Hash
			binary.BigEndian.PutUint64(nonce[:], uint64(t.number))
			txs = append(txs, chaintest.Tx{From: person('s', t.sender), To: token, Nonce: uint64(t.number),
				Input: make([]byte, 292), Logs: []chaintest.Log{
					{Contract: token, Topics: []chaintest.Hash{used, buyer, nonce}},
					{Contract: token, Topics: []chaintest.Hash{moved, buyer, seller},
						Data: big.NewInt(t.amount).FillBytes(make([]byte, 32))},
				}})
		}
		c.Add(c.Head().Time.Add(2*time.Second), txs...)
	}
	for range 64 { // ponder considers a chain indexed when it has reached some blocks below the newest
		c.Add(c.Head().Time.Add(2 * time.Second))
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	serveUntilEnd("http://"+l.Addr().String(), func() error { return http.Serve(l, c) })
}

// listedSettlers returns three facilitators with the settlers 0 to 8.
func listedSettlers() (list []ledger.Facilitator) {
	for f := range 3 {
		one := ledger.Facilitator{ID: fmt.Sprintf("facilitator-%d", f), Name: "F", WebsiteURL: "https://f.test",
			UpstreamStatus: "merged"}
		for s := f; s < 9; s += 3 {
			a := person('s', int64(s))
			one.Settlers = append(one.Settlers, ledger.Settler{Network: chainNetwork,
				Address: "0x" + hex.EncodeToString(a[:]), Tokens: []string{"0x" + usdc}})
		}
		list = append(list, one)
	}
	return list
}
