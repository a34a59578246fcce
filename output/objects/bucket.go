package objects

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"tollbook/output/archive"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Limits of a bucket's requests.
const (
	bucketAttempts = 10
	connections    = 128              // idle connections that stay open: one for each concurrent Put pays
	stallAfter     = 20 * time.Second // a request without a byte sent or received for this long is repeated
)

// Bucket is a store in a bucket of any server that speaks S3.
//
// An object is as durable after Put as the server promises. A large body is sent in concurrent parts and becomes
// visible when all have arrived. The server checks a condition of Put only for bodies of one part.
//
// The signature of a request covers the SHA-256 of its body, so the server checks what it receives. The exception are
// parts that are read back anyway and that go over TLS or loopback: there the signature covers the request alone.
type Bucket struct {
	core     minio.Core
	bucket   string
	prefix   string // "" or with a slash at its end
	where    string
	attempts int // of each request
	http     *transport
	trusted  bool // requests go over TLS or loopback, so nobody can change them
}

// OpenBucket opens "bucket/prefix". Without credentials it sends anonymous requests, which can read public buckets.
func OpenBucket(path string, o StoreOptions) (*Bucket, error) {
	name, prefix, _ := strings.Cut(path, "/")
	if err := checkBucketName(name); err != nil {
		return nil, fmt.Errorf("open bucket %.80q: %w", withoutUser(path), err)
	}
	prefix = strings.Trim(prefix, "/")
	b := &Bucket{bucket: name, attempts: cmp.Or(o.Attempts, bucketAttempts),
		where: "s3://" + strings.TrimSuffix(name+"/"+prefix, "/")}
	if prefix != "" {
		if err := archive.CheckName(prefix); err != nil {
			return nil, fmt.Errorf("open bucket %.80q: %w", path, err)
		}
		b.prefix = prefix + "/"
	}
	region := cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	endpoint, err := url.Parse(cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"),
		"https://s3."+region+".amazonaws.com"))
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" ||
		strings.Trim(endpoint.Path, "/") != "" || endpoint.User != nil {
		return nil, fmt.Errorf("open bucket %s: AWS_ENDPOINT_URL is not a URL such as https://s3.example", b.where)
	}
	creds := credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	if key := o.Getenv("AWS_ACCESS_KEY_ID"); key != "" {
		creds = credentials.NewStaticV4(key, o.Getenv("AWS_SECRET_ACCESS_KEY"), o.Getenv("AWS_SESSION_TOKEN"))
	}
	b.http = newTransport(cmp.Or(o.Stall, stallAfter))
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: creds, Secure: endpoint.Scheme == "https", Region: region,
		Transport:  b.http,
		MaxRetries: 1, // retry repeats more: also requests whose response breaks off
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", b.where, err)
	}
	b.core = minio.Core{Client: client}
	b.trusted = endpoint.Scheme == "https" || IsLoopback(endpoint.Hostname())
	return b, nil
}

// IsLoopback reports whether a host without a port is this machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func checkBucketName(name string) error {
	if len(name) < 3 || len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return errors.New("a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	return nil
}

// String implements Store.
func (b *Bucket) String() string { return b.where }

// KeepsHeader implements Store.
func (b *Bucket) KeepsHeader() bool { return true }

// Traffic implements Store.
func (b *Bucket) Traffic() Traffic { return b.http.traffic() }

// key returns the name of an object in the bucket.
func (b *Bucket) key(name string) (string, error) {
	if err := archive.CheckName(name); err != nil {
		return "", err
	}
	return b.prefix + name, nil
}

// Get implements Store.
func (b *Bucket) Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error) {
	key, err := b.key(name)
	if err != nil {
		return Object{}, nil, fmt.Errorf("get %s: %w", name, err)
	}
	var opts minio.GetObjectOptions
	partial := o.Offset > 0 || o.Length > 0
	if partial {
		last := ""
		if o.Length > 0 {
			last = strconv.FormatInt(o.Offset+o.Length-1, 10)
		}
		opts.Set("Range", "bytes="+strconv.FormatInt(o.Offset, 10)+"-"+last)
	}
	if o.IfMatch != "" {
		opts.Set("If-Match", `"`+o.IfMatch+`"`)
	}
	if o.IfNone != "" {
		opts.Set("If-None-Match", `"`+o.IfNone+`"`)
	}
	opts.Set("Accept-Encoding", "identity") // otherwise Go's client would unpack objects that are stored packed
	var body io.ReadCloser
	var info minio.ObjectInfo
	var header http.Header
	if err := b.retry(ctx, "get", name, func(ctx context.Context) (err error) {
		body, info, header, err = b.core.GetObject(ctx, b.bucket, key, opts)
		return err
	}); err != nil {
		return Object{}, nil, err
	}
	obj := newObject(name, info)
	if partial {
		total, err := strconv.ParseInt(header.Get("Content-Range")[strings.LastIndexByte(header.Get("Content-Range"),
			'/')+1:], 10, 64)
		if err != nil {
			body.Close()
			return Object{}, nil, fmt.Errorf("get %s: the server does not support ranges", name)
		}
		obj.Size = total
	}
	return obj, &responseBody{body, name}, nil
}

func newObject(name string, info minio.ObjectInfo) Object {
	return Object{
		Name: name, Size: info.Size, ETag: info.ETag, Modified: info.LastModified,
		Header: Header{Type: info.ContentType, Encoding: info.Metadata.Get("Content-Encoding"),
			Cache: info.Metadata.Get("Cache-Control")},
	}
}

// Stat implements Store.
func (b *Bucket) Stat(ctx context.Context, name string) (Object, error) {
	key, err := b.key(name)
	if err != nil {
		return Object{}, fmt.Errorf("stat %s: %w", name, err)
	}
	var info minio.ObjectInfo
	if err := b.retry(ctx, "stat", name, func(ctx context.Context) (err error) {
		info, err = b.core.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
		return err
	}); err != nil {
		return Object{}, err
	}
	return newObject(name, info), nil
}

// List implements Store. If a page of the list can't be read, the next attempt continues behind the last name.
func (b *Bucket) List(ctx context.Context, folder string) ([]Object, error) {
	var list []Object
	last := "" // key
	for {
		before := last
		err := b.retry(ctx, "list", folder, func(ctx context.Context) error {
			// otherwise the goroutine that lists would wait forever after an early return
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for info := range b.core.Client.ListObjects(ctx, b.bucket,
				minio.ListObjectsOptions{Prefix: b.prefix + folder, Recursive: true, StartAfter: last}) {
				if info.Err != nil {
					return info.Err
				}
				last = info.Key
				if name := strings.TrimPrefix(info.Key, b.prefix); !strings.HasSuffix(name, "/") {
					list = append(list, newObject(name, info))
				} // else it is a folder that somebody created as an object
			}
			return nil
		})
		if errors.Is(err, archive.ErrUnreachable) && last != before {
			continue // a long list may take more attempts than one request has
		}
		if err == nil && ctx.Err() != nil {
			err = fmt.Errorf("list %s: %w", folder, ctx.Err())
		}
		if err != nil {
			return nil, err
		}
		slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
		return list, nil
	}
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, names []string) error {
	for part := range slices.Chunk(names, 1000) { // the maximum of one request
		keys := make([]string, len(part))
		for i, name := range part {
			var err error
			if keys[i], err = b.key(name); err != nil {
				return fmt.Errorf("delete %s: %w", name, err)
			}
		}
		what := part[0]
		if len(part) > 1 {
			what = fmt.Sprintf("%s and %d more", what, len(part)-1)
		}
		if err := b.retry(ctx, "delete", what, func(ctx context.Context) error {
			return b.removeKeys(ctx, keys)
		}); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// removeKeys removes objects by one request. A missing one is not an error.
func (b *Bucket) removeKeys(ctx context.Context, keys []string) (first error) {
	objects := make(chan minio.ObjectInfo, len(keys))
	for _, key := range keys {
		objects <- minio.ObjectInfo{Key: key}
	}
	close(objects)
	for f := range b.core.RemoveObjects(ctx, b.bucket, objects, minio.RemoveObjectsOptions{}) {
		if !errors.Is(b.wrapError(ctx, "delete", f.ObjectName, f.Err), fs.ErrNotExist) {
			first = cmp.Or(first, f.Err)
		}
	}
	return first
}

// Sweep implements Store. It aborts uploads that were never completed, because the operator pays for their parts.
func (b *Bucket) Sweep(ctx context.Context, keep string) error {
	if err := b.abortUploads(ctx, b.prefix, keep); err != nil {
		return err
	}
	// MinIO lists the uploads of a whole bucket or of one object, not of a folder. A policy may forbid to list the
	// whole bucket; such a bucket is not on MinIO.
	if b.prefix != "" && ctx.Err() == nil {
		_ = b.abortUploads(ctx, "", keep)
	}
	return ctx.Err()
}

func (b *Bucket) abortUploads(ctx context.Context, listed, keep string) error {
	uploads, err := b.uploads(ctx, listed)
	if err != nil {
		return err
	}
	for _, up := range uploads {
		name, ours := strings.CutPrefix(up.Key, b.prefix)
		if !ours || name == keep {
			continue
		}
		if err := b.retry(ctx, "sweep", name, func(ctx context.Context) error {
			return b.core.AbortMultipartUpload(ctx, b.bucket, up.Key, up.UploadID)
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// uploads lists the uploads below a key that were neither completed nor aborted.
func (b *Bucket) uploads(ctx context.Context, listed string) (list []minio.ObjectMultipartInfo, err error) {
	err = b.retry(ctx, "list uploads of", listed, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		list = nil
		for up := range b.core.ListIncompleteUploads(ctx, b.bucket, listed, true) {
			if up.Err != nil {
				return up.Err
			}
			list = append(list, up)
		}
		return nil
	})
	return list, err
}

// IncompleteUploads returns the keys of all uploads in the bucket that were neither completed nor aborted. Sweep
// removes those below the prefix.
func (b *Bucket) IncompleteUploads(ctx context.Context) (keys []string, err error) {
	uploads, err := b.uploads(ctx, "")
	for _, up := range uploads {
		keys = append(keys, up.Key)
	}
	return keys, err
}

// wrapError returns err as one of the errors that Store promises. It keeps only the code and message of a server's
// response: the rest repeats parts of the request.
func (b *Bucket) wrapError(ctx context.Context, verb, name string, err error) error {
	if err == nil {
		return nil
	}
	what := b.describe(verb, name)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		advice := "check AWS_ENDPOINT_URL"
		if errors.As(err, new(*tls.CertificateVerificationError)) {
			advice = "have that server's certificate renewed, or check AWS_ENDPOINT_URL"
		}
		return fmt.Errorf("%s: %w: %w; %s", what, archive.ErrUnreachable, cause(err), advice)
	}
	said := describeResponse(r)
	switch {
	case otherNotFound[r.Code]:
		return fmt.Errorf("%s: %s", what, said)
	case r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == "ConditionalRequestConflict",
		r.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%s: %w", what, archive.ErrCondition)
	case r.StatusCode == http.StatusNotModified:
		return fmt.Errorf("%s: %w", what, ErrSame)
	case r.StatusCode == http.StatusNotImplemented:
		return fmt.Errorf("%s: %w: %s", what, errors.ErrUnsupported, said)
	case r.StatusCode == 0 || r.StatusCode == http.StatusOK || r.StatusCode == http.StatusTooManyRequests ||
		r.StatusCode == http.StatusRequestTimeout || r.StatusCode >= 500 || brokenRequests[r.Code]:
		// A status of 200 is one that the server sent before its work failed.
		return fmt.Errorf("%s: %w: %s", what, archive.ErrUnreachable, said)
	}
	return fmt.Errorf("%s: %s", what, said)
}

// brokenRequests are codes of refusals that say that a request did not arrive whole.
var brokenRequests = map[string]bool{"RequestTimeout": true, "IncompleteBody": true}

// printable shortens and cleans text of another process for a message.
func printable(b []byte) string {
	s := strings.TrimSpace(string(b[:min(len(b), 200)]))
	if !utf8.ValidString(s) {
		return "?"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

var _ Store = (*Bucket)(nil)
