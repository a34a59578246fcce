package crawl

import (
	"context"
	"net/url"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// Of endpoints that are not asked because robots.txt says so to us by name.
const (
	classRobots    = "robots"
	askedOffReason = "its robots.txt asks Tollbook by name to stay away"
)

// askedOff tells which paths of a service a rule for us, by name, in its robots.txt keeps us from. An endpoint that is
// listed may be asked although everybody is disallowed: it is an interface that its operator advertises. What
// robots.txt says is what was last read; visits do not ask for it.
func (c *Crawler) askedOff(ctx context.Context, s postgres.DueService) func(path string) bool {
	none := func(string) bool { return false }
	if !s.Robots {
		return none
	}
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return none
	}
	kept, err := c.db.Robots(ctx, u.Scheme+"://"+u.Host)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "visiting without what robots.txt says", "service", s.Slug, "error", err)
		}
		return none
	}
	if kept == nil || kept.State != facts.RobotsDocument {
		return none
	}
	rules := facts.ReadRobots(kept.Body, facts.Token)
	if !rules.Own {
		return none
	}
	base := strings.TrimRight(u.EscapedPath(), "/")
	return func(path string) bool { return !rules.Allows(base + path) }
}
