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
	"cmd/tollbook": {
		ours:    []string{"*"},
		modules: []string{"*"},
	},
	"cmd/tollbook/appearance": {
		ours: []string{"cmd/tollbook/settings", "cmd/tollbook/usage", "render"},
	},
	"cmd/tollbook/completion": {
		ours:    []string{"cmd/tollbook/usage", "output", "output/archive", "site", "site/x402"},
		modules: []string{"github.com/spf13/cobra"},
	},
	"cmd/tollbook/database": {
		ours: []string{"site/postgres", "site/postgres/private"},
	},
	"cmd/tollbook/demo": {
		ours: []string{
			"build",
			"cmd/tollbook/appearance",
			"cmd/tollbook/database",
			"cmd/tollbook/publication",
			"cmd/tollbook/server",
			"cmd/tollbook/version",
			"crawl",
			"crawl/chain",
			"crawl/probe",
			"crawl/sample",
			"output",
			"site",
			"site/postgres",
			"site/serve",
		},
	},
	"cmd/tollbook/networks": {
		ours: []string{"cmd/tollbook/usage", "crawl/chain", "site/postgres", "site/postgres/ledger", "site/x402"},
	},
	"cmd/tollbook/progress": {
		ours:    []string{"crawl/chain", "output", "site/x402"},
		modules: []string{"github.com/schollz/progressbar/v3", "golang.org/x/term"},
	},
	"cmd/tollbook/publication": {
		ours: []string{
			"build",
			"cmd/tollbook/appearance",
			"cmd/tollbook/version",
			"output",
			"output/archive",
			"output/objects",
			"render",
			"site",
			"site/postgres",
		},
	},
	"cmd/tollbook/redact": {
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"cmd/tollbook/report": {
		ours: []string{
			"build",
			"crawl",
			"crawl/chain",
			"output",
			"site",
			"site/display",
			"site/postgres",
			"site/postgres/ledger",
			"site/x402",
		},
		modules: []string{"github.com/google/uuid"},
	},
	"cmd/tollbook/server": {
		ours: []string{
			"cmd/tollbook/usage",
			"crawl",
			"crawl/chain",
			"crawl/probe",
			"output",
			"render/submitform",
			"site",
			"site/postgres",
			"site/serve",
		},
		modules: []string{"golang.org/x/sync"},
	},
	"cmd/tollbook/settings": {
		ours:    []string{"cmd/tollbook/networks", "cmd/tollbook/redact", "cmd/tollbook/usage", "site"},
		modules: []string{"github.com/pelletier/go-toml/v2", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	"cmd/tollbook/usage":   {},
	"cmd/tollbook/version": {},
	"cmd/tollbook/worker": {
		ours: []string{
			"cmd/tollbook/database",
			"cmd/tollbook/networks",
			"cmd/tollbook/publication",
			"cmd/tollbook/server",
			"crawl",
			"crawl/chain",
			"crawl/probe",
			"crawl/schedule",
			"output",
			"output/objects",
		},
	},
	"cmd/tollbook/doctor": {
		ours: []string{
			"cmd/tollbook/redact",
			"crawl",
			"crawl/chain",
			"output",
			"output/archive",
			"output/objects",
			"site/postgres",
			"site/postgres/private",
		},
		modules: []string{"golang.org/x/sys"},
	},
	"cmd/tollbook/lint": {
		ours: []string{"build/judge", "crawl/probe", "site", "site/x402"},
	},
	"cmd/tollbook/manual": {
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	"cmd/nodetest": {
		ours: []string{"site/testgate"},
	},
	"site": {
		modules: []string{"golang.org/x/text"},
	},
	"site/lookup": {},
	"site/search": {
		ours:    []string{"site"},
		modules: []string{"golang.org/x/text"},
	},
	"site/submission": {
		ours: []string{"site", "site/lookup"},
	},
	"site/vocabulary": {
		ours: []string{"site"},
	},
	"site/x402": {
		modules: []string{
			"golang.org/x/text",
			"golang.org/x/crypto",
			"github.com/mr-tron/base58",
			"github.com/btcsuite/btcd/btcutil",
		},
	},
	"site/postgres/rows": {
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"site/postgres/ledger": {
		ours:    []string{"site", "site/postgres/rows"},
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"site/postgres/checks": {
		ours:    []string{"site", "site/postgres/rows"},
		modules: []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"},
	},
	"site/postgres/load": {
		ours: []string{
			"site/postgres", "site/postgres/checks", "site/postgres/ledger", "site/postgres/rows",
		},
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"site/postgres": {
		ours: []string{"site", "site/postgres/checks", "site/postgres/ledger", "site/postgres/rows"},
		modules: []string{
			"github.com/jackc/pgx/v5",
			"github.com/jackc/tern/v2",
			"github.com/google/uuid",
			"github.com/riverqueue/river",
		},
	},
	"site/synthesis": {
		ours:    []string{"site", "site/x402", "site/postgres"},
		modules: []string{"golang.org/x/text"},
	},
	"site/postgres/private": {
		modules: []string{"github.com/jackc/pgx/v5", "golang.org/x/sys"},
	},
	"site/leaktest": {
		modules: []string{"go.uber.org/goleak"},
	},
	"site/testgate": {},
	"site/postgres/postgrestest": {
		ours:    []string{"site/leaktest", "site/postgres/private", "site/testgate"},
		modules: []string{"github.com/jackc/pgx/v5", "golang.org/x/sys"},
	},
	"site/serve": {
		ours:    []string{"site", "site/search", "site/submission", "output", "output/archive", "output/objects"},
		modules: []string{"github.com/klauspost/compress"},
	},
	"site/serve/edge": {
		ours: []string{"site", "site/serve"},
	},
	"site/serve/edge/edgetest": {
		ours: []string{"site/testgate"},
	},
	"site/display": {
		ours: []string{"site"},
	},
	"site/schema": {
		ours: []string{"site", "site/vocabulary"},
	},
	"site/serve/mcp": {
		ours:    []string{"site", "site/lookup", "site/display", "site/schema"},
		modules: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"crawl": {
		ours: []string{
			"site",
			"site/x402",
			"site/postgres",
			"site/postgres/ledger",
			"site/postgres/ledger",
			"site/synthesis",
			"crawl/probe",
			"crawl/facts",
			"crawl/chain",
			"crawl/chain/evm",
			"crawl/chain/solana",
			"crawl/model",
		},
		modules: []string{"github.com/google/uuid", "github.com/pelletier/go-toml/v2", "golang.org/x/text"},
	},
	"crawl/chain": {
		ours: []string{"site/x402"},
	},
	"crawl/chain/jsonrpc": {
		ours: []string{"crawl/chain"},
	},
	"crawl/chain/evm": {
		ours:    []string{"crawl/chain", "crawl/chain/jsonrpc", "site/postgres", "site/postgres/ledger"},
		modules: []string{"golang.org/x/crypto"},
	},
	"crawl/chain/solana": {
		ours:    []string{"crawl/chain", "crawl/chain/jsonrpc", "site/postgres", "site/postgres/ledger", "site/x402"},
		modules: []string{"golang.org/x/sync", "github.com/mr-tron/base58"},
	},
	"crawl/chain/chaintest": {
		modules: []string{"golang.org/x/crypto", "github.com/mr-tron/base58"},
	},
	"crawl/facts": {
		ours:    []string{"site/x402", "crawl/probe"},
		modules: []string{"golang.org/x/net"},
	},
	"crawl/model": {
		modules: []string{"github.com/sashabaranov/go-openai"},
	},
	"crawl/model/modeltest": {},
	"crawl/probe": {
		ours:    []string{"site/x402"},
		modules: []string{"golang.org/x/net"},
	},
	"crawl/schedule": {
		ours:    []string{"site/postgres"},
		modules: []string{"github.com/google/uuid", "github.com/jackc/pgx/v5", "github.com/riverqueue/river"},
	},
	"crawl/sample": {
		ours: []string{"site", "site/x402", "site/postgres", "site/postgres/ledger", "site/postgres/load"},
		modules: []string{
			"github.com/google/uuid",
			"github.com/pelletier/go-toml/v2",
			"github.com/mr-tron/base58",
			"github.com/btcsuite/btcd/btcutil",
			"golang.org/x/crypto",
			"golang.org/x/sync",
			"github.com/creachadair/jrpc2",
		},
	},
	"cmd/bench/chain": {
		ours: []string{
			"cmd/bench/harness",
			"cmd/bench/usage",
			"crawl",
			"crawl/chain",
			"crawl/chain/chaintest",
			"site/postgres",
			"site/postgres/ledger",
			"site/postgres/ledger",
			"site/postgres/private",
		},
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"cmd/bench/html": {
		ours:    []string{"cmd/bench/harness", "render", "site"},
		modules: []string{"github.com/PuerkitoBio/goquery", "golang.org/x/net", "golang.org/x/sync"},
	},
	"cmd/bench/ingest": {
		ours: []string{"cmd/bench/harness", "cmd/bench/usage", "crawl", "site", "site/postgres",
			"site/postgres/private"},
		modules: []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"},
	},
	"cmd/bench/probe": {
		ours: []string{
			"cmd/bench/harness",
			"cmd/bench/usage",
			"crawl",
			"crawl/probe",
			"site/postgres",
			"site/postgres/private",
		},
		modules: []string{"github.com/jackc/pgx/v5"},
	},
	"cmd/bench": {
		ours: []string{
			"cmd/bench/chain",
			"cmd/bench/generate",
			"cmd/bench/html",
			"cmd/bench/ingest",
			"cmd/bench/probe",
			"cmd/bench/publish",
			"cmd/bench/read",
			"cmd/bench/snapshot",
			"cmd/bench/harness",
		},
	},
	"cmd/bench/crowd": {
		ours: []string{
			"crawl", "crawl/probe", "site", "site/postgres", "site/postgres/ledger", "site/postgres/load", "site/x402",
		},
		modules: []string{"github.com/google/uuid", "github.com/mr-tron/base58", "golang.org/x/sync"},
	},
	"cmd/bench/generate": {
		ours:    []string{"cmd/bench/crowd", "cmd/bench/harness", "site/postgres"},
		modules: []string{"github.com/schollz/progressbar/v3", "golang.org/x/term"},
	},
	"cmd/bench/snapshot": {
		ours: []string{
			"cmd/bench/crowd",
			"cmd/bench/harness",
			"cmd/bench/usage",
			"build",
			"output",
			"output/archive",
			"render",
			"site/postgres",
			"site/postgres/private",
		},
		modules: []string{"github.com/klauspost/compress", "golang.org/x/sync"},
	},
	"cmd/bench/read": {
		ours: []string{
			"cmd/bench/harness",
			"cmd/bench/usage",
			"cmd/bench/crowd",
			"output",
			"site",
			"site/search",
			"site/postgres",
			"site/postgres/private",
		},
		modules: []string{"golang.org/x/sync"},
	},
	"cmd/bench/publish": {
		ours: []string{
			"cmd/bench/crowd",
			"cmd/bench/harness",
			"cmd/bench/usage",
			"output",
			"output/archive",
			"site/postgres",
			"site/postgres/private",
		},
		modules: []string{"github.com/minio/minio-go/v7"},
	},
	"cmd/bench/harness": {},
	"cmd/bench/usage":   {},
	"build/judge": {
		ours: []string{"site", "site/postgres", "site/postgres/ledger", "site/synthesis", "site/x402"},
	},
	"build": {
		ours: []string{
			"build/judge",
			"site",
			"site/lookup",
			"site/search",
			"site/postgres",
			"render",
			"render/openapi",
			"output",
			"output/archive",
		},
		modules: []string{"golang.org/x/sync"},
	},
	"render": {
		ours: []string{
			"render/amount",
			"render/card",
			"render/chart",
			"render/colour",
			"render/command",
			"render/feed",
			"render/guide",
			"render/openapi",
			"render/submitform",
			"site",
			"site/display",
			"templates",
		},
	},
	"render/amount":  {ours: []string{"site", "site/display"}},
	"render/colour":  {},
	"render/command": {ours: []string{"site", "site/display"}},
	"render/feed":    {ours: []string{"site"}},
	"render/guide":   {ours: []string{"site/display"}, modules: []string{"github.com/yuin/goldmark"}},
	"render/chart": {
		ours: []string{"site", "site/display"},
	},
	"render/openapi": {
		ours: []string{"site", "site/lookup", "site/display", "site/schema"},
	},
	"render/card": {
		modules: []string{"golang.org/x/image"},
	},
	"render/submitform": {ours: []string{"site", "templates"}},
	"render/htmlcheck": {
		modules: []string{"golang.org/x/net", "github.com/PuerkitoBio/goquery", "github.com/andybalholm/cascadia"},
	},
	"templates": {},
	"output": {
		ours:    []string{"output/archive", "output/objects"},
		modules: []string{"golang.org/x/sync"},
	},
	"output/archive": {
		modules: []string{"github.com/klauspost/compress"},
	},
	"output/objects": {
		ours:    []string{"output/archive"},
		modules: []string{"github.com/minio/minio-go/v7", "golang.org/x/sys", "golang.org/x/sync"},
	},
	"output/outputtest": {
		ours:    []string{"site/testgate"},
		modules: []string{"github.com/minio/minio-go/v7"},
	},
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
