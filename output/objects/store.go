// Package objects contains stores of objects: a folder, a bucket of any server that speaks S3, and a read-only place on
// the web. It reads objects by ranges with a block cache, and opens zips of a store that way.
//
// It must never know which objects make a publication or in which order they are written: package output knows that.
package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"tollbook/output/archive"
)

// ErrSame is the error of a Get whose IfNone is the ETag of the object.
var ErrSame = errors.New("the object is the same")

// Store keeps objects under names that archive.CheckName allows, in a folder or a bucket. An object is replaced as a
// whole: a reader gets the old bytes or the new ones, never parts of both. Reading a missing object is an error that
// wraps fs.ErrNotExist. No object may have a name that is the folder of another one. All methods may be called
// concurrently, and from several processes.
//
// Errors that wrap ErrUnreachable come after several attempts with growing pauses. After such an error, a Put or Delete
// may or may not have happened; after any other error it has not. The exception is ErrCondition, which the caller's own
// Put may cause if its response was lost: read the object to find out. An error that wraps errors.ErrUnsupported means
// that the store does not support a condition. No error contains a credential.
type Store interface {
	// Put writes an object. It may read body several times and concurrently, but not after it returns. The object is
	// durable when Put returns nil, unless NoSync is set. After an error, invisible remains may stay, which the same
	// Put with ReadBack continues with.
	Put(ctx context.Context, name string, body Body, o PutOptions) (etag string, err error)
	// Get opens an object or a range of it; the caller closes it. A body that ends early is an error of its Read.
	Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error)
	// Stat describes an object.
	Stat(ctx context.Context, name string) (Object, error)
	// List describes every object in a folder and below it, by name. A folder's name ends with a slash; "" lists all
	// objects.
	List(ctx context.Context, folder string) ([]Object, error)
	// Delete removes objects. A missing object is not an error.
	Delete(ctx context.Context, names []string) error
	// Sweep removes invisible remains of interrupted writes, except those of the object keep; "" for none. No other
	// process may write meanwhile.
	Sweep(ctx context.Context, keep string) error
	// KeepsHeader reports whether readers get the type, encoding and cache policy of a Put.
	KeepsHeader() bool
	// Traffic returns what was sent to a server since the store was opened; zero for a folder.
	Traffic() Traffic
	// String returns the store's address, for messages.
	String() string
}

// Object describes an object of a store.
type Object struct {
	Name     string
	Size     int64  // of the whole object, in bytes
	ETag     string // changes with the bytes; List may leave it empty
	Modified time.Time
	Header   Header // zero from List, and if the store keeps no headers
}

// Header contains the HTTP headers of an object: Content-Type, Content-Encoding and Cache-Control.
type Header struct{ Type, Encoding, Cache string }

// Body is bytes in memory or in a file, such as *bytes.Reader or *io.SectionReader.
type Body interface {
	io.ReaderAt
	Size() int64
}

// PutOptions are the conditions and properties of a Put.
type PutOptions struct {
	Header
	IfMatch string // replace only the object with this ETag
	IfNone  bool   // write only if there is no object
	NoSync  bool   // a later Put without NoSync makes the object durable

	// After is closed when the object may become visible; nil means at once. If the context ends before, Put writes
	// nothing.
	After <-chan struct{}
	// ReadBack says that the caller reads back all of the object. Then no sum is needed over a connection on which
	// nobody can change the bytes.
	ReadBack bool
}

// wait waits until the object may become visible.
func (o *PutOptions) wait(ctx context.Context) error {
	if o.After == nil {
		return nil
	}
	select {
	case <-o.After:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GetOptions select a part and a version of an object.
type GetOptions struct {
	Offset, Length int64  // Length 0 reads to the end
	IfMatch        string // return ErrCondition unless the object has this ETag
	IfNone         string // return ErrSame if the object has this ETag
}

// StoreOptions are the inputs of opening a store beside its address.
type StoreOptions struct {
	// Getenv returns the address and credentials of a bucket, under the usual names: AWS_ENDPOINT_URL, AWS_REGION,
	// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
	Getenv func(name string) string
	// Attempts is the number of attempts before the store counts as unreachable. 0 means 10, which take 5 s if nothing
	// answers.
	Attempts int
	// Stall is the time without progress after which a request is repeated; 0 means 20 s.
	Stall time.Duration
}

// OpenStore opens the store at an address: s3://bucket/prefix, or a folder. It does not check that the store exists.
func OpenStore(address string, o StoreOptions) (Store, error) {
	if rest, ok := strings.CutPrefix(address, "s3://"); ok {
		return OpenBucket(rest, o)
	}
	if strings.Contains(address, "://") || address == "" {
		return nil, fmt.Errorf("open store %.80q: want s3://bucket/prefix or a folder", withoutUser(address))
	}
	return OpenStoreDir(address)
}

// OpenPlace opens a published directory for reading: a URL, s3://bucket/prefix, or a folder.
func OpenPlace(address string, o StoreOptions) (Store, error) {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return OpenWeb(address)
	}
	return OpenStore(address, o)
}

// IsBucket reports whether an address names a bucket.
func IsBucket(address string) bool { return strings.HasPrefix(address, "s3://") }

// IsRemote reports whether an address names a bucket that is not on this machine.
func IsRemote(address string, getenv func(string) string) bool {
	if !IsBucket(address) {
		return false
	}
	endpoint, err := url.Parse(cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL")))
	return err != nil || !IsLoopback(endpoint.Hostname())
}

// ReadObject reads a whole object of at most limit bytes.
func ReadObject(ctx context.Context, s Store, name string, o GetOptions, limit int64) (Object, []byte, error) {
	var obj Object
	var data []byte
	err := retryRead(ctx, func() error {
		var body io.ReadCloser
		var err error
		if obj, body, err = s.Get(ctx, name, o); err != nil {
			return err
		}
		defer body.Close()
		data, err = io.ReadAll(io.LimitReader(body, limit+1))
		return err
	})
	if err != nil {
		return Object{}, nil, err
	}
	if int64(len(data)) > limit {
		return Object{}, nil, fmt.Errorf("read %s: %w: it has more than %d bytes", name, archive.ErrDamaged, limit)
	}
	return obj, data, nil
}

// StreamObject calls read with the bytes of an object, and again from its beginning if the connection breaks.
func StreamObject(ctx context.Context, s Store, name string, read func(Object, io.Reader) error) error {
	return retryRead(ctx, func() error {
		obj, body, err := s.Get(ctx, name, GetOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		return read(obj, body)
	})
}

// FileBody is a file on disk as a Body. The caller closes it.
type FileBody struct {
	*io.SectionReader
	file *os.File
}

func OpenBody(path string) (*FileBody, error) {
	f, err := archive.OpenFile(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &FileBody{io.NewSectionReader(f, 0, info.Size()), f}, nil
}

func (b *FileBody) Close() error { return b.file.Close() }

// SameFolder reports whether two addresses name the same folder on this machine.
func SameFolder(a, b string) bool {
	if IsBucket(a) || IsBucket(b) {
		return false
	}
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	if errA != nil || errB != nil {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return a == b || errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
