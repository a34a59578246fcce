package serve

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// datePrefix is how a point of a series begins; the date follows.
const datePrefix = `{"date":"`

// series is a whole series by UTC day.
type series struct {
	points [][]byte // oldest first; each begins with its date
	caveat []byte
	bytes  int // of the file
}

func (s *series) size() int { return s.bytes + 24*len(s.points) }

// trim keeps the points of q's period, which ends on the day of the snapshot.
func (h *handler) trim(snap *output.Snapshot, q site.Query, built time.Time) (*body, error) {
	whole := q.Untrimmed()
	s, err := cachedFile(h, snap, whole.Key(), "series", func(data []byte) (*series, error) {
		points, caveat, err := whole.Route.Framing.Split(data)
		for _, p := range points {
			if err == nil && !bytes.HasPrefix(p, []byte(datePrefix)) {
				err = errors.New("a point without a date")
			}
		}
		return &series{points, caveat, len(data)}, err
	})
	if err != nil {
		return nil, err
	}
	return newCut(q.Route.Framing.List(s.since(site.PeriodStart(q.Text("period"), built)), s.caveat))
}

// since are the points of day ("2026-11-20") and after it.
func (s *series) since(day string) [][]byte {
	i, _ := slices.BinarySearchFunc(s.points, []byte(datePrefix+day), bytes.Compare) // dates sort as text
	return s.points[i:]
}
