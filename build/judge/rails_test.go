package judge

import (
	"fmt"
	"strings"
	"testing"

	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/templates"
)

// TestMethodologyHasEveryRailCheck checks that the page has the checks of each protocol, in their words.
func TestMethodologyHasEveryRailCheck(t *testing.T) {
	t.Parallel()
	page, err := templates.FS.ReadFile("pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range rail.Protocols {
		want := fmt.Sprintf("\n| Check of `%s` | What it requires | Without it |\n| --- | --- | --- |\n", protocol)
		for _, c := range rail.Checks(protocol) {
			without := "a lower grade"
			if c.Fatal {
				without = "no payment"
			}
			want += fmt.Sprintf("| `%s` | %s | %s |\n", c.ID, c.Expected, without)
		}
		if !strings.Contains(string(page), want+"\n") {
			t.Errorf("the page does not have the table\n%s", want)
		}
	}
}

// TestUnknownProtocol checks that a damaged row of the database is not published.
func TestUnknownProtocol(t *testing.T) {
	t.Parallel()
	entries, _ := railEntries([]checks.Offer{{Protocol: "mpp\u202e", Amount: "1"}, {Protocol: "mpp", Amount: "1"}})
	if len(entries) != 1 || entries[0].Protocol != "mpp" {
		t.Errorf("entries %+v", entries)
	}
}
