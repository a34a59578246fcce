package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameWhatExists checks that every file, test and identifier that a document names is in the tree.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	defined := functionNames(t)
	path := regexp.MustCompile(`^[A-Za-z._][\w./-]*$`)
	name := regexp.MustCompile(`^(?:[a-z]+\.|[A-Z]\w*\.)?[A-Z][a-z]\w+$`)
	for _, page := range []string{".github/SECURITY.md", "ARCHITECTURE.md", "templates/pages/contributing.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(text), -1) {
			switch token := m[1]; {
			case name.MatchString(token):
				names++
				last := token[strings.LastIndexByte(token, '.')+1:]
				if !defined[last] {
					t.Errorf("%s names %s, which no file defines", page, token)
				}
			case strings.Contains(token, "/") && path.MatchString(token) && !strings.HasPrefix(token, "v1/"):
				names++
				if _, err := os.Stat(filepath.Join(root, token)); err != nil {
					t.Errorf("%s names %s: %v", page, token, err)
				}
			}
		}
		if names < 5 {
			t.Errorf("%d files and names were found in %s", names, page)
		}
	}
}

// root is the folder of the repository.
const root = "../.."

// functionNames returns the names of all functions, methods, exported types and variables of the repository.
func functionNames(t *testing.T) map[string]bool {
	t.Helper()
	definition := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)([A-Z]\w+)\b`)
	defined := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		data, err := os.ReadFile(file)
		for _, m := range definition.FindAllSubmatch(data, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return defined
}

// TestEveryPackageIsHeldToItsGoroutines checks that every package with tests checks for leaked goroutines.
func TestEveryPackageIsHeldToItsGoroutines(t *testing.T) {
	t.Parallel()
	held := map[string]bool{} // by folder
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
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

// leakMain matches a TestMain that ends in leaktest, directly or through postgrestest.
var leakMain = regexp.MustCompile(`(?s)func TestMain\(m \*testing\.M\) \{.*\b(leaktest\.|postgrestest\.|)Main\(m\b`)
