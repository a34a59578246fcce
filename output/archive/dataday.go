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

// dataIndex is what a publication needs of DataIndex. The parts of a resource are the files of its days; their paths
// begin at DataDir.
type dataIndex struct {
	Resources []struct {
		Parts []struct {
			Path  string `json:"path"`
			Bytes int64  `json:"bytes"`
			Hash  string `json:"hash"`
		} `json:"parts"`
	} `json:"resources"`
}

// hashPrefix begins the text of a sum in DataIndex.
const hashPrefix = "sha256:"

// ReadDataDays returns the files of days that a tree names, by name. Without an index it returns none and false. The
// sums of the index cover it, so the sums that it contains are as trustworthy as those of the tree's own files.
func ReadDataDays(t Files) (days []DataFile, has bool, err error) {
	if _, ok := t.Lookup(DataIndex); !ok {
		return nil, false, nil
	}
	data, err := t.ReadFile(DataIndex)
	if err != nil {
		return nil, false, err
	}
	days, err = parseDataDays(data)
	if err != nil {
		return nil, false, fmt.Errorf("parse %s: %w: %w", DataIndex, ErrDamaged, err)
	}
	return days, true, nil
}

func parseDataDays(data []byte) (days []DataFile, err error) {
	var index dataIndex
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	for _, r := range index.Resources {
		for _, p := range r.Parts {
			f := DataFile{Name: DataDir + "/" + p.Path, Bytes: p.Bytes}
			if _, _, ok := ParseDataDay(f.Name); !ok || p.Bytes < 0 {
				return nil, fmt.Errorf("%.80q with %d bytes is not the file of a day", p.Path, p.Bytes)
			}
			text, isSHA256 := strings.CutPrefix(p.Hash, hashPrefix)
			sum, err := hex.DecodeString(text)
			if !isSHA256 || err != nil || len(sum) != len(f.Sum) {
				return nil, fmt.Errorf("the hash %.80q of %s is not a SHA-256", p.Hash, p.Path)
			}
			f.Sum = Sum(sum)
			days = append(days, f)
		}
	}
	slices.SortFunc(days, func(a, b DataFile) int { return strings.Compare(a.Name, b.Name) })
	for i := range days[:max(0, len(days)-1)] {
		if days[i].Name == days[i+1].Name {
			return nil, fmt.Errorf("%s is named twice", days[i].Name)
		}
	}
	return days, nil
}
