package source

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what testdata wants; read what changed before you keep it")

// TestRead checks the rows of each answer in testdata/KIND. A file's first member is the answer.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		paths, err := filepath.Glob(filepath.Join("testdata", kind.Name, "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Errorf("%s has no answers in testdata: %v", kind.Name, err)
		}
		for _, path := range paths {
			a, err := txtar.ParseFile(path)
			if err != nil || len(a.Files) != 2 {
				t.Fatalf("%s needs an answer and what is wanted of it: %v", path, err)
			}
			got := describe(kind.Read(a.Files[0].Data))
			if *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(a.Files[1].Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
}

// describe writes a page as text.
func describe(p Page, err error) string {
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d entries", p.Entries)
	if p.Total != nil {
		fmt.Fprintf(&b, " of %d", *p.Total)
	}
	for _, s := range []struct {
		is   bool
		text string
	}{{p.Next != "", ", next " + p.Next}, {p.Last, ", last"}, {p.Partial, ", partial"}} {
		if s.is {
			b.WriteString(s.text)
		}
	}
	b.WriteByte('\n')
	for i := range p.Rows {
		r := &p.Rows[i]
		fmt.Fprintf(&b, "%d %s %s\n", r.Entry, strings.TrimSpace(r.Method+" "+r.URL), strings.Join([]string{r.Type,
			r.Protocol}, " "))
		for _, field := range [][2]string{{"tool", r.Tool}, {"template", r.Template}, {"service", r.Service},
			{"name", r.Name}, {"description", r.Description}, {"type", r.MimeType}, {"category", r.Category},
			{"tags", strings.Join(r.Tags, ", ")}, {"price", r.Price}} {
			if field[1] != "" {
				fmt.Fprintf(&b, "  %s: %s\n", field[0], field[1])
			}
		}
		if r.Site {
			b.WriteString("  site\n")
		}
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(&b, "%d skipped, %s: %q\n", s.Entry, s.Reason, s.URL)
	}
	return b.String()
}
