package lint

import (
	"fmt"
	"strings"

	"tollbook/build/judge"
	"tollbook/crawl"
	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/display"
)

// Outcome is what a lint says about a URL in one word. Its value is the exit status of the command.
type Outcome int

// The outcomes. Of several URLs, the highest counts.
const (
	Passes     Outcome = 0 // it can be paid, and nothing of the chosen level was found
	Flawed     Outcome = 1 // it can be paid, but a check fails, or something of the chosen level was found
	Unlawful   Outcome = 2 // the URL is refused, which is an error in the command line
	NotPayable Outcome = 3 // it answers, but not with a 402 that can be paid
	Unreached  Outcome = 4 // no answer, or one that says nothing about the URL
)

// String returns the outcome in words, as people read it.
func (o Outcome) String() string {
	return map[Outcome]string{Passes: "can be paid", Flawed: "can be paid, with faults", Unlawful: "refused",
		NotPayable: "can't be paid", Unreached: "could not be read"}[o]
}

// Levels of what makes a lint fail.
const (
	LevelCheck   = "check"   // failed checks alone
	LevelWarning = "warning" // also warnings, and deviations that a strict client may refuse
	LevelHint    = "hint"    // also hints
)

// Levels lists them.
var Levels = []string{LevelCheck, LevelWarning, LevelHint}

// Outcome returns the outcome of a URL, or of the tools of an MCP server together.
func (r *Report) Outcome(level string) Outcome {
	worst := Passes
	for _, j := range r.Judged() {
		worst = max(worst, j.outcome(level))
	}
	return worst
}

// Complaint says why a URL does not pass.
func (r *Report) Complaint(level string) string {
	switch r.Outcome(level) {
	case NotPayable:
		return fmt.Sprintf("%s can't be paid: %s", r.URL, r.Reason)
	case Unreached, Unlawful:
		return fmt.Sprintf("%s could not be read: %s", r.URL, r.Reason)
	}
	if n := len(r.Failed()); n > 0 {
		_, total := r.Counts()
		return fmt.Sprintf("%s fails %d of %d checks", r.URL, n, total)
	}
	return fmt.Sprintf("%s passes all checks, but not --fail-on %s", r.URL, level)
}

func (r *Report) outcome(level string) Outcome {
	switch v := probe.Verdict(r.Verdict); {
	case v == probe.Refused:
		return Unlawful
	case v == probe.Inconclusive, v == probe.Failed && r.Status == nil:
		return Unreached
	case v != probe.Paid:
		return NotPayable
	case len(r.Failed()) > 0, (level == LevelWarning || level == LevelHint) && len(r.Warnings)+len(r.Defects) > 0,
		level == LevelHint && len(r.Hints) > 0:
		return Flawed
	}
	return Passes
}

// Batch is the result for several URLs, and the form of its JSON: fields are added, never renamed.
type Batch struct {
	Complete bool     `json:"complete"` // false if the command was interrupted; then the rest was not asked
	Reports  []Report `json:"reports"`  // in the order of the command line, of the file and of the documents of a site
	Sites    []Site   `json:"sites"`    // whose documents were read
}

// Site is a site whose documents were read for endpoints.
type Site struct {
	URL       string                    `json:"url"`
	Declared  int                       `json:"declared"` // endpoints that the documents declare
	LeftOut   int                       `json:"left_out"` // those of them beyond the limit
	Documents []site.EvidenceSiteAnswer `json:"documents"`
}

// NewSite returns a site with the documents that were read of it.
func NewSite(address string, s facts.Site) Site {
	return Site{URL: address, Documents: judge.PublishSiteAnswers(crawl.SiteAnswers(s.Answers))}
}

// Outcome returns the worst outcome of all URLs.
func (b *Batch) Outcome(level string) Outcome {
	worst := Passes
	for i := range b.Reports {
		worst = max(worst, b.Reports[i].Outcome(level))
	}
	return worst
}

// Summary returns a sentence on all URLs: "3 URLs: 1 can be paid, 2 can't be paid."
func (b *Batch) Summary(level string) string {
	counts := map[Outcome]int{}
	for i := range b.Reports {
		counts[b.Reports[i].Outcome(level)]++
	}
	var parts []string
	for _, o := range []Outcome{Passes, Flawed, NotPayable, Unreached, Unlawful} {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	text := fmt.Sprintf("%d URLs", len(b.Reports))
	if len(b.Reports) == 1 {
		text = "1 URL"
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	if !b.Complete {
		return text + ". Interrupted: the rest was not asked."
	}
	return text + "."
}

// Text returns the documents of a site as lines.
func (s *Site) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nIts documents declare %d endpoints.", s.URL, s.Declared)
	if s.LeftOut > 0 {
		fmt.Fprintf(&b, " The last %d of them are left out; --limit sets how many are asked.", s.LeftOut)
	}
	b.WriteString("\n")
	for _, d := range s.Documents {
		fmt.Fprintf(&b, "  %-9s %s: %s\n", d.Document, d.URL, d.Reason)
		if words := display.Document(&d); words != "" {
			fmt.Fprintf(&b, "            %s\n", strings.ReplaceAll(words, display.NBSP, " "))
		}
	}
	return b.String()
}
