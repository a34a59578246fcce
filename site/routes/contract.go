package routes

import "embed"

// GoFiles contains the Go files of this package; see site.GoFiles.
//
//go:embed *.go
var GoFiles embed.FS

// Enums contains the lists that tags of fields name; see site.Enums.
var Enums = map[string][]string{
	"Comparisons": {string(CompareIs), string(CompareHas), string(CompareAtMost), string(CompareAtLeast),
		string(CompareWords)},
	"Kinds": {string(KindChoice), string(KindText), string(KindInteger), string(KindSet), string(KindBoolean),
		string(KindDecimal), string(KindAddress), string(KindCursor), string(KindSnapshot)},
}
