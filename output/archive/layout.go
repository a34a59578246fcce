package archive

import (
	"strings"
	"time"
)

// Names of the parts of a publication, in a folder and in a bucket.
const (
	CheckpointFile = "checkpoint.json"
	SnapshotsDir   = "snapshots"
	PacksDir       = "packs"
	hourLayout     = "2006010215" // the name of a pack
)

// SnapshotName returns the name of a snapshot's zip.
func SnapshotName(id string) string { return SnapshotsDir + "/" + id + ".zip" }

// PackName returns the name of the pack of an hour.
func PackName(hour string) string { return PacksDir + "/" + hour + ".zip" }

// HourOf returns the hour of a time, in the form that names packs.
func HourOf(t time.Time) string { return t.UTC().Format(hourLayout) }

// ParseHour parses the hour that names a pack ("2026112023").
func ParseHour(hour string) (time.Time, bool) {
	t, err := time.Parse(hourLayout, hour)
	return t, err == nil && t.Format(hourLayout) == hour
}

// IsDownload reports whether name is that of a snapshot's zip, of a pack or of a day of a table. Readers may download
// all of them.
func IsDownload(name string) bool {
	if _, _, ok := ParseDataDay(name); ok {
		return true
	}
	stem, ok := strings.CutSuffix(name, ".zip")
	if !ok {
		return false
	}
	if id, ok := strings.CutPrefix(stem, SnapshotsDir+"/"); ok {
		_, ok := ParseSnapshotID(id)
		return ok
	}
	hour, ok := strings.CutPrefix(stem, PacksDir+"/")
	if ok {
		_, ok = ParseHour(hour)
	}
	return ok
}
