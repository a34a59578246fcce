package report

import (
	"fmt"
	"io"

	"tollbook/site/invisible"
	"tollbook/site/postgres/consent"
)

// OptOuts prints the hosts of which nothing is listed.
func OptOuts(w io.Writer, list []consent.OptOut, asJSON bool) error {
	if asJSON {
		return JSONList(w, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No host opted out, and none is blocked. The page /owners says how an owner opts out")
		return err
	}
	t := NewTable(w, "HOST", "SINCE", "LAST READ", "DOCUMENT, OR WHO BLOCKED IT")
	for _, o := range list {
		why := o.Document
		if o.BlockedBy != "" {
			if why = "blocked by " + o.BlockedBy; o.Reason != "" {
				why += ": " + o.Reason
			}
		}
		t.Row(o.Host, o.Since.UTC().Format("2006-01-02"), o.ReadAt.UTC().Format("2006-01-02 15:04"), invisible.Drop(why))
	}
	return t.Flush()
}
