package objects

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// Limits of bodies that are sent in parts. A bucket accepts 10,000 parts: 160 GB.
const (
	partSize = 16 << 20
	// Concurrent parts. Each is read for its sum, if it has one, and for sending; the second read comes from the page
	// cache.
	partsBusy = 4
	maxParts  = 1000 // in one list of the parts that arrived
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
		return b.putParts(ctx, name, key, body, &o, opts)
	}
	if err := o.wait(ctx); err != nil {
		return "", b.wrapError(ctx, "put", name, err)
	}
	err = b.retry(ctx, "put", name, func(ctx context.Context) (err error) {
		etag, err = b.putWhole(ctx, key, body, opts)
		return err
	})
	return etag, err
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

// putParts sends a large body. After an error or a crash the parts that arrived are invisible: the same Put continues
// with those whose bytes are the body's, and Sweep removes them.
func (b *Bucket) putParts(ctx context.Context, name, key string, body Body, o *PutOptions,
	opts minio.PutObjectOptions) (etag string, err error) {
	id, arrived, err := b.unfinishedUpload(ctx, name, key, o)
	if err == nil && id == "" {
		err = b.retry(ctx, "put", name, func(ctx context.Context) (err error) {
			id, err = b.core.NewMultipartUpload(ctx, b.bucket, key, opts)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	parts := make([]minio.CompletePart, (body.Size()+partSize-1)/partSize)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(partsBusy)
	for i := range parts {
		at := int64(i) * partSize
		size := min(partSize, body.Size()-at)
		g.Go(func() (err error) {
			section := io.NewSectionReader(body, at, size)
			if part, ok := arrived[i+1]; ok && part.Size == size {
				if same, err := hasETag(section, part.ETag); err != nil {
					return err
				} else if same {
					parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: part.ETag}
					return nil
				}
			}
			parts[i], err = b.putPart(gctx, name, key, id, i+1, section, o)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	if err := o.wait(ctx); err != nil {
		return "", b.wrapError(ctx, "put", name, err)
	}
	return b.completeUpload(ctx, name, key, id, parts, body.Size())
}

// hasETag reports whether the ETag of a part is the MD5 of these bytes. Its size says little: versitygw 1.8.0 lists a part
// whose sender was killed in the middle with the size that was announced. A server whose ETags are something else gets
// the part again.
func hasETag(section *io.SectionReader, etag string) (bool, error) {
	sum := md5.New()
	if _, err := io.Copy(sum, section); err != nil {
		return false, err
	}
	return strings.EqualFold(strings.Trim(etag, `"`), hex.EncodeToString(sum.Sum(nil))), nil
}

// unfinishedUpload returns the newest upload of an object that was not completed, with the parts that arrived; id is ""
// without one. It looks for one only if the caller reads the object back.
func (b *Bucket) unfinishedUpload(ctx context.Context, name, key string, o *PutOptions) (id string,
	arrived map[int]minio.ObjectPart, err error) {
	if !o.ReadBack {
		return "", nil, nil
	}
	uploads, err := b.uploads(ctx, key)
	if err != nil {
		return "", nil, err
	}
	for _, up := range uploads {
		if up.Key == key {
			id = up.UploadID
		}
	}
	if id == "" {
		return "", nil, nil
	}
	arrived = map[int]minio.ObjectPart{}
	for marker, more := 0, true; more; {
		var page minio.ListObjectPartsResult
		if err := b.retry(ctx, "list parts of", name, func(ctx context.Context) (err error) {
			page, err = b.core.ListObjectParts(ctx, b.bucket, key, id, marker, maxParts)
			return err
		}); errors.Is(err, fs.ErrNotExist) {
			return "", nil, nil // completed or aborted since it was listed
		} else if err != nil {
			return "", nil, err
		}
		for _, part := range page.ObjectParts {
			arrived[part.PartNumber] = part
		}
		more = page.IsTruncated && page.NextPartNumberMarker > marker
		marker = page.NextPartNumberMarker
	}
	return id, arrived, nil
}

func (b *Bucket) putPart(ctx context.Context, name, key, id string, number int, section *io.SectionReader,
	o *PutOptions) (minio.CompletePart, error) {
	var part minio.ObjectPart
	err := b.retry(ctx, "put", name, func(ctx context.Context) error {
		if _, err := section.Seek(0, io.SeekStart); err != nil {
			return err
		}
		sum := "" // empty: the body is not signed
		if !o.ReadBack || !b.trusted {
			var err error
			if sum, err = sumOf(section); err != nil {
				return err
			}
		}
		var err error
		part, err = b.core.PutObjectPart(ctx, b.bucket, key, id, number, section, section.Size(),
			minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true})
		return err
	})
	return minio.CompletePart{PartNumber: number, ETag: part.ETag}, err
}

// completeUpload makes an object of its parts.
func (b *Bucket) completeUpload(ctx context.Context, name, key, id string, parts []minio.CompletePart,
	size int64) (etag string, err error) {
	err = b.retry(ctx, "put", name, func(ctx context.Context) error {
		info, err := b.core.CompleteMultipartUpload(ctx, b.bucket, key, id, parts, minio.PutObjectOptions{})
		etag = info.ETag
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		return etag, err
	}
	// The upload is gone: the response of a previous attempt may have been lost. If that attempt failed, the object
	// does not exist.
	if obj, statErr := b.Stat(ctx, name); statErr == nil && obj.Size == size {
		return obj.ETag, nil
	}
	return "", err
}
