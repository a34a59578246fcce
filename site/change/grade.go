package change

import (
	"slices"

	"tollbook/site"
)

// Grade is the grade of a service with the checks that failed.
type Grade struct {
	Grade  string
	Failed []site.FailedCheck
}

// CompareGrades returns the summary of a change of grade, without its Reason: which checks pass now that failed before,
// with the reason why they failed, and which fail now.
func CompareGrades(before, after Grade) site.GradeSummary {
	return site.GradeSummary{
		OldGrade: before.Grade, NewGrade: after.Grade,
		ChecksPassed: failedOnlyIn(before.Failed, after.Failed),
		ChecksFailed: failedOnlyIn(after.Failed, before.Failed),
	}
}

// failedOnlyIn returns the checks of a list that are not in another one.
func failedOnlyIn(list, other []site.FailedCheck) []site.FailedCheck {
	only := []site.FailedCheck{}
	for _, c := range list {
		if !slices.ContainsFunc(other, func(o site.FailedCheck) bool { return o.ID == c.ID }) {
			only = append(only, c)
		}
	}
	return only
}
