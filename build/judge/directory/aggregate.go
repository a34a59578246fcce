// This file owns what a directory publishes about all of its services together: numbers by status, networks,
// categories and statistics. It judges no single service, and must never know a fact that no service publishes.

package directory

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres/ledger"
)

// Counter sums judged services.
type Counter struct {
	now    time.Time
	status site.StatusSummary
	stats  statsCounter
}

// NewAggregate returns a counter of up to so many services as of now.
func NewAggregate(services int, now time.Time) *Counter {
	return &Counter{now: now, stats: statsCounter{byCategory: map[string]*organicSums{}},
		status: site.StatusSummary{Services: make([]site.StatusService, 0, services)}}
}

// Add adds a judged service. Services are added in the order of slugs. One that is gone enters no other count.
func (c *Counter) Add(d *site.ServiceDetail) {
	if d.GoneSince != nil {
		c.status.Gone++
		return
	}
	c.status.Total++
	c.addStatus(d)
	c.stats.add(d, c.now)
}

// addStatus counts a service by status.
func (c *Counter) addStatus(d *site.ServiceDetail) {
	s, isListed := &c.status, d.DelistedAt == nil
	switch d.Status {
	case site.StatusOnline:
		s.Online++
	case site.StatusDegraded:
		s.Degraded++
	case site.StatusOffline:
		s.Offline++
	default:
		s.Unknown++
	}
	switch {
	case !isListed:
		s.Delisted++
	case d.Status == site.StatusOffline:
		s.ListedOffline++
		if isOlder(d, c.now.AddDate(0, 0, -30)) {
			s.Offline30dPlus++
		}
	}
	s.ListedTotal = s.Total - s.Delisted
	s.Services = append(s.Services, site.StatusService{
		Slug: d.Slug, Name: d.Name, Status: d.Status, LastCheckedAt: d.LastCheckedAt,
		ConsecutiveFailures: d.ConsecutiveFailures, Uptime24h: d.Uptime24h, AvgResponseTimeMS: d.AvgResponseTimeMS,
		Listed: isListed, OfflineSince: d.OfflineSince,
	})
}

// isOlder reports whether the last success of a service is older than a time. Without a success its listing counts.
func isOlder(d *site.ServiceDetail, than time.Time) bool {
	last := d.CreatedAt
	if d.LastSuccessAt != nil {
		last = *d.LastSuccessAt
	}
	return !last.After(than)
}

// Finish writes the status, the statistics and the demand into a snapshot whose networks, facilitators, categories and
// coverage are complete.
func (c *Counter) Finish(s *site.Snapshot, checksPerHour float64, optedOut int, buyers []ledger.CategoryBuyers) {
	s.Status = c.status
	c.stats.addDemand(s.Tags, buyers)
	s.Stats = c.stats.finish(s, buyers)
	s.Stats.ComputedAt = site.NewTime(c.now)
	s.Stats.ChecksPerHour, s.Stats.OptedOut = checksPerHour, optedOut
}
