package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
)

// TestDueSteps checks that a step is due a period after its last successful run started, and only while a process
// offers it. A step that follows another one is due only when that one has ended since.
func TestDueSteps(t *testing.T) {
	t.Parallel()
	db := open(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	offer := func(minute int, steps ...postgres.Step) {
		t.Helper()
		if err := db.OfferSteps(t.Context(), steps, at(minute)); err != nil {
			t.Fatal(err)
		}
	}
	done := func(name string, from, to int) {
		t.Helper()
		if err := db.FinishStep(t.Context(), name, at(from), at(to)); err != nil {
			t.Fatal(err)
		}
	}
	due := func(minute int, want ...string) {
		t.Helper()
		got, err := db.DueSteps(t.Context(), at(minute))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
			t.Errorf("due after %d minutes (-want +got):\n%s", minute, diff)
		}
	}
	build := postgres.Step{Name: "build", Period: 15 * time.Minute}
	publish := postgres.Step{Name: "publish", Period: time.Minute, Follows: "build"}
	offer(0, build, publish)
	due(0, "build")
	done("build", 0, 2)
	due(2, "publish")
	done("publish", 2, 3)
	due(3)
	due(15) // nobody has offered it for long
	offer(15, build, publish)
	due(15, "build")
	done("build", 15, 16)
	due(16, "publish")
	offer(17, postgres.Step{Name: "publish", Period: time.Hour, Follows: "build"})
	due(17) // it has another period now
	done("build", 10, 11)
	steps, err := db.Steps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := *steps[0].BeganAt; !got.Equal(at(15)) {
		t.Errorf("a run that ended late counts: build began %s", got)
	}
}
