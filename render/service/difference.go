package service

import (
	"encoding/json"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/x402"
)

// differenceLine is a difference. Either Old or New may be "".
type differenceLine struct{ What, Old, New string }

// differenceLines returns the lines of a record of a grade, a verdict or a source. It returns none for other types, and
// for a summary that cannot be read.
func differenceLines(r *site.ChangeRecord) []differenceLine {
	switch r.Type {
	case site.GradeChanged:
		return gradeLines(r.Summary)
	case site.VerdictChanged:
		return verdictLines(r.Summary)
	case site.SourceListed, site.SourceDropped:
		return sourceLines(r)
	}
	return nil
}

// ChangeTitle returns what a record says, in a few words. label names its type.
func ChangeTitle(r *site.ChangeRecord, label string) string {
	switch r.Type {
	case site.GradeChanged:
		if lines := gradeLines(r.Summary); len(lines) > 0 {
			return "grade " + lines[0].Old + " → " + lines[0].New
		}
	case site.VerdictChanged:
		if lines := verdictLines(r.Summary); len(lines) > 0 {
			return "verdict " + lines[0].Old + " → " + lines[0].New
		}
	case site.SourceListed:
		return "a source lists " + endpoints(r)
	case site.SourceDropped:
		return "a source dropped " + endpoints(r)
	}
	return strings.ToLower(label) + " changed"
}

// gradeLines returns the line of a grade, then one for each check that began to pass or to fail.
func gradeLines(summary json.RawMessage) []differenceLine {
	var s site.GradeSummary
	if json.Unmarshal(summary, &s) != nil || s.OldGrade == "" {
		return nil
	}
	lines := []differenceLine{{"grade", display.Line(s.OldGrade, display.MaxCode), display.Line(s.NewGrade, display.MaxCode)}}
	for _, c := range s.ChecksPassed {
		label, expected := rule(c.ID)
		lines = append(lines, differenceLine{label, reason(c), expected})
	}
	for _, c := range s.ChecksFailed {
		label, expected := rule(c.ID)
		lines = append(lines, differenceLine{label, expected, reason(c)})
	}
	if len(lines) == 1 && s.Reason != "" { // the grade is that of another protocol
		lines = append(lines, differenceLine{New: display.Line(s.Reason, display.MaxLine)})
	}
	return lines
}

// verdictLines returns the line of a verdict, then one for each reason for the new one.
func verdictLines(summary json.RawMessage) []differenceLine {
	var s site.VerdictSummary
	if json.Unmarshal(summary, &s) != nil || s.OldVerdict == "" {
		return nil
	}
	lines := []differenceLine{{"verdict", display.AdviceLevel(s.OldVerdict), display.AdviceLevel(s.NewVerdict)}}
	for _, r := range s.Reasons {
		lines = append(lines, differenceLine{New: display.Line(r.Text, display.MaxLine)})
	}
	return lines
}

// rule returns the name of a check, and what holds while it passes: "accepts is a list of at least one object".
func rule(id string) (label, expected string) {
	for _, r := range x402.Rules() {
		if r.ID == id {
			return r.Label, strings.TrimSuffix(r.Expected, ".")
		}
	}
	return display.Line(id, display.MaxCode), "passes" // a check that this version does not know
}

// reason returns why a check fails.
func reason(c site.FailedCheck) string {
	if c.Reason == "" {
		return "fails"
	}
	return display.Line(c.Reason, display.MaxLine)
}

// endpoints counts the resources of a record's type.
func endpoints(r *site.ChangeRecord) string {
	var s site.SourceSummary
	_ = json.Unmarshal(r.Summary, &s) // one of an unknown form counts as one
	n := s.Listed
	if r.Type == site.SourceDropped {
		n = s.Dropped
	}
	if n <= 1 {
		return "an endpoint"
	}
	return strconv.Itoa(n) + " endpoints"
}

// sourceLines returns a line for each named resource that a source lists or dropped, and one for the others of a kind.
func sourceLines(r *site.ChangeRecord) []differenceLine {
	var s site.SourceSummary
	if json.Unmarshal(r.Summary, &s) != nil {
		return nil
	}
	if s.Listed+s.Dropped == 0 { // of one resource
		if r.Type == site.SourceListed {
			s.Listed, s.ListedEndpoints = 1, []string{s.Endpoint}
		} else {
			s.Dropped, s.DroppedEndpoints = 1, []string{s.Endpoint}
		}
	}
	by := "listed by " + display.Line(s.Source, display.MaxName)
	var lines []differenceLine
	add := func(names []string, n int, line differenceLine) {
		for _, name := range names {
			line.What = display.Line(name, display.MaxName)
			lines = append(lines, line)
		}
		if more := n - len(names); more > 0 {
			line.What = strconv.Itoa(more) + " more"
			lines = append(lines, line)
		}
	}
	add(s.ListedEndpoints, s.Listed, differenceLine{New: by})
	add(s.DroppedEndpoints, s.Dropped, differenceLine{Old: by})
	return lines
}
