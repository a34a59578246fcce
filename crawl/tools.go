package crawl

import (
	"context"
	"path"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// maxServers is the most MCP servers of a service whose tools are listed.
const maxServers = 2

// toolSessions are the sessions of a visit with MCP servers, by the server's URL.
type toolSessions map[string]*probe.Session

// target completes the probe of an endpoint that is an MCP tool. An endpoint that a catalogue names, or that asked for
// payment before, is named as paid.
func (t toolSessions) target(to probe.Target, e *postgres.Endpoint) probe.Target {
	server, _, isTool := strings.Cut(to.URL, "#")
	if !isTool {
		return to
	}
	if t[server] == nil {
		t[server] = &probe.Session{}
	}
	to.Session, to.NamedPaid = t[server], e.Origin == facts.OriginCatalogue || e.LastPaidAt != nil
	return to
}

// end ends the sessions with servers of a host.
func (t toolSessions) end(ctx context.Context, c *Crawler, host string) {
	for _, s := range t {
		if leave, err := c.hosts.enter(ctx, host); err == nil {
			c.prober.EndSession(ctx, s)
			leave()
		}
	}
}

// listTools returns the paid tools of a service's MCP servers: endpoints, listed or declared, whose path ends in /mcp.
// No tool is called.
func (c *Crawler) listTools(ctx context.Context, s postgres.DueService, seen facts.Site) (tools []facts.Endpoint) {
	s.Robots = true // the survey has stored it
	excluded := c.readExclusion(ctx, s)
	listed := map[string]bool{}
	ask := func(at string) {
		at, _, _ = strings.Cut(withoutQuery(at), "#")
		if path.Base(at) != "mcp" || listed[at] || len(listed) == maxServers || excluded(at) {
			return
		}
		listed[at] = true
		leave, err := c.hosts.enter(ctx, host(s.BaseURL))
		if err != nil {
			return
		}
		defer leave()
		list, err := c.prober.ListTools(ctx, s.BaseURL+at)
		if err != nil {
			c.o.Logger.InfoContext(ctx, "tools", "service", s.Slug, "error", clean(err.Error(), 300))
			return
		}
		for _, tool := range list {
			if tool.Paid && !tool.Destructive {
				d := facts.Declared{Method: "POST", URL: s.BaseURL + at, Tool: tool.Name, Origin: facts.OriginMCP,
					Description: clean(tool.Description, 500)}
				if tool.PriceUSD != "" {
					d.Price = &facts.Price{Mode: "fixed", Currency: "USD", Amount: tool.PriceUSD}
				}
				tools = append(tools, facts.FilterBelow(s.BaseURL, []facts.Declared{d})...)
			}
		}
	}
	for _, e := range s.Endpoints {
		ask(e.Path)
	}
	for _, e := range seen.Endpoints {
		ask(e.Path)
	}
	return tools
}
