package output

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"time"

	"github.com/klauspost/compress/flate"
)

// DeflateLevel and the other figures of the writer; level 6 of klauspost is as small as the standard library's at twice its pace.
const (
	DeflateLevel = 6
	storeBelow   = 64       // bytes; smaller members are stored
	inFlight     = 16 << 20 // bytes of members that wait to be written
)

// ZipOptions are what a zip's bytes depend on beside its members.
type ZipOptions struct {
	Modified time.Time // of every member
	Previous *Zip      // members with the same name and bytes are copied from it as they are; may be nil
}

// Summary counts a finished zip.
type Summary struct {
	Files           int    // members, SHA256SUMS among them
	Bytes           int64  // of their contents
	CompressedBytes int64  // of the same as they lie in the zip
	Copied          int    // members taken from the previous zip without compressing
	Digest          string // sha256 of SHA256SUMS in hex: the same for the same names and contents
}

// ZipWriter writes members in the order of Add while all cores compress: same options and same adds, same bytes.
// It is for one goroutine.
type ZipWriter struct {
	opts  ZipOptions
	zip   *zip.Writer
	buf   *bufio.Writer
	names *names
	sums  []named
	sum   Summary

	queue []*member // in the order of Add
	bytes int64     // of the queue's contents
	slots chan struct{}
	err   error // the first; every later call answers it
}

// member is one file on its way into the zip.
type member struct {
	header *zip.FileHeader // apart, since the zip's directory keeps it until Close, and must not keep the rest
	data   []byte
	body   []byte // as it will lie in the zip
	sum    Sum
	copied bool
	err    error
	done   chan struct{}
}

// NewZipWriter writes a zip to w.
func NewZipWriter(w io.Writer, opts ZipOptions) *ZipWriter {
	buf := bufio.NewWriterSize(w, 1<<20)
	return &ZipWriter{
		opts: opts, buf: buf, zip: zip.NewWriter(buf), names: newNames(),
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// Add appends a member. The zip keeps data until it is written: the caller must not change it. A write that failed is
// told by a later Add or by Close.
func (z *ZipWriter) Add(name string, data []byte) error {
	if z.err != nil {
		return z.err
	}
	if name == SumsFile {
		return fmt.Errorf("add to zip: %w: %s is written by Close", ErrName, name)
	}
	if err := z.names.add(name); err != nil {
		return fmt.Errorf("add to zip: %w", err)
	}
	z.push(name, data)
	for z.bytes > inFlight || len(z.queue) > 1024 {
		z.pop()
	}
	return z.err
}

// Close writes what waits, then SHA256SUMS, then the directory of the zip. It does not close the underlying writer.
func (z *ZipWriter) Close() (Summary, error) {
	for len(z.queue) > 0 {
		z.pop()
	}
	sums := formatSums(z.sums)
	z.push(SumsFile, sums)
	z.pop()
	if z.err == nil {
		z.err = errors.Join(z.zip.Close(), z.buf.Flush())
	}
	if z.err != nil {
		return Summary{}, fmt.Errorf("write zip: %w", z.err)
	}
	z.err = errors.New("zip is closed")
	z.sum.Digest = Sum(sha256.Sum256(sums)).String()
	return z.sum, nil
}

// Abort waits for the compressors, which hold files open, and gives up.
func (z *ZipWriter) Abort() {
	for _, m := range z.queue {
		<-m.done
	}
	z.queue, z.err = nil, errors.New("zip is aborted")
}

// push gives a member to the compressors.
func (z *ZipWriter) push(name string, data []byte) {
	m := &member{data: data, done: make(chan struct{})}
	m.header = &zip.FileHeader{
		Name:           name,
		CreatorVersion: 3<<8 | 20, // made on Unix: the mode stands in ExternalAttrs
		ReaderVersion:  20,
		ExternalAttrs:  0o100644 << 16,
	}
	//lint:ignore SA1019 CreateRaw writes the fields that only this sets, not Modified.
	m.header.SetModTime(z.opts.Modified)
	z.queue = append(z.queue, m)
	z.bytes += int64(len(data))
	z.slots <- struct{}{}
	go func() {
		defer func() { <-z.slots; close(m.done) }()
		m.pack(z.opts.Previous)
	}()
}

// pop writes the oldest member; after an error it only empties the queue.
func (z *ZipWriter) pop() {
	m := z.queue[0]
	z.queue[0] = nil
	z.queue = z.queue[1:]
	<-m.done
	z.bytes -= int64(len(m.data))
	if z.err == nil {
		z.err = z.write(m)
	}
}

func (z *ZipWriter) write(m *member) error {
	if m.err != nil {
		return fmt.Errorf("compress %s: %w", m.header.Name, m.err)
	}
	w, err := z.zip.CreateRaw(m.header)
	if err != nil {
		return fmt.Errorf("write %s: %w", m.header.Name, err)
	}
	if _, err := w.Write(m.body); err != nil {
		return fmt.Errorf("write %s: %w", m.header.Name, err)
	}
	if m.header.Name != SumsFile {
		z.sums = append(z.sums, named{m.header.Name, m.sum})
	}
	z.sum.Files++
	z.sum.Bytes += int64(len(m.data))
	z.sum.CompressedBytes += int64(len(m.body))
	if m.copied {
		z.sum.Copied++
	}
	return nil
}

// pack makes the member's body: the previous zip's where the contents are the same, else a new one.
func (m *member) pack(previous *Zip) {
	m.sum = sha256.Sum256(m.data)
	m.header.CRC32 = crc32.ChecksumIEEE(m.data)
	m.header.UncompressedSize64 = uint64(len(m.data))
	m.header.Method, m.body = zip.Store, m.data
	if len(m.data) >= storeBelow && !m.copyFrom(previous) {
		var deflated []byte
		if deflated, m.err = deflate(m.data); len(deflated) < len(m.data) {
			m.header.Method, m.body = zip.Deflate, deflated
		}
	}
	m.header.CompressedSize64 = uint64(len(m.body))
}

// copyFrom takes the body out of an earlier zip. It is decoded and compared, which costs a fifth of compressing, so that
// damage on disk never spreads from one snapshot to the next.
func (m *member) copyFrom(previous *Zip) bool {
	if previous == nil {
		return false
	}
	old, ok := previous.Lookup(m.header.Name)
	if !ok || old.Sum != m.sum || !old.deflated {
		return false
	}
	body, err := old.deflateOf(m.data)
	if err != nil {
		return false
	}
	m.header.Method, m.body, m.copied = zip.Deflate, body, true
	return true
}

// deflate compresses with a compressor of the pool.
func deflate(data []byte) ([]byte, error) {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var b bytes.Buffer
	b.Grow(len(data)/4 + 64)
	w.Reset(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
