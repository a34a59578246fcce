package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// directions are the rules of who must not import whom. A path that ends in /... is a folder with all that is below it,
// and a module has all its packages. What except names is free of the rule.
//
// If a rule prevents a change, review the design before you change the rule: ARCHITECTURE.md has the picture.
var directions = []struct {
	why    string
	from   []string
	never  []string
	except []string
}{
	{why: "the contract stands below everything that is made of it",
		from:  []string{"site/..."},
		never: []string{"build/...", "render/...", "crawl/...", "cmd/...", "templates"}},
	{why: "only what answers requests reads a publication",
		from:   []string{"site/..."},
		never:  []string{"output/..."},
		except: []string{"site/serve/..."}},
	{why: "the contract and the protocols know no database and no server",
		from:   []string{"site/..."},
		never:  []string{"site/postgres/...", "site/serve/..."},
		except: []string{"site/postgres/...", "site/serve/...", "site/synthesis"}},
	{why: "a reader's request never reaches the database",
		from:  []string{"site/serve/..."},
		never: []string{"site/postgres/..."}},
	{why: "facts know nothing of requests and of what is drawn",
		from:  []string{"site/postgres/..."},
		never: []string{"site/serve/...", "site/search", "site/routes"}},
	{why: "the crawler records facts; it shares only site with the builder",
		from:  []string{"crawl/..."},
		never: []string{"build/...", "render/...", "output/...", "site/serve/...", "site/search"}},
	{why: "what asks the network stores nothing",
		from:  []string{"crawl/probe", "crawl/facts", "crawl/source", "crawl/model"},
		never: []string{"site/postgres/...", "crawl"}},
	{why: "a chain's reader knows no service and no schedule",
		from:  []string{"crawl/chain/..."},
		never: []string{"crawl", "crawl/facts", "crawl/source", "crawl/schedule"}},
	{why: "the builder asks nobody and answers nobody",
		from:   []string{"build/..."},
		never:  []string{"crawl/...", "site/serve/...", "net"},
		except: []string{"build/buildtest"}},
	{why: "judgments are functions of facts and of the time of the build",
		from:  []string{"build/judge/..."},
		never: []string{"build", "build/data/...", "render/...", "output/...", "os", "log/slog", "github.com/jackc/pgx"}},
	{why: "pages are functions of what the API publishes",
		from:   []string{"render/..."},
		never:  []string{"build/...", "crawl/...", "output/...", "site/postgres/...", "site/serve/...", "os", "log/slog"},
		except: []string{"render/htmlcheck"}},
	{why: "publishing knows no route, no fact and no page",
		from:   []string{"output/..."},
		never:  []string{"site/...", "build/...", "render/...", "crawl/..."},
		except: []string{"output/outputtest"}},
	{why: "the format of a publication does not know where one is stored",
		from:  []string{"output/archive"},
		never: []string{"output", "output/objects"}},
	{why: "a store of objects does not know which objects make a publication",
		from:  []string{"output/objects"},
		never: []string{"output"}},
	{why: "nobody needs the command line or the benches",
		from:   []string{"..."},
		never:  []string{"cmd/..."},
		except: []string{"cmd/..."}},
	{why: "the program does not need the benches",
		from:  []string{"cmd/tollbook/..."},
		never: []string{"cmd/bench/..."}},
	{why: "templates contain no logic",
		from:  []string{"templates"},
		never: []string{"..."}},
	{why: "SQL is in one place",
		from:   []string{"..."},
		never:  []string{"database/sql", "github.com/jackc/pgx"},
		except: []string{"site/postgres/...", "build/data/...", "crawl/schedule", "cmd/..."}},
	{why: "only the command line knows commands and flags",
		from:   []string{"..."},
		never:  []string{"github.com/spf13"},
		except: []string{"cmd/tollbook/..."}},
	{why: "one package speaks to object stores",
		from:   []string{"..."},
		never:  []string{"github.com/minio"},
		except: []string{"output/objects", "output/outputtest", "cmd/bench/..."}},
	{why: "pages are written in Markdown, and lists of others are",
		from:   []string{"..."},
		never:  []string{"github.com/yuin/goldmark"},
		except: []string{"render/...", "crawl/source"}},
	{why: "only pages contain HTML, and the report of lint that is one",
		from:   []string{"..."},
		never:  []string{"html/template"},
		except: []string{"render/...", "cmd/tollbook/lint"}},
	{why: "the formats of tables are in one place",
		from:   []string{"..."},
		never:  []string{"github.com/parquet-go", "modernc.org/sqlite"},
		except: []string{"build/data/..."}},
	{why: "jobs are River's in one package, in our words everywhere else",
		from:   []string{"..."},
		never:  []string{"github.com/riverqueue"},
		except: []string{"crawl/schedule", "site/postgres/..."}},
	{why: "only tests need what is for tests",
		from:   []string{"..."},
		never:  tests,
		except: append([]string{"cmd/bench/...", "crawl/sample"}, tests...)},
	{why: "the program contains no test",
		from:   []string{"..."},
		never:  []string{"testing"},
		except: tests},
}

// tests are the packages that exist for tests.
var tests = []string{"build/buildtest", "build/data/datatest", "build/data/figure/figuretest", "cmd/nodetest",
	"crawl/chain/chaintest", "crawl/model/modeltest", "output/outputtest", "render/htmlcheck", "site/leaktest", "site/postgres/postgrestest",
	"site/rail/railtest", "site/serve/edge/edgetest", "site/testgate"}

// TestImports compares the imports of all packages with the directions.
func TestImports(t *testing.T) {
	t.Parallel()
	imports := map[string]map[string]string{} // package -> import -> file
	const root = "../.."
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
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if imports[pkg] == nil {
			imports[pkg] = map[string]string{}
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports[pkg][strings.TrimPrefix(name, "tollbook/")] = rel
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	matches := func(pkg string, patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			folder, below := strings.CutSuffix(pattern, "...")
			if folder == "" {
				return imports[pkg] != nil
			}
			folder = strings.TrimSuffix(folder, "/")
			module := strings.Contains(strings.Split(folder, "/")[0], ".")
			return pkg == folder || (below || module) && strings.HasPrefix(pkg, folder+"/")
		})
	}
	for _, d := range directions {
		for _, pattern := range slices.Concat(d.from, d.except) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(imports)), func(pkg string) bool {
				return matches(pkg, []string{pattern})
			}) {
				t.Errorf("the rule that %s names %s, which is not there", d.why, pattern)
			}
		}
		for pkg, names := range imports {
			if !matches(pkg, d.from) || matches(pkg, d.except) {
				continue
			}
			for name, file := range names {
				if name != pkg && matches(name, d.never) {
					t.Errorf("%s imports %s, but %s", file, name, d.why)
				}
			}
		}
	}
}
