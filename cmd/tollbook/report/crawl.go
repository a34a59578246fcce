package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tollbook/crawl"
)

// Visits prints what visits found, and when the next service is due if they were none; nil if none will be.
func Visits(w io.Writer, r crawl.Report, next *time.Time, asJSON bool) error {
	if asJSON {
		return JSON(w, visitFields(r, next))
	}
	_, err := io.WriteString(w, visitsLine(r, next))
	return err
}

// Crawl prints what a round of visits found, as Visits does. s is nil if no language model is configured.
func Crawl(w io.Writer, r crawl.Report, next *time.Time, g crawl.GatherReport, s *crawl.SynthesisReport,
	asJSON bool) error {
	if asJSON {
		fields := visitFields(r, next)
		maps.Copy(fields, map[string]any{"sites": g.Sites, "sites_unseen": g.Unseen, "endpoints_added": g.Endpoints,
			"domains": g.Domains, "opted_out": g.OptedOut})
		if s != nil {
			fields["synthesis"] = s
		}
		return JSON(w, fields)
	}
	_, err := fmt.Fprintf(w, "%s%d sites read, %d failed: %d new endpoints; %d domains looked up\n%s", visitsLine(r, next),
		g.Sites, g.Unseen, g.Endpoints, g.Domains, optedOutLine(g)+synthesisLine(s))
	return err
}

func visitFields(r crawl.Report, next *time.Time) map[string]any {
	fields := map[string]any{
		"visits": r.Visits, "online": r.Online, "degraded": r.Degraded, "offline": r.Offline,
		"inconclusive": r.Inconclusive, "changes": r.Changes, "seconds": r.Took.Seconds(),
	}
	if r.Visits == 0 && next != nil {
		fields["next_visit_at"] = next.UTC().Format(time.RFC3339)
	}
	return fields
}

// visitsLine returns a line on visits, and a second one on the next visit after none.
func visitsLine(r crawl.Report, next *time.Time) string {
	line := fmt.Sprintf("%d services visited in %.1f s: %d online, %d degraded, %d offline, %d inconclusive; "+
		"%d changes\n", r.Visits, r.Took.Seconds(), r.Online, r.Degraded, r.Offline, r.Inconclusive, r.Changes)
	if r.Visits == 0 && next != nil {
		line += fmt.Sprintf("none was due; the next visit is at %s, tollbook crawl --all does not wait\n",
			next.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return line
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
