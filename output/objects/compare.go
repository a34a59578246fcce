package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"tollbook/output/archive"

	"golang.org/x/sync/errgroup"
)

// Compare reads an object back, several parts of a large one at a time. It returns an error that wraps ErrDamaged
// unless the object equals body.
func Compare(ctx context.Context, s Store, name string, body Body) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(partsBusy)
	for at := int64(0); at == 0 || at < body.Size(); at += partSize {
		g.Go(func() error { return comparePart(gctx, s, name, body, at) })
	}
	return g.Wait()
}

func comparePart(ctx context.Context, s Store, name string, body Body, at int64) error {
	return retryRead(ctx, func() error { return comparePartOnce(ctx, s, name, body, at) })
}

func comparePartOnce(ctx context.Context, s Store, name string, body Body, at int64) error {
	var o GetOptions
	length := min(partSize, body.Size()-at)
	if length < body.Size() {
		o.Offset, o.Length = at, length
	}
	obj, r, err := s.Get(ctx, name, o)
	if err != nil {
		return err
	}
	defer r.Close()
	same := obj.Size == body.Size()
	got := make([]byte, min(length, compareAtOnce))
	want := make([]byte, len(got))
	for end := at + length; same && at < end; {
		n := int(min(int64(len(got)), end-at))
		if _, err := io.ReadFull(r, got[:n]); err != nil {
			return fmt.Errorf("read %s back: %w", name, err)
		}
		if _, err := io.ReadFull(io.NewSectionReader(body, at, int64(n)), want[:n]); err != nil {
			return err
		}
		same, at = bytes.Equal(got[:n], want[:n]), at+int64(n)
	}
	if !same {
		return fmt.Errorf("read %s back: %w: its bytes differ from those sent", name, archive.ErrDamaged)
	}
	return nil
}

// compareAtOnce is the number of bytes that are compared at once.
const compareAtOnce = 256 << 10
