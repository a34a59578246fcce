package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"tollbook/cmd/tollbook/report"
	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// place checks the place of publication and the snapshot there.
func (o *Options) place(ctx context.Context, clocks *clockSkews) []Finding {
	if o.To == "" {
		return []Finding{none("snapshots are published only to %s; set publish.to for a bucket", o.Public)}
	}
	store, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: o.Getenv, Attempts: 3})
	if err != nil {
		return []Finding{wrong("correct publish.to or AWS_ENDPOINT_URL", "%s", oneLine(err))}
	}
	var findings []Finding
	if address := cmp.Or(o.BaseURL, settings.DefaultBaseURL); run.LeadsHere(address) && objects.IsRemote(o.To, o.Getenv) {
		f := wrong("set base_url in the section [site] to the address where readers find the directory, and build again",
			"pages of this directory name %s, and tollbook publish refuses them", address)
		f.Check = "address"
		findings = append(findings, f)
	}
	place := withClock(tryStore(ctx, store), o.bucketClock(ctx, clocks))
	findings = append(findings, place)
	if place.State == Wrong {
		return findings
	}
	findings = append(findings, o.published(ctx, store))
	if objects.IsBucket(o.To) {
		findings = append(findings, o.cost(store.String()))
	}
	return findings
}

// muchADay is the cost in dollars a day above which doctor says how to lower it.
const muchADay = 1

// cost says what the last publication to a bucket sent, and what that costs.
func (o *Options) cost(place string) (f Finding) {
	defer func() { f.Check = "cost" }()
	folder, err := output.OpenFolder(o.Public)
	if err != nil {
		return none("%s", oneLine(err)) // another check reports it
	}
	p, ok, err := folder.LastPublished(place)
	if err != nil {
		return warning("delete the file; the next publication writes it again", "%s", oneLine(err))
	}
	if !ok {
		return none("the requests of a publication are counted with the next one to %s", place)
	}
	sent := "the last publication, of " + p.Checkpoint.Snapshot + ": " + report.Requests(p)
	c := report.CostOf(p)
	if c == nil {
		return good("%s", sent)
	}
	if f = good("%s; %s; %s", sent, c.Daily(), c.Dollars()); c.Highest() > muchADay {
		f = warning(
			"publish with --expand none if tollbook serve or a worker answers readers, or set schedule.publish "+
				"to publish less often", "%s", f.Found)
	}
	return f
}

const storeAccess = "check AWS_ENDPOINT_URL, AWS_REGION and the rights of AWS_ACCESS_KEY_ID: put, get, list and delete"

// tryStore writes an object under a random name, reads it, and deletes it.
func tryStore(ctx context.Context, store objects.Store) (finding Finding) {
	name := "doctor-" + strings.ToLower(rand.Text())
	text := []byte("Tollbook doctor checked with this object that it can write here. It may be deleted.\n")
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := store.Delete(clean, []string{name}); err != nil && finding.State != Wrong {
			finding = wrong(storeAccess, "%s does not delete: %s; delete %s by hand", store, oneLine(err), name)
		}
	}()
	etag, err := store.Put(ctx, name, bytes.NewReader(text),
		objects.PutOptions{IfNone: true, Header: objects.Header{Type: "text/plain"}})
	if err != nil {
		return wrong(storeAccess, "%s refuses to store an object: %s", store, oneLine(err))
	}
	_, body, err := store.Get(ctx, name, objects.GetOptions{})
	if err == nil {
		var back []byte
		back, err = io.ReadAll(io.LimitReader(body, 1<<10))
		body.Close()
		if err == nil && !bytes.Equal(back, text) {
			err = errors.New("it returns other bytes")
		}
	}
	if err != nil {
		return wrong(storeAccess, "%s does not return a stored object: %s", store, oneLine(err))
	}
	return tryConditions(ctx, store, name, etag)
}

// tryConditions writes an object on conditions that do not hold, and on one that does. Stores that do not know
// conditions refuse such a write, or store it as if there were none.
func tryConditions(ctx context.Context, store objects.Store, name, etag string) Finding {
	const advice = "publish from one machine only, because only the lock in the database keeps two publishers apart, or to " +
		"a store with conditional writes; the page about hosting lists some"
	write := func(o objects.PutOptions) error {
		_, err := store.Put(ctx, name, strings.NewReader("Tollbook doctor wrote this. It may be deleted.\n"), o)
		return err
	}
	for _, try := range []struct {
		header  string
		options objects.PutOptions
	}{
		{"If-None-Match", objects.PutOptions{IfNone: true}},
		{"If-Match", objects.PutOptions{IfMatch: strings.Map(changeDigit, etag)}},
	} {
		switch err := write(try.options); {
		case errors.Is(err, archive.ErrCondition):
		case err == nil:
			return warning(advice, "%s ignores %s in silence: it stored an object although the condition did not hold", store,
				try.header)
		case errors.Is(err, errors.ErrUnsupported):
			return warning(advice, "%s refuses writes with %s: it does not support conditional writes", store, try.header)
		default:
			return wrong(storeAccess, "%s: a conditional write: %s", store, oneLine(err))
		}
	}
	if err := write(objects.PutOptions{IfMatch: etag}); errors.Is(err, archive.ErrCondition) {
		return warning(advice, "%s refuses a write with If-Match and the ETag that it returned", store)
	} else if err != nil {
		return wrong(storeAccess, "%s: a conditional write: %s", store, oneLine(err))
	}
	return good("%s stores, returns and deletes an object, and supports conditional writes", store)
}

// changeDigit replaces a hexadecimal digit, to turn an ETag into another one.
func changeDigit(r rune) rune {
	switch {
	case r >= '0' && r <= '8' || r >= 'a' && r <= 'e':
		return r + 1
	case r == '9' || r == 'f':
		return '0'
	}
	return r
}

// bucketClock returns a text if the clock of a bucket's server differs from ours, "" if not or if it is unknown.
func (o *Options) bucketClock(ctx context.Context, clocks *clockSkews) string {
	endpoint := cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"))
	if !objects.IsBucket(o.To) || endpoint == "" {
		return ""
	}
	began := time.Now()
	header, _, err := head(ctx, endpoint)
	if err != nil {
		return "" // tryStore reports whether the bucket answers
	}
	skew, ok := clockSkew(header, began)
	if !ok {
		return ""
	}
	return clocks.differs("the bucket", skew)
}

func (o *Options) published(ctx context.Context, store objects.Store) Finding {
	f := func() Finding {
		_, body, err := store.Get(ctx, checkpointName, objects.GetOptions{})
		if errors.Is(err, fs.ErrNotExist) {
			return warning("tollbook publish --publish-to "+o.To, "%s has no snapshot yet", store)
		}
		var p archive.Checkpoint
		if err == nil {
			var data []byte
			data, err = io.ReadAll(io.LimitReader(body, 1<<16))
			body.Close()
			if err == nil {
				p, err = archive.ParseCheckpoint(data)
			}
		}
		if err != nil {
			return wrong("tollbook verify "+o.To+" shows what is damaged", "%s: %s", store, oneLine(err))
		}
		return judge(store.String(), p, o.Key, "tollbook publish", time.Now())
	}()
	f.Check = "published"
	return f
}
