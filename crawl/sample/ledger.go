package sample

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/sha3"
)

// Ledger returns all payments of the world: of the ninety days before the start, and of the time after it. It caches
// some hours and can compute each again. Several goroutines may use it.
type Ledger struct {
	start   time.Time
	genesis time.Time // the UTC midnight at which every network of the world begins
	chains  map[string]*liveChain

	mu    sync.Mutex // guards the fields below
	shops []*shop
	hours map[int]map[string][]transaction // by number since genesis, then network
	order []int                            // of hours, in the order they were added
}

// keptHours is the number of cached hours: enough for a reader that walks over them, few enough for a demo's memory.
const keptHours = 64

// liveChain is a network of the world as a list of blocks.
type liveChain struct {
	ledger  *Ledger
	network string
	step    time.Duration // between two blocks; an hour has a whole number of blocks
}

// steps are the networks with a chain, and the time between two blocks of each. Base continues after the start of the
// demo; the others only have a past.
var steps = map[string]time.Duration{
	Network:        2 * time.Second,
	"eip155:137":   2 * time.Second,
	"eip155:42161": 250 * time.Millisecond,
	"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": 400 * time.Millisecond,
}

// Network is the network that the world runs a node of. It has the id of a real network, because services ask to be
// paid there. Its content is invented, and the node listens on loopback alone.
const Network = "eip155:8453"

// A reorganisation replaces the newest blocks from time to time. The new blocks contain the same payments but one,
// which another payment replaces.
const (
	reorganised = 7 * time.Minute // between two reorganisations, counted from the start
	depth       = 4               // number of blocks that each replaces
)

// branch is the side of a reorganisation.
type branch int

const (
	always branch = iota
	before        // until the reorganisation
	after
)

// transaction is a transaction of a settler, with one payment or several.
type transaction struct {
	block    int64
	hash     string // in the network's format
	settler  string
	branch   branch
	payments []payment
}

// NewLedger returns the ledger of the world that began at start.
func NewLedger(start time.Time) *Ledger {
	start = start.UTC().Truncate(time.Second)
	l := &Ledger{
		start: start, genesis: start.Truncate(day).Add(-(historyDays - 1) * day),
		chains: map[string]*liveChain{}, hours: map[int]map[string][]transaction{},
	}
	for network, step := range steps {
		l.chains[network] = &liveChain{l, network, step}
	}
	for _, s := range cast() {
		l.shops = append(l.shops, newShop(s, start))
	}
	return l
}

// hour returns the transactions of the nth hour since genesis, by network, in the order of the chain.
func (l *Ledger) hour(n int) map[string][]transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cached, ok := l.hours[n]; ok {
		return cached
	}
	from := l.genesis.Add(time.Duration(n) * time.Hour)
	to := from.Add(time.Hour)
	var list []payment
	for _, e := range l.eras() {
		if from, to := maxTime(from, e.from), minTime(to, e.to); from.Before(to) {
			list = append(list, l.trade(from, to, e.times)...)
		}
	}
	if l.start.Before(to) {
		list = append(list, l.disputed(maxTime(from, l.start), to)...)
		list = slices.DeleteFunc(list, func(p payment) bool {
			return p.at.After(l.start) && p.rail.network.ID != Network
		})
		slices.SortStableFunc(list, func(a, b payment) int { return a.at.Compare(b.at) })
	}
	byNetwork := map[string][]payment{}
	for _, p := range list {
		byNetwork[p.rail.network.ID] = append(byNetwork[p.rail.network.ID], p)
	}
	hour := map[string][]transaction{}
	for network, list := range byNetwork {
		hour[network] = l.chains[network].send(n, list)
	}
	if len(l.order) == keptHours {
		delete(l.hours, l.order[0])
		l.order = l.order[1:]
	}
	l.hours[n], l.order = hour, append(l.order, n)
	return hour
}

// era is a period with one rate of trade.
type era struct {
	from, to time.Time
	times    float64 // multiple of the past's rate
}

// eras returns the past, the day after the start, and the time after that.
func (l *Ledger) eras() []era {
	tomorrow := l.start.Add(day)
	return []era{{l.genesis, l.start, 1}, {l.start, tomorrow, pace}, {tomorrow, tomorrow.AddDate(100, 0, 0), laterPace}}
}

// disputed returns, for each reorganisation in [from, to), the payment that it drops and the one that it adds.
func (l *Ledger) disputed(from, to time.Time) []payment {
	var list []payment
	c := l.chains[Network]
	for k := int64(from.Sub(l.start) / reorganised); ; k++ {
		at := l.start.Add(time.Duration(k) * reorganised)
		if !at.Before(to) {
			return list
		}
		first := at.Add(-depth * c.step)
		if k == 0 || first.Before(from) {
			continue
		}
		r := rand.New(rand.NewPCG(47, uint64(k)))
		for _, side := range []branch{before, after} {
			for range 100 { // draws until a service sells something on Base, as most do
				t := first.Add(1 + time.Duration(r.Int64N(int64((depth-1)*c.step))))
				p, ok := l.shops[r.IntN(len(l.shops))].sale(l, r, t)
				if ok && p.rail.network.ID == Network && !p.by.Unlisted {
					p.branch = side
					list = append(list, p)
					break
				}
			}
		}
	}
}

// send groups an hour's payments into transactions. If a settler gets another payment soon after one, it may have
// waited and settle both in one transaction.
func (c *liveChain) send(hour int, list []payment) []transaction {
	r := rand.New(rand.NewPCG(uint64(hour), uint64(c.step)))
	var sent []transaction
	for _, p := range list {
		block, join := c.at(p.at), -1
		if p.branch == always && p.rail.scheme == "exact" && r.IntN(3) == 0 {
			join = slices.IndexFunc(sent, func(t transaction) bool {
				return t.settler == p.settler && t.branch == always && t.payments[0].rail.scheme == "exact" &&
					p.at.Sub(t.payments[0].at) < quickBatch
			})
		}
		if join >= 0 {
			sent[join].payments = append(sent[join].payments, p)
			sent[join].block = max(sent[join].block, block)
			continue
		}
		sent = append(sent, transaction{
			block: block, settler: p.settler, branch: p.branch, payments: []payment{p},
			hash: c.name(hour, len(sent)),
		})
	}
	slices.SortStableFunc(sent, func(a, b transaction) int { return cmp.Compare(a.block, b.block) })
	return sent
}

// name returns the hash of an hour's nth transaction, on Solana its signature. The last bytes encode hour and n, so
// that a transaction is found without a list.
func (c *liveChain) name(hour, n int) string {
	of := []byte("transaction " + strconv.Itoa(hour) + "/" + strconv.Itoa(n))
	a := c.digest(of)
	if c.solana() {
		b := c.digest(append(of, '+'))
		return base58.Encode(append(a[:], b[:]...))
	}
	binary.BigEndian.PutUint32(a[28:], uint32(hour))
	return "0x" + hex.EncodeToString(a[:])
}

// transactionByHash returns a transaction by its hash, on the branch that is visible at now.
func (c *liveChain) transactionByHash(hash string, now time.Time) (transaction, bool) {
	b, err := hex.DecodeString(strings.TrimPrefix(hash, "0x"))
	if err != nil || len(b) != 32 {
		return transaction{}, false
	}
	hour := int64(binary.BigEndian.Uint32(b[28:]))
	for _, t := range c.sent(hour*c.perHour()+1, (hour+1)*c.perHour(), now) {
		if t.hash == hash {
			return t, true
		}
	}
	return transaction{}, false
}

// digest returns the hash of something on this chain.
func (c *liveChain) digest(of []byte) (sum [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(Domain + "/" + c.network + "/"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(c.ledger.start.Unix())))
	h.Write(of)
	h.Sum(sum[:0])
	return sum
}

// at returns the first block at or after t.
func (c *liveChain) at(t time.Time) int64 {
	return int64((t.Sub(c.ledger.genesis) + c.step - 1) / c.step)
}

// head returns the newest block at t.
func (c *liveChain) head(t time.Time) int64 { return int64(t.Sub(c.ledger.genesis) / c.step) }

// time returns the time of a block.
func (c *liveChain) time(block int64) time.Time {
	return c.ledger.genesis.Add(time.Duration(block) * c.step)
}

// stamp returns a block's own timestamp, in whole seconds.
func (c *liveChain) stamp(block int64) time.Time { return c.time(block).Truncate(time.Second) }

// perHour returns the number of blocks in an hour. The first is one step after the hour begins, the last at its end.
func (c *liveChain) perHour() int64 { return int64(time.Hour / c.step) }

// branch returns the side of its reorganisation on which a block is visible at now; always if none affects it.
func (c *liveChain) branch(block int64, now time.Time) branch {
	minedAt := c.time(block)
	since := minedAt.Sub(c.ledger.start)
	if c.network != Network || since <= 0 {
		return always
	}
	k := (since + reorganised - 1) / reorganised
	strikes := c.ledger.start.Add(k * reorganised)
	switch { // it happens between two blocks, so the new branch is as long as the old one
	case !minedAt.After(strikes.Add(-depth * c.step)):
		return always
	case now.Before(strikes.Add(c.step / 2)):
		return before
	}
	return after
}

// hash returns the hash of a block on a branch. The last bytes are its number.
func (c *liveChain) hash(block int64, b branch) string {
	sum := c.digest([]byte("block " + strconv.FormatInt(block, 10) + "/" + strconv.Itoa(int(b))))
	binary.BigEndian.PutUint64(sum[24:], uint64(block))
	return "0x" + hex.EncodeToString(sum[:])
}

// sent returns the transactions of the blocks [first, last] that are visible at now, in order.
func (c *liveChain) sent(first, last int64, now time.Time) []transaction {
	var list []transaction
	last = min(last, c.head(now))
	for hour := max(0, first-1) / c.perHour(); hour*c.perHour() < last; hour++ {
		in := c.ledger.hour(int(hour))[c.network]
		i, _ := slices.BinarySearchFunc(in, first, func(t transaction, n int64) int { return cmp.Compare(t.block, n) })
		for ; i < len(in) && in[i].block <= last; i++ {
			if t := in[i]; t.branch == always || t.branch == c.branch(t.block, now) {
				list = append(list, t)
			}
		}
	}
	return list
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
