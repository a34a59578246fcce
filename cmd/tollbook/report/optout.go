package report

import (
	"fmt"
	"io"

	"tollbook/site/invisible"
	"tollbook/site/postgres/consent"
)

// OptOuts prints the hosts that opted out.
func OptOuts(w io.Writer, list []consent.OptOut, asJSON bool) error {
	if asJSON {
		return JSONList(w, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No host opted out. The page /owners says how an owner does that")
		return err
	}
	t := NewTable(w, "HOST", "SINCE", "LAST READ", "DOCUMENT")
	for _, o := range list {
		t.Row(o.Host, o.Since.UTC().Format("2006-01-02"), o.ReadAt.UTC().Format("2006-01-02 15:04"),
			invisible.Drop(o.Document))
	}
	return t.Flush()
}
