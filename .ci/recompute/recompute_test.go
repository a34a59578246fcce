package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/site/leaktest"

	"tollbook/.ci/recompute/snapshot"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestImports checks that the program uses no other package of Tollbook. Its tests look for leaked goroutines, as all
// tests do.
func TestImports(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, matches...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range parsed.Imports {
			if path := strings.Trim(imported.Path.Value, `"`); strings.HasPrefix(path, "tollbook/") &&
				!strings.HasPrefix(path, "tollbook/.ci/recompute/") {
				t.Errorf("%s imports %s", file, imported.Path.Value)
			}
		}
	}
}

// TestChanged checks that a change gives another value, and that it can be undone.
func TestChanged(t *testing.T) {
	root := snapshot.Node{File: "v1/services/acme.json",
		Value: snapshot.ParseJSON(
			[]byte(`{"a":null,"b":true,"c":"x","d":1.5,"e":"2026-11-22T23:04:05.006Z","f":[],"g":{}}`))}
	for _, key := range root.Keys() {
		at := root.Get(key)
		at.Set(changed(at.Value))
		if snapshot.Canonical(root.Get(key).Value) == snapshot.Canonical(at.Value) {
			t.Errorf("%s: %s is not changed", key, snapshot.Canonical(at.Value))
		}
		at.Set(at.Value)
		if snapshot.Canonical(root.Get(key).Value) != snapshot.Canonical(at.Value) {
			t.Errorf("%s: the change is not undone", key)
		}
	}
}
