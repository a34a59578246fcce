package relevance

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/site"
	"tollbook/site/postgres/private"
	"tollbook/site/search"
)

// searchOurs searches as /v1/search does.
func searchOurs(_ context.Context, documents []document, queries []string) (results [][]string, err error) {
	w := search.NewWeigher()
	for i := range documents {
		d := &documents[i]
		of := search.Document{Name: d.Name, Category: d.Category, Description: d.Description}
		for _, e := range d.Endpoints {
			of.Paths, of.Descriptions = append(of.Paths, e.Path), append(of.Descriptions, e.Description)
		}
		w.Add(search.Weigh(&of))
	}
	index := w.Index()
	from := memory{w, w.Shards(), len(documents)}
	for _, q := range queries {
		matches, err := search.Find(&index, q, from)
		if err != nil {
			return nil, err
		}
		slugs := []string{}
		for _, hit := range matches.Hits[:min(len(matches.Hits), maxResults)] {
			slugs = append(slugs, documents[hit.Place].Slug)
		}
		results = append(results, slugs)
	}
	return results, nil
}

// memory contains the files of terms.
type memory struct {
	weigher  *search.Weigher
	shards   map[string][]string
	services int
}

func (m memory) Shard(name string) (*search.Shard, error) {
	var lines [][]byte
	for _, term := range m.shards[name] {
		line, err := json.Marshal(m.weigher.Term(term))
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return search.ParseShard(lines, m.services)
}

func (m memory) Vocabulary() (*site.Vocabulary, error) {
	v := m.weigher.Vocabulary()
	return &v, nil
}

//go:embed pagefind.mjs
var pagefindProgram []byte

// pagefindVersion is the package of npm that is installed.
const pagefindVersion = "pagefind@1.6.0"

// searchPagefind makes an HTML page of each service, indexes the pages and searches them with Pagefind's own script.
func searchPagefind(ctx context.Context, documents []document, queries []string) (results [][]string, err error) {
	if err := harness.Install(ctx, harness.Peer{Program: "node", Package: "nodejs"},
		harness.Peer{Program: "npm", Package: "npm"}); err != nil {
		return nil, err
	}
	dir, err := harness.Folder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := harness.Run(ctx, nil, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		pagefindVersion); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "pagefind.mjs")
	if err := os.WriteFile(program, pagefindProgram, 0o600); err != nil {
		return nil, err
	}
	input, err := json.Marshal(map[string]any{"documents": documents, "queries": queries, "folder": dir})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run pagefind: %w", err)
	}
	return results, json.Unmarshal(out, &results)
}

// postgresEngine returns an engine that ranks by ts_rank_cd over weighted fields. query is the expression of a tsquery.
func postgresEngine(query string) engine {
	return func(ctx context.Context, documents []document, queries []string) (results [][]string, err error) {
		dir, err := harness.Folder()
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		server, err := private.Start(ctx, private.Options{Dir: filepath.Join(dir, "postgres"), Throwaway: true})
		if err != nil {
			return nil, err
		}
		defer server.Stop(context.WithoutCancel(ctx))
		conn, err := pgx.Connect(ctx, server.DSN())
		if err != nil {
			return nil, err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if err := insertDocuments(ctx, conn, documents); err != nil {
			return nil, err
		}
		for _, text := range queries {
			rows, err := conn.Query(ctx, `SELECT slug FROM document, (SELECT `+query+` AS q) AS query WHERE words @@ q
				ORDER BY ts_rank_cd(words, q) DESC, slug LIMIT $2`, text, maxResults)
			if err != nil {
				return nil, err
			}
			slugs, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return nil, err
			}
			results = append(results, slugs)
		}
		return results, nil
	}
}

// insertDocuments creates the table of documents. Words of names weigh most, then categories and descriptions, then
// endpoints.
func insertDocuments(ctx context.Context, conn *pgx.Conn, documents []document) error {
	if _, err := conn.Exec(ctx, `CREATE TABLE document (slug text, words tsvector)`); err != nil {
		return err
	}
	for _, d := range documents {
		var endpoints strings.Builder
		for _, e := range d.Endpoints { // the parser takes a path for one word
			fmt.Fprintf(&endpoints, "%s %s. ", strings.ReplaceAll(e.Path, "/", " "), e.Description)
		}
		if _, err := conn.Exec(ctx, `INSERT INTO document VALUES ($1, setweight(to_tsvector('english', $2), 'A') ||
			setweight(to_tsvector('english', $3), 'B') || setweight(to_tsvector('english', $4), 'B') ||
			setweight(to_tsvector('english', $5), 'C'))`,
			d.Slug, d.Name, d.Category, d.Description, endpoints.String()); err != nil {
			return err
		}
	}
	return nil
}
