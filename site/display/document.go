package display

import (
	"fmt"
	"strings"

	"tollbook/site"
)

// Document returns what a document of a service declares, what was skipped of it, and why not all of it could be read,
// in words for its owner: "3 endpoints to pay; 2 entries skipped: free". It returns "" for a document that was read in
// full and of which nothing was skipped.
func Document(a *site.EvidenceSiteAnswer) string {
	if a.Problem == nil && len(a.Skipped) == 0 {
		return ""
	}
	var parts []string
	if a.Declared != nil {
		parts = append(parts, Plural(int64(*a.Declared), "endpoint to pay", "endpoints to pay"))
	}
	for _, s := range a.Skipped {
		parts = append(parts, fmt.Sprintf("%s skipped: %s", Plural(int64(s.Count), "entry", "entries"), s.Meaning))
	}
	if a.Problem != nil {
		parts = append(parts, *a.Problem)
	}
	return strings.Join(parts, "; ")
}
