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

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// place tries where snapshots are published to, and looks at what is.
func (o *Options) place(ctx context.Context, clocks *skews) []Finding {
	if o.To == "" {
		return []Finding{none("snapshots are published to %s alone; publish.to names a bucket", o.Public)}
	}
	store, err := objects.OpenStore(o.To, objects.StoreOptions{Getenv: o.Getenv, Attempts: 3})
	if err != nil {
		return []Finding{wrong("mend publish.to, or AWS_ENDPOINT_URL", "%s", oneLine(err))}
	}
	place := withClock(tryStore(ctx, store), o.bucketClock(ctx, clocks))
	if place.State == Wrong {
		return []Finding{place}
	}
	return []Finding{place, o.published(ctx, store)}
}

// tryStore writes an object under a name that nobody has, reads it, and removes it.
func tryStore(ctx context.Context, store objects.Store) (found Finding) {
	const access = "look at AWS_ENDPOINT_URL, AWS_REGION and the rights of AWS_ACCESS_KEY_ID: it must put, get, " +
		"list and delete"
	name := "doctor-" + strings.ToLower(rand.Text())
	text := []byte("tollbook doctor tried whether this place can be written to; it may be deleted\n")
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := store.Delete(clean, []string{name}); err != nil && found.State != Wrong {
			found = wrong(access, "%s does not delete: %s; %s is left in it", store, oneLine(err), name)
		}
	}()
	etag, err := store.Put(ctx, name, bytes.NewReader(text),
		objects.PutOptions{IfNone: true, Header: objects.Header{Type: "text/plain"}})
	if err != nil {
		return wrong(access, "%s does not take an object: %s", store, oneLine(err))
	}
	_, body, err := store.Get(ctx, name, objects.GetOptions{})
	if err == nil {
		var back []byte
		back, err = io.ReadAll(io.LimitReader(body, 1<<10))
		body.Close()
		if err == nil && !bytes.Equal(back, text) {
			err = errors.New("other bytes come back")
		}
	}
	if err != nil {
		return wrong(access, "%s does not give back what it took: %s", store, oneLine(err))
	}
	const conditions = "publish from one machine alone, or to a store that knows If-Match and If-None-Match: the " +
		"database's lock is all that keeps two publishers apart"
	_, again := store.Put(ctx, name, bytes.NewReader(text), objects.PutOptions{IfNone: true})
	_, other := store.Put(ctx, name, bytes.NewReader(text), objects.PutOptions{IfMatch: strings.Map(turned, etag)})
	for _, err := range []error{again, other} {
		if errors.Is(err, archive.ErrCondition) {
			continue
		}
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return warning(conditions, "%s can be written to, but does not keep conditions", store)
		}
		return wrong(access, "%s: a conditional write: %s", store, oneLine(err))
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
func (o *Options) bucketClock(ctx context.Context, clocks *skews) string {
	endpoint := cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"))
	if !objects.IsBucket(o.To) || endpoint == "" {
		return ""
	}
	began := time.Now()
	header, _, err := head(ctx, endpoint)
	if err != nil {
		return "" // whether it answers is found by what is tried with it
	}
	ahead, ok := clockAhead(header, began)
	if !ok {
		return ""
	}
	return clocks.differs("the bucket", ahead)
}

func (o *Options) published(ctx context.Context, store objects.Store) Finding {
	f := func() Finding {
		_, body, err := store.Get(ctx, checkpointName, objects.GetOptions{})
		if errors.Is(err, fs.ErrNotExist) {
			return warning("tollbook publish --to "+o.To, "%s has no snapshot yet", store)
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
			return wrong("tollbook verify "+o.To+" says what is damaged", "%s: %s", store, oneLine(err))
		}
		return judge(store.String(), p, o.Key, time.Now())
	}()
	f.Check = "published"
	return f
}
