package report

import (
	"fmt"
	"io"

	"tollbook/build"
	"tollbook/output"
	"tollbook/site/display"
)

// Build prints what a build wrote.
func Build(w io.Writer, r build.Report, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			build.Report
			Seconds float64 `json:"seconds"`
		}{r, r.Took.Seconds()})
	}
	_, err := fmt.Fprintf(w, "Built %s services: %s files, %.1f MB; %s reused\n"+
		"Snapshot %s: zip %.1f MB, %d new packs, %.1f s\n", display.Number(int64(r.Services)),
		display.Number(int64(r.Files)), megabytes(r.Bytes), display.Number(int64(r.Copied)), r.Snapshot,
		megabytes(r.Zip), r.Packs, r.Took.Seconds())
	if err == nil {
		err = printErased(w, r.Erased)
	}
	if n := len(r.SetAside); n > 0 && err == nil {
		_, err = fmt.Fprintf(w, "%d services are damaged and set aside; their last files stay:\n", n)
		for _, s := range r.SetAside {
			if err == nil {
				_, err = fmt.Fprintf(w, "  %s, since %s: %s\n", s.Slug, s.Since, s.Reason)
			}
		}
	}
	return err
}

// Publication prints what a publication or a rollback changed.
func Publication(w io.Writer, p output.Published, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			output.Published
			Day *Cost `json:"day,omitempty"`
		}{p, CostOf(p)})
	}
	_, err := fmt.Fprintf(w, "Published snapshot %s, generation %d: %d new packs, %d objects written, %d deleted, "+
		"%d unchanged; %.1f MB sent\n", p.Checkpoint.Snapshot, p.Checkpoint.Generation, p.Packs, p.Written, p.Deleted,
		p.Unchanged, megabytes(p.Bytes))
	if err == nil {
		err = printErased(w, p.Erased)
	}
	if err != nil {
		return err
	}
	return printCost(w, p)
}

// Snapshots prints the snapshots of a place, and how to return to one.
func Snapshots(w io.Writer, list []output.StoredSnapshot, asJSON bool) error {
	if asJSON {
		return JSONList(w, list)
	}
	t := NewTable(w, "SNAPSHOT", "BUILT", "ZIP", "")
	for _, s := range list {
		mark := ""
		if s.Current {
			mark = "current"
		}
		t.Row(s.ID, s.BuiltAt.UTC().Format("2006-01-02 15:04:05"), fmt.Sprintf("%.1f MB", megabytes(s.Bytes)), mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "Nothing was changed; tollbook rollback SNAPSHOT returns to one")
	return err
}

// printErased prints how many snapshots were deleted because of removed services.
func printErased(w io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	text := fmt.Sprintf("Deleted %d earlier snapshots that contained removed services\n", n)
	if n == 1 {
		text = "Deleted 1 earlier snapshot that contained removed services\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Pruned prints what was removed from a place.
func Pruned(w io.Writer, p output.Pruned, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			Snapshots int `json:"snapshots"`
			Packs     int `json:"packs"`
			Erased    int `json:"erased_snapshots"`
		}{p.Snapshots, p.Packs, p.Erased})
	}
	if err := printErased(w, p.Erased); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Removed %d snapshots and %d packs\n", p.Snapshots, p.Packs)
	return err
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// Fault is a damaged file of a publication.
type Fault struct {
	Name string `json:"name"`
	What string `json:"what"`
}

// Verified prints the result of a verification. In text, its faults have been printed already. hasKey says that the
// signature was compared with a key.
func Verified(w io.Writer, v output.Verified, faults []Fault, hasKey, asJSON bool) error {
	if asJSON {
		return JSON(w, struct {
			output.Verified
			List []Fault `json:"list"`
		}{v, faults})
	}
	_, err := fmt.Fprintf(w, "Snapshot %s, digest %s: checked %d files, %d packs and %d objects; %d faults\n",
		v.Snapshot, v.Digest, v.Files, v.Packs, v.Objects, v.Wrong)
	if err != nil || v.Snapshot == "" { // a tree of single files has no checkpoint
		return err
	}
	signed := "Not signed"
	switch {
	case v.Signed && v.SignedBy == "":
		signed = "Signed, by an unknown key"
	case v.Signed:
		signed = "Signed by key " + v.SignedBy
	}
	if v.Signed && !hasKey {
		signed += "; --key compares it with a key that you trust"
	}
	_, err = fmt.Fprintln(w, signed)
	return err
}
