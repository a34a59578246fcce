// Package edge generates programs that apply the rules of package site on other servers: a configuration for nginx, a
// worker for Cloudflare and a function for CloudFront. It takes the facts in them from the route table and from package
// serve, and repeats none.
//
// It owns the text of those programs. It must never read a snapshot or use a network.
package edge

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
	"tollbook/site/serve"
)

//go:embed worker/*.js nginx.conf cloudfront.js
var sources embed.FS

// fillIn executes the templates in files with data and joins their output. The delimiters are « and », because no
// language of the programs uses them.
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

// literal returns a value as a JavaScript literal.
func literal(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}

// Cloudflare contains the options of the worker.
type Cloudflare struct {
	Bucket    string // name of the R2 binding
	Limiter   string // name of the rate limit's binding
	Serve     string // name of the optional variable with the URL of a tollbook serve
	Prefix    string // in the bucket, "" or ending in a slash
	RateLimit int    // requests a minute for each client
}

// workerParts lists the files of the worker in the order in which they are joined.
var workerParts = []string{
	"worker/entry.js", "worker/request.js", "worker/unknown.js", "worker/response.js", "worker/rules.js",
	"worker/scan.js", "worker/best.js", "worker/search.js", "worker/send.js", "worker/download.js",
	"worker/snapshot.js", "worker/zip.js",
}

// contract contains what the worker needs of the contract beside the route table.
type contract struct {
	Allowed        string                `json:"allowed"`
	Expose         string                `json:"expose"`
	ExposeZip      string                `json:"exposeZip"`
	Policy         string                `json:"policy"`
	License        string                `json:"license"`
	LookupFile     string                `json:"lookupFile"`
	WindowDays     map[string]int        `json:"windowDays"`
	HeaderUnknown  string                `json:"headerUnknown"`
	HeaderValues   string                `json:"headerValues"`
	MaxUnknown     int                   `json:"maxUnknown"`
	MaxUnknownName int                   `json:"maxUnknownName"`
	MaxNearest     int                   `json:"maxNearest"`
	OtherPaging    map[string]string     `json:"otherPaging"`
	Catalogues     []string              `json:"catalogues"` // names of the routes of a facilitator's catalogue
	Catalogue      []string              `json:"catalogueColumns"`
	Services       string                `json:"catalogueServices"` // key of the column with the rows' services
	ChangeTypes    []string              `json:"changeTypes"`
	Errors         map[string]site.Error `json:"errors"`
	Calls          map[string]string     `json:"calls"` // names of the calls that are not files: "POST /v1/submit"
}

// tableExtensions returns the extensions of tables, without dots.
func tableExtensions() (list []string) {
	for _, ext := range slices.Sorted(maps.Keys(routes.ContentTypes())) {
		if routes.IsTable("data/table" + ext) {
			list = append(list, ext[1:])
		}
	}
	return list
}

// Worker returns the program of a Cloudflare Worker that serves a bucket as package serve does.
func Worker(o Cloudflare) ([]byte, error) {
	m := serve.NewHTTPPolicy()
	data := struct {
		Cloudflare
		Prefix, Table, Contract, Types, Tables, Search, Script string
	}{Cloudflare: o, Tables: strings.Join(tableExtensions(), "|")}
	var err error
	fill := func(to *string, v any) {
		if err == nil {
			*to, err = literal(v)
		}
	}
	table := routes.Table()
	table.Rules = nil // descriptions for people
	table.Segments = slices.Clone(table.Segments)
	for i := range table.Segments {
		table.Segments[i].About = ""
	}
	for i := range table.Routes {
		r := &table.Routes[i]
		r.About = ""
		r.Params = append([]routes.Param{}, r.Params...)
		for j := range r.Params {
			r.Params[j].About = ""
		}
	}
	fill(&data.Prefix, o.Prefix)
	fill(&data.Table, table)
	fill(&data.Types, routes.ContentTypes())
	tables, marshalErr := json.Marshal(search.NewScriptTables()) // on one line, because they have thousands of items
	err = errors.Join(err, marshalErr)
	data.Search = string(tables)
	data.Script = string(search.Script)
	var catalogue []string
	for _, c := range site.CatalogueColumns {
		catalogue = append(catalogue, c.Name)
	}
	var catalogues []string
	for i := range routes.All {
		if routes.All[i].IsCatalogue() {
			catalogues = append(catalogues, routes.All[i].Name)
		}
	}
	fill(&data.Contract, contract{
		Allowed: m.Allowed, Expose: m.Expose, ExposeZip: m.ExposeZip, Policy: m.Policy, License: m.License,
		LookupFile:    routes.LookupFile,
		WindowDays:    site.WindowDays,
		HeaderUnknown: routes.HeaderUnknown,
		HeaderValues:  routes.HeaderUnknownValues, MaxUnknown: routes.MaxUnknown, MaxUnknownName: routes.MaxUnknownName, MaxNearest: routes.MaxNearest,
		OtherPaging: routes.OtherPaging,
		Catalogues:  catalogues, Catalogue: catalogue, Services: routes.CatalogueServicesFile, ChangeTypes: site.ChangeTypes, Errors: m.Errors,
		Calls: m.Calls,
	})
	if err != nil {
		return nil, fmt.Errorf("write worker: %w", err)
	}
	return fillIn(data, workerParts...)
}
