package objects

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

// Limits of bodies that are sent in parts. A bucket accepts 10,000 parts: 160 GB.
const (
	partSize = 16 << 20
	// Concurrent parts. Each is read for its sum, if it has one, and for sending; the second read comes from the page
	// cache.
	partsBusy = 4
)

// Put implements Store.
func (b *Bucket) Put(ctx context.Context, name string, body Body, o PutOptions) (etag string, err error) {
	key, err := b.key(name)
	if err != nil {
		return "", fmt.Errorf("put %s: %w", name, err)
	}
	opts := minio.PutObjectOptions{
		ContentType: o.Type, ContentEncoding: o.Encoding, CacheControl: o.Cache,
		// Otherwise the client signs chunk by chunk over plain HTTP, and many servers store "aws-chunked" as the
		// encoding.
		DisableContentSha256: true,
	}
	if o.IfMatch != "" {
		opts.SetMatchETag(o.IfMatch)
	}
	if o.IfNone {
		opts.SetMatchETagExcept("*")
	}
	if body.Size() > partSize {
		etag, err = b.putParts(ctx, key, body, &o, opts)
	} else if err = o.wait(ctx); err == nil {
		etag, err = b.putWhole(ctx, key, body, opts)
	}
	if err != nil {
		return "", b.wrapError(ctx, "put", name, err)
	}
	return etag, nil
}

func (b *Bucket) putWhole(ctx context.Context, key string, body Body, opts minio.PutObjectOptions) (string, error) {
	data := io.NewSectionReader(body, 0, body.Size())
	sum, err := sumOf(data)
	if err != nil {
		return "", err
	}
	info, err := b.core.PutObject(ctx, b.bucket, key, data, body.Size(), "", sum, opts)
	return info.ETag, err
}

// sumOf returns the SHA-256 of a reader's bytes in hex, and seeks back to the beginning.
func sumOf(data io.ReadSeeker) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, data); err != nil {
		return "", err
	}
	_, err := data.Seek(0, io.SeekStart)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// putParts sends a large body. A crash leaves parts that no name shows; Sweep removes them.
func (b *Bucket) putParts(ctx context.Context, key string, body Body, o *PutOptions,
	opts minio.PutObjectOptions) (etag string, err error) {
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
			sum := "" // empty: the body is not signed
			if !o.ReadBack || !b.trusted {
				var err error
				if sum, err = sumOf(section); err != nil {
					return err
				}
			}
			part, err := b.core.PutObjectPart(gctx, b.bucket, key, id, i+1, section, section.Size(),
				minio.PutObjectPartOptions{
					Sha256Hex: sum, DisableContentSha256: true,
				})
			parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: part.ETag}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	if err := o.wait(ctx); err != nil {
		return "", err
	}
	info, err := b.core.CompleteMultipartUpload(ctx, b.bucket, key, id, parts, minio.PutObjectOptions{})
	if r := (minio.ErrorResponse{}); errors.As(err, &r) && r.Code == "NoSuchUpload" {
		// The response of a previous attempt may have been lost. If that attempt failed, the object does not exist.
		obj, statErr := b.core.StatObject(ctx, b.bucket, key, minio.StatObjectOptions{})
		if statErr == nil && obj.Size == body.Size() {
			return obj.ETag, nil
		}
	}
	return info.ETag, err
}
