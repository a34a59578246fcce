package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
)

// ErrUplink is the error of a round that reached none of the services that it can tell apart, so that the fault is this
// machine's. Nothing is stored about services that were not reached.
var ErrUplink = errors.New("the fault is this machine's")

// Limits of the judgment whose fault it is that hosts are not reached.
const (
	uplinkWait    = 6                // a visit waits at most this part of its limit, 15 s of 90 s, for what others find
	uplinkPause   = 15 * time.Second // between two tries to visit services while nothing is reached
	uplinkMemory  = 20 * time.Minute // older outcomes say nothing; a service is visited more often
	uplinkRetry   = time.Minute      // after that a service is due again that was not reached by our fault
	uplinkFewest  = 3                // unrelated hosts
	uplinkMost    = 20               // as many are enough in a directory of any size
	uplinkPart    = 20               // of the domains that were visited, one in so many
	uplinkReached = 4                // for each host that is reached, so many are not
	uplinkAnswer  = 10 * time.Second // as long is the answer of the control hosts true
	uplinkDial    = 5 * time.Second
)

// outcome says whether the last visit to a domain reached a host.
type outcome struct {
	reached bool
	at      time.Time
	number  int // of the visit, in the order in which they ended
}

// isOwnFault judges the last outcome of each domain, oldest first: the fault is ours if, from some outcome to the
// newest, many domains failed that had answered before, and at most a fifth was reached.
func isOwnFault(outcomes []outcome) bool {
	least := min(max(uplinkFewest, len(outcomes)/uplinkPart), uplinkMost)
	failed, reached := 0, 0
	for _, o := range slices.Backward(outcomes) {
		if o.reached {
			reached++
		} else {
			failed++
		}
		if failed >= least && failed >= uplinkReached*reached {
			return true
		}
	}
	return false
}

// uplink tells the faults of services from those of this machine's network, DNS and clock. Before a service counts as
// unreachable, the hosts of the operator are asked, or, without such hosts, the visit waits for what others find.
type uplink struct {
	control []string // host:port
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	now     func() time.Time
	hold    time.Duration

	asking sync.Mutex // held while the control hosts are asked; before mu

	mu      sync.Mutex
	running int                // visits, without those that wait
	waiting chan struct{}      // closed when the visits that wait are judged; nil without any
	last    map[string]outcome // by domain
	visits  int
	down    bool      // the last judgment: the fault is ours
	told    bool      // what was logged last of it
	asked   time.Time // when the control hosts were
}

// newUplink returns an uplink that has found nothing yet. visit is the limit of a visit: the lease of a service lasts longer
// by hold, and only then is another worker sent if this one died.
func newUplink(control []string, now func() time.Time, visit time.Duration) *uplink {
	return &uplink{control: control, dial: (&net.Dialer{Timeout: uplinkDial}).DialContext, now: now, hold: visit / uplinkWait,
		last: map[string]outcome{}}
}

// isDown reports whether nothing was reached at last.
func (u *uplink) isDown() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.down
}

// news reports whether the judgment has changed since the last call.
func (u *uplink) news() (down, changed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	changed, u.told = u.told != u.down, u.down
	return u.down, changed
}

// forget drops what earlier visits found.
func (u *uplink) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down, u.asked = false, time.Time{}
	clear(u.last)
}

// begin counts a visit that may reach something.
func (u *uplink) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running++
}

// end ends a visit. reached is nil if the visit says nothing about the network. It returns true if the visit reached
// nothing by this machine's fault; then nobody may be charged with it. answered says that the service was not known to
// be offline before: others that fail are no evidence.
func (u *uplink) end(ctx context.Context, domain string, reached *bool, answered bool) bool {
	u.mu.Lock()
	u.running--
	if reached != nil && *reached {
		if u.down { // what failed before says nothing any more
			clear(u.last)
		}
		u.down = false
		u.add(domain, true)
	}
	if reached == nil || *reached {
		u.decideIfIdle()
		u.mu.Unlock()
		return false
	}
	if len(u.control) > 0 {
		u.mu.Unlock()
		return u.askControl(ctx)
	}
	defer u.mu.Unlock()
	if answered {
		u.add(domain, false)
	}
	if !u.down && (answered || u.waiting != nil) {
		u.wait(ctx)
	}
	u.decideIfIdle()
	return u.down || ctx.Err() != nil
}

func (u *uplink) add(domain string, reached bool) {
	u.visits++
	u.last[domain] = outcome{reached, u.now(), u.visits}
}

// wait waits until the visits that wait are judged together: after a while, or when no other runs.
func (u *uplink) wait(ctx context.Context) {
	if u.waiting == nil {
		u.waiting = make(chan struct{})
	}
	decided := u.waiting
	u.decideIfIdle()
	u.mu.Unlock()
	late := time.NewTimer(u.hold)
	select {
	case <-decided:
	case <-ctx.Done():
	case <-late.C:
	}
	late.Stop()
	u.mu.Lock()
	if u.waiting == decided {
		u.decide()
	}
}

func (u *uplink) decideIfIdle() {
	if u.running == 0 && u.waiting != nil {
		u.decide()
	}
}

func (u *uplink) decide() {
	now := u.now()
	maps.DeleteFunc(u.last, func(_ string, o outcome) bool { return now.Sub(o.at) > uplinkMemory })
	u.down = isOwnFault(slices.SortedFunc(maps.Values(u.last), func(a, b outcome) int { return a.number - b.number }))
	close(u.waiting)
	u.waiting = nil
}

// askControl reports whether none of the control hosts accepts a connection. One visit asks for all that fail at the
// same time; others go on meanwhile.
func (u *uplink) askControl(ctx context.Context) bool {
	u.asking.Lock()
	defer u.asking.Unlock()
	u.mu.Lock()
	isKnown, down := !u.asked.IsZero() && u.now().Sub(u.asked) < uplinkAnswer, u.down
	u.mu.Unlock()
	if isKnown {
		return down
	}
	down = !slices.ContainsFunc(u.control, func(address string) bool {
		conn, err := u.dial(ctx, "tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down, u.asked = down, u.now()
	return down
}

// endVisit ends a visit of the uplink. It returns true if nothing may be stored, because the fault is ours; then the
// service is due again soon.
func (c *Crawler) endVisit(ctx context.Context, s *postgres.DueService, answers []answer) bool {
	name := host(s.BaseURL)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	answered := s.LastStatus == nil || *s.LastStatus != site.StatusOffline
	own := c.uplink.end(ctx, probe.Domain(name), reachedAny(name, answers), answered)
	switch down, changed := c.uplink.news(); {
	case changed && down:
		c.o.Logger.ErrorContext(ctx, "no host is reached; services are not charged with it, and visits pause",
			"do", uplinkAdvice)
	case changed:
		c.o.Logger.InfoContext(ctx, "hosts are reached again")
	}
	if own && ctx.Err() == nil {
		if err := c.db.ReleaseService(ctx, s.ID, s.NextCheckAt, c.o.Now().Add(uplinkRetry)); err != nil {
			c.o.Logger.WarnContext(ctx, "the service is due when its lease ends", "service", s.Slug, "error", err)
		}
	}
	return own
}

const uplinkAdvice = "check this machine's network, DNS and clock; [crawl] control names hosts that tell its faults " +
	"from those of services"

// reachedAny reports whether a visit reached a host: nil if it sent no request, was refused or interrupted, or if the
// host is an address, which may be of this machine's own network, or a name that no public resolver knows.
func reachedAny(name string, answers []answer) *bool {
	if _, err := netip.ParseAddr(name); err == nil || probe.IsReserved(name) {
		return nil
	}
	failed := 0
	for _, a := range answers {
		switch {
		case a.result.Status != 0:
			return new(true)
		case a.result.Class == probe.ClassUnreachable:
			failed++
		}
	}
	if failed == 0 || failed < len(answers) {
		return nil
	}
	return new(false)
}

// uplinkError returns the error of a round that ends while nothing is reached.
func (c *Crawler) uplinkError() error {
	if !c.uplink.isDown() {
		return nil
	}
	return fmt.Errorf("visit services: no host was reached: %w; nothing was stored about those hosts; %s", ErrUplink,
		uplinkAdvice)
}
