package sample

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFlapsDown(t *testing.T) {
	t.Parallel()
	period := start.Truncate(flapPeriod)
	down := time.Duration(0)
	for s := time.Duration(0); s < flapPeriod; s += time.Second {
		if flapsDown(period.Add(s)) {
			down += time.Second
		}
		if flapsDown(period.Add(s)) != flapsDown(period.Add(s+5*flapPeriod)) {
			t.Fatalf("%v into the period, the fifth period differs", s)
		}
	}
	if want := flapPeriod - flapUp; down != want {
		t.Errorf("down for %v of %v, want %v", down, flapPeriod, want)
	}
}

func TestRaisedFollowsThePath(t *testing.T) {
	t.Parallel()
	round := raisePeriod * time.Duration(len(pricePath))
	first := time.Unix(0, 0).Add(round * 5000)
	var got []string
	for i := range len(pricePath) + 1 {
		got = append(got, raised("10000", first.Add(time.Duration(i)*raisePeriod)))
	}
	want := []string{"10000", "10500", "11000", "12000", "13000", "14500", "16000", "18000", "20000", "22500", "25000",
		"28000", "10000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the path (-want +got):\n%s", diff)
	}
	if a, b := raised("10000", first), raised("10000", first.Add(raisePeriod-time.Nanosecond)); a != b {
		t.Errorf("within a step, %s became %s", a, b)
	}
}

func TestMovedChangesWithThePeriod(t *testing.T) {
	t.Parallel()
	at := start.Truncate(movePeriod)
	if moved(at) != moved(at.Add(movePeriod-time.Nanosecond)) {
		t.Error("moved within a period")
	}
	if moved(at) == moved(at.Add(movePeriod)) {
		t.Error("did not move after a period")
	}
}

func TestResponseTime(t *testing.T) {
	t.Parallel()
	s := bySlug("bellows-render")
	var sum time.Duration
	const n = 4 * 24 * 60
	for i := range n {
		at := start.Add(time.Duration(i) * 15 * time.Second)
		d := s.responseTime(at)
		if d != s.responseTime(at) {
			t.Fatalf("two different response times at %v", at)
		}
		if d <= 0 || d > time.Duration(10*s.Latency)*time.Millisecond {
			t.Errorf("at %v it takes %v", at, d)
		}
		sum += d
	}
	typical := time.Duration(s.Latency) * time.Millisecond
	if mean := sum / n; mean < typical*8/10 || mean > typical*12/10 {
		t.Errorf("mean %v over a day, want about %v", mean, typical)
	}
}
