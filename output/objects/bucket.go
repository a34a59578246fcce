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

// Of a bucket's requests.
const (
	bucketAttempts = 10
	connections    = 128              // that stay open; Put is called from as many goroutines as pay
	stallAfter     = 20 * time.Second // without a byte either way a request is given up and made again
)

// Bucket is a store in a bucket of any server that speaks S3. A Put that answers nil is as durable as the server says;
// one of a large body is sent in parts, side by side, and shows when all are there. The server checks the sha256 of
// what it gets, which is signed with its request, but for parts that are read back anyway and that go by TLS or over
// loopback: there the request alone is signed. It checks a condition only for bodies of one part.
type Bucket struct {
	core   minio.Core
	bucket string
	prefix string // "" or with a slash at its end
	where  string
	closed bool // the way to the server: nobody can change what is on it
}

// OpenBucket opens "bucket/prefix". Without credentials it asks as anybody, which reads what is public.
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
		return nil, fmt.Errorf("open bucket %s: AWS_ENDPOINT_URL is no address such as https://s3.example", b.where)
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
	b.closed = endpoint.Scheme == "https" || isLoopback(endpoint.Hostname())
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
		return errors.New("a bucket's name has 3 to 63 small letters, digits, dots and hyphens")
	}
	return nil
}

// String implements Store.
func (b *Bucket) String() string { return b.where }

// KeepsHeader implements Store.
func (b *Bucket) KeepsHeader() bool { return true }

// key is an object's name in the bucket.
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
	opts.Set("Accept-Encoding", "identity") // else Go's client would unpack what is stored packed
	body, info, header, err := b.core.GetObject(ctx, b.bucket, key, opts)
	if err != nil {
		return Object{}, nil, b.fault(ctx, "get", name, err)
	}
	obj := objectFrom(name, info)
	if partial {
		total, err := strconv.ParseInt(header.Get("Content-Range")[strings.LastIndexByte(header.Get("Content-Range"),
			'/')+1:], 10, 64)
		if err != nil {
			body.Close()
			return Object{}, nil, fmt.Errorf("get %s: the server does not answer ranges", name)
		}
		obj.Size = total
	}
	return obj, &bucketBody{body, name}, nil
}

// bucketBody marks what breaks off.
type bucketBody struct {
	io.ReadCloser
	name string
}

func (b *bucketBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("get %s: %w: %w", b.name, archive.ErrUnreachable, err)
	}
	return n, err
}

func objectFrom(name string, info minio.ObjectInfo) Object {
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
		return Object{}, b.fault(ctx, "stat", name, err)
	}
	return objectFrom(name, info), nil
}

// List implements Store.
func (b *Bucket) List(ctx context.Context, folder string) (found []Object, err error) {
	err = again(func() (err error) {
		found, err = b.list(ctx, folder)
		return err
	})
	return found, err
}

// again does what only reads once more while answers break off: the client below makes requests again, but not those
// whose answer had begun.
func again(read func() error) (err error) {
	for range fetchTries {
		if err = read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return err
}

func (b *Bucket) list(ctx context.Context, folder string) ([]Object, error) {
	ctx, cancel := context.WithCancel(ctx) // else the lister would wait for who left the loop
	defer cancel()
	var found []Object
	for info := range b.core.Client.ListObjects(ctx, b.bucket,
		minio.ListObjectsOptions{Prefix: b.prefix + folder, Recursive: true}) {
		if info.Err != nil {
			return nil, b.fault(ctx, "list", folder, info.Err)
		}
		name := strings.TrimPrefix(info.Key, b.prefix)
		if strings.HasSuffix(name, "/") {
			continue // a folder that somebody made by itself
		}
		found = append(found, objectFrom(name, info))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	slices.SortFunc(found, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, names []string) error {
	for part := range slices.Chunk(names, 1000) { // as many as one request may name
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
			err := b.fault(ctx, "delete", strings.TrimPrefix(f.ObjectName, b.prefix), f.Err)
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

// Sweep implements Store: parts of uploads that were never completed are paid for until somebody takes them away.
func (b *Bucket) Sweep(ctx context.Context) error {
	if err := again(func() error { return b.abortUploads(ctx, b.prefix) }); err != nil {
		return err
	}
	// MinIO lists uploads of a whole bucket or of one object, none by folder. Whose policy forbids the former has no
	// MinIO.
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
		if err = b.fault(ctx, "sweep", strings.TrimPrefix(up.Key, b.prefix), err); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Unfinished lists the uploads of the whole bucket that were neither completed nor aborted: what Sweep has to remove.
func (b *Bucket) Unfinished(ctx context.Context) (keys []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for up := range b.core.ListIncompleteUploads(ctx, b.bucket, "", true) {
		if up.Err != nil {
			return nil, b.fault(ctx, "list uploads", "", up.Err)
		}
		keys = append(keys, up.Key)
	}
	return keys, nil
}

// fault says what went wrong in the words of Store. Of what a server wrote it keeps code and message: longer answers
// repeat parts of the request.
func (b *Bucket) fault(ctx context.Context, verb, name string, err error) error {
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

// printable bounds and cleans text of another process before it stands in a message.
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
