package data

import (
	"time"

	"tollbook/site"
)

// File is a data file of a snapshot. Its name is below the data folder.
type File struct {
	Name   string
	Bytes  int64
	SHA256 string // in hex
}

// TableFile is a file of a table.
type TableFile struct {
	File
	Table *Table
	Rows  int64
}

// Part is a file with the rows of one UTC day.
type Part struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Hash  string `json:"hash"`

	// MadeFrom identifies the facts of the day, where facts may come later; the file is written again when they did.
	MadeFrom string `json:"made_from,omitempty"`
}

// NewPart returns the part of a file.
func NewPart(f File) Part { return Part{Path: f.Name, Bytes: f.Bytes, Hash: "sha256:" + f.SHA256} }

// Package is a data package of the Frictionless standard, with additional members of fields: unit and source.
type Package struct {
	Profile     string     `json:"profile"`
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Homepage    string     `json:"homepage,omitempty"`
	Created     site.Time  `json:"created"` // of the snapshot
	Licenses    []License  `json:"licenses"`
	Resources   []Resource `json:"resources"`
}

// License is the licence of a data package.
type License struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Path  string `json:"path"`
}

// Resource is a file, or the files of a table's days.
type Resource struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Path        any     `json:"path"` // a text, or a list of texts for days
	Format      string  `json:"format"`
	MediaType   string  `json:"mediatype"`
	Bytes       int64   `json:"bytes"`
	Hash        string  `json:"hash,omitempty"` // not of days, whose parts have their own
	Rows        *int64  `json:"rows,omitempty"` // beyond the standard, as the next one
	Parts       []Part  `json:"parts,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// Schema describes the fields of a resource.
type Schema struct {
	Fields      []Field      `json:"fields"`
	PrimaryKey  []string     `json:"primaryKey"`
	ForeignKeys []ForeignKey `json:"foreignKeys,omitempty"`
}

// Field describes a column.
type Field struct {
	Name        string       `json:"name"`
	Type        string       `json:"type"`
	Description string       `json:"description"`
	Unit        string       `json:"unit,omitempty"`
	Source      string       `json:"source"`
	Scale       *int         `json:"scale,omitempty"` // digits after the point of a number
	Constraints *Constraints `json:"constraints,omitempty"`
}

// Constraints of a field.
type Constraints struct {
	Required bool `json:"required"`
}

// ForeignKey says that a field contains keys of another resource.
type ForeignKey struct {
	Fields    []string        `json:"fields"`
	Reference KeyOfAnotherOne `json:"reference"`
}

// KeyOfAnotherOne names the key of another resource.
type KeyOfAnotherOne struct {
	Resource string   `json:"resource"`
	Fields   []string `json:"fields"`
}

// fieldTypes are the types of fields by kind. JSON is a text that contains JSON.
var fieldTypes = map[Kind]string{Text: "string", JSON: "string", Integer: "integer", Boolean: "boolean",
	Decimal: "number", Timestamp: "datetime", Date: "date"}

// mediaTypes are the types of files by format.
var mediaTypes = map[string]string{"parquet": "application/vnd.apache.parquet", "csv": "text/csv",
	"sqlite": "application/vnd.sqlite3"}

// NewPackage returns the data package of a snapshot without resources.
func NewPackage(title, homepage string, now time.Time) *Package {
	return &Package{
		Profile: "data-package", Name: "tollbook", Title: title, Homepage: homepage, Created: site.NewTime(now),
		Description: "Services that charge per request over HTTP 402: what they cost, whether they are up, and what " +
			"is settled. Unknown values are null, never 0. Times are UTC.",
		Licenses: []License{{"CC-BY-4.0", "Creative Commons Attribution 4.0",
			"https://creativecommons.org/licenses/by/4.0/"}},
	}
}

// Add adds a file of a snapshot. table is nil for the SQLite file.
func (p *Package) Add(f TableFile, format string) {
	r := Resource{Name: "tollbook-" + format, Path: f.Name, Format: format, MediaType: mediaTypes[format],
		Bytes: f.Bytes, Hash: "sha256:" + f.SHA256,
		Description: "All tables of the snapshot, and the last 30 days of the tables by day, without visits."}
	if t := f.Table; t != nil {
		r.Name, r.Description, r.Rows, r.Schema = t.Name, t.Description, &f.Rows, newSchema(t)
		switch {
		case format != "parquet":
			r.Name += "-" + format
		case t.Days:
			r.Name += "-open"
			r.Description += " Days that have no file of their own yet."
		}
	}
	p.Resources = append(p.Resources, r)
}

// AddDays adds the files of a table's days, by day. Without one it adds nothing.
func (p *Package) AddDays(t *Table, parts []Part) {
	if len(parts) == 0 {
		return
	}
	r := Resource{Name: t.Name, Description: t.Description, Format: "parquet", MediaType: mediaTypes["parquet"],
		Parts: parts, Schema: newSchema(t)}
	paths := make([]string, len(parts))
	for i, f := range parts {
		paths[i] = f.Path
		r.Bytes += f.Bytes
	}
	r.Path = paths
	p.Resources = append(p.Resources, r)
}

// newSchema returns the schema of a table.
func newSchema(t *Table) *Schema {
	s := &Schema{PrimaryKey: t.Key}
	for _, c := range t.Columns {
		f := Field{Name: c.Name, Type: fieldTypes[c.Kind], Description: c.Description, Unit: c.Unit, Source: c.Source}
		switch c.Kind {
		case Decimal:
			f.Scale = &c.Scale
		case JSON:
			f.Description += " A list or an object as JSON."
		}
		if c.Required {
			f.Constraints = &Constraints{Required: true}
		}
		s.Fields = append(s.Fields, f)
	}
	for _, r := range t.References {
		s.ForeignKeys = append(s.ForeignKeys, ForeignKey{[]string{r.Column}, KeyOfAnotherOne{r.Table, []string{r.Key}}})
	}
	return s
}
