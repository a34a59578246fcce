package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestEscapes: text that looks like an order of roff is printed as it is.
func TestEscapes(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{Use: "x", Short: "Try", RunE: func(*cobra.Command, []string) error { return nil },
		Long: "First line\n.nf is no order, /snapshots/<id>.zip stays, it's *plain*.\n\n    typed --as 'is'\n    " +
			".dot \\n\n\nAfter.\n\nEXIT STATUS\n\n0 always."}
	want := ".SH DESCRIPTION\n.PP\nFirst line\n\\&.nf is no order, /snapshots/<id>.zip stays, it\\(aqs *plain*.\n" +
		".PP\n.in +4n\n.nf\ntyped \\-\\-as \\(aqis\\(aq\n\\&.dot \\en\n\n.fi\n.in\n.PP\nAfter.\n"
	got := page(c, "", "1")
	_, got, _ = strings.Cut(got, ".SH DESCRIPTION\n")
	got, _, _ = strings.Cut(got, ".SH OPTIONS")
	if diff := cmp.Diff(want, ".SH DESCRIPTION\n"+got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}
