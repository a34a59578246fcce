package site

import (
	"strconv"
	"strings"
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
		return err == nil && RowsKey(n) == key && n >= 0 && n*RowsPerBlock < len(i.Slugs)
	}
	name, ok := strings.CutPrefix(stem, columnsFolder)
	return ok && isJSON && ColumnByName(name) != nil || hasCatalogueKey(key)
}
