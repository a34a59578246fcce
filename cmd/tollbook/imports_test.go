package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports compares the imports of packages with the directions in ARCHITECTURE.md. If a rule prevents a change,
// review the design before you change the rule.
func TestImports(t *testing.T) {
	t.Parallel()
	const root = "../.."
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != root || d.Name() == "testdata" ||
			d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(rel))
		seen[pkg] = true
		rule, ok := imports[pkg]
		if !ok {
			t.Errorf("package %s has no rule: where does it stand in the picture?", pkg)
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if ours, ok := strings.CutPrefix(name, "tollbook/"); ok {
				if !slices.Contains(rule.ours, "*") && !slices.Contains(rule.ours, ours) {
					t.Errorf("%s imports %s, which package %s may not", rel, name, pkg)
				}
				continue
			}
			if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") ||
				slices.Contains(rule.modules, "*") {
				continue
			}
			if !slices.ContainsFunc(rule.modules, func(m string) bool {
				return name == m || strings.HasPrefix(name, m+"/")
			}) {
				t.Errorf("%s imports %s, which package %s may not", rel, name, pkg)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range imports {
		if !seen[pkg] {
			t.Errorf("there is a rule for package %s, which is not there", pkg)
		}
	}
}
