package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesWhatIsThere: every file, test and identifier that SECURITY.md names is in the tree.
func TestSecurityNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	const root = "../.."
	page, err := os.ReadFile(root + "/.github/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	function, defined := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`), map[string]bool{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		data, err := os.ReadFile(file)
		for _, m := range function.FindAllSubmatch(data, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile(`^[A-Za-z._][\w./-]*$`)
	name := regexp.MustCompile(`^(?:[A-Z]\w*\.)?[A-Z]\w+$`)
	files, names := 0, 0
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		switch token := m[1]; {
		case name.MatchString(token):
			names++
			last := token[strings.LastIndexByte(token, '.')+1:]
			if !defined[last] {
				t.Errorf("SECURITY.md names %s, which no file defines", token)
			}
		case strings.Contains(token, "/") && path.MatchString(token) || strings.HasSuffix(token, ".md"):
			files++
			if _, err := os.Stat(filepath.Join(root, token)); err != nil {
				t.Errorf("SECURITY.md names %s: %v", token, err)
			}
		}
	}
	if files < 20 || names < 20 {
		t.Errorf("%d files and %d names were found on the page", files, names)
	}
}

// TestEveryPackageIsHeldToItsGoroutines: no package with tests goes without the look for goroutines that outlive them.
func TestEveryPackageIsHeldToItsGoroutines(t *testing.T) {
	t.Parallel()
	held := map[string]bool{} // by folder
	err := filepath.WalkDir("../..", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		dir := filepath.Dir(name)
		held[dir] = held[dir] || leakMain.Match(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(held) < 20 {
		t.Errorf("%d packages with tests are found", len(held))
	}
	for dir, ok := range held {
		if !ok {
			t.Errorf("%s has tests, and no TestMain that looks for what they leave", dir)
		}
	}
}

// leakMain is a TestMain that ends in leaktest, by itself or through postgrestest.
var leakMain = regexp.MustCompile(`(?s)func TestMain\(m \*testing\.M\) \{.*\b(leaktest\.|postgrestest\.|)Main\(m\b`)
