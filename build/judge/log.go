package judge

import (
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/routes"
)

// Names has the slug and name of each listed service, by its ID.
type Names map[int64]name

type name struct{ slug, name string }

// NewNames returns the names of all services of the facts, damaged ones too.
func NewNames(f *postgres.Facts) Names {
	names := make(Names, len(f.Services))
	for _, s := range f.Services {
		names[s.ID] = name{s.Slug, s.Name}
	}
	for _, s := range f.Damaged {
		names[s.ID] = name{s.Slug, s.Name}
	}
	return names
}

// NewPackNames returns the names of all services of the facts, hidden ones too, because a pack is written once.
func NewPackNames(f *postgres.Facts) Names {
	names := NewNames(f)
	for _, s := range f.Hidden {
		names[s.ID] = name{s.Slug, s.Name}
	}
	return names
}

// Slug returns the slug of a service and whether the service is listed.
func (n Names) Slug(id int64) (slug string, listed bool) {
	service, listed := n[id]
	return service.slug, listed
}

// GlobalCheck returns a row of the log of all checks, with the state of the service right after the check and the name
// that the service has now. The row of an erased service has only its ID and time.
func (n Names) GlobalCheck(c checks.Check) site.GlobalCheckEntry {
	service := n[c.ServiceID]
	if service.slug == "" {
		return CheckTombstone(c.ID.String(), site.NewTime(c.CheckedAt))
	}
	status := site.StatusUnknown
	if c.Status != nil && c.Counted {
		status = statusAfterCheck(*c.Status, c.ConsecutiveFailures)
	}
	return site.GlobalCheckEntry{
		ID: c.ID.String(), CheckedAt: site.NewTime(c.CheckedAt), IsUp: isUp(c), StatusCode: c.StatusCode,
		ResponseTimeMS: c.ResponseTimeMS, EndpointsFound: c.EndpointsFound,
		ServiceSlug: service.slug, ServiceName: service.name, ServiceStatus: status,
		Counted: c.Counted, UncountedReason: c.UncountedReason, Vantage: vantageOf(c),
	}
}

// vantageOf returns the name of the place of a check, "" without one.
func vantageOf(c checks.Check) string {
	if c.Vantage == nil {
		return ""
	}
	return *c.Vantage
}

// isUp reports whether a check found its service up. A check that does not count found nothing: the crawler stores the
// state before it.
func isUp(c checks.Check) bool { return c.IsUp && c.Counted }

// CheckTombstone returns the row of an erased service in the log of all checks.
func CheckTombstone(id string, at site.Time) site.GlobalCheckEntry {
	reason := site.ErasedService
	return site.GlobalCheckEntry{ID: id, CheckedAt: at, ServiceStatus: site.StatusUnknown, UncountedReason: &reason}
}

// Check returns a row of a service's own log of checks.
func Check(c checks.Check) site.CheckEntry {
	return site.CheckEntry{
		ID: c.ID.String(), CheckedAt: site.NewTime(c.CheckedAt), IsUp: isUp(c), StatusCode: c.StatusCode,
		ResponseTimeMS: c.ResponseTimeMS, EndpointsFound: c.EndpointsFound, ErrorMessage: c.ErrorMessage,
		Counted: c.Counted, UncountedReason: c.UncountedReason, Vantage: vantageOf(c),
	}
}

// serviceLog returns the part of a service's log of checks that the snapshot contains.
func serviceLog(f *postgres.ServiceFacts) site.Log[site.CheckEntry] {
	rows := make([]site.CheckEntry, len(f.Log.Tail))
	for i, c := range f.Log.Tail {
		rows[i] = Check(c)
	}
	return newLog(f.Log, rows, defaultLimit("service-checks"))
}

// globalLog returns the part of the log of all checks that the snapshot contains.
func globalLog(f *postgres.Facts) site.Log[site.GlobalCheckEntry] {
	names := NewNames(f)
	rows := make([]site.GlobalCheckEntry, len(f.Log.Tail))
	for i, c := range f.Log.Tail {
		rows[i] = names.GlobalCheck(c)
	}
	return newLog(f.Log, rows, defaultLimit("checks"))
}

// defaultLimit returns the default number of rows of a route.
func defaultLimit(route string) int { return routes.Query{Route: routes.ByName(route)}.Int("limit") }

// newLog cuts the newest rows into the blocks that no pack contains. The open block is the last.
func newLog[T any](f checks.LogFacts, tail []T, limit int) site.Log[T] {
	l := site.Log[T]{
		Index:  site.LogIndex{First: f.First, Next: f.Next, Packs: []site.LogPack{}},
		Newest: make([]T, 0, min(limit, len(tail))),
	}
	for _, b := range f.Blocks {
		hour := site.PackHour(b.Hour)
		if n := len(l.Index.Packs); n > 0 && l.Index.Packs[n-1].Pack == hour {
			l.Index.Packs[n-1].Last = b.Block
			continue
		}
		l.Index.Packs = append(l.Index.Packs, site.LogPack{Pack: hour, First: b.Block, Last: b.Block})
	}
	oldest := f.Next - int64(len(tail)) // number of tail[0]
	for block := f.Sealed / site.BlockSize; block*site.BlockSize < f.Next; block++ {
		first := max(block*site.BlockSize, oldest, f.First)
		end := min((block+1)*site.BlockSize, f.Next)
		l.Blocks = append(l.Blocks, site.Block[T]{Number: block, First: first, Rows: tail[first-oldest : end-oldest]})
	}
	for i := len(tail) - 1; i >= 0 && len(l.Newest) < limit && oldest+int64(i) >= f.First; i-- {
		l.Newest = append(l.Newest, tail[i])
	}
	return l
}
