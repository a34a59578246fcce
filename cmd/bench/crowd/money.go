package crowd

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mr-tron/base58"

	"tollbook/site/postgres/ledger"
)

// genesis returns the time of every network's first block.
func (c *crowd) genesis() time.Time { return c.first.AddDate(0, 0, -1) }

// step returns the time between two blocks.
func (r rail) step() time.Duration {
	if r.solana() {
		return 400 * time.Millisecond
	}
	return 2 * time.Second
}

// trade is the settlements of a block of services, and the accounts that they need.
type trade struct {
	c        *crowd
	settlers []string
	list     []ledger.LoadedSettlement
	used     map[int64]string
}

func (c *crowd) trade(settlers []string) *trade {
	return &trade{c: c, settlers: settlers, used: map[int64]string{}}
}

// accounts returns the used accounts of the block, by number.
func (t *trade) accounts() []ledger.LoadedAccount {
	list := make([]ledger.LoadedAccount, 0, len(t.used))
	for id, address := range t.used {
		list = append(list, ledger.LoadedAccount{ID: id, Address: address})
	}
	slices.SortFunc(list, func(a, b ledger.LoadedAccount) int { return int(a.ID - b.ID) })
	return list
}

// maxPayments limits the settlements of a service, and so the memory of a block.
const maxPayments = 4000

// of adds the settlements of a service. Three services in ten have customers, and a few of these have most customers.
func (t *trade) of(s *service) {
	r := t.c.random(ofMoney, s.k)
	if s.fate == unseen || s.scheme != "exact" || r.IntN(10) >= 3 {
		return
	}
	begin, end := s.states[0].at, t.c.o.Moment
	if begin.Before(t.c.first) {
		begin = t.c.first
	}
	if s.fate == down {
		end = s.since
	}
	if end.Sub(begin) < time.Hour {
		return
	}
	for _, rail := range s.rails[:s.states[0].rails] {
		tokens := t.tokensOn(rail.id)
		if len(tokens) == 0 || rail.asset.Decimals != 6 { // with 18 decimals, ten dollars do not fit into 64 bits
			continue
		}
		usual := tokens[r.IntN(min(len(tokens), 1+r.IntN(len(tokens))))]
		n := min(maxPayments, int(6/math.Pow(1-r.Float64(), 0.9)))
		for range n {
			token := usual
			if r.IntN(12) == 0 {
				token = pick(r, tokens)
			}
			at := begin.Add(time.Duration(math.Pow(r.Float64(), 0.8) * float64(end.Sub(begin))))
			t.pay(r, s, rail, token, at)
		}
	}
}

// tokensOn returns indexes of the tokens of a network.
func (t *trade) tokensOn(network string) (list []int) {
	for i, f := range t.c.tokens {
		if f.Network == network {
			list = append(list, i)
		}
	}
	return list
}

// pay adds one settlement.
func (t *trade) pay(r *rand.Rand, s *service, rail rail, token int, at time.Time) {
	seed := t.c.o.Seed
	number := int64(at.Sub(t.c.genesis()) / rail.step())
	at = t.c.genesis().Add(time.Duration(number) * rail.step()).Truncate(time.Second)
	base := int64(firstAccount + s.k/block*perBlock)
	side := int64(0)
	if rail.solana() {
		side = 1
	}
	payee := base + regular + 2*int64(s.owner%block) + side
	t.used[payee] = rail.address(seed, s.owner)
	payer := base + int64(pick(r, ints[:regular/2]))*2 + side
	switch {
	case r.IntN(300) == 0:
		payer = payee // an owner who tries the service
	case r.IntN(8) == 0:
		payer = roamer(pick(r, ints[:roaming/2])*2 + int(side))
	default:
		t.used[payer] = rail.address(seed, -int(payer))
	}
	settler, _ := slices.BinarySearch(t.settlers, pick(r, t.c.tokens[token].settlers))
	st := s.states[0]
	for _, next := range s.states {
		if !next.at.After(at) {
			st = next
		}
	}
	micros := max(1, s.endpoints[r.IntN(len(s.endpoints))].micros*st.percent/100)
	sum := digest(seed, "transaction", s.k<<20|len(t.list)%maxPayments)
	binary.BigEndian.PutUint64(sum[:8], r.Uint64())
	p := ledger.LoadedSettlement{
		Token: token, Settler: int64(settler) + 1, Payer: payer, Payee: payee, Block: number, Time: at,
		LogIndex: 1 + int32(r.IntN(300)), Amount: micros,
		Method: "eip3009", Transaction: sum[:], BlockHash: []byte{},
	}
	if rail.solana() {
		p.Method, p.LogIndex, p.Transaction = "spl", int32(1000*(1+r.IntN(4))),
			[]byte(base58.Encode(append(sum[:], sum[:]...)))
	} else {
		hash := digest(seed, rail.id, int(number))
		p.BlockHash = hash[:]
	}
	t.list = append(t.list, p)
}

// ints contains the numbers from 0.
var ints = func() []int {
	list := make([]int, roaming)
	for i := range list {
		list[i] = i
	}
	return list
}()

// roamer returns the number of a payer of all blocks.
func roamer(n int) int64 { return int64(firstAccount - roaming + n) }

// roamers returns the accounts of these payers: the even ones on EVM networks, the others on Solana.
func (c *crowd) roamers() []ledger.LoadedAccount {
	list := make([]ledger.LoadedAccount, roaming)
	evm := c.rails[0]
	solana := c.rails[slices.IndexFunc(c.rails, rail.solana)]
	for n := range list {
		rail := evm
		if n%2 == 1 {
			rail = solana
		}
		list[n] = ledger.LoadedAccount{ID: roamer(n), Address: rail.address(c.o.Seed, -int(roamer(n)))}
	}
	return list
}
