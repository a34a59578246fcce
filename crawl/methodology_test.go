package crawl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tollbook/crawl/facts"
	"tollbook/site/change"
	"tollbook/templates"
)

// TestMethodologyHasEveryNumber checks that the methodology page has the thresholds of the code.
func TestMethodologyHasEveryNumber(t *testing.T) {
	t.Parallel()
	text, err := templates.FS.ReadFile("pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []struct{ name, value string }{
		{"Endpoints asked in a visit, at most", fmt.Sprint(maxEndpoints)},
		{"Endpoints tracked of a service, at most", fmt.Sprint(facts.MaxEndpoints)},
		{"A slow visit is degraded above", fmt.Sprintf("%d ms", slowMS)},
		{"Least time between two change records of a type", fmt.Sprintf("%d hour", changeGap/time.Hour)},
		{"Bytes of a change record, at most", grouped(change.MaxRecord)},
		{"Bytes of a service's change records in 24 hours, before records get short", grouped(change.MaxDay)},
		{"Bytes of a short change record, at most", grouped(change.ShortRecord)},
		{"HEAD is asked at most every", fmt.Sprintf("%d hours", headEvery/time.Hour)},
	} {
		if row := "\n| " + n.name + " | " + n.value + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("the page does not have the row %q", row)
		}
	}
}

// grouped returns a number below a million with a comma before its last three digits.
func grouped(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
