package output

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/klauspost/compress/flate"
)

// ZipWriter writes members in the order of Add while all cores compress. The same options and the same calls give the same
// bytes. Only Pack and TakeOver may be called by several goroutines.
type ZipWriter struct {
	opts    ZipOptions
	zip     *zip.Writer
	header  zip.FileHeader // the fields that all members share
	names   nameSet
	sums    []named // in the order of writing
	summary Summary

	queue []queued      // in the order of Add
	busy  chan struct{} // has an element for each goroutine that compresses
	err   error         // the first; every later call returns it
}

// ZipOptions are what a zip's bytes depend on beside its members.
type ZipOptions struct {
	Modified time.Time // of every member
	Previous *Zip      // members with the same name and content are copied from it packed; may be nil
}

// Summary counts a finished zip.
type Summary struct {
	Files           int    // members, SHA256SUMS among them
	Bytes           int64  // of their contents
	CompressedBytes int64  // of their contents as the zip stores them
	Copied          int    // members copied from the previous zip without compressing
	Digest          string // sha256 of SHA256SUMS in hex: the same for the same names and contents
}

// queued is a member that waits to be written.
type queued struct {
	name   string
	packed chan Packed // receives its contents once they are packed
}

// madeByUnix and plainFile say of a member that it is a plain file, made on Unix, that its owner may write.
const (
	madeByUnix   = 3<<8 | 20
	plainFile    = 0o100644 << 16
	needsVersion = 20
)

// NewZipWriter returns a writer of a zip to w.
func NewZipWriter(w io.Writer, opts ZipOptions) *ZipWriter {
	z := &ZipWriter{
		opts:   opts,
		zip:    zip.NewWriter(bufio.NewWriterSize(w, 256<<10)),
		header: zip.FileHeader{CreatorVersion: madeByUnix, ReaderVersion: needsVersion, ExternalAttrs: plainFile},
		names:  nameSet{},
		busy:   make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	//lint:ignore SA1019 CreateRaw writes the fields that only SetModTime sets, not Modified.
	z.header.SetModTime(opts.Modified)
	z.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, DeflateLevel)
	})
	return z
}

// Add appends a member, and does not keep data. An error of writing is returned by a later Add or by Close.
func (z *ZipWriter) Add(name string, data []byte) error {
	if err := z.addName(name); err != nil {
		return err
	}
	m := queued{name, make(chan Packed, 1)}
	own := bytes.Clone(data)
	z.busy <- struct{}{}
	go func() {
		m.packed <- z.Pack(name, own)
		<-z.busy
	}()
	z.queue = append(z.queue, m)
	for len(z.queue) > 4*cap(z.busy) {
		z.writeOldest()
	}
	return z.err
}

// AddPacked appends a member of packed contents.
func (z *ZipWriter) AddPacked(name string, p Packed) error {
	z.writeQueue()
	if err := z.addName(name); err != nil {
		return err
	}
	z.write(name, p)
	return z.err
}

func (z *ZipWriter) addName(name string) error {
	if z.err != nil {
		return z.err
	}
	if name == SumsFile {
		return fmt.Errorf("add to zip: %w: %s is written by Close", ErrName, name)
	}
	if err := z.names.add(name); err != nil {
		return fmt.Errorf("add to zip: %w", err)
	}
	return nil
}

func (z *ZipWriter) writeQueue() {
	for len(z.queue) > 0 {
		z.writeOldest()
	}
}

// writeOldest waits for the oldest member of the queue and writes it.
func (z *ZipWriter) writeOldest() {
	m := z.queue[0]
	z.queue[0] = queued{}
	z.queue = z.queue[1:]
	z.write(m.name, <-m.packed)
}

// write writes a member, unless an earlier one failed.
func (z *ZipWriter) write(name string, p Packed) {
	if z.err != nil {
		return
	}
	if uint64(p.size) >= math.MaxUint32 { // readers refuse it
		z.err = fmt.Errorf("write %s: %d bytes are too large for a member", name, p.size)
		return
	}
	h := z.header
	h.Name, h.CRC32 = name, p.crc
	h.UncompressedSize64, h.CompressedSize64 = uint64(p.size), uint64(len(p.bytes))
	if p.deflated {
		h.Method = zip.Deflate
	}
	w, err := z.zip.CreateRaw(&h)
	if err == nil {
		_, err = w.Write(p.bytes)
	}
	if err != nil {
		z.err = fmt.Errorf("write %s: %w", name, err)
		return
	}
	z.sums = append(z.sums, named{name, p.sum})
	z.summary.Files++
	z.summary.Bytes += int64(p.size)
	z.summary.CompressedBytes += int64(len(p.bytes))
	if p.copied {
		z.summary.Copied++
	}
}

// Close writes the rest of the queue, SHA256SUMS and the directory of the zip. It does not close the underlying writer.
func (z *ZipWriter) Close() (Summary, error) {
	z.writeQueue()
	if z.err == nil {
		z.err = z.finish()
	}
	if z.err != nil {
		return Summary{}, fmt.Errorf("write zip: %w", z.err)
	}
	z.err = errors.New("zip is closed")
	return z.summary, nil
}

func (z *ZipWriter) finish() error {
	h := z.header
	h.Name, h.Method = SumsFile, zip.Deflate
	w, err := z.zip.CreateHeader(&h)
	if err != nil {
		return err
	}
	digest := sha256.New()
	if err := writeSums(io.MultiWriter(w, digest), z.sums); err != nil {
		return fmt.Errorf("write %s: %w", SumsFile, err)
	}
	if err := z.zip.Close(); err != nil {
		return err
	}
	z.summary.Files++
	z.summary.Bytes += int64(h.UncompressedSize64)
	z.summary.CompressedBytes += int64(h.CompressedSize64)
	z.summary.Digest = Sum(digest.Sum(nil)).String()
	return nil
}

// Abort gives up. It waits for the goroutines that compress, because they may read the previous zip.
func (z *ZipWriter) Abort() {
	for _, m := range z.queue {
		<-m.packed
	}
	z.queue, z.err = nil, errors.New("zip is aborted")
}
