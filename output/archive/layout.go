package archive

import (
	"strings"
	"time"
)

// Names of the parts of a publication, in a folder as in a bucket.
const (
	CheckpointFile = "checkpoint.json"
	SnapshotsDir   = "snapshots"
	PacksDir       = "packs"
	hourLayout     = "2006010215" // of the name of a pack
)

// snapshotName returns the name of a snapshot's zip.
func SnapshotName(id string) string { return SnapshotsDir + "/" + id + ".zip" }

// packName returns the name of the pack of an hour.
func PackName(hour string) string { return PacksDir + "/" + hour + ".zip" }

// hourOf returns the hour of an instant, as packs are named by it.
func HourOf(t time.Time) string { return t.UTC().Format(hourLayout) }

// parseHour reads the hour that names a pack ("2026112023").
func ParseHour(hour string) (time.Time, bool) {
	t, err := time.Parse(hourLayout, hour)
	return t, err == nil && t.Format(hourLayout) == hour
}

// IsDownload reports whether a name is that of a snapshot's zip or of a pack: the zips that readers may have.
func IsDownload(name string) bool {
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
