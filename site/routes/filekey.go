package routes

import (
	"strconv"
	"strings"

	"tollbook/site"
)

const (
	rowsFolder    = "v1/rows/"
	columnsFolder = "v1/columns/"
)

// RowsKey returns the key of the nth block of rows, from 0.
func RowsKey(n int) string { return rowsFolder + strconv.Itoa(n) + ".json" }

// ColumnKey returns the key of a column.
func ColumnKey(name string) string { return columnsFolder + name + ".json" }

// HasScanKey reports whether key is the key of a block of rows or of a column, of services or of the catalogue.
func (i *Index) HasScanKey(key string) bool {
	stem, isJSON := strings.CutSuffix(key, ".json")
	if number, ok := strings.CutPrefix(stem, rowsFolder); ok && isJSON {
		n, err := strconv.Atoi(number)
		return err == nil && RowsKey(n) == key && n >= 0 && n*site.RowsPerBlock < len(i.Slugs)
	}
	name, ok := strings.CutPrefix(stem, columnsFolder)
	return ok && isJSON && site.ColumnByName(name) != nil || hasCatalogueKey(key)
}

// DaysKey returns the key of the table of a service's days.
func DaysKey(slug string) string { return "v1/services/" + slug + "/days.csv" }

const termsFolder = "v1/terms/"

// TermShardKey returns the key of the file of terms with this name.
func TermShardKey(name string) string { return termsFolder + name + ".json" }

// HasTermShardKey reports whether key is the key of one of the files of terms that x lists.
func HasTermShardKey(x *site.TermIndex, key string) bool {
	name, ok := strings.CutPrefix(key, termsFolder)
	if name, isJSON := strings.CutSuffix(name, ".json"); ok && isJSON {
		return x.Shards[name] > 0
	}
	return false
}

// LogKey returns the file of the LogIndex of q's log.
func (q Query) LogKey() string { return q.ListKey() + "/" + logFile }

// IsLog reports whether a file is a LogIndex.
func IsLog(key string) bool { return strings.HasSuffix(key, "/"+logFile) }

// BlockKey returns the file of one block of q's log, in the snapshot or in a pack.
func (q Query) BlockKey(block int64) string {
	return q.ListKey() + "/block=" + strconv.FormatInt(block, 10) + q.Route.Ext
}
