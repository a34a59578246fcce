package output

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"time"
)

// zipFile writes the bytes of a zip: members as they come, then its directory.
type zipFile struct {
	out     *bufio.Writer
	at      int64 // bytes written
	stamp   uint32
	members *members
	head    []byte // a header on its way
}

// Of members: what they need of a reader, and that they are plain files that their owner may write, made on Unix.
const (
	needsVersion   = 20
	madeByUnix     = 3<<8 | 20
	plainFile      = 0o100644 << 16
	needsVersion64 = 45
)

func newZipFile(w io.Writer, modified time.Time, aside Aside) *zipFile {
	return &zipFile{out: bufio.NewWriterSize(w, 256<<10), stamp: dosTime(modified), members: newMembers(aside)}
}

// dosTime is a time as zips have it: two seconds fine, the date in the upper half.
func dosTime(t time.Time) uint32 {
	t = t.UTC()
	date := t.Day() | int(t.Month())<<5 | (t.Year()-1980)<<9
	return uint32(date)<<16 | uint32(t.Second()/2|t.Minute()<<5|t.Hour()<<11)
}

// add writes a member with its header.
func (z *zipFile) add(name string, b *body) error {
	if uint64(b.size) >= math.MaxUint32 || uint64(len(b.packed)) >= math.MaxUint32 {
		return fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, name, b.size)
	}
	e := entry{sum: b.sum, crc: b.crc, packed: uint32(len(b.packed)), size: uint32(b.size), low: uint32(z.at), high: uint32(z.at >> 32)}
	if b.deflated {
		e.high |= entryDeflated
	}
	if err := z.members.add(name, &e); err != nil {
		return err
	}
	h := binary.LittleEndian.AppendUint32(z.head[:0], localMark)
	h = z.appendCommon(h, &e, e.packed, e.size, len(name), 0)
	h = append(h, name...)
	z.head = h
	return z.write(h, b.packed)
}

// appendCommon appends what a local header and a record of the directory both have, from the version to the extra's length.
func (z *zipFile) appendCommon(h []byte, e *entry, packed, size uint32, name, extra int) []byte {
	le := binary.LittleEndian
	method := uint16(methodStore)
	if e.high&entryDeflated != 0 {
		method = methodDeflate
	}
	h = le.AppendUint16(h, needsVersion)
	h = le.AppendUint16(h, 0) // flags
	h = le.AppendUint16(h, method)
	h = le.AppendUint32(h, z.stamp)
	h = le.AppendUint32(h, e.crc)
	h = le.AppendUint32(h, packed)
	h = le.AppendUint32(h, size)
	h = le.AppendUint16(h, uint16(name))
	return le.AppendUint16(h, uint16(extra))
}

func (z *zipFile) write(parts ...[]byte) error {
	for _, p := range parts {
		n, err := z.out.Write(p)
		z.at += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// close writes the directory, of all members as they were told, and the end.
func (z *zipFile) close(all *told) error {
	begins := z.at
	for _, at := range all.begin {
		e := all.entry(at)
		z.head = z.appendRecord(z.head[:0], &e, all.name(at))
		if err := z.write(z.head); err != nil {
			return err
		}
	}
	if err := z.write(appendEnd(z.head[:0], zipEnd{records: int64(len(all.begin)), at: begins, size: z.at - begins})); err != nil {
		return err
	}
	return z.out.Flush()
}

// appendRecord appends a member's record of the directory. One that lies beyond 32 bits has an extra field for it.
func (z *zipFile) appendRecord(h []byte, e *entry, name []byte) []byte {
	le := binary.LittleEndian
	packed, size, at, extra := e.packed, e.size, uint32(e.at()), 0
	if e.at() >= math.MaxUint32 {
		packed, size, at, extra = math.MaxUint32, math.MaxUint32, math.MaxUint32, 4+3*8
	}
	h = le.AppendUint32(h, recordMark)
	h = le.AppendUint16(h, madeByUnix)
	h = z.appendCommon(h, e, packed, size, len(name), extra)
	h = append(h, 0, 0, 0, 0, 0, 0) // no comment; the first disk; no inner attributes
	h = le.AppendUint32(h, plainFile)
	h = le.AppendUint32(h, at)
	h = append(h, name...)
	if extra > 0 {
		h = le.AppendUint16(h, extra64)
		h = le.AppendUint16(h, uint16(extra-4))
		h = le.AppendUint64(h, uint64(e.size))
		h = le.AppendUint64(h, uint64(e.packed))
		h = le.AppendUint64(h, uint64(e.at()))
	}
	return h
}

// appendEnd appends the end of a zip, in the form for large ones too where it is one.
func appendEnd(h []byte, e zipEnd) []byte {
	le := binary.LittleEndian
	records, size, at := e.records, e.size, e.at
	if records >= math.MaxUint16 || size >= math.MaxUint32 || at >= math.MaxUint32 {
		h = le.AppendUint32(h, end64Mark)
		h = le.AppendUint64(h, end64Head-12) // what follows
		h = le.AppendUint16(h, needsVersion64)
		h = le.AppendUint16(h, needsVersion64)
		h = append(h, 0, 0, 0, 0, 0, 0, 0, 0) // disks
		h = le.AppendUint64(h, uint64(records))
		h = le.AppendUint64(h, uint64(records))
		h = le.AppendUint64(h, uint64(size))
		h = le.AppendUint64(h, uint64(at))
		h = le.AppendUint32(h, end64LocMark)
		h = le.AppendUint32(h, 0)
		h = le.AppendUint64(h, uint64(at+size))
		h = le.AppendUint32(h, 1) // disks in all
		records, size, at = math.MaxUint16, math.MaxUint32, math.MaxUint32
	}
	h = le.AppendUint32(h, endMark)
	h = append(h, 0, 0, 0, 0) // disks
	h = le.AppendUint16(h, uint16(records))
	h = le.AppendUint16(h, uint16(records))
	h = le.AppendUint32(h, uint32(size))
	h = le.AppendUint32(h, uint32(at))
	return append(h, 0, 0) // no comment
}

// writeSums writes the lines of SHA256SUMS of members in their order.
func (t *told) writeSums(w io.Writer, order []uint64) error {
	lines := bufio.NewWriterSize(w, 64<<10)
	line := make([]byte, 0, longestLine)
	for _, at := range order {
		e := t.entry(at)
		line = hex.AppendEncode(line[:0], e.sum[:])
		line = append(line, ' ', ' ')
		line = append(line, t.name(at)...)
		if _, err := lines.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return lines.Flush()
}
