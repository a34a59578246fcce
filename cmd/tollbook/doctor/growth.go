package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tollbook/output"
	"tollbook/output/archive"
)

// Limits of what growth says.
const (
	fewDays     = 30             // below so many days until the disk is full, doctor warns
	packDays    = 30             // after that, mostly as many packs are deleted as are added
	leastSpan   = 24 * time.Hour // between the oldest and the newest snapshot, to know the growth
	daysTooMany = 3650
)

// usage is what a data folder contains.
type usage struct {
	snapshots []output.RetainedSnapshot // oldest first
	packs     map[string]int64          // bytes by hour
	database  int64                     // bytes of the private Postgres; 0 for none
}

// growth returns how many bytes a day the data folder grows; ok is false if its snapshots cover less than a day. A day
// adds a snapshot as large as the newest, unless the retention then deletes as much, and the packs of a day for the
// first month. The database has grown evenly since the oldest snapshot.
func (u usage) growth(r output.Retention) (bytesADay int64, ok bool) {
	if len(u.snapshots) == 0 {
		return 0, false
	}
	oldest, _ := archive.ParseSnapshotID(u.snapshots[0].ID)
	newest, _ := archive.ParseSnapshotID(u.snapshots[len(u.snapshots)-1].ID)
	span := newest.Sub(oldest)
	if span < leastSpan {
		return 0, false
	}
	days, total := map[string]bool{}, int64(0)
	for _, s := range u.snapshots {
		days[s.ID[:len("20060102")]] = true
		total += s.Bytes
	}
	daily, packed, first := int64(0), int64(0), newest
	for hour, bytes := range u.packs {
		at, _ := archive.ParseHour(hour)
		if newest.Sub(at) <= leastSpan {
			daily += bytes
		}
		if at.Before(first) {
			first = at
		}
		packed += bytes
	}
	last := u.snapshots[len(u.snapshots)-1].Bytes
	if len(days) < r.Daily && (r.Size == 0 || total+packed+last <= r.Size) {
		bytesADay += last
	}
	if newest.Sub(first) < packDays*24*time.Hour {
		bytesADay += daily
	}
	return bytesADay + int64(float64(u.database)/(span.Hours()/24)), true
}

// lasts returns how long the free space lasts, in words, and whether that is short.
func (o *Options) lasts(free uint64) (text string, short bool) {
	u, err := o.readUsage()
	if err != nil {
		return "how long that lasts is unknown: " + oneLine(err), false
	}
	perDay, ok := u.growth(o.Retention)
	switch {
	case !ok:
		return "how long that lasts is known after a day of builds", false
	case perDay <= 0 || free/uint64(perDay) > daysTooMany:
		return "enough for years at the present rate", false
	}
	days := free / uint64(perDay)
	return fmt.Sprintf("enough for %d days at the present rate of %.1f MB a day", days, float64(perDay)/1e6),
		days < fewDays
}

func (o *Options) readUsage() (u usage, err error) {
	folder, err := output.OpenFolder(o.Public)
	if err != nil {
		return u, err
	}
	if u.snapshots, err = folder.Snapshots(); err != nil {
		return u, err
	}
	if u.packs, err = folder.PackSizes(); err != nil {
		return u, err
	}
	if o.DatabaseURL == "" {
		u.database = folderSize(filepath.Join(o.Data, "postgres"))
	}
	return u, nil
}

// folderSize returns the size of all files in a folder that this user can read. Files may vanish meanwhile.
func folderSize(dir string) (total int64) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".pid") {
			return nil
		}
		if info, err := os.Lstat(path); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
