package objects

import (
	"cmp"
	"context"
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
	core    minio.Core
	bucket  string
	prefix  string // "" or with a slash at its end
	where   string
	trusted bool // requests go over TLS or loopback, so nobody can change them
}

// OpenBucket opens "bucket/prefix". Without credentials it sends anonymous requests, which can read public buckets.
func OpenBucket(path string, o StoreOptions) (*Bucket, error) {
	name, prefix, _ := strings.Cut(path, "/")
	prefix = strings.Trim(prefix, "/")
	b := &Bucket{bucket: name, where: "s3://" + strings.TrimSuffix(name+"/"+prefix, "/")}
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
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: creds, Secure: endpoint.Scheme == "https", Region: region,
		Transport:  newTransport(cmp.Or(o.Stall, stallAfter)),
		MaxRetries: cmp.Or(o.Attempts, bucketAttempts),
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", b.where, err)
	}
	b.core = minio.Core{Client: client}
	b.trusted = endpoint.Scheme == "https" || isLoopback(endpoint.Hostname())
	if err := checkBucketName(name); err != nil {
		return nil, fmt.Errorf("open bucket %.80q: %w", path, err)
	}
	return b, nil
}

func isLoopback(host string) bool {
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
	body, info, header, err := b.core.GetObject(ctx, b.bucket, key, opts)
	if err != nil {
		return Object{}, nil, b.wrapError(ctx, "get", name, err)
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

// responseBody wraps the errors of a body that breaks off in ErrUnreachable.
type responseBody struct {
	io.ReadCloser
	name string
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("get %s: %w: %w", b.name, archive.ErrUnreachable, err)
	}
	return n, err
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
	info, err := b.core.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return Object{}, b.wrapError(ctx, "stat", name, err)
	}
	return newObject(name, info), nil
}

// List implements Store.
func (b *Bucket) List(ctx context.Context, folder string) (list []Object, err error) {
	err = retryRead(func() (err error) {
		list, err = b.list(ctx, folder)
		return err
	})
	return list, err
}

// retryRead repeats a read while responses break off. The client below repeats requests, but not after the response has
// begun.
func retryRead(read func() error) (err error) {
	for range fetchTries {
		if err = read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return err
}

func (b *Bucket) list(ctx context.Context, folder string) ([]Object, error) {
	// otherwise the goroutine that lists would wait forever after an early return
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []Object
	for info := range b.core.Client.ListObjects(ctx, b.bucket,
		minio.ListObjectsOptions{Prefix: b.prefix + folder, Recursive: true}) {
		if info.Err != nil {
			return nil, b.wrapError(ctx, "list", folder, info.Err)
		}
		name := strings.TrimPrefix(info.Key, b.prefix)
		if strings.HasSuffix(name, "/") {
			continue // a folder that somebody created as an object
		}
		list = append(list, newObject(name, info))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, names []string) error {
	for part := range slices.Chunk(names, 1000) { // the maximum of one request
		objects := make(chan minio.ObjectInfo, len(part))
		for _, name := range part {
			key, err := b.key(name)
			if err != nil {
				return fmt.Errorf("delete %s: %w", name, err)
			}
			objects <- minio.ObjectInfo{Key: key}
		}
		close(objects)
		var first error
		for f := range b.core.RemoveObjects(ctx, b.bucket, objects, minio.RemoveObjectsOptions{}) {
			err := b.wrapError(ctx, "delete", strings.TrimPrefix(f.ObjectName, b.prefix), f.Err)
			if !errors.Is(err, fs.ErrNotExist) {
				first = cmp.Or(first, err)
			}
		}
		if first != nil {
			return first
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// Sweep implements Store. It aborts uploads that were never completed, because the operator pays for their parts.
func (b *Bucket) Sweep(ctx context.Context) error {
	if err := retryRead(func() error { return b.abortUploads(ctx, b.prefix) }); err != nil {
		return err
	}
	// MinIO lists the uploads of a whole bucket or of one object, not of a folder. A policy may forbid to list the
	// whole bucket; such a bucket is not on MinIO.
	if b.prefix != "" && ctx.Err() == nil {
		_ = b.abortUploads(ctx, "")
	}
	return ctx.Err()
}

func (b *Bucket) abortUploads(ctx context.Context, listed string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for up := range b.core.ListIncompleteUploads(ctx, b.bucket, listed, true) {
		err := up.Err
		if err == nil && strings.HasPrefix(up.Key, b.prefix) {
			err = b.core.AbortMultipartUpload(ctx, b.bucket, up.Key, up.UploadID)
		}
		if err = b.wrapError(ctx, "sweep", strings.TrimPrefix(up.Key, b.prefix), err); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// IncompleteUploads returns the keys of all uploads in the bucket that were neither completed nor aborted. Sweep
// removes those below the prefix.
func (b *Bucket) IncompleteUploads(ctx context.Context) (keys []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for up := range b.core.ListIncompleteUploads(ctx, b.bucket, "", true) {
		if up.Err != nil {
			return nil, b.wrapError(ctx, "list uploads", "", up.Err)
		}
		keys = append(keys, up.Key)
	}
	return keys, nil
}

// wrapError returns err as one of the errors that Store promises. It keeps only the code and message of a server's
// response: the rest repeats parts of the request.
func (b *Bucket) wrapError(ctx context.Context, verb, name string, err error) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf("%s %s in %s", verb, name, b.where)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return fmt.Errorf("%s: %w: %w", what, archive.ErrUnreachable, err)
	}
	said := printable([]byte(r.Code + ": " + r.Message))
	switch {
	case r.Code == "NoSuchBucket":
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
	case r.StatusCode == 0 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500:
		return fmt.Errorf("%s: %w: %s", what, archive.ErrUnreachable, said)
	}
	return fmt.Errorf("%s: %s", what, said)
}

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
