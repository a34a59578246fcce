package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// partExt ends the names of files that are not fetched completely.
const partExt = ".part"

func partName(f archive.DataFile) string { return doneName(f) + partExt }

// doneName returns the name of a fetched file that has no place yet. It contains the sum of the file, so that no bytes
// of another version are continued.
func doneName(f archive.DataFile) string {
	own := sha256.Sum256([]byte(f.Name))
	return workDir + "/" + f.Sum.String() + "-" + hex.EncodeToString(own[:8])
}

// pullCounter counts the bytes of all fetches.
type pullCounter struct {
	mu sync.Mutex
	PullProgress
	fetched int64              // bytes that were sent now
	report  func(PullProgress) // nil for none
}

// add counts files that are complete, bytes of files, and how many of them were sent now.
func (c *pullCounter) add(files int, bytes, fetched int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Files, c.Bytes, c.fetched = c.Files+files, c.Bytes+bytes, c.fetched+fetched
	if c.report != nil {
		c.report(c.PullProgress)
	}
}

// fetch fetches a file into doneName. It continues with the bytes of an interrupted pull.
func (p *puller) fetch(ctx context.Context, zip *archive.ZipFile, f archive.DataFile) error {
	open, err := p.opener(ctx, zip, f)
	if err != nil {
		return err
	}
	if sum, size, err := p.sumOf(doneName(f)); err == nil && sum == f.Sum && size == f.Bytes {
		p.progress.add(1, size, 0)
		return nil
	}
	for range 2 { // a second time from the beginning, if the bytes of an interrupted pull are damaged
		continued, err := p.fetchPart(ctx, open, f)
		if err != nil {
			return fmt.Errorf("fetch %s: %w", f.Name, err)
		}
		sum, size, err := p.sumOf(partName(f))
		if err != nil {
			return err
		}
		if sum == f.Sum && size == f.Bytes {
			p.progress.add(1, 0, 0)
			return p.root.Rename(partName(f), doneName(f))
		}
		p.progress.add(0, -size, 0)
		if err := p.root.Remove(partName(f)); err != nil {
			return err
		}
		if !continued {
			break
		}
	}
	return fmt.Errorf("fetch %s: %w: its bytes are not those with sha256 %s", f.Name, archive.ErrDamaged, f.Sum)
}

// opener returns a function that opens a file from an offset to its end. A member must have the size and the sum that
// the snapshot's own sums say.
func (p *puller) opener(ctx context.Context, zip *archive.ZipFile, f archive.DataFile) (
	func(offset int64) (io.ReadCloser, error), error) {
	if _, _, isDay := archive.ParseDataDay(f.Name); isDay {
		return func(offset int64) (io.ReadCloser, error) {
			o := objects.GetOptions{Offset: offset}
			if offset > 0 {
				o.Length = f.Bytes - offset
			}
			_, body, err := p.store.Get(ctx, f.Name, o)
			return body, err
		}, nil
	}
	m, ok := zip.Lookup(f.Name)
	if !ok || m.Size != f.Bytes || m.Sum != f.Sum || m.IsDeflated() {
		return nil, fmt.Errorf("%s: %w: the index names another file than the snapshot has", f.Name, archive.ErrDamaged)
	}
	return func(offset int64) (io.ReadCloser, error) { return m.OpenRange(ctx, offset, m.Size-offset) }, nil
}

// fetchPart writes the rest of a file to partName, and goes on where a response breaks off. continued says that some
// bytes were there before. It never writes more bytes than the file has.
func (p *puller) fetchPart(ctx context.Context, open func(int64) (io.ReadCloser, error), f archive.DataFile) (
	continued bool, err error) {
	part, err := p.root.OpenFile(partName(f), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, part.Sync(), part.Close()) }()
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	if at > f.Bytes {
		at = 0
		if err := part.Truncate(0); err != nil {
			return false, err
		}
	}
	continued = at > 0
	p.progress.add(0, at, 0)
	for try := 0; at < f.Bytes; {
		n, err := p.copyFrom(ctx, open, part, at, f.Bytes-at)
		if at += n; n > 0 {
			try = 0
		}
		if ctx.Err() != nil {
			return continued, ctx.Err()
		}
		if err == nil {
			continue
		}
		if try++; try == fetchTries || !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return continued, err
		}
		select {
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		case <-ctx.Done():
			return continued, ctx.Err()
		}
	}
	return continued, nil
}

// copyFrom appends at most left bytes from an offset.
func (p *puller) copyFrom(ctx context.Context, open func(int64) (io.ReadCloser, error), part *os.File,
	offset, left int64) (n int64, err error) {
	body, err := open(offset)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	to := io.NewOffsetWriter(part, offset)
	n, err = io.Copy(to, &countedReader{ctx, io.LimitReader(body, left), &p.progress})
	if err == nil && n < left {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// countedReader counts the bytes that are read until a context is done.
type countedReader struct {
	ctx context.Context
	r   io.Reader
	c   *pullCounter
}

func (r *countedReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(b)
	if n > 0 {
		r.c.add(0, int64(n), int64(n))
	}
	return n, err
}

// sumOf returns the SHA-256 and the size of a file of the folder.
func (p *puller) sumOf(name string) (sum archive.Sum, size int64, err error) {
	f, err := p.root.Open(name)
	if err != nil {
		return sum, 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return sum, 0, errors.Join(err, fmt.Errorf("%s is not a file", name))
	}
	h := sha256.New()
	size, err = io.Copy(h, f)
	return archive.Sum(h.Sum(nil)), size, err
}
