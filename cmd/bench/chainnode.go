package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

const (
	chainNetwork  = "eip155:8453"
	usdc          = "833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	transfer      = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	authorization = "98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
	txsPerBlock   = 10
	settlers      = 9 // of ten senders
	facilitators  = 3
	confirmations = 1
)

func parseHex[T chaintest.Address | chaintest.Hash](digits string) (out T) {
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(out) {
		panic(digits)
	}
	for i := range raw {
		out[i] = raw[i]
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

// serveChain creates the chain, encodes it once, and answers requests until stdin ends.
func serveChain(_ context.Context, blocks int64) error {
	c := chaintest.New(8453, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c.Keep = true // both sides read from it, and neither should wait for the encoding
	token, used, moved := parseHex[chaintest.Address](usdc), parseHex[chaintest.Hash](authorization),
		parseHex[chaintest.Hash](transfer)
	for n := range blocks {
		txs := make([]chaintest.Tx, txsOf(n))
		for i := range txs {
			at := n*16 + int64(i)
			buyer, seller := word(person('b', at*7919%2000)), word(person('r', at*104729%300))
			var nonce chaintest.Hash
			binary.BigEndian.PutUint64(nonce[:], uint64(at))
			txs[i] = chaintest.Tx{From: person('s', int64(i)%txsPerBlock), To: token, Nonce: uint64(at),
				Input: make([]byte, 292), Logs: []chaintest.Log{
					{Contract: token, Topics: []chaintest.Hash{used, buyer, nonce}},
					{Contract: token, Topics: []chaintest.Hash{moved, buyer, seller},
						Data: big.NewInt(1000 + at%9000).FillBytes(make([]byte, 32))},
				}}
		}
		c.Add(c.Head().Time.Add(2*time.Second), txs...)
	}
	for range 64 { // ponder considers a chain indexed when it has reached some blocks below the newest
		c.Add(c.Head().Time.Add(2 * time.Second))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { // the parent has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, c)
}

// txsOf returns the number of transactions of a block. It varies, because ranges of a real chain do not contain round
// numbers of logs.
func txsOf(n int64) int64 { return txsPerBlock - 2 + int64(uint32(n)*2654435761>>16)%5 }

// expectedEvents returns the counts of the chain that serveChain creates.
func expectedEvents(blocks int64) (events, settlements int64) {
	for n := range blocks {
		txs := txsOf(n)
		events += 2 * txs
		settlements += txs
		if txs >= txsPerBlock {
			settlements-- // the tenth sender is not on the list
		}
	}
	return events, settlements
}

// listedSettlers returns the facilitators whose settlers send on the chain.
func listedSettlers() (list []ledger.Facilitator) {
	for f := range facilitators {
		one := ledger.Facilitator{ID: fmt.Sprintf("facilitator-%d", f), Name: "F", WebsiteURL: "https://f.test",
			UpstreamStatus: "merged"}
		for s := f; s < settlers; s += facilitators {
			a := person('s', int64(s))
			one.Settlers = append(one.Settlers, ledger.Settler{Network: chainNetwork,
				Address: "0x" + hex.EncodeToString(a[:]), Tokens: []string{"0x" + usdc}})
		}
		list = append(list, one)
	}
	return list
}
