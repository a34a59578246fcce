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

// Ledger holds what was ever paid in the world: ninety days of it before the start, and all that comes after. It keeps
// nothing that it could not draw again. Its methods serve any number of goroutines.
type Ledger struct {
	start   time.Time
	genesis time.Time // the UTC midnight with which every network of the world begins
	chains  map[string]*chain

	mu    sync.Mutex // guards all below
	shops []*shop
	hours map[int]map[string][]transaction // by number since genesis, then network
	order []int                            // of hours, as they came
}

// keptHours are so many that a reader who walks over them finds each again, and a demo's memory stays small.
const keptHours = 64

// chain is a network of the world, as a list of blocks.
type chain struct {
	ledger  *Ledger
	network string
	step    time.Duration // between two blocks; an hour is a whole number of them
}

// The networks that have a chain, with the time between two blocks. Base goes on after the start; the others have only
// their past.
var steps = map[string]time.Duration{
	Network:        2 * time.Second,
	"eip155:137":   2 * time.Second,
	"eip155:42161": 250 * time.Millisecond,
	"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": 400 * time.Millisecond,
}

// Network is the one that the world runs a node of. It goes by the name of a real network, since that is where the
// services ask to be paid; what it holds is made up, and it is to be found on loopback alone.
const Network = "eip155:8453"

// A reorganisation every now and then replaces the newest blocks. The payments that stood in them stand in the new ones
// too, but one: it is gone, and another has come.
const (
	reorganised = 7 * time.Minute // between two of them, counted from the start
	depth       = 4               // blocks that each replaces
)

// branch says on which side of a reorganisation something is.
type branch int

const (
	always branch = iota
	before        // until the reorganisation
	after
)

// transaction is what a settler sent: one payment, or several that it collected.
type transaction struct {
	block    int64
	hash     string // as the network writes it
	settler  string
	branch   branch
	payments []payment
}

// NewLedger is that of the world that started then.
func NewLedger(start time.Time) *Ledger {
	start = start.UTC().Truncate(time.Second)
	l := &Ledger{
		start: start, genesis: start.Truncate(day).Add(-(historyDays - 1) * day),
		chains: map[string]*chain{}, hours: map[int]map[string][]transaction{},
	}
	for network, step := range steps {
		l.chains[network] = &chain{l, network, step}
	}
	for _, s := range cast() {
		l.shops = append(l.shops, newShop(s, start))
	}
	return l
}

// hour is what was settled in the nth hour since genesis, by network, each in the order of its chain.
func (l *Ledger) hour(n int) map[string][]transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.hours[n]; ok {
		return found
	}
	from := l.genesis.Add(time.Duration(n) * time.Hour)
	to := from.Add(time.Hour)
	var list []payment
	for _, e := range l.eras() {
		if from, to := later(from, e.from), earlier(to, e.to); from.Before(to) {
			list = append(list, l.trade(from, to, e.times)...)
		}
	}
	if l.start.Before(to) {
		list = append(list, l.disputed(later(from, l.start), to)...)
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

// era is a time of even pace.
type era struct {
	from, to time.Time
	times    float64 // the rate of the past
}

// eras are the past, the day after the start, and what comes then.
func (l *Ledger) eras() []era {
	tomorrow := l.start.Add(day)
	return []era{{l.genesis, l.start, 1}, {l.start, tomorrow, pace}, {tomorrow, tomorrow.AddDate(100, 0, 0), laterPace}}
}

// disputed are, for each reorganisation in [from, to), the payment that it takes back and the one that it brings.
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
			for range 100 { // draws until somebody sells something on Base, which most do
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

// send puts an hour's payments into transactions. A settler that gets another payment to settle soon after one may have
// waited for it, and settles both in one transaction.
func (c *chain) send(hour int, list []payment) []transaction {
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

// name is the hash of an hour's nth transaction, on Solana its signature. The last bytes say which it is, so that it is
// found without a list of all.
func (c *chain) name(hour, n int) string {
	of := []byte("transaction " + strconv.Itoa(hour) + "/" + strconv.Itoa(n))
	a := c.digest(of)
	if c.solana() {
		b := c.digest(append(of, '+'))
		return base58.Encode(append(a[:], b[:]...))
	}
	binary.BigEndian.PutUint32(a[28:], uint32(hour))
	return "0x" + hex.EncodeToString(a[:])
}

// named finds a transaction by its hash, on the branch that is seen at now.
func (c *chain) named(hash string, now time.Time) (transaction, bool) {
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

// digest is the hash of something on this chain.
func (c *chain) digest(of []byte) (sum [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(Domain + "/" + c.network + "/"))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(c.ledger.start.Unix())))
	h.Write(of)
	h.Sum(sum[:0])
	return sum
}

// at is the first block at or after t.
func (c *chain) at(t time.Time) int64 {
	return int64((t.Sub(c.ledger.genesis) + c.step - 1) / c.step)
}

// head is the newest block at t.
func (c *chain) head(t time.Time) int64 { return int64(t.Sub(c.ledger.genesis) / c.step) }

// time is when a block was made.
func (c *chain) time(block int64) time.Time {
	return c.ledger.genesis.Add(time.Duration(block) * c.step)
}

// stamp is the time that a block says of itself, in whole seconds.
func (c *chain) stamp(block int64) time.Time { return c.time(block).Truncate(time.Second) }

// perHour is how many blocks an hour has: the first is made a step after it began, the last with its end.
func (c *chain) perHour() int64 { return int64(time.Hour / c.step) }

// branch is the side of its reorganisation on which the block is seen at now; always for one that stays as it was made.
func (c *chain) branch(block int64, now time.Time) branch {
	made := c.time(block)
	since := made.Sub(c.ledger.start)
	if c.network != Network || since <= 0 {
		return always
	}
	k := (since + reorganised - 1) / reorganised
	strikes := c.ledger.start.Add(k * reorganised)
	switch { // it strikes between two blocks: the new branch is as long as the old one was
	case !made.After(strikes.Add(-depth * c.step)):
		return always
	case now.Before(strikes.Add(c.step / 2)):
		return before
	}
	return after
}

// hash names a block of a branch. The last bytes are its number, so that it is found without a list of all.
func (c *chain) hash(block int64, b branch) string {
	sum := c.digest([]byte("block " + strconv.FormatInt(block, 10) + "/" + strconv.Itoa(int(b))))
	binary.BigEndian.PutUint64(sum[24:], uint64(block))
	return "0x" + hex.EncodeToString(sum[:])
}

// hashed finds a block by its hash, on the branch that is seen at now.
func (c *chain) hashed(hash string, now time.Time) (block int64, ok bool) {
	b, err := hex.DecodeString(strings.TrimPrefix(hash, "0x"))
	if err != nil || len(b) != 32 {
		return 0, false
	}
	block = int64(binary.BigEndian.Uint64(b[24:]))
	return block, block >= 0 && block <= c.head(now) && c.hash(block, c.branch(block, now)) == hash
}

// sent are the transactions of the blocks [first, last] as they are seen at now, in their order.
func (c *chain) sent(first, last int64, now time.Time) []transaction {
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

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
