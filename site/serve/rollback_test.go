package serve

import (
	"testing"
	"time"

	"tollbook/output"
)

// TestModifiedSinceAfterRollback checks that a client with a response of a newer snapshot gets the older one after a
// rollback, even if both were built in the same second.
func TestModifiedSinceAfterRollback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		later time.Duration // from the first build to the second
		again int           // status for a client that already has the response of the first
	}{
		{"a minute later", time.Minute, 304},
		{"in the same second", 0, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := publish(t, newWorld(t, 120).files)
			source := openSource(t, d.Root())
			h := NewHandler(Options{Source: source})
			old := get(h, "/v1/services").Header()
			publishTo(t, d, built.Add(test.later), newWorld(t, 121).files)
			if err := source.Refresh(); err != nil {
				t.Fatal(err)
			}
			replaced := get(h, "/v1/services").Header()
			if old.Get("X-Snapshot") == replaced.Get("X-Snapshot") {
				t.Fatal("there is no second snapshot")
			}
			if _, _, err := d.Rollback(t.Context(), old.Get("X-Snapshot"), output.RollbackOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := source.Refresh(); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				since string
				want  int
			}{
				{replaced.Get("Last-Modified"), 200},
				{"Wed, 20 Nov 2030 12:44:59 GMT", 200},
				{old.Get("Last-Modified"), test.again},
			} {
				got := get(h, "/v1/services", "If-Modified-Since", c.since)
				if id := got.Header().Get("X-Snapshot"); id != old.Get("X-Snapshot") {
					t.Fatalf("the current snapshot is %s, want %s", id, old.Get("X-Snapshot"))
				}
				if got.Code != c.want {
					t.Errorf("If-Modified-Since %s, Last-Modified %s: %d, want %d", c.since,
						got.Header().Get("Last-Modified"), got.Code, c.want)
				}
			}
		})
	}
}
