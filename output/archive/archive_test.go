package archive

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ok   bool
	}{
		{"a", true},
		{"v1/services/category=AI/sort=newest/per_page=25/page=2.json", true},
		{"v1/x=~c3~a4.json", true},
		{"a..b/...c", true},
		{strings.Repeat("a", 255) + "/b", true},
		{"", false},
		{"/a", false},
		{"a/", false},
		{"a//b", false},
		{"../a", false},
		{"a/../b", false},
		{"a/./b", false},
		{"..", false},
		{`a\b`, false},
		{"a b", false},
		{"a\x00b", false},
		{"ä", false},
		{strings.Repeat("a", 256), false},
		{strings.Repeat("a/", 500) + "b", false},
	} {
		if err := CheckName(test.name); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("CheckName(%.30q): %v, want ok %v", test.name, err, test.ok)
		}
	}
}

func TestNamesInOneTree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names []string
		bad   bool
	}{
		{[]string{"a.json", "a/b.json", "a/b/c.json"}, false},
		{[]string{"a", "a"}, true},
		{[]string{"a", "a/b"}, true},
		{[]string{"a", "a/b/c"}, true},
		{[]string{"a/b/c", "a"}, true},
		{[]string{"a/b/c", "a/b"}, true},
		{[]string{"a/b/c", "a/b/d", "a/d"}, false},
	} {
		var lines []Line
		for _, name := range test.names {
			lines = append(lines, Line{Name: name})
		}
		FormatSums(lines) // it sorts the lines
		if err := checkTree(lines); (err != nil) != test.bad || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want an error: %v", test.names, err, test.bad)
		}
	}
}

var t0 = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

// tree returns the files of a small snapshot; n changes some of them.
func tree(n int) map[string]string {
	return map[string]string{
		"index.html":            fmt.Sprintf("<h1>Build %d</h1>", n),
		"v1/services.json":      strings.Repeat(fmt.Sprintf("row %d, ", n), 500),
		"v1/services/acme.json": strings.Repeat("the same in every build, ", 100),
		"v1/services/zeta.json": "short",
	}
}

func fromTxtar(a *txtar.Archive) map[string]string {
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}
