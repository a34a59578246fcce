package facts

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tollbook/crawl/source"
)

var update = flag.Bool("update", false, "rewrite what testdata wants; read what changed before you keep it")

// now is the time at which these tests read documents.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// readers convert a document to the text that its archive expects.
var readers = map[string]func(doc []byte) string{
	"openapi": func(doc []byte) string {
		return declared(ReadOpenAPI(doc, mustParse("https://api.example.com/openapi.json"), "https://api.example.com"))
	},
	"manifest": func(doc []byte) string {
		return declared(ReadManifest(doc, mustParse("https://api.example.com/.well-known/x402"),
			"https://api.example.com"))
	},
	"catalogue": func(doc []byte) string {
		kind, _ := source.KindOf("x402-discovery")
		p, err := kind.Read(doc)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		total := -1
		if p.Total != nil {
			total = *p.Total
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d entries of %d, %d rows\n", p.Entries, total, len(p.Rows))
		for _, s := range GroupSellers(p.Rows) {
			fmt.Fprintf(&b, "%s %q %q %q\n", s.BaseURL, s.Name, s.Description, s.Tags)
			for _, e := range s.Endpoints {
				fmt.Fprintf(&b, "  %s %s %q %q\n", e.Method, e.Path, e.Description, e.MimeType)
			}
		}
		return b.String()
	},
	"rdap": func(doc []byte) string {
		r, err := ReadRegistration(doc, "example.com", now)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		return fmt.Sprintf("%q %s\n", r.Registrar, r.Created.Format(time.RFC3339))
	},
}

func declared(got Reading, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	for _, d := range got.Endpoints {
		fmt.Fprintf(&b, "%s %s", d.Method, d.URL)
		if d.Description != "" || d.MimeType != "" {
			fmt.Fprintf(&b, " %q %q", d.Description, d.MimeType)
		}
		if p := d.Price; p != nil {
			fmt.Fprintf(&b, " price %s amount=%q min=%q max=%q currency=%q over %q", p.Mode, p.Amount, p.Min, p.Max,
				p.Currency, p.Protocols)
			for _, o := range p.Offers {
				fmt.Fprintf(&b, "\n  offer over %s: method %q intent %q network %q currency %q amount %q", o.Protocol,
					o.Method, o.Intent, o.Network, o.Currency, o.Amount)
			}
		}
		b.WriteByte('\n')
	}
	for _, skipped := range got.Skipped {
		fmt.Fprintf(&b, "skipped %d: %s\n", skipped.Count, skipped.Reason)
	}
	return b.String()
}

func mustParse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// TestDocuments reads documents in every known form. The comment of each archive in testdata/<reader> describes it.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for kind, read := range readers {
		paths, err := filepath.Glob(filepath.Join("testdata", kind, "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no documents for %s: %v", kind, err)
		}
		for _, path := range paths {
			t.Run(kind+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(path)
				if err != nil || len(archive.Files) != 2 {
					t.Fatalf("want document.json and want: %v", err)
				}
				got := read(archive.Files[0].Data)
				if *update {
					archive.Files[1].Data = []byte(got)
					if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
					t.Errorf("%s(-want +got):\n%s", archive.Comment, diff)
				}
			})
		}
	}
}
