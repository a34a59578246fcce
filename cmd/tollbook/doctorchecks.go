package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/output"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Bounds of what is well.
const (
	maxSkew         = 5 * time.Second     // of clocks
	certificateDays = 14 * 24 * time.Hour // that a certificate must be good for
	leastFree       = 1 << 30             // bytes of disk: a build writes a snapshot before it drops one
	maxLag          = 5 * time.Minute     // of a node behind our clock
	builtLate       = 30 * time.Minute    // after the next build was due
)

// checks are all looks that the configuration asks for.
func (o *doctorOptions) checks(c *config) ([]check, error) {
	key, err := o.signingKey()
	if err != nil {
		return nil, usageError{err}
	}
	networks := map[string]*measuredNetwork{}
	if len(c.Networks)+len(o.RPC) > 0 {
		list, err := o.networks(c.Networks)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			networks[n.ID] = &n
		}
	}
	clocks := &skews{}
	list := []check{
		{"configuration", func(context.Context) []finding { return []finding{lookAtVariables(c)} }},
		{"database", func(ctx context.Context) []finding { return []finding{o.lookAtDatabase(ctx, clocks)} }},
		{"disk", func(context.Context) []finding { return []finding{o.lookAtDisk()} }},
		{"snapshot", func(context.Context) []finding { return []finding{o.lookAtSnapshot(key)} }},
		{"bucket", func(ctx context.Context) []finding { return o.lookAtPlace(ctx, key, clocks) }},
	}
	if len(networks) == 0 {
		list = append(list, check{"nodes", func(context.Context) []finding {
			return []finding{none("no network is configured: no settlements are read")}
		}})
	}
	var ids []string
	for id := range networks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		for i, address := range networks[id].RPC {
			list = append(list, check{fmt.Sprintf("node %s %d", id, i+1), func(ctx context.Context) []finding { return []finding{lookAtNode(ctx, id, address)} }})
		}
	}
	list = append(list, check{"readers", func(ctx context.Context) []finding { return []finding{o.lookAtReaders(ctx, clocks)} }})
	return list, nil
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

// withClock is f, or where f is well the finding that a clock differs.
func withClock(f finding, differs string) finding {
	if differs == "" || f.State == stateWrong {
		return f
	}
	return wrongly(clockAdvice, "%s; %s", f.Found, differs)
}

// dateOf is how far the Date of an answer is ahead; the header has whole seconds.
func dateOf(header http.Header, began time.Time) (time.Duration, bool) {
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

func lookAtVariables(c *config) finding {
	if err := unknownVariables(c, os.Environ()); err != nil {
		return wrongly("take it out, or mend its name; tollbook config prints all", "%s", oneLine(err))
	}
	return good("%s; tollbook config prints all", cmp.Or(c.path, "no file, variables alone"))
}

func (o *doctorOptions) lookAtDatabase(ctx context.Context, clocks *skews) finding {
	dsn, where := os.Getenv("DATABASE_URL"), "DATABASE_URL"
	if dsn == "" {
		dir := filepath.Join(o.Data, "postgres")
		where = "the private Postgres in " + dir
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return none("no database yet: the first command that needs one makes it in %s; DATABASE_URL names another", dir)
		}
		server, err := private.Start(ctx, private.Options{Dir: dir, Say: quiet()})
		if errors.Is(err, private.ErrInUse) {
			return good("%s is in use: %s", where, oneLine(err))
		}
		if err != nil {
			return wrongly("its log is in "+filepath.Join(dir, "log"), "%s does not start: %s", where, oneLine(err))
		}
		defer stopServer(server)
		dsn = server.DSN()
	} else {
		where = databaseHost(dsn)
	}
	c, err := postgres.Inspect(ctx, dsn)
	if errors.Is(err, postgres.ErrOlderSchema) {
		return wrongly("run `tollbook export` with the older program, then `tollbook import` with this one into an empty database", "%s: %s", where, oneLine(err))
	}
	if err != nil {
		return wrongly("look whether the server runs and takes this user from here", "%s: %s", where, oneLine(err))
	}
	f := good("%s: Postgres %s, schema %d, %.1f MB", where, c.Server, c.Schema, float64(c.Bytes)/1e6)
	switch {
	case c.Schema > c.Newest:
		f = wrongly("use a newer tollbook", "%s has schema %d, this program knows %d", where, c.Schema, c.Newest)
	case c.Fault != nil:
		f = wrongly("give the user of DATABASE_URL the right to write, and name the primary, not a replica", "%s can't be written to: %s", where, oneLine(c.Fault))
	case c.Sample:
		f = warning("give the directory another --data folder or DATABASE_URL", "%s holds the sample services of a demo", where)
	case c.Schema < c.Newest:
		f = warning("any command that uses it brings it up to date; stop older ones first", "%s has schema %d, this program makes it %d", where, c.Schema, c.Newest)
	}
	return withClock(f, clocks.differs("the database", c.Ahead))
}

func (o *doctorOptions) lookAtDisk() finding {
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
		return wrongly("name a folder with --data", "%s: %s", dir, oneLine(err))
	case free < leastFree:
		return wrongly("make room: a build writes a whole snapshot before it drops an old one", "%s has %.1f GB left", dir, float64(free)/1e9)
	case free < size/10:
		return warning("make room before it is full", "%s has %.1f GB left, %d %%", dir, float64(free)/1e9, 100*free/size)
	}
	return good("%s has %.1f GB left", dir, float64(free)/1e9)
}

// judge says whether a pointer is of today and ours.
func judge(where string, p output.Checkpoint, key ed25519.PrivateKey, now time.Time) finding {
	age := now.Sub(p.Built()).Round(time.Second)
	if key != nil {
		if err := p.VerifySignature(key.Public().(ed25519.PublicKey)); err != nil {
			return wrongly("build and publish with this key, or name the right one", "snapshot %s of %s is not signed with the signing key: %s", p.Snapshot, where, oneLine(err))
		}
	}
	if age < -maxSkew {
		return wrongly(clockAdvice, "snapshot %s of %s is from the future, by %s", p.Snapshot, where, -age)
	}
	if late := now.Sub(p.Next()); late > builtLate {
		return wrongly("look why tollbook build, or publish, did not run or failed", "snapshot %s of %s is %s old, the next was due %s ago", p.Snapshot, where, age, late.Round(time.Second))
	}
	signed := "not signed"
	if p.Signature != nil {
		signed = "signed"
	}
	return good("snapshot %s of %s, %s old, %s", p.Snapshot, where, age, signed)
}

// checkpointName is the pointer of every place.
const checkpointName = "checkpoint.json"

func (o *doctorOptions) lookAtSnapshot(key ed25519.PrivateKey) finding {
	data, err := readUpTo(filepath.Join(o.public(), checkpointName), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return warning("tollbook build makes one", "%s has no snapshot yet", o.public())
	}
	if err == nil {
		var p output.Checkpoint
		if p, err = output.ParseCheckpoint(data); err == nil {
			return judge(o.public(), p, key, time.Now())
		}
	}
	return wrongly("tollbook build makes a new one; tollbook verify says what else is damaged", "%s: %s", o.public(), oneLine(err))
}

// lookAtPlace tries where snapshots are published to, and looks at what is.
func (o *doctorOptions) lookAtPlace(ctx context.Context, key ed25519.PrivateKey, clocks *skews) []finding {
	if o.To == "" {
		return []finding{none("snapshots are published to %s alone; publish.to names a bucket", o.public())}
	}
	store, err := output.OpenStore(o.To, output.StoreOptions{Getenv: os.Getenv, Attempts: 3})
	if err != nil {
		return []finding{wrongly("mend publish.to, or AWS_ENDPOINT_URL", "%s", oneLine(err))}
	}
	place := withClock(tryStore(ctx, store), o.bucketClock(ctx, clocks))
	if place.State == stateWrong {
		return []finding{place}
	}
	return []finding{place, o.lookAtPublished(ctx, store, key)}
}

// tryStore writes an object under a name that nobody has, reads it, and removes it.
func tryStore(ctx context.Context, store output.Store) (found finding) {
	const access = "look at AWS_ENDPOINT_URL, AWS_REGION and the rights of AWS_ACCESS_KEY_ID: it must put, get, list and delete"
	name := "doctor-" + strings.ToLower(rand.Text())
	text := []byte("tollbook doctor tried whether this place can be written to; it may be deleted\n")
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := store.Delete(clean, []string{name}); err != nil && found.State != stateWrong {
			found = wrongly(access, "%s does not delete: %s; %s is left in it", store, oneLine(err), name)
		}
	}()
	etag, err := store.Put(ctx, name, bytes.NewReader(text), output.PutOptions{IfNone: true, Header: output.Header{Type: "text/plain"}})
	if err != nil {
		return wrongly(access, "%s does not take an object: %s", store, oneLine(err))
	}
	_, body, err := store.Get(ctx, name, output.GetOptions{})
	if err == nil {
		var back []byte
		back, err = io.ReadAll(io.LimitReader(body, 1<<10))
		body.Close()
		if err == nil && !bytes.Equal(back, text) {
			err = errors.New("other bytes come back")
		}
	}
	if err != nil {
		return wrongly(access, "%s does not give back what it took: %s", store, oneLine(err))
	}
	const conditions = "publish from one machine alone, or to a store that knows If-Match and If-None-Match: the database's lock is all that keeps two publishers apart"
	_, again := store.Put(ctx, name, bytes.NewReader(text), output.PutOptions{IfNone: true})
	_, other := store.Put(ctx, name, bytes.NewReader(text), output.PutOptions{IfMatch: strings.Map(turned, etag)})
	for _, err := range []error{again, other} {
		if errors.Is(err, output.ErrCondition) {
			continue
		}
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return warning(conditions, "%s can be written to, but does not keep conditions", store)
		}
		return wrongly(access, "%s: a conditional write: %s", store, oneLine(err))
	}
	return good("%s takes, gives back and deletes an object, and keeps conditions", store)
}

// turned makes another ETag of one.
func turned(r rune) rune {
	switch {
	case r >= '0' && r <= '8' || r >= 'a' && r <= 'e':
		return r + 1
	case r == '9' || r == 'f':
		return '0'
	}
	return r
}

// bucketClock asks a bucket's server for its time, "" where it can't be told.
func (o *doctorOptions) bucketClock(ctx context.Context, clocks *skews) string {
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	if !output.IsBucket(o.To) || endpoint == "" {
		return ""
	}
	began := time.Now()
	header, _, err := head(ctx, endpoint)
	if err != nil {
		return "" // whether it answers is found by what is tried with it
	}
	ahead, ok := dateOf(header, began)
	if !ok {
		return ""
	}
	return clocks.differs("the bucket", ahead)
}

func (o *doctorOptions) lookAtPublished(ctx context.Context, store output.Store, key ed25519.PrivateKey) finding {
	f := func() finding {
		_, body, err := store.Get(ctx, checkpointName, output.GetOptions{})
		if errors.Is(err, fs.ErrNotExist) {
			return warning("tollbook publish --to "+o.To, "%s has no snapshot yet", store)
		}
		var p output.Checkpoint
		if err == nil {
			var data []byte
			data, err = io.ReadAll(io.LimitReader(body, 1<<16))
			body.Close()
			if err == nil {
				p, err = output.ParseCheckpoint(data)
			}
		}
		if err != nil {
			return wrongly("tollbook verify "+o.To+" says what is damaged", "%s: %s", store, oneLine(err))
		}
		return judge(store.String(), p, key, time.Now())
	}()
	f.Check = "published"
	return f
}

func lookAtNode(ctx context.Context, network, address string) finding {
	host := schemeAndHost(address)
	h, err := crawl.InspectNode(ctx, network, address, chain.Options{Timeout: 10 * time.Second})
	if err != nil {
		return wrongly("try another address of this network: rpc of its [[network]]", "%s", oneLine(err))
	}
	if lag := h.PolledAt.Sub(h.Time); lag > maxLag {
		return wrongly("give the node time to catch up, or name another address beside it", "%s is at block %d, %s behind", host, h.Block, lag.Round(time.Second))
	}
	return good("%s serves %s, block %d", host, network, h.Block)
}

// head asks an address without following where it leads.
func head(ctx context.Context, address string) (http.Header, *tls.ConnectionState, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return nil, nil, errors.New("it is no address") // which may hold a secret
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, nil, err
	}
	res.Body.Close()
	return res.Header, res.TLS, nil
}

func (o *doctorOptions) lookAtReaders(ctx context.Context, clocks *skews) finding {
	if o.BaseURL == "" {
		return none("site.base_url does not say where readers come")
	}
	host := schemeAndHost(o.BaseURL)
	began := time.Now()
	header, state, err := head(ctx, strings.TrimSuffix(o.BaseURL, "/")+"/"+checkpointName)
	invalid := new(tls.CertificateVerificationError)
	switch {
	case errors.As(err, &invalid):
		return wrongly("have the certificate made anew, for this name", "%s: %s", host, oneLine(err))
	case err != nil:
		return wrongly("look whether tollbook serve, or what answers in its place, runs and can be reached from here", "%s does not answer: %s", host, oneLine(err))
	}
	differs := ""
	if ahead, ok := dateOf(header, began); ok {
		differs = clocks.differs(host, ahead)
	}
	if state == nil {
		return withClock(good("%s answers, without a certificate", host), differs)
	}
	ends := state.PeerCertificates[0].NotAfter
	if left := time.Until(ends); left < certificateDays {
		return wrongly("renew it, and look why that did not happen by itself", "the certificate of %s ends on %s", host, ends.UTC().Format(time.DateOnly))
	}
	return withClock(good("%s answers, its certificate is good until %s", host, ends.UTC().Format(time.DateOnly)), differs)
}
