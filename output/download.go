package output

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// Download is a zip of a publication as it lies there: all of a snapshot, or a pack.
type Download struct {
	objects.Object
	store objects.Store
}

// Download finds a zip of the publication, fs.ErrNotExist where there is none. Nothing of it is read yet.
func (s *Source) Download(ctx context.Context, name string) (*Download, error) {
	if !archive.IsDownload(name) {
		return nil, fmt.Errorf("download %.80q: %w", name, fs.ErrNotExist)
	}
	store := s.place.objects()
	obj, err := store.Stat(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	return &Download{obj, store}, nil
}

// Open reads length bytes from offset on, which goes past all memory that other readers share. It fails with
// ErrCondition when the object is another by now.
func (d *Download) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	_, body, err := d.store.Get(ctx, d.Name, objects.GetOptions{Offset: offset, Length: length, IfMatch: d.ETag})
	if err != nil {
		return nil, fmt.Errorf("download: %w", objects.Unreachable(err))
	}
	return body, nil
}
