package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// Of bodies that are sent in parts. A bucket takes 10,000 parts: 160 GB.
const (
	partSize  = 16 << 20
	partsBusy = 4 // at a time; each is read once for its sum and once for the wire, from the page cache
)

// Put implements Store.
func (b *Bucket) Put(ctx context.Context, name string, body Body, o PutOptions) (etag string, err error) {
	key, err := b.key(name)
	if err != nil {
		return "", fmt.Errorf("put %s: %w", name, err)
	}
	opts := minio.PutObjectOptions{
		ContentType: o.Type, ContentEncoding: o.Encoding, CacheControl: o.Cache,
		// Over plain http the client would else sign chunk by chunk, and many a server keeps "aws-chunked" as encoding.
		DisableContentSha256: true,
	}
	if o.IfMatch != "" {
		opts.SetMatchETag(o.IfMatch)
	}
	if o.IfNone {
		opts.SetMatchETagExcept("*")
	}
	if body.Size() > partSize {
		etag, err = b.putParts(ctx, key, body, opts)
	} else {
		etag, err = b.putWhole(ctx, key, body, opts)
	}
	if err != nil {
		return "", b.fault(ctx, "put", name, err)
	}
	return etag, nil
}

func (b *Bucket) putWhole(ctx context.Context, key string, body Body, opts minio.PutObjectOptions) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(body, 0, body.Size())); err != nil {
		return "", err
	}
	data := io.NewSectionReader(body, 0, body.Size())
	info, err := b.core.PutObject(ctx, b.bucket, key, data, body.Size(), "", hex.EncodeToString(sum.Sum(nil)), opts)
	return info.ETag, err
}

// putParts sends a large body. A crash leaves parts that no name shows; Sweep takes them away.
func (b *Bucket) putParts(ctx context.Context, key string, body Body, opts minio.PutObjectOptions) (etag string, err error) {
	id, err := b.core.NewMultipartUpload(ctx, b.bucket, key, opts)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = b.core.AbortMultipartUpload(ctx, b.bucket, key, id)
		}
	}()
	parts := make([]minio.CompletePart, (body.Size()+partSize-1)/partSize)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(partsBusy)
	for i := range parts {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			at := int64(i) * partSize
			section := io.NewSectionReader(body, at, min(partSize, body.Size()-at))
			sum := sha256.New()
			if _, err := io.Copy(sum, section); err != nil {
				return err
			}
			if _, err := section.Seek(0, io.SeekStart); err != nil {
				return err
			}
			part, err := b.core.PutObjectPart(gctx, b.bucket, key, id, i+1, section, section.Size(), minio.PutObjectPartOptions{
				Sha256Hex: hex.EncodeToString(sum.Sum(nil)), DisableContentSha256: true,
			})
			parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: part.ETag}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	info, err := b.core.CompleteMultipartUpload(ctx, b.bucket, key, id, parts, minio.PutObjectOptions{})
	if r := (minio.ErrorResponse{}); errors.As(err, &r) && r.Code == "NoSuchUpload" {
		// The answer of an earlier attempt was lost, and it was done; or not, and then the object is not there.
		obj, statErr := b.core.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
		if statErr == nil && obj.Size == body.Size() {
			return obj.ETag, nil
		}
	}
	return info.ETag, err
}
