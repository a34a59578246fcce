// Package edge writes the reading rules of site for other servers: a configuration for nginx, a worker for Cloudflare,
// a function for CloudFront. What they must know is taken from the route table and from package serve; nothing is
// written down a second time.
//
// It owns the text of those programs. It must never read a snapshot, nor ask a network.
package edge

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"text/template"

	"tollbook/site"
	"tollbook/site/serve"
)

//go:embed worker/*.js nginx.conf cloudfront.js
var sources embed.FS

// fillIn fills the templates that files are, one after the other, with data. Delimiters are « and », which stand in no
// language of an edge.
func fillIn(data any, files ...string) ([]byte, error) {
	var b bytes.Buffer
	for _, name := range files {
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := template.New(name).Delims("«", "»").Option("missingkey=error").Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		if err := t.Execute(&b, data); err != nil {
			return nil, fmt.Errorf("fill %s: %w", name, err)
		}
	}
	return b.Bytes(), nil
}

// literal is a value as a JavaScript literal.
func literal(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}

// Cloudflare is what the worker depends on.
type Cloudflare struct {
	Bucket    string // name of the R2 binding
	Limiter   string // name of the rate limit's binding
	Serve     string // name of the variable with the address of a tollbook serve, which may be absent
	Prefix    string // in the bucket, "" or ending in a slash
	RateLimit int    // requests a minute of a client
}

// workerParts is the worker, cut by what its parts are about.
var workerParts = []string{
	"worker/entry.js", "worker/request.js", "worker/answer.js", "worker/rules.js",
	"worker/search.js", "worker/send.js", "worker/download.js", "worker/snapshot.js", "worker/zip.js",
}

// says is what the worker must know that is no part of the route table.
type says struct {
	Allowed        string                `json:"allowed"`
	Expose         string                `json:"expose"`
	ExposeZip      string                `json:"exposeZip"`
	Policy         string                `json:"policy"`
	SearchFile     string                `json:"searchFile"`
	LookupFile     string                `json:"lookupFile"`
	MaxSlug        int                   `json:"maxSlug"`
	MaxFacilitator int                   `json:"maxFacilitator"`
	WindowDays     map[string]int        `json:"windowDays"`
	ChangeTypes    []string              `json:"changeTypes"`
	Errors         map[string]site.Error `json:"errors"`
	Calls          map[string]string     `json:"calls"` // pattern of each that is no file, by name
}

// Worker is a Cloudflare Worker that answers from a bucket as serve does.
func Worker(o Cloudflare) ([]byte, error) {
	m := serve.NewHTTPPolicy()
	data := struct {
		Cloudflare
		Prefix, Table, Says, Types string
	}{Cloudflare: o}
	var err error
	fill := func(to *string, v any) {
		if err == nil {
			*to, err = literal(v)
		}
	}
	table := site.Table()
	table.Rules, table.Segments = nil, nil // words for people
	for i := range table.Routes {
		r := &table.Routes[i]
		r.About = ""
		r.Params = append([]site.Param{}, r.Params...)
		for j := range r.Params {
			r.Params[j].About = ""
		}
	}
	fill(&data.Prefix, o.Prefix)
	fill(&data.Table, table)
	fill(&data.Types, site.ContentTypes())
	fill(&data.Says, says{
		Allowed: m.Allowed, Expose: m.Expose, ExposeZip: m.ExposeZip, Policy: m.Policy, SearchFile: site.SearchFile,
		LookupFile: site.LookupFile,
		MaxSlug:    site.MaxSlug, MaxFacilitator: site.MaxFacilitatorID, WindowDays: site.WindowDays,
		ChangeTypes: site.ChangeTypes, Errors: m.Errors, Calls: m.Calls,
	})
	if err != nil {
		return nil, fmt.Errorf("write worker: %w", err)
	}
	return fillIn(data, workerParts...)
}
