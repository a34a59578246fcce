package doctor

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/cmd/tollbook/redact"
	"tollbook/output/archive"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Limits beyond which a finding is a warning or wrong.
const (
	maxSkew         = 5 * time.Second     // of clocks
	certificateDays = 14 * 24 * time.Hour // that a certificate must be good for
	leastFree       = 1 << 30             // bytes of disk: a build writes a snapshot before it drops one
	maxLag          = 5 * time.Minute     // of a node behind our clock
	builtLate       = 30 * time.Minute    // after the next build was due
	stopGrace       = time.Second         // for a private Postgres to stop
)

// Checks returns a check of each component.
func Checks(o Options) []Check {
	clocks := &skews{}
	one := func(name string, run func(context.Context) Finding) Check {
		return Check{name, func(ctx context.Context) []Finding { return []Finding{run(ctx)} }}
	}
	list := []Check{
		one("configuration", func(context.Context) Finding { return o.configuration() }),
		one("database", func(ctx context.Context) Finding { return o.database(ctx, clocks) }),
		one("disk", func(context.Context) Finding { return o.disk() }),
		one("snapshot", func(context.Context) Finding { return o.snapshot() }),
		{"bucket", func(ctx context.Context) []Finding { return o.place(ctx, clocks) }},
	}
	if len(o.RPC) == 0 {
		list = append(list, one("nodes", func(context.Context) Finding {
			return none("no network is configured: no settlements are read")
		}))
	}
	for _, id := range slices.Sorted(maps.Keys(o.RPC)) {
		for i, address := range o.RPC[id] {
			list = append(list, one(fmt.Sprintf("node %s %d", id, i+1), func(ctx context.Context) Finding {
				return node(ctx, id, address)
			}))
		}
	}
	return append(list, one("readers", func(ctx context.Context) Finding { return o.readers(ctx, clocks) }))
}

// skews collects how other clocks differ from ours.
type skews struct {
	mu   sync.Mutex
	said []string
}

// differs is a warning where somebody's clock and ours differ by more than they may, "" where not.
func (s *skews) differs(whose string, ahead time.Duration) string {
	if ahead.Abs() <= maxSkew {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("the clock of %s differs from ours by %s", whose, ahead.Round(time.Second))
	s.said = append(s.said, text)
	return text
}

// clockAdvice is what to do about it.
const clockAdvice = "set both clocks by NTP (timedatectl set-ntp true): windows, leases and signatures go by them"

// withClock is f, or where f is well the Finding that a clock differs.
func withClock(f Finding, differs string) Finding {
	if differs == "" || f.State == Wrong {
		return f
	}
	return wrong(clockAdvice, "%s; %s", f.Found, differs)
}

// clockAhead is how far the Date of an answer is ahead; the header has whole seconds.
func clockAhead(header http.Header, began time.Time) (time.Duration, bool) {
	at, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0, false
	}
	return at.Add(500 * time.Millisecond).Sub(began.Add(time.Since(began) / 2)), true
}

// oneLine is an error in one line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
}

func (o *Options) configuration() Finding {
	found, err := o.Configuration()
	if err != nil {
		return wrong("take it out, or mend its name; tollbook config prints all", "%s", oneLine(err))
	}
	return good("%s; tollbook config prints all", found)
}

func (o *Options) database(ctx context.Context, clocks *skews) Finding {
	dsn, where := o.DatabaseURL, "DATABASE_URL"
	if dsn == "" {
		dir := filepath.Join(o.Data, "postgres")
		where = "the private Postgres in " + dir
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return none("no database yet: the first command that needs one makes it in %s; DATABASE_URL names another",
				dir)
		}
		server, err := private.Start(ctx, private.Options{Dir: dir, Say: func(line string) { o.Logger.Info(line) }})
		if errors.Is(err, private.ErrInUse) {
			return good("%s is in use: %s", where, oneLine(err))
		}
		if err != nil {
			return wrong("its log is in "+filepath.Join(dir, "log"), "%s does not start: %s", where, oneLine(err))
		}
		defer func() {
			stopped, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
			defer cancel()
			_ = server.Stop(stopped)
		}()
		dsn = server.DSN()
	} else {
		where = redact.DatabaseHost(dsn)
	}
	c, err := postgres.Inspect(ctx, dsn)
	if errors.Is(err, postgres.ErrOlderSchema) {
		return wrong(
			"run `tollbook export` with the older program, then `tollbook import` with this one into an empty database",
			"%s: %s", where, oneLine(err))
	}
	if err != nil {
		return wrong("look whether the server runs and takes this user from here", "%s: %s", where, oneLine(err))
	}
	f := good("%s: Postgres %s, schema %d, %.1f MB", where, c.Server, c.Schema, float64(c.Bytes)/1e6)
	switch {
	case c.Schema > c.NewestSchema:
		f = wrong("use a newer tollbook", "%s has schema %d, this program knows %d", where, c.Schema, c.NewestSchema)
	case c.WriteError != nil:
		f = wrong("give the user of DATABASE_URL the right to write, and name the primary, not a replica",
			"%s can't be written to: %s", where, oneLine(c.WriteError))
	case c.Sample:
		f = warning("give the directory another --data folder or DATABASE_URL",
			"%s holds the sample services of a demo", where)
	case c.Schema < c.NewestSchema:
		f = warning("any command that uses it brings it up to date; stop older ones first",
			"%s has schema %d, this program makes it %d", where, c.Schema, c.NewestSchema)
	}
	return withClock(f, clocks.differs("the database", c.ClockAhead))
}

func (o *Options) disk() Finding {
	dir := o.Data
	for { // the folder may have to be made
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	size, free, err := diskRoom(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return none("how much room %s has is not told on this system", dir)
	case err != nil:
		return wrong("name a folder with --data", "%s: %s", dir, oneLine(err))
	case free < leastFree:
		return wrong("make room: a build writes a whole snapshot before it drops an old one", "%s has %.1f GB left",
			dir, float64(free)/1e9)
	case free < size/10:
		return warning("make room before it is full", "%s has %.1f GB left, %d %%", dir, float64(free)/1e9,
			100*free/size)
	}
	return good("%s has %.1f GB left", dir, float64(free)/1e9)
}

// judge says whether a pointer is of today and ours.
func judge(where string, p archive.Checkpoint, key ed25519.PrivateKey, now time.Time) Finding {
	age := now.Sub(p.Built()).Round(time.Second)
	if key != nil {
		if err := p.VerifySignature(key.Public().(ed25519.PublicKey)); err != nil {
			return wrong("build and publish with this key, or name the right one",
				"snapshot %s of %s is not signed with the signing key: %s", p.Snapshot, where, oneLine(err))
		}
	}
	if age < -maxSkew {
		return wrong(clockAdvice, "snapshot %s of %s is from the future, by %s", p.Snapshot, where, -age)
	}
	if late := now.Sub(p.Next()); late > builtLate {
		return wrong("look why tollbook build, or publish, did not run or failed",
			"snapshot %s of %s is %s old, the next was due %s ago", p.Snapshot, where, age, late.Round(time.Second))
	}
	signed := "not signed"
	if p.Signature != nil {
		signed = "signed"
	}
	return good("snapshot %s of %s, %s old, %s", p.Snapshot, where, age, signed)
}

// checkpointName is the pointer of every place.
const checkpointName = "checkpoint.json"

func (o *Options) snapshot() Finding {
	data, err := os.ReadFile(filepath.Join(o.Public, checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return warning("tollbook build makes one", "%s has no snapshot yet", o.Public)
	}
	if err == nil {
		var p archive.Checkpoint
		if p, err = archive.ParseCheckpoint(data); err == nil {
			return judge(o.Public, p, o.Key, time.Now())
		}
	}
	return wrong("tollbook build makes a new one; tollbook verify says what else is damaged", "%s: %s", o.Public,
		oneLine(err))
}
