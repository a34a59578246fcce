package output

import (
	"math"
	"time"

	"tollbook/output/archive"
)

// Expansion is the choice between every file and those of Expand.
type Expansion struct {
	All    bool `json:"all"`    // every file is an object
	Files  int  `json:"files"`  // that are objects
	Writes int  `json:"writes"` // a day, if every file were an object and changed in each publication
	Limit  int  `json:"limit"`  // of Writes
}

// period returns the time from the publication of a snapshot to the next one. It is 0 if the snapshot does not say when
// the next build is due, as after a rollback.
func (o *PublishOptions) period(c archive.Checkpoint) time.Duration {
	next := c.Next().Sub(c.Built())
	if next <= 0 {
		return 0
	}
	return max(next, o.Every)
}

// perDay returns the number of periods in a day; 0 for an unknown period.
func perDay(period time.Duration) float64 {
	if period <= 0 {
		return 0
	}
	return float64(24*time.Hour) / float64(period)
}

// writesPerDay returns how many objects are written a day if all of them change in each publication.
func writesPerDay(files int, period time.Duration) int {
	return int(math.Ceil(float64(files) * perDay(period)))
}

// expandsAll reports whether every file becomes an object. A place that has only some of them gets all when the writes
// are at most half of the limit. Otherwise a directory whose size moves around the limit would write and delete them
// again and again.
func expandsAll(writes, limit int, some bool) bool {
	if some {
		limit /= 2
	}
	return writes <= limit
}

// chooseExpansion returns the files of a tree that become objects, with their sums; isNew says that the place never had
// any. If the schedule is unknown, the place keeps the kind of objects that it has.
func (p *Publisher) chooseExpansion(tree archive.Tree, there map[string]archive.Sum, isNew bool,
	r *Published) (map[string]archive.Sum, error) {
	some := true // no file but those of Expand
	for name := range there {
		some = some && p.o.Expand(name)
	}
	expand, all := p.o.Expand, !some
	if period := p.o.period(r.Checkpoint); period > 0 {
		writes := writesPerDay(len(tree.Names()), period)
		all = expandsAll(writes, p.o.AllBelow, some && !isNew)
		r.Expansion = &Expansion{All: all, Writes: writes, Limit: p.o.AllBelow}
	} else if len(there) == 0 {
		expand = nil
	}
	if all {
		expand = func(string) bool { return true }
	}
	want, err := wantedSums(tree, expand)
	if r.Expansion != nil {
		r.Expansion.Files = len(want)
	}
	return want, err
}
