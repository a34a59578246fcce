package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tollbook/site/postgres/ledger"
)

const base = "eip155:8453"

// chainModel is a chain that can be reorganised, eight blocks a day, with a few transfers in each.
type chainModel struct {
	seed   uint64
	forks  uint64
	blocks []blockModel

	lieFrom *time.Time // from when on read lies; nil for never
}

type blockModel struct {
	hash      string
	transfers []transferModel
}

// transferModel is a payment; by settlers that no list names too.
type transferModel struct {
	ledger.Settlement
}

func blockTime(n int64) time.Time {
	return start.Truncate(24 * time.Hour).Add(time.Duration(n) * 3 * time.Hour)
}

func (c *chainModel) head() int64 { return int64(len(c.blocks)) - 1 }

// grow adds blocks of a fork of their own.
func (c *chainModel) grow(n int) {
	c.forks++
	for range n {
		number := int64(len(c.blocks))
		r := rand.New(rand.NewPCG(c.seed^c.forks, uint64(number)))
		b := blockModel{hash: fmt.Sprintf("0x%064x", uint64(number)<<32|c.forks)}
		for i := range r.IntN(4) {
			transaction := r.Uint64()
			if r.IntN(2) == 0 { // one that every fork has
				transaction = uint64(number)<<8 | uint64(i)
			}
			b.transfers = append(b.transfers, transferModel{ledger.Settlement{
				Network: base, Block: number, BlockHash: b.hash,
				Time:        blockTime(number).Add(time.Duration(r.IntN(3)) * time.Second),
				Transaction: fmt.Sprintf("0x%064x", transaction), LogIndex: i * 3,
				Method:  []string{"eip3009", "eip3009", "permit2", ledger.MethodBatch}[r.IntN(4)],
				Settler: fmt.Sprintf("0xs%d", r.IntN(5)), Token: []string{"usdc", "usdc", "eurc"}[r.IntN(3)],
				Payer: fmt.Sprintf("0xa%d", r.IntN(4)), Payee: fmt.Sprintf("0xa%d", r.IntN(6)),
				Amount: []string{"0", "10000", "20000",
					"115792089237316195423570985008687907853269984665640564039457584007913129639935"}[r.IntN(4)],
			}})
		}
		c.blocks = append(c.blocks, b)
	}
}

// reorganise replaces the newest blocks by as many, fewer or more.
func (c *chainModel) reorganise(depth, n int) {
	c.blocks = c.blocks[:max(len(c.blocks)-depth, 1)]
	c.grow(n)
}

// read is what an indexer finds for a scan in blocks first to last.
func (c *chainModel) read(s ledger.Scan, first, last int64) ledger.Range {
	r := ledger.Range{Scan: s.ID, Network: s.Network, First: first, Last: last, Hash: c.blocks[last].hash,
		Time: blockTime(last)}
	seen := map[string]map[time.Time]int64{}
	for _, b := range c.blocks[first : last+1] {
		for _, t := range b.transfers {
			day := t.Time.Truncate(24 * time.Hour)
			for _, settler := range s.Settlers {
				if settler.Address == t.Settler && (settler.Since == nil || !t.Time.Before(*settler.Since)) {
					settlement := t.Settlement
					settlement.Facilitator = settler.Facilitator
					r.Settlements = append(r.Settlements, settlement)
				}
			}
			if s.Counts && t.Method == "eip3009" {
				if seen[t.Token] == nil {
					seen[t.Token] = map[time.Time]int64{}
				}
				seen[t.Token][day]++
			}
			if s.Counts && t.Settler == "0xs4" {
				r.Senders = append(r.Senders, ledger.SenderDay{Sender: t.Settler, Day: day, Token: t.Token, Payments: 1,
					Amount: t.Amount, Recipients: 1})
			}
		}
	}
	for token, days := range seen {
		for day, n := range days {
			r.Authorizations = append(r.Authorizations,
				ledger.AuthorizationDay{Token: token, Day: day, Authorizations: n})
		}
	}
	if c.lieFrom != nil {
		return c.lie(r, *c.lieFrom)
	}
	return r
}
