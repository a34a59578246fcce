package crawl

import (
	"context"
	"net/url"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// The class and reason of endpoints that are not probed because robots.txt excludes Tollbook by name.
const (
	classRobots  = "robots"
	robotsReason = "robots.txt excludes Tollbook by name"
)

// readExclusion returns a function that reports whether a rule for Tollbook by name in a service's robots.txt excludes
// a path. Rules for all robots do not count: a listed endpoint is an interface that its operator advertises. It uses
// the robots.txt that was last stored; visits do not request it.
func (c *Crawler) readExclusion(ctx context.Context, s postgres.DueService) func(path string) bool {
	none := func(string) bool { return false }
	if !s.Robots {
		return none
	}
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return none
	}
	stored, err := c.db.Robots(ctx, u.Scheme+"://"+u.Host)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, "read stored robots.txt; visiting without its rules", "service", s.Slug,
				"error", err)
		}
		return none
	}
	if stored == nil || stored.State != facts.RobotsDocument {
		return none
	}
	rules := facts.ReadRobots(stored.Body, facts.Token)
	if !rules.Own {
		return none
	}
	base := strings.TrimRight(u.EscapedPath(), "/")
	return func(path string) bool { return !rules.Allows(base + path) }
}
