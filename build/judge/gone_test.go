package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

func TestGoneSince(t *testing.T) {
	first, ended := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	run := func(days int, ended *time.Time) checks.FailureRun {
		return checks.FailureRun{FirstAt: first, BeganAt: first, FailedDays: days, EndedAt: ended}
	}
	later := checks.FailureRun{FirstAt: ended, Checks: 1}
	since := site.TimeOrNull(first)
	for _, test := range []struct {
		name string
		runs []checks.FailureRun
		want *site.Time
	}{
		{"no run", nil, nil},
		{"59 days", []checks.FailureRun{run(59, nil)}, nil},
		{"60 days", []checks.FailureRun{run(60, nil)}, since},
		{"a year", []checks.FailureRun{run(365, nil)}, since},
		{"it answered", []checks.FailureRun{run(60, &ended)}, nil},
		{"it answered once and failed again", []checks.FailureRun{run(60, &ended), later}, nil},
		{"nobody looked for a while", []checks.FailureRun{run(0, &ended), {FirstAt: ended, BeganAt: first, FailedDays: 60}}, since},
		{"it was gone before", []checks.FailureRun{later, run(60, nil)}, since},
	} {
		if diff := cmp.Diff(test.want, goneSince(test.runs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
