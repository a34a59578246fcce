package site

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Dataset is the tables of the directory as files, and what they answer.
type Dataset struct {
	// Time of the snapshot whose rows the answers are of.
	AsOf Time `json:"as_of"`
	// Tables in the order of the data package.
	Tables []DatasetTable `json:"tables"`
	// File with all tables, and the last 30 days of those by day, without visits.
	SQLite DatasetFile `json:"sqlite"`
	// Questions that the tables answer; a question whose sums overflow is left out.
	Questions []DatasetAnswer `json:"questions"`
	// Queries that compute the published figures from the tables.
	Proofs []DatasetProof `json:"proofs"`
}

// DatasetFile is a file to download.
//
// It is one file. Its path is that of a request to the directory.
type DatasetFile struct {
	// Path of the file on this directory.
	Path string `json:"path"`
	// Size in bytes.
	Bytes int64 `json:"bytes"`
	// SHA-256 of the file, in hex.
	SHA256 string `json:"sha256"`
}

// DatasetTable is a table with its files.
//
// It is a table with its files. A table by day has a file for each UTC day that is over, and one for the rest.
type DatasetTable struct {
	// Name of the table, the same in every format.
	Name string `json:"name"`
	// What a row is.
	Description string `json:"description"`
	// Names of the columns; /data/datapackage.json describes each.
	Columns []string `json:"columns"`
	// Number of rows in the Parquet file of the snapshot; null without that file.
	RowCount *int64 `json:"row_count"`
	// Parquet file of the snapshot; of a table by day it has the days without a file of their own.
	Parquet *DatasetFile `json:"parquet"`
	// The same rows as CSV, compressed with gzip; null for large tables.
	CSV *DatasetFile `json:"csv"`
	// Files of UTC days that are over; null for a table that each snapshot has whole.
	Days *DatasetDays `json:"days"`
}

// DatasetDays is the files of a table's days.
type DatasetDays struct {
	// Number of days with a file.
	FileCount int `json:"file_count"`
	// Size of these files in bytes.
	Bytes int64 `json:"bytes"` // of all of them
	// First UTC day with a file.
	First string `json:"first"`
	// Last UTC day with a file.
	Last string `json:"last"`
	// Path of a day's file, with {day} for the UTC day, such as 2026-11-22.
	Pattern string `json:"pattern"`
}

// DatasetAnswer is a question, the statements that answer it, and the answer.
type DatasetAnswer struct {
	// Name of the question.
	Name string `json:"name"`
	// The question in words.
	Title string `json:"title"`
	// Statement that answers it from the SQLite file.
	SQLite string `json:"sqlite"`
	// Statements that answer it from the Parquet files at their addresses.
	DuckDB string `json:"duckdb"`
	// Names of the answer's columns.
	Columns []string `json:"columns"`
	// Rows of the answer; values are texts, null for an unknown one.
	Rows [][]*string `json:"rows"`
}

// DatasetProof is a query over the tables that says what the JSON of the snapshot must contain.
//
// The columns of its rows are values. A column that the path or another column names in braces is a part of an address;
// each other column is named by the place of its value in the JSON, such as data.endpoints[id={endpoint_id}].price_usd
// for the element of a list whose member id has this value. Besides the tables it has snapshot (as_of, today), windows
// (name, days, first_day, since) for 24h, 7d, 30d and 90d, and the view current_prices.
type DatasetProof struct {
	// Name of the query.
	Name string `json:"name"`
	// What it computes, in words.
	Title string `json:"title"`
	// Section of the methodology with the rule, as the anchor of its heading.
	Section string `json:"section"`
	// Path of the responses with the figures, with columns in braces, such as /v1/services/{slug}.
	Path string `json:"path"`
	// Query, in SQL that SQLite and DuckDB read alike.
	SQL string `json:"sql"`
}

// ReadProofs returns the proofs of the folder proofs, in the order of their names. A file has three comments, "-- Title.",
// "-- methodology#section" and "-- /path", and the query.
func ReadProofs(files fs.FS) (proofs []DatasetProof, err error) {
	names, err := fs.Glob(files, "proofs/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		p, err := parseProof(strings.TrimSuffix(path.Base(name), ".sql"), string(text))
		if err != nil {
			return nil, err
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}

func parseProof(name, text string) (DatasetProof, error) {
	p := DatasetProof{Name: name}
	for _, into := range []*string{&p.Title, &p.Section, &p.Path} {
		line, rest, _ := strings.Cut(text, "\n")
		value, ok := strings.CutPrefix(line, "-- ")
		if !ok {
			return p, fmt.Errorf("proof %s: %q is not one of its three comments: title, methodology#section, /path", name,
				line)
		}
		*into, text = value, rest
	}
	var ok bool
	if p.Section, ok = strings.CutPrefix(p.Section, "methodology#"); !ok || !strings.HasPrefix(p.Path, "/") {
		return p, fmt.Errorf("proof %s: the second comment is methodology#section, the third the /path of the answer", name)
	}
	p.SQL = strings.TrimSpace(text)
	return p, nil
}
