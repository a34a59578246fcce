package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentsQuoteErrors checks that each message of the page on troubleshooting is one that the program prints.
func TestDocumentsQuoteErrors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "templates/pages/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	literals := messages(t)
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\|$")
	rows := row.FindAllStringSubmatch(string(page), -1)
	for _, m := range rows {
		if m[1] == "no space left on device" { // the system's message
			continue
		}
		if !strings.Contains(literals, m[1]) {
			t.Errorf("troubleshooting.md quotes %q, which no code prints", m[1])
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d messages were found on the page, want 20 or more", len(rows))
	}
}

// messages returns the string constants of the program, one a line, with an ellipsis for each formatted value.
func messages(t *testing.T) string {
	t.Helper()
	verb := regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
	var all strings.Builder
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			text, ok := constant(n)
			if ok {
				all.WriteString(verb.ReplaceAllString(text, "…") + "\n")
			}
			return !ok
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// constant returns the text of a string literal, or of a concatenation of literals.
func constant(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok1 := constant(n.X)
		right, ok2 := constant(n.Y)
		return left + right, ok1 && ok2
	}
	return "", false
}
