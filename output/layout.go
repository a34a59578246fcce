package output

import (
	"strings"
	"time"
)

// Names of the parts of a publication, in a folder as in a bucket.
const (
	checkpointFile = "checkpoint.json"
	snapshotsDir   = "snapshots"
	packsDir       = "packs"
	hourLayout     = "2006010215" // of the name of a pack
)

// snapshotName returns the name of a snapshot's zip.
func snapshotName(id string) string { return snapshotsDir + "/" + id + ".zip" }

// packName returns the name of the pack of an hour.
func packName(hour string) string { return packsDir + "/" + hour + ".zip" }

// hourOf returns the hour of an instant, as packs are named by it.
func hourOf(t time.Time) string { return t.UTC().Format(hourLayout) }

// parseHour reads the hour that names a pack ("2026112023").
func parseHour(hour string) (time.Time, bool) {
	t, err := time.Parse(hourLayout, hour)
	return t, err == nil && t.Format(hourLayout) == hour
}

// IsDownload reports whether a name is that of a snapshot's zip or of a pack: the zips that readers may have.
func IsDownload(name string) bool {
	stem, ok := strings.CutSuffix(name, ".zip")
	if !ok {
		return false
	}
	if id, ok := strings.CutPrefix(stem, snapshotsDir+"/"); ok {
		_, ok := ParseSnapshotID(id)
		return ok
	}
	hour, ok := strings.CutPrefix(stem, packsDir+"/")
	if ok {
		_, ok = parseHour(hour)
	}
	return ok
}
