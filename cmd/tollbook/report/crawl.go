package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tollbook/crawl"
)

// Crawl prints what a round of visits found. s is nil if no language model is configured.
func Crawl(w io.Writer, r crawl.Report, g crawl.GatherReport, s *crawl.SynthesisReport, asJSON bool) error {
	if asJSON {
		fields := map[string]any{
			"visits": r.Visits, "online": r.Online, "degraded": r.Degraded, "offline": r.Offline,
			"inconclusive": r.Inconclusive, "changes": r.Changes, "seconds": r.Took.Seconds(),
			"sites": g.Sites, "sites_unseen": g.Unseen, "endpoints_added": g.Endpoints, "domains": g.Domains,
			"opted_out": g.OptedOut,
		}
		if s != nil {
			fields["synthesis"] = s
		}
		return JSON(w, fields)
	}
	_, err := fmt.Fprintf(w, "%d services visited in %.1f s: %d online, %d degraded, %d offline, %d inconclusive; "+
		"%d changes\n%d sites read, %d failed: %d new endpoints; %d domains looked up\n%s",
		r.Visits, r.Took.Seconds(), r.Online, r.Degraded, r.Offline, r.Inconclusive, r.Changes,
		g.Sites, g.Unseen, g.Endpoints, g.Domains, optedOutLine(g)+synthesisLine(s))
	return err
}

// optedOutLine returns a line on hosts that opted out, "" if none did.
func optedOutLine(g crawl.GatherReport) string {
	if g.OptedOut == 0 {
		return ""
	}
	return fmt.Sprintf("%d readings found that an owner opted out; tollbook services opt-outs lists the hosts\n",
		g.OptedOut)
}

// synthesisLine returns a line on the questions of a round, "" without a model.
func synthesisLine(s *crawl.SynthesisReport) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions to the model: %d answers accepted", s.Asked, s.Accepted)
	if n := s.Asked - s.Accepted; n > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(s.Refused)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, s.Refused[reason]))
		}
		fmt.Fprintf(&b, ", %d refused (%s)", n, strings.Join(reasons, ", "))
	}
	if s.Spent {
		b.WriteString("; the day's limit of questions is reached")
	}
	if s.Stopped != "" {
		fmt.Fprintf(&b, "; the round stopped: %s", s.Stopped)
	}
	b.WriteByte('\n')
	return b.String()
}
