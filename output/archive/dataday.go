package archive

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// DataDir is the folder of the tables of a publication: members of each snapshot, and beside them files of days.
	DataDir = "data"
	// DataIndex is the member of a snapshot that describes the tables and names the files of days that belong to it.
	DataIndex = DataDir + "/datapackage.json"

	dayExt   = ".parquet"
	maxTable = 64 // bytes of a table's name
)

// DataFile describes a file of a table: a member of a snapshot, or the rows of one UTC day, which are written once and
// belong to every snapshot that names them.
type DataFile struct {
	Name  string // "data/services.parquet", "data/checks/2026-11-20.parquet"
	Bytes int64
	Sum   Sum
}

// DataDayName returns the name of a table's file of a day ("2026-11-20").
func DataDayName(table, day string) string { return DataDir + "/" + table + "/" + day + dayExt }

// ParseDataDay is the inverse of DataDayName, and false for any other name.
func ParseDataDay(name string) (table, day string, ok bool) {
	rest, inData := strings.CutPrefix(name, DataDir+"/")
	table, file, nested := strings.Cut(rest, "/")
	day, isDay := strings.CutSuffix(file, dayExt)
	if !inData || !nested || !isDay || len(table) > maxTable ||
		strings.Trim(table, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || table == "" {
		return "", "", false
	}
	t, err := time.Parse(time.DateOnly, day)
	return table, day, err == nil && t.Format(time.DateOnly) == day
}

// dataIndex is what a publication needs of DataIndex. Paths begin at DataDir. The parts of a resource are the files of
// its days; a resource with one path is a member of the snapshot.
type dataIndex struct {
	Resources []struct {
		dataPart
		Parts []dataPart `json:"parts"`
	} `json:"resources"`
}

type dataPart struct {
	Path  any    `json:"path"` // a text, or a list of the paths of parts
	Bytes int64  `json:"bytes"`
	Hash  string `json:"hash"`
}

// hashPrefix begins the text of a sum in DataIndex.
const hashPrefix = "sha256:"

// file returns the file of a part.
func (p *dataPart) file() (f DataFile, err error) {
	path, _ := p.Path.(string)
	f = DataFile{Name: DataDir + "/" + path, Bytes: p.Bytes}
	if err := CheckName(f.Name); err != nil {
		return f, err
	}
	text, isSHA256 := strings.CutPrefix(p.Hash, hashPrefix)
	sum, err := hex.DecodeString(text)
	if !isSHA256 || err != nil || len(sum) != len(f.Sum) || p.Bytes < 0 {
		return f, fmt.Errorf("%.80q has %d bytes and the hash %.80q, which is no SHA-256", path, p.Bytes, p.Hash)
	}
	f.Sum = Sum(sum)
	return f, nil
}

// ReadDataDays returns the files of days that a tree names, by name. Without an index it returns none and false. The
// sums of the tree cover the index, so its sums are as trustworthy as those of the tree's own files.
func ReadDataDays(t Files) (days []DataFile, has bool, err error) {
	if _, ok := t.Lookup(DataIndex); !ok {
		return nil, false, nil
	}
	data, err := t.ReadFile(DataIndex)
	if err != nil {
		return nil, false, err
	}
	_, days, err = ParseDataIndex(data)
	return days, err == nil, err
}

// ParseDataIndex returns the tables that an index names, by name: members of its snapshot, and files of days.
func ParseDataIndex(data []byte) (members, days []DataFile, err error) {
	var index dataIndex
	err = json.Unmarshal(data, &index)
	for _, r := range index.Resources {
		if path, isOne := r.Path.(string); isOne && err == nil {
			var f DataFile
			if f, err = r.file(); err == nil && (isDay(f.Name) || f.Name == DataIndex) {
				err = fmt.Errorf("%.80q is not a member", path)
			}
			members = append(members, f)
		}
		for i := 0; i < len(r.Parts) && err == nil; i++ {
			var f DataFile
			if f, err = r.Parts[i].file(); err == nil && !isDay(f.Name) {
				err = fmt.Errorf("%.80q is not the file of a day", r.Parts[i].Path)
			}
			days = append(days, f)
		}
	}
	for _, list := range [][]DataFile{members, days} {
		slices.SortFunc(list, func(a, b DataFile) int { return strings.Compare(a.Name, b.Name) })
		for i := 1; i < len(list) && err == nil; i++ {
			if list[i-1].Name == list[i].Name {
				err = fmt.Errorf("%s is named twice", list[i].Name)
			}
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w: %w", DataIndex, ErrDamaged, err)
	}
	return members, days, nil
}

func isDay(name string) bool { _, _, ok := ParseDataDay(name); return ok }
