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

// TestPackagesCheckTheirGoroutines checks that the tests of a package which starts goroutines or keeps connections fail
// if one of them outlives the tests.
func TestPackagesCheckTheirGoroutines(t *testing.T) {
	t.Parallel()
	needs, checks := map[string]bool{}, map[string]bool{} // by folder
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		data, err := os.ReadFile(name)
		dir := filepath.Dir(name)
		if strings.HasSuffix(name, "_test.go") {
			checks[dir] = checks[dir] || leakMain.Match(data)
		} else {
			needs[dir] = needs[dir] || startsGoroutines.Match(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for dir, hasCheck := range checks { // packages with tests
		if needs[dir] {
			found++
		}
		if needs[dir] != hasCheck {
			t.Errorf("%s starts goroutines: %t; it has a TestMain that calls leaktest.Main: %t", dir, needs[dir], hasCheck)
		}
	}
	if found < 15 {
		t.Errorf("%d packages that start goroutines are found", found)
	}
}

var (
	// startsGoroutines matches code that starts a goroutine, or a client or server of the standard library or River that
	// does.
	startsGoroutines = regexp.MustCompile(`(?m)^\s*go (func\b|[\w.]+\()|^[^/\n]*(\.Go\(|\b(time|context)\.AfterFunc\(|` +
		`\bhttp\.(Server|Client|Transport)\b|\bnet\.(Listen|Dial)|\bpgxpool\.New|\briver\.|` +
		`\bStdioTransport|StreamableHTTP)`)

	// leakMain matches a TestMain that ends in leaktest, directly or through postgrestest.
	leakMain = regexp.MustCompile(`(?s)func TestMain\(m \*testing\.M\) \{.*\b(leaktest|postgrestest)\.Main\(m\b`)
)
