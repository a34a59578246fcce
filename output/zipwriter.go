package output

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	DeflateLevel = 6
	storeBelow   = 64      // bytes; smaller members are stored
	inFlight     = 4 << 20 // bytes of members that wait to be written
	remembered   = 1 << 20 // packed bytes of members that were written, for others with the same contents: most come next
)

// ErrTooLarge marks a file that no member may hold.
var ErrTooLarge = errors.New("too large")

// ZipOptions are what a zip's bytes depend on beside its members.
type ZipOptions struct {
	Modified time.Time // of every member
	Previous *Zip      // members with the same name and bytes are copied from it as they are; may be nil
	Sealed   bool      // Previous is known to be as it was written: what is copied is not unpacked to see
	Aside    Aside     // where the directory waits for Close; nil for memory
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
// But for Pack it is for one goroutine.
type ZipWriter struct {
	opts   ZipOptions
	zip    *zipFile
	claims *claims
	sum    Summary

	queue  []*member // in the order of Add
	bytes  int64     // of the queue's contents
	slots  chan struct{}
	bodies bodies
	err    error // the first; every later call answers it
}

// member is one file on its way into the zip.
type member struct {
	name string
	size int64 // of its contents
	body *body // set before done is closed
	done chan struct{}
}

// Packed is contents as they will lie in the zip whose Pack made it.
type Packed struct{ body *body }

// NewZipWriter writes a zip to w.
func NewZipWriter(w io.Writer, opts ZipOptions) *ZipWriter {
	return &ZipWriter{
		opts: opts, zip: newZipFile(w, opts.Modified, opts.Aside), claims: newClaims(),
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)), bodies: bodies{bySum: map[Sum]*body{}},
	}
}

// Add appends a member and keeps nothing of data. A later Add, or Close, returns the error of a failed write.
func (z *ZipWriter) Add(name string, data []byte) error {
	if err := z.begin(name); err != nil {
		return err
	}
	z.push(name, data)
	for z.bytes > inFlight || len(z.queue) > 1024 {
		z.pop()
	}
	return z.err
}

// begin takes the name of the next member.
func (z *ZipWriter) begin(name string) error {
	if z.err != nil {
		return z.err
	}
	if name == SumsFile {
		return fmt.Errorf("add to zip: %w: %s is written by Close", ErrName, name)
	}
	if err := z.claims.take(name); err != nil {
		return fmt.Errorf("add to zip: %w", err)
	}
	return nil
}

// Pack packs the contents of a member that AddPacked will add, and keeps nothing of data. Several goroutines may pack at once.
func (z *ZipWriter) Pack(name string, data []byte) Packed { return Packed{z.pack(name, data)} }

func (z *ZipWriter) pack(name string, data []byte) *body {
	return z.bodies.of(data, func(b *body) { b.pack(name, data, &z.opts) })
}

// TakeOver answers what AddPacked will add: a member of the previous zip as it lies there. It is false where there is none, or
// where that zip is not known to be as it was written. Several goroutines may call it at once.
func (z *ZipWriter) TakeOver(name string) (Packed, bool) {
	if z.opts.Previous == nil || !z.opts.Sealed {
		return Packed{}, false
	}
	m, ok := z.opts.Previous.Lookup(name)
	if !ok {
		return Packed{}, false
	}
	raw, err := m.raw()
	if err != nil {
		return Packed{}, false
	}
	return Packed{&body{sum: m.Sum, crc: m.crc, size: int(m.Size), packed: raw, deflated: m.deflated, copied: true}}, true
}

// Contents unpacks.
func (p Packed) Contents() ([]byte, error) {
	b := p.body
	if !b.deflated {
		return b.packed, b.err
	}
	m := Member{Size: int64(b.size), Sum: b.sum, deflated: true}
	var data bytes.Buffer
	err := m.decode(&data, bytes.NewReader(b.packed))
	return data.Bytes(), err
}

// AddPacked appends a member of packed contents, behind all that wait.
func (z *ZipWriter) AddPacked(name string, p Packed) error {
	for len(z.queue) > 0 {
		z.pop()
	}
	if err := z.begin(name); err != nil {
		return err
	}
	z.put(name, p.body)
	return z.err
}

// Close writes what waits, then SHA256SUMS, then the directory of the zip. It does not close the underlying writer.
func (z *ZipWriter) Close() (Summary, error) {
	for len(z.queue) > 0 {
		z.pop()
	}
	if z.err == nil {
		z.err = z.finish()
	}
	if z.err != nil {
		return Summary{}, fmt.Errorf("write zip: %w", z.err)
	}
	z.err = errors.New("zip is closed")
	return z.sum, nil
}

func (z *ZipWriter) finish() error {
	z.claims = nil
	all, err := z.zip.members.read()
	if err != nil {
		return err
	}
	sums, err := packSums(all)
	if err != nil {
		return fmt.Errorf("compress %s: %w", SumsFile, err)
	}
	if err := z.write(SumsFile, sums); err != nil {
		return err
	}
	z.sum.Digest = sums.sum.String()
	all.add(z.zip.members.line)
	return z.zip.close(all)
}

// packSums makes the body of SHA256SUMS, which is the largest member: its text is never in memory as a whole, unless it is
// so short that packing does not pay.
func packSums(all *told) (*body, error) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.reset()
	b, sum, crc, order := &body{deflated: true}, sha256.New(), crc32.NewIEEE(), all.sorted()
	var count byteCount
	if err := errors.Join(all.writeSums(io.MultiWriter(sum, crc, &count, d.w), order), d.w.Close()); err != nil {
		return nil, err
	}
	b.sum, b.crc, b.size = Sum(sum.Sum(nil)), crc.Sum32(), int(count)
	if b.packed = bytes.Clone(d.b.Bytes()); len(b.packed) < b.size && b.size >= storeBelow {
		return b, nil
	}
	var text bytes.Buffer
	b.deflated = false
	err := all.writeSums(&text, order)
	b.packed = text.Bytes()
	return b, err
}

// byteCount counts what is written to it.
type byteCount int

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
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
	z.slots <- struct{}{}
	own := copies.Get().(*[]byte)
	m := &member{name: name, size: int64(len(data)), done: make(chan struct{})}
	*own = append((*own)[:0], data...)
	z.queue = append(z.queue, m)
	z.bytes += m.size
	go func() {
		defer func() { copies.Put(own); <-z.slots; close(m.done) }()
		m.body = z.pack(name, *own)
	}()
}

// copies are contents that wait to be packed: no more than there are slots.
var copies = sync.Pool{New: func() any { return new([]byte) }}

// pop writes the oldest member; after an error it only empties the queue.
func (z *ZipWriter) pop() {
	m := z.queue[0]
	z.queue[0] = nil
	z.queue = z.queue[1:]
	<-m.done
	z.bytes -= m.size
	z.put(m.name, m.body)
}

// put writes a member unless an earlier one failed.
func (z *ZipWriter) put(name string, b *body) {
	if z.err == nil {
		z.err = z.write(name, b)
	}
	z.bodies.written(b)
}

// write appends the next member.
func (z *ZipWriter) write(name string, b *body) error {
	if b.err != nil {
		return fmt.Errorf("compress %s: %w", name, b.err)
	}
	if err := z.zip.add(name, b); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	z.sum.Files++
	z.sum.Bytes += int64(b.size)
	z.sum.CompressedBytes += int64(len(b.packed))
	if b.copied {
		z.sum.Copied++
	}
	return nil
}
