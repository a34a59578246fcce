// Package objects is stores of objects: a folder, a bucket of any server that speaks S3, and a place on the web that
// can only be read. It reads objects by ranges, with what was read in memory, and opens a zip of a store so.
//
// It must never know which objects make a publication, or in which order they are written: that is output's.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"tollbook/output/archive"
)

// ErrSame is the answer of a Get that wanted another object than the one that its caller has.
var ErrSame = errors.New("the object is the same")

// Store keeps objects under names that CheckName allows: a folder or a bucket. An object is replaced as a whole:
// whoever reads gets the old bytes or the new ones, never a part of either. What is not there is an error that wraps
// fs.ErrNotExist. No object may have a name that is another's folder.
//
// Errors: one that wraps ErrUnreachable was tried again several times with growing pauses; whether a Put or Delete that
// ends so was done is unknown, and every other error of them says that it was not, but for ErrCondition, which may come
// of one's own Put whose answer was lost: who cares reads the object. One that wraps errors.ErrUnsupported is a
// condition that the store does not know. All methods may be called concurrently, and from several processes. No error
// holds a credential.
type Store interface {
	// Put makes an object of a body, which it may read several times, from several goroutines, and not after it
	// answers. It is durable when Put answers nil, unless it was Relaxed.
	Put(ctx context.Context, name string, body Body, o PutOptions) (etag string, err error)
	// Get opens an object, or a range of it, for the caller to close. A body that ends early is an error of its Read.
	Get(ctx context.Context, name string, o GetOptions) (Object, io.ReadCloser, error)
	// Stat tells of an object.
	Stat(ctx context.Context, name string) (Object, error)
	// List tells of every object in a folder and those below it, by name. Folders are named with a slash at their end;
	// "" is all.
	List(ctx context.Context, folder string) ([]Object, error)
	// Delete removes objects; one that is not there is no error.
	Delete(ctx context.Context, names []string) error
	// Sweep removes what killed writers left unfinished, which no name shows. No other writer may be at work.
	Sweep(ctx context.Context) error
	// KeepsHeader says whether type, encoding and cache policy of a Put come back to readers.
	KeepsHeader() bool
	// String is the store's address, for messages.
	String() string
}

// Object is what a store tells of an object.
type Object struct {
	Name     string
	Size     int64  // of the whole object, in bytes
	ETag     string // changes with every Put of other bytes; List may leave it empty
	Modified time.Time
	Header   Header // zero from List, and where the store keeps none
}

// Header is what readers over HTTP are told of an object.
type Header struct{ Type, Encoding, Cache string }

// Body is bytes in memory or in a file: *bytes.Reader, *io.SectionReader.
type Body interface {
	io.ReaderAt
	Size() int64
}

// PutOptions say how an object is kept.
type PutOptions struct {
	Header
	IfMatch string // only in place of the object with this ETag
	IfNone  bool   // only where there is none
	Relaxed bool   // it is durable only when a later Put that is not relaxed is

	// After is closed when the object may show; a Put whose context ends before leaves none. nil is at once.
	After <-chan struct{}
	// ReadBack says that whoever puts the object reads all of it back, so that no sum need go with its bytes where
	// nobody can change them on their way.
	ReadBack bool
}

// wait waits until the object may show.
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

// GetOptions say what is wanted of an object.
type GetOptions struct {
	Offset, Length int64  // Length 0 is all from Offset
	IfMatch        string // only the object with this ETag, else ErrCondition
	IfNone         string // only another than the one with this ETag, else ErrSame
}

// StoreOptions are what opening a store depends on beside its address.
type StoreOptions struct {
	// Getenv tells where a bucket is and who asks, by the names that every program for buckets knows:
	// AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
	Getenv func(name string) string
	// Attempts is how often a request is made before the store counts as unreachable; 0 is 10, which takes 8 s where
	// nothing answers at all.
	Attempts int
	// Stall is how long nothing may move on a request before it is made again; 0 is 20 s.
	Stall time.Duration
}

// OpenStore opens the store at an address: s3://bucket/prefix, or a folder. It does not look whether it is there.
func OpenStore(address string, o StoreOptions) (Store, error) {
	if rest, ok := strings.CutPrefix(address, "s3://"); ok {
		return OpenBucket(rest, o)
	}
	if strings.Contains(address, "://") || address == "" {
		return nil, fmt.Errorf("open store %.80q: it is s3://bucket/prefix or a folder", address)
	}
	return OpenStoreDir(address)
}

// IsBucket says whether an address names a bucket.
func IsBucket(address string) bool { return strings.HasPrefix(address, "s3://") }

// readObject reads an object whole, of up to limit bytes.
func ReadObject(ctx context.Context, s Store, name string, o GetOptions, limit int64) (Object, []byte, error) {
	var obj Object
	var data []byte
	err := again(func() error {
		var body io.ReadCloser
		var err error
		if obj, body, err = s.Get(ctx, name, o); err != nil {
			return err
		}
		defer body.Close()
		if data, err = io.ReadAll(io.LimitReader(body, limit+1)); err != nil {
			return fmt.Errorf("read %s: %w: %w", name, archive.ErrUnreachable, err)
		}
		return nil
	})
	if err != nil {
		return Object{}, nil, err
	}
	if int64(len(data)) > limit {
		return Object{}, nil, fmt.Errorf("read %s: %w: it has more than %d bytes", name, archive.ErrDamaged, limit)
	}
	return obj, data, nil
}

// fileBody is a file on disk as a Body, for the caller to close.
type fileBody struct {
	*io.SectionReader
	file *os.File
}

func OpenBody(path string) (*fileBody, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &fileBody{io.NewSectionReader(f, 0, info.Size()), f}, nil
}

func (b *fileBody) Close() error { return b.file.Close() }

// SameFolder says whether two addresses are one folder on this machine.
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
