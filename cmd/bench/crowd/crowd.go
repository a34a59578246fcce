// Package crowd makes directories of any size to measure with: services numbered from 0, each with its endpoints, what
// they answered, asked and did, and who paid for it.
//
// What is known of a service is a function of seed, moment and its number alone; how many others there are does not
// enter. Services come in blocks of 64, whose owners, recipients and regular payers are the block's own, so that blocks
// can be made and written at once. Shapes (networks, prices, endpoints, ages, who is down) follow what is listed and
// measured of real ones; every name is made up and lies below .example. Load alone touches a database.
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
	roaming = 1000 // payers that pay everybody

	firstAccount = 10_000            // before it lie settlers and those who roam
	perBlock     = regular + 2*block // accounts: payers, then an EVM and a Solana one of each owner
)

// Options of a crowd.
type Options struct {
	Services int
	Seed     uint64
	Moment   time.Time // everything ends then
	Days     int       // UTC days of history, the moment's own included
	Raw      int       // of them, days before the moment's own whose checks are kept one by one, too

	Progress func(done, total int) // services written so far; nil for none
}

// Moment is when the crowds of benches end, unless they say otherwise.
var Moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// crowd makes services.
type crowd struct {
	o     Options
	today time.Time
	first time.Time // of history
	raw   time.Time // since when checks are kept one by one
	rails []rail
	flows []flow
}

func newCrowd(o Options, facilitators []ledger.Facilitator) *crowd {
	o.Moment = o.Moment.UTC().Truncate(time.Millisecond)
	c := &crowd{o: o, today: o.Moment.Truncate(day), rails: rails()}
	c.first = c.today.AddDate(0, 0, 1-o.Days)
	c.raw = c.today.AddDate(0, 0, -min(o.Raw, o.Days-1))
	c.flows = flows(facilitators, c.rails)
	return c
}

// What random numbers are for: each use has its own, so that a new one changes no other.
const (
	ofService uint64 = iota
	ofOwner
	ofPast
	ofMoney
	ofAccount
)

// random is the source of one thing for one use.
func (c *crowd) random(of uint64, number int) *rand.Rand {
	return rand.New(rand.NewPCG(c.o.Seed, of<<56|uint64(number)))
}

// chosen is an index of weights, each with its part of their sum.
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

// pick is one of a list, the earlier ones more often: the i-th with weight 1/(i+1).
func pick[T any](r *rand.Rand, list []T) T {
	n := int(math.Pow(float64(len(list)+1), r.Float64())) - 1
	return list[min(n, len(list)-1)]
}

// owner is who runs a service, by a number that no owner of another block has.
func (c *crowd) owner(k int) int {
	r := c.random(ofOwner, k)
	if in := k % block; r.Float64() < 0.3 {
		return k - in + r.IntN(in+1)
	}
	return k
}

// code writes a number so that it can stand in a name.
func code(n int) string { return strconv.FormatInt(int64(n), 36) }
