package sample

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Patterns are functions of time alone, so that they continue after a restart and can be computed for the past.

const (
	flapPeriod  = 7 * time.Minute // of the flapping service
	flapUp      = 270 * time.Second
	raisePeriod = 5 * time.Minute  // between two prices of the raiser
	movePeriod  = 30 * time.Minute // between two recipients of the mover
	slowness    = 6 * time.Second  // of the slow service: more than the 5 s above which a service is degraded
)

// flapsDown reports whether the flapping service is down at t: for the last 2.5 of every 7 minutes.
func flapsDown(t time.Time) bool {
	return time.Duration(t.Unix())*time.Second%flapPeriod >= flapUp
}

// pricePath is the sequence of the raiser's prices in percent of the first one. It repeats.
var pricePath = []int64{100, 105, 110, 120, 130, 145, 160, 180, 200, 225, 250, 280}

// raised returns the raiser's price in atomic units at t.
func raised(atomic string, t time.Time) string {
	n, err := strconv.ParseInt(atomic, 10, 64)
	if err != nil {
		return atomic // no price of the cast is that large
	}
	step := t.Unix() / int64(raisePeriod.Seconds()) % int64(len(pricePath))
	return strconv.FormatInt(n*pricePath[step]/100, 10)
}

// moved returns the number of the mover's recipient at t.
func moved(t time.Time) int { return int(t.Unix() / int64(movePeriod.Seconds())) }

// responseTime returns the service's response time at t without incidents: its typical time, longer in the European
// afternoon, with random scatter.
func (s *service) responseTime(t time.Time) time.Duration {
	r := rand.New(rand.NewPCG(s.seed, uint64(t.UnixNano())))
	hour := float64(t.UTC().Hour()) + float64(t.UTC().Minute())/60
	rhythm := 1 + 0.25*math.Sin(2*math.Pi*(hour-9)/24)
	scatter := math.Exp(0.18*r.NormFloat64() - 0.05)
	if r.IntN(100) == 0 {
		scatter *= 3 // some responses take longer
	}
	ms := max(4, float64(s.Latency)*rhythm*scatter)
	return time.Duration(ms * float64(time.Millisecond)).Truncate(time.Millisecond)
}
