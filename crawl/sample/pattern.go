package sample

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// What changes with time is a function of time alone, so that it goes on where it was after a restart, and can be
// looked at backwards.

const (
	flapPeriod  = 7 * time.Minute // of the service that is up and down
	flapUp      = 270 * time.Second
	raisePeriod = 5 * time.Minute  // of the service that raises its price
	movePeriod  = 30 * time.Minute // of the service that moves its recipient
	slowness    = 6 * time.Second  // of the service that is slow: beyond the 5 s that count as degraded
)

// flapsDown says whether the flapping service is down at t: the last two and a half of every seven minutes.
func flapsDown(t time.Time) bool {
	return time.Duration(t.Unix())*time.Second%flapPeriod >= flapUp
}

// pricePath is what the raising service asks, in percent of its first price. After the last it begins anew.
var pricePath = []int64{100, 105, 110, 120, 130, 145, 160, 180, 200, 225, 250, 280}

// raised is a price in atomic units at t, along the path.
func raised(atomic string, t time.Time) string {
	n, err := strconv.ParseInt(atomic, 10, 64)
	if err != nil {
		return atomic // beyond what any price of the cast is
	}
	step := t.Unix() / int64(raisePeriod.Seconds()) % int64(len(pricePath))
	return strconv.FormatInt(n*pricePath[step]/100, 10)
}

// moved is the number of the recipient that the moving service is paid at, at t.
func moved(t time.Time) int { return int(t.Unix() / int64(movePeriod.Seconds())) }

// responseTime is how long the service takes at t when it is well: its typical time, slower in the European afternoon,
// with the scatter of a network.
func (s *service) responseTime(t time.Time) time.Duration {
	r := rand.New(rand.NewPCG(s.seed, uint64(t.UnixNano())))
	hour := float64(t.UTC().Hour()) + float64(t.UTC().Minute())/60
	rhythm := 1 + 0.25*math.Sin(2*math.Pi*(hour-9)/24)
	scatter := math.Exp(0.18*r.NormFloat64() - 0.05)
	if r.IntN(100) == 0 {
		scatter *= 3 // now and then one takes its time
	}
	ms := max(4, float64(s.Latency)*rhythm*scatter)
	return time.Duration(ms * float64(time.Millisecond)).Truncate(time.Millisecond)
}
