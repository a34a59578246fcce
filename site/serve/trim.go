package serve

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"tollbook/output"
	"tollbook/site"
)

// series is a whole series by UTC day.
type series struct {
	points [][]byte // oldest first; each begins with its date
	caveat []byte
}

// datePrefix is how a point begins; the date follows.
const datePrefix = `{"date":"`

// trim keeps the points of q's period, which ends on the day of the snapshot.
func (h *handler) trim(snap *output.Snapshot, q site.Query, built time.Time) ([]byte, error) {
	s, err := h.series(snap, q.Whole())
	if err != nil {
		return nil, err
	}
	return q.Route.Framing.List(s.since(site.PeriodStart(q.Text("period"), built)), s.caveat), nil
}

// since are the points of day ("2026-11-20") and after it.
func (s *series) since(day string) [][]byte {
	i, _ := slices.BinarySearchFunc(s.points, []byte(datePrefix+day), bytes.Compare) // dates sort as text
	return s.points[i:]
}

// series reads the file of a whole series.
func (h *handler) series(snap *output.Snapshot, whole site.Query) (*series, error) {
	key := whole.Key()
	m, ok := snap.Lookup(key)
	if !ok {
		return nil, fmt.Errorf("file %s: %w", key, errMissing)
	}
	size := func(s *series) int { return int(m.Size) + 24*len(s.points) }
	return cached(h.cache, cacheKey{sum: m.Sum, name: "series"}, size, func() (*series, error) {
		data, err := m.Read()
		if err != nil {
			return nil, err
		}
		points, caveat, err := whole.Route.Framing.Split(data)
		for _, p := range points {
			if err == nil && !bytes.HasPrefix(p, []byte(datePrefix)) {
				err = output.ErrDamaged
			}
		}
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", key, err)
		}
		return &series{points, caveat}, nil
	})
}
