// Package crowd generates made-up directories of any size for measuring. A directory has services numbered from 0, each
// with its endpoints, their responses and prices, its history, and its payments.
//
// A service depends on the seed, the moment and its number alone, not on the number of other services. Services form
// blocks of 64. A block has its own owners, recipients and regular payers, so that blocks can be generated and written
// concurrently. Networks, prices, endpoints, ages and failures have the proportions of real services. Every name is
// made up and below .example. Only Load uses a database.
package crowd

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"tollbook/site/postgres/ledger"
)

const (
	day     = 24 * time.Hour
	block   = 64   // services
	regular = 128  // payers of a block
	roaming = 1000 // payers of services of all blocks

	firstAccount = 10_000            // numbers below belong to settlers and roaming payers
	perBlock     = regular + 2*block // accounts: the payers, then an EVM and a Solana account of each owner
)

// Options describe a crowd.
type Options struct {
	Services int
	Seed     uint64
	Moment   time.Time // the end of the history
	Days     int       // UTC days of history, including that of Moment
	Raw      int       // days before that of Moment whose checks are stored one by one

	Progress func(done, total int) // services written so far; nil for none
}

// Moment is the end of the history in benches, unless they set another one.
var Moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// crowd generates services.
type crowd struct {
	o      Options
	today  time.Time
	first  time.Time // beginning of the history
	raw    time.Time // beginning of the checks that are stored one by one
	rails  []rail
	tokens []facilitatorToken
}

func newCrowd(o Options, facilitators []ledger.Facilitator) *crowd {
	o.Moment = o.Moment.UTC().Truncate(time.Millisecond)
	c := &crowd{o: o, today: o.Moment.Truncate(day), rails: rails()}
	c.first = c.today.AddDate(0, 0, 1-o.Days)
	c.raw = c.today.AddDate(0, 0, -min(o.Raw, o.Days-1))
	c.tokens = facilitatorTokens(facilitators, c.rails)
	return c
}

// Streams of random numbers. Each use has its own stream, so that a new use changes no other.
const (
	ofService uint64 = iota
	ofOwner
	ofPast
	ofMoney
	ofAccount
)

// random returns the random numbers of one number for one use.
func (c *crowd) random(of uint64, number int) *rand.Rand {
	return rand.New(rand.NewPCG(c.o.Seed, of<<56|uint64(number)))
}

// chosen returns an index of weights, with a probability in proportion to its weight.
func chosen(r *rand.Rand, weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	x := r.Float64() * total
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// pick returns an element of a list. The i-th has the weight 1/(i+1).
func pick[T any](r *rand.Rand, list []T) T {
	n := int(math.Pow(float64(len(list)+1), r.Float64())) - 1
	return list[min(n, len(list)-1)]
}

// owner returns the number of the owner of a service. Blocks share no owners.
func (c *crowd) owner(k int) int {
	r := c.random(ofOwner, k)
	if in := k % block; r.Float64() < 0.3 {
		return k - in + r.IntN(in+1)
	}
	return k
}

// code writes a number in the form that names contain.
func code(n int) string { return strconv.FormatInt(int64(n), 36) }
