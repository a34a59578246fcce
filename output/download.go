package output

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Download is a file that is sent in its stored form by ranges: a snapshot, a pack, a day of a table, or a member of a
// snapshot.
type Download struct {
	objects.Object
	open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

// Download finds a snapshot, a pack or a day of a table. It returns an error that wraps fs.ErrNotExist if there is
// none. The ETag comes from the content: the first call for a file of a folder reads the file.
func (s *Source) Download(ctx context.Context, name string) (*Download, error) {
	if !archive.IsDownload(name) {
		return nil, fmt.Errorf("download %.80q: %w", name, fs.ErrNotExist)
	}
	store := s.origin.objects()
	obj, err := store.Stat(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	d := &Download{obj, func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
		_, body, err := store.Get(ctx, name, objects.GetOptions{Offset: offset, Length: length, IfMatch: obj.ETag})
		return body, err
	}}
	if _, isFolder := store.(*objects.StoreDir); isFolder { // a bucket's ETag is the same for all who read the bucket
		if d.ETag, err = s.tags.of(ctx, store, obj); err != nil {
			return nil, fmt.Errorf("download: %w", err)
		}
	}
	return d, nil
}

// Download finds a member of the snapshot that is not stored compressed. It returns an error that wraps fs.ErrNotExist
// if there is none. It must not be read after the snapshot is released. The bytes are not compared with their sum,
// which is the ETag.
func (s *Snapshot) Download(name string) (*Download, error) {
	m, ok := s.Lookup(name)
	if !ok || m.IsDeflated() {
		return nil, fmt.Errorf("download %.80q: %w", name, fs.ErrNotExist)
	}
	return &Download{
		objects.Object{Name: name, Size: m.Size, ETag: m.Sum.String(), Modified: s.Checkpoint.Built()}, m.OpenRange,
	}, nil
}

// Open reads length bytes from offset, without the block cache that other readers share. It returns an error that wraps
// ErrCondition if the object was replaced.
func (d *Download) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	body, err := d.open(ctx, offset, length)
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	return body, nil
}
