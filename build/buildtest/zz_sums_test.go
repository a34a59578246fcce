package buildtest

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var unstable = regexp.MustCompile(`"(database|snapshot|etag)":"[^"]*"`)

func TestSums(t *testing.T) {
	d := New(t, "Evil <b>", "hostile & \u202e text")
	zips, _ := filepath.Glob(filepath.Join(d.Data, "public", "snapshots", "*.zip"))
	more, _ := filepath.Glob(filepath.Join(d.Data, "public", "packs", "*.zip"))
	out, err := os.Create(os.Getenv("SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	keep := os.Getenv("SUMS_KEEP")
	for _, z := range append(zips, more...) {
		r, err := zip.OpenReader(z)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			rc, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(rc)
			if err != nil {
				t.Fatal(err)
			}
			b = unstable.ReplaceAll(b, []byte(`"$1":""`))
			name := f.Name
			fmt.Fprintf(out, "%x  %s\n", sha256.Sum256(b), name)
			if keep != "" {
				p := filepath.Join(keep, name)
				os.MkdirAll(filepath.Dir(p), 0o755)
				os.WriteFile(p, b, 0o644)
			}
		}
	}
	_ = strings.Join
	if p := os.Getenv("SUMS_PUB"); p != "" {
		if err := os.CopyFS(p, os.DirFS(filepath.Join(d.Data, "public"))); err != nil {
			t.Fatal(err)
		}
	}
}
