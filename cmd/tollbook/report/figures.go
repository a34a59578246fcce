package report

import (
	"fmt"
	"io"

	"tollbook/build/data/figure"
)

// Figures prints what a check of figures found: a line for each difference, and the sum.
func Figures(w io.Writer, snapshot string, r figure.Result, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			Snapshot string `json:"snapshot"`
			figure.Result
		}{snapshot, r})
	}
	for _, d := range r.Differences {
		proved := "NULL"
		if d.Proved != nil {
			proved = *d.Proved
		}
		if _, err := fmt.Fprintf(w, "%s: %s is %s, but %s in the tables (proof %s)\n", d.Path, d.Value, d.Published, proved,
			d.Proof); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "Snapshot %s: %d figures of %d kinds compared with the tables; %d differences\n", snapshot,
		r.Figures, r.Kinds, len(r.Differences))
	return err
}
