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

// imports says what each package may import: packages of ours, and modules beyond the standard library. The rules are
// the arrows of ARCHITECTURE.md; a package that is not named here may import nothing.
var imports = map[string]struct{ ours, modules []string }{
	"cmd/tollbook":               {[]string{"*"}, []string{"*"}},
	"cmd/nodetest":               {nil, nil},
	"site":                       {nil, []string{"golang.org/x/text"}},
	"site/x402":                  {nil, []string{"golang.org/x/text", "golang.org/x/crypto", "github.com/mr-tron/base58", "github.com/btcsuite/btcd/btcutil"}},
	"site/postgres":              {[]string{"site"}, []string{"github.com/jackc/pgx/v5", "github.com/jackc/tern/v2", "github.com/google/uuid", "github.com/riverqueue/river"}},
	"site/synthesis":             {[]string{"site", "site/x402", "site/postgres"}, []string{"golang.org/x/text"}},
	"site/postgres/private":      {nil, []string{"github.com/jackc/pgx/v5", "golang.org/x/sys"}},
	"site/leaktest":              {nil, []string{"go.uber.org/goleak"}},
	"site/postgres/postgrestest": {[]string{"site/leaktest", "site/postgres/private"}, []string{"github.com/jackc/pgx/v5", "golang.org/x/sys"}},
	"site/serve":                 {[]string{"site", "render", "output"}, []string{"github.com/klauspost/compress"}},
	"site/serve/edge":            {[]string{"site", "site/serve"}, nil},
	"site/serve/edge/edgetest":   {nil, nil},
	"site/serve/mcp":             {[]string{"site", "render"}, []string{"github.com/modelcontextprotocol/go-sdk"}},
	"crawl":                      {[]string{"site", "site/x402", "site/postgres", "site/synthesis", "crawl/probe", "crawl/facts", "crawl/chain", "crawl/model"}, []string{"github.com/google/uuid", "github.com/pelletier/go-toml/v2", "golang.org/x/text"}},
	"crawl/chain":                {[]string{"site/x402"}, []string{"golang.org/x/sync", "golang.org/x/crypto", "github.com/mr-tron/base58"}},
	"crawl/chain/chaintest":      {nil, []string{"golang.org/x/crypto", "github.com/mr-tron/base58"}},
	"crawl/facts":                {[]string{"site/x402", "crawl/probe"}, []string{"golang.org/x/net"}},
	"crawl/model":                {nil, []string{"github.com/openai/openai-go/v3"}},
	"crawl/model/modeltest":      {nil, nil},
	"crawl/probe":                {[]string{"site/x402"}, []string{"golang.org/x/net"}},
	"crawl/schedule":             {[]string{"site/postgres"}, []string{"github.com/google/uuid", "github.com/jackc/pgx/v5", "github.com/riverqueue/river"}},
	"crawl/sample":               {[]string{"site", "site/x402", "site/postgres"}, []string{"github.com/google/uuid", "github.com/pelletier/go-toml/v2", "github.com/mr-tron/base58", "github.com/btcsuite/btcd/btcutil", "golang.org/x/crypto", "github.com/creachadair/jrpc2"}},
	"bench/chain":                {[]string{"bench/turns", "bench/usage", "crawl", "crawl/chain", "crawl/chain/chaintest", "site/postgres", "site/postgres/private"}, []string{"github.com/jackc/pgx/v5"}},
	"bench/html":                 {[]string{"bench/turns", "render", "site"}, []string{"github.com/PuerkitoBio/goquery", "golang.org/x/net", "golang.org/x/sync"}},
	"bench/ingest":               {[]string{"bench/turns", "crawl", "site", "site/postgres", "site/postgres/private"}, []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"}},
	"bench/probe":                {[]string{"bench/turns", "crawl", "crawl/probe", "site/postgres", "site/postgres/private"}, []string{"github.com/jackc/pgx/v5"}},
	"bench/capacity":             {nil, nil},
	"bench/crowd":                {[]string{"crawl", "crawl/probe", "site", "site/postgres", "site/x402"}, []string{"github.com/google/uuid", "github.com/mr-tron/base58", "golang.org/x/sync"}},
	"bench/generate":             {[]string{"bench/crowd", "site/postgres"}, []string{"github.com/schollz/progressbar/v3", "golang.org/x/term"}},
	"bench/snapshot":             {[]string{"bench/crowd", "bench/turns", "build", "output", "render", "site/postgres", "site/postgres/private"}, []string{"github.com/klauspost/compress", "golang.org/x/sync"}},
	"bench/read":                 {[]string{"bench/turns", "bench/usage", "bench/crowd", "output", "site", "site/postgres", "site/postgres/private"}, []string{"golang.org/x/sync"}},
	"bench/publish":              {[]string{"bench/crowd", "bench/turns", "bench/usage", "output", "site/postgres", "site/postgres/private"}, []string{"github.com/minio/minio-go/v7"}},
	"bench/turns":                {nil, nil},
	"bench/usage":                {nil, nil},
	"build":                      {[]string{"site", "site/x402", "site/postgres", "site/synthesis", "render", "output"}, []string{"golang.org/x/sync"}},
	"render":                     {[]string{"site", "templates", "render/card", "render/compiled"}, []string{"github.com/yuin/goldmark"}},
	"render/card":                {nil, []string{"golang.org/x/image"}},
	"render/compiled":            {nil, nil},
	"render/htmlcheck":           {nil, []string{"golang.org/x/net", "github.com/PuerkitoBio/goquery", "github.com/andybalholm/cascadia"}},
	"templates":                  {nil, nil},
	"output":                     {nil, []string{"github.com/klauspost/compress", "github.com/minio/minio-go/v7", "golang.org/x/sys", "golang.org/x/sync"}},
	"output/outputtest":          {nil, []string{"github.com/minio/minio-go/v7"}},
}

// TestImports holds the packages to the direction that ARCHITECTURE.md draws. If a rule hurts, the design is asking a
// question: answer it before the rule is changed.
func TestImports(t *testing.T) {
	t.Parallel()
	const root = "../.."
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != root || d.Name() == "testdata" || d.Name() == "node_modules") {
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
		rule, known := imports[pkg]
		if !known {
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
			if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") || slices.Contains(rule.modules, "*") {
				continue
			}
			if !slices.ContainsFunc(rule.modules, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") }) {
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
