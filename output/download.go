package output

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Download is a zip of a publication in its stored form: a snapshot or a pack.
type Download struct {
	objects.Object
	store objects.Store
}

// Download finds a zip of the publication. It returns an error that wraps fs.ErrNotExist if there is none. It does not
// read the zip.
func (s *Source) Download(ctx context.Context, name string) (*Download, error) {
	if !archive.IsDownload(name) {
		return nil, fmt.Errorf("download %.80q: %w", name, fs.ErrNotExist)
	}
	store := s.origin.objects()
	obj, err := store.Stat(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	return &Download{obj, store}, nil
}

// Open reads length bytes from offset, without the block cache that other readers share. It returns an error that wraps
// ErrCondition if the object was replaced.
func (d *Download) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	_, body, err := d.store.Get(ctx, d.Name, objects.GetOptions{Offset: offset, Length: length, IfMatch: d.ETag})
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	return body, nil
}
