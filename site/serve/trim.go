package serve

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/routes"
)

// datePrefix is the beginning of each point of a series; the date follows.
const datePrefix = `{"date":"`

// series is a complete series by UTC day.
type series struct {
	points [][]byte // oldest first; each starts with datePrefix
	caveat []byte
	bytes  int // size of the file
}

func (s *series) size() int { return s.bytes + 24*len(s.points) }

// trim returns the points of q's period, which ends on the day of the snapshot.
func (h *handler) trim(snap *output.Snapshot, q routes.Query, built time.Time) (cutResponse, error) {
	whole := q.Untrimmed()
	s, err := readCachedFile(h, snap, whole.Key(), "series", func(data []byte) (*series, error) {
		points, caveat, err := whole.Route.Framing.Split(data)
		for _, p := range points {
			if err == nil && !bytes.HasPrefix(p, []byte(datePrefix)) {
				err = errors.New("a point without a date")
			}
		}
		return &series{points, caveat, len(data)}, err
	})
	if err != nil {
		return cutResponse{}, err
	}
	return cutResponse{data: q.Route.Framing.List(s.since(site.PeriodStart(q.Text("period"), built)), s.caveat)}, nil
}

// since returns the points from day ("2026-11-20") on.
func (s *series) since(day string) [][]byte {
	i, _ := slices.BinarySearchFunc(s.points, []byte(datePrefix+day), bytes.Compare) // dates sort as strings
	return s.points[i:]
}
