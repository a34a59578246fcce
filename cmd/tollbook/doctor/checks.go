package doctor

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
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

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/postgres"
	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/private"
	"tollbook/site/routes"
)

// Limits beyond which a finding is a warning or a fault.
const (
	maxSkew         = 5 * time.Second     // between two clocks
	certificateDays = 14 * 24 * time.Hour // that a certificate must be valid
	leastFree       = 1 << 30             // bytes of disk, because a build writes a snapshot before it deletes one
	maxLag          = 5 * time.Minute     // of a node's newest block
	builtLate       = 30 * time.Minute    // after the next build was due
	stopGrace       = time.Second         // for a private Postgres to stop
)

// Checks returns a check of each component.
func Checks(o Options) []Check {
	clocks := &clockSkews{}
	one := func(name string, run func(context.Context) Finding) Check {
		return Check{name, func(ctx context.Context) []Finding { return []Finding{run(ctx)} }}
	}
	list := []Check{
		one("configuration", func(context.Context) Finding { return o.configuration() }),
		one("contact", func(context.Context) Finding { return o.contact() }),
		one("crawler key", func(ctx context.Context) Finding { return o.crawlerKey(ctx) }),
		{"database", func(ctx context.Context) []Finding {
			var seen postgres.Condition
			return append([]Finding{o.database(ctx, clocks, &seen)}, visits(&seen, time.Now())...)
		}},
		one("disk", func(context.Context) Finding { return o.disk() }),
		one("snapshot", func(context.Context) Finding { return o.snapshot() }),
		{"bucket", func(ctx context.Context) []Finding { return o.place(ctx, clocks) }},
	}
	if names := probe.IgnoredProxies(o.Getenv); len(names) > 0 {
		list = slices.Insert(list, 2, one("proxy", func(context.Context) Finding { return proxy(names) }))
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

// clockSkews collects how other clocks differ from ours.
type clockSkews struct {
	mu    sync.Mutex
	texts []string
}

// differs returns a text if another clock and ours differ by more than maxSkew, else "".
func (s *clockSkews) differs(whose string, skew time.Duration) string {
	if skew.Abs() <= maxSkew {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("the clock of %s differs from ours by %s", whose, skew.Round(time.Second))
	s.texts = append(s.texts, text)
	return text
}

// clockAdvice is the fix for a clock that differs.
const clockAdvice = "set both clocks by NTP (timedatectl set-ntp true): windows, leases and signatures need them"

// withClock returns f, or a fault if a clock differs and f is none.
func withClock(f Finding, differs string) Finding {
	if differs == "" || f.State == Wrong {
		return f
	}
	return wrong(clockAdvice, "%s; %s", f.Found, differs)
}

// clockSkew returns how far the Date of a response is ahead of our clock. The header has whole seconds.
func clockSkew(header http.Header, began time.Time) (time.Duration, bool) {
	at, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0, false
	}
	return at.Add(500 * time.Millisecond).Sub(began.Add(time.Since(began) / 2)), true
}

// oneLine returns the text of an error in one line, without secrets.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(settings.RedactText(err.Error()), "\n", "; ")), " ")
}

func (o *Options) configuration() Finding {
	return good("%s; tollbook config prints all settings", o.Configuration)
}

func (o *Options) contact() Finding {
	if !o.HasContact {
		why := "is not set"
		if o.Contact != "" {
			why = o.Contact + " is only an example"
		}
		return warning(
			`add contact = "mailto:you@your-domain", or the URL of a page, to the section [crawl] of tollbook.toml`,
			"crawl.contact %s: services on hosts of others are not visited", why)
	}
	return good("%s is named in each request to a service", o.Contact)
}

// proxy says that the proxies of these variables are not used.
func proxy(names []string) Finding {
	return warning(probe.ProxyAdvice, "services are asked directly, although %s names a proxy: a proxy resolves names "+
		"itself, and the guard against private addresses must see where a request goes", strings.Join(names, ", "))
}

// database checks the database, and sets what it has seen of it.
func (o *Options) database(ctx context.Context, clocks *clockSkews, seen *postgres.Condition) Finding {
	dsn, where := o.DatabaseURL, "DATABASE_URL"
	if dsn == "" {
		dir := filepath.Join(o.Data, "postgres")
		where = "the private Postgres in " + dir
		folder, err := run.ReadFolder(o.Data)
		if err == nil {
			err = run.CheckPrivate(o.Data, folder)
		}
		switch {
		case err != nil && folder == nil && errors.Is(err, run.ErrForeign):
			return warning(foreignAdvice+"; a machine that only serves a copy needs no database", "%s", oneLine(err))
		case err != nil:
			return wrong(foreignAdvice, "%s", oneLine(err))
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return none("no database yet: the first command that needs one creates it in %s, unless DATABASE_URL "+
				"is set",
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
		where = settings.DatabaseHost(dsn)
	}
	c, err := postgres.Inspect(ctx, dsn)
	if errors.Is(err, postgres.ErrPooling) {
		return wrong("set pool_mode = session for this database, or name Postgres itself in DATABASE_URL; the page about "+
			"hosting says why", "%s: %s", where, oneLine(err))
	}
	if errors.Is(err, migration.ErrOlderSchema) {
		return wrong(
			"run `tollbook export` with the older program, then `tollbook import` with this one into an empty database",
			"%s: %s", where, oneLine(err))
	}
	if err != nil {
		return wrong("check that the server runs and accepts this user from this machine",
			"%s: %s", where, oneLine(err))
	}
	*seen = c
	f := good("%s: Postgres %s, schema %d, %.1f MB", where, c.Server, c.Schema, float64(c.Bytes)/1e6)
	switch {
	case c.Schema > c.NewestSchema:
		f = wrong(c.UseProgram, "%s has schema %d, this program supports up to %d", where, c.Schema, c.NewestSchema)
	case o.isForeign(c.Identity) != "":
		f = wrong(foreignAdvice, "%s has the identity %s: %s", where, c.Identity, o.isForeign(c.Identity))
	case c.WriteError != nil:
		f = wrong("grant the user of DATABASE_URL the right to write, and name the primary, not a replica",
			"%s can't be written to: %s", where, oneLine(c.WriteError))
	case c.Sample:
		f = warning("use another --data folder or DATABASE_URL",
			"%s contains the sample services of a demo", where)
	case c.Schema < c.NewestSchema:
		f = warning("stop older programs; tollbook migrate --plan says what tollbook migrate then does",
			"%s has schema %d, this program migrates it to %d", where, c.Schema, c.NewestSchema)
	}
	return withClock(f, clocks.differs("the database", c.ClockAhead))
}

// visits says whether services are visited when they are due; nothing of a database that was not read, or is empty.
func visits(c *postgres.Condition, now time.Time) []Finding {
	if c.Schema == 0 || c.Schema > c.NewestSchema {
		return nil
	}
	f := good("no visit is overdue by more than %s", postgres.OverdueAfter)
	if c.OldestDue != nil {
		f = warning("find out why tollbook up, work or crawl did not run; tollbook crawl --once visits what is due",
			"overdue visits: %d, the first since %s, for %s", c.Overdue, c.OldestDue.UTC().Format(time.RFC3339),
			now.Sub(*c.OldestDue).Round(time.Minute))
	}
	f.Check = "visits"
	return []Finding{f}
}

// foreignAdvice is the fix for a database that is not the one of the data folder or of the snapshot.
const foreignAdvice = "set DATABASE_URL and --data as the service that runs this directory has them"

// isForeign says which other database the data folder or its snapshot belongs to, "" for none and if it is unknown.
func (o *Options) isForeign(identity string) string {
	if identity == "" {
		return ""
	}
	if folder, err := run.ReadFolder(o.Data); err == nil && folder != nil && folder.Identity != identity {
		return fmt.Sprintf("%s belongs to another database, %s", o.Data, folder.Identity)
	}
	p, err := archive.ReadCheckpoint(filepath.Join(o.Public, checkpointName))
	if err != nil {
		return "" // another check reports it
	}
	index, err := readIndex(filepath.Join(o.Public, "snapshots", p.Snapshot+".zip"))
	if err != nil || index.Database == "" || index.Database == identity {
		return ""
	}
	return fmt.Sprintf("snapshot %s of %s was built from another database, %s", p.Snapshot, o.Public, index.Database)
}

// readIndex reads the index of a snapshot.
func readIndex(zip string) (index routes.Index, err error) {
	z, err := archive.OpenZipFile(zip)
	if err != nil {
		return index, err
	}
	defer z.Close()
	data, err := z.ReadFile(routes.IndexFile)
	if err != nil {
		return index, err
	}
	return index, json.Unmarshal(data, &index)
}

func (o *Options) disk() Finding {
	dir := o.Data
	for { // the folder may not exist yet
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	size, free, err := output.Room(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return none("the free space of %s is unknown on this system", dir)
	case err != nil:
		return wrong("name another folder with --data", "%s: %s", dir, oneLine(err))
	case free < leastFree:
		return wrong("free space: a build writes a whole snapshot before it deletes an old one", "%s has %.1f GB free",
			dir, float64(free)/1e9)
	}
	lasts, short := o.lasts(free)
	switch {
	case short:
		return warning("make room, or keep less: publish.keep_daily, publish.keep_size", "%s has %.1f GB free, %s", dir,
			float64(free)/1e9, lasts)
	case free < size/10:
		return warning("free space before the disk is full", "%s has %.1f GB free, %d %%, %s", dir, float64(free)/1e9,
			100*free/size, lasts)
	}
	return good("%s has %.1f GB free, %s", dir, float64(free)/1e9, lasts)
}

// judge returns whether a pointer is recent and signed with our key. writes is the command that replaces the pointer,
// and that needs the key.
func judge(where string, p archive.Checkpoint, key ed25519.PrivateKey, writes string, now time.Time) Finding {
	age := now.Sub(p.Built()).Round(time.Second)
	if key != nil {
		if err := p.VerifySignature(key.Public().(ed25519.PublicKey)); err != nil {
			return wrong("configure the key that signed it, or build and publish with this one and --change-key",
				"snapshot %s of %s is not signed with the signing key: %s", p.Snapshot, where, oneLine(err))
		}
	}
	if age < -maxSkew {
		return wrong(clockAdvice, "snapshot %s of %s is from the future, by %s", p.Snapshot, where, -age)
	}
	if late := now.Sub(p.Next()); late > builtLate {
		return wrong("find out why tollbook build or publish did not run or failed",
			"snapshot %s of %s is %s old, the next was due %s ago", p.Snapshot, where, age, late.Round(time.Second))
	}
	if key == nil && p.Signature != nil {
		return warning("set publish.key or TOLLBOOK_SIGNING_KEY as the service that runs this directory has it; a machine "+
			"that only serves a copy needs no key",
			"snapshot %s of %s is signed, and no signing key is configured: %s would be refused", p.Snapshot, where,
			writes)
	}
	signed := "not signed"
	if p.Signature != nil {
		signed = "signed"
	}
	return good("snapshot %s of %s, %s old, %s", p.Snapshot, where, age, signed)
}

// withSetAside returns f, or a warning if the build of a good snapshot set services aside.
func withSetAside(f Finding, zip string) Finding {
	index, err := readIndex(zip)
	if err != nil || f.State != Good || len(index.SetAside) == 0 {
		return f // tollbook verify finds what is damaged
	}
	var texts []string
	for _, s := range index.SetAside {
		texts = append(texts, fmt.Sprintf("%s since %s (%s)", s.Slug, s.Since, s.Reason))
	}
	return warning(
		"correct the row that the reason names, or restore the database from a back-up; see /troubleshooting",
		"%s; damaged services whose last files stay: %s", f.Found, strings.Join(texts, "; "))
}

// checkpointName is the name of the pointer in every place.
const checkpointName = "checkpoint.json"

func (o *Options) snapshot() Finding {
	data, err := os.ReadFile(filepath.Join(o.Public, checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return warning("run tollbook build", "%s has no snapshot yet", o.Public)
	}
	if err == nil {
		var p archive.Checkpoint
		if p, err = archive.ParseCheckpoint(data); err == nil {
			return withSetAside(judge(o.Public, p, o.Key, "tollbook build", time.Now()), filepath.Join(o.Public, "snapshots",
				p.Snapshot+".zip"))
		}
	}
	return wrong("run tollbook build for a new one; tollbook verify finds what else is damaged", "%s: %s", o.Public,
		oneLine(err))
}
