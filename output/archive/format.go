package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Constants of the zip format, from PKWARE's APPNOTE.TXT.
const (
	localHead     = 30 // bytes before name and extra field
	recordHead    = 46 // bytes of a directory record before name, extra field and comment
	endHead       = 22
	end64Locator  = 20
	end64Head     = 56
	localMark     = 0x04034b50
	recordMark    = 0x02014b50
	endMark       = 0x06054b50
	end64LocMark  = 0x07064b50
	end64Mark     = 0x06064b50
	extra64       = 1 // id of the extra field for sizes and offsets beyond 32 bits
	methodStore   = 0
	methodDeflate = 8
)

// zipEnd gives the position of a zip's directory.
type zipEnd struct{ records, at, size int64 }

// readZipEnd reads the end of a zip that ZipWriter wrote: it has no comment, and the end follows the directory
// directly.
func readZipEnd(r io.ReaderAt, size int64) (zipEnd, error) {
	if size < endHead { // -1 if a server does not say it
		return zipEnd{}, fmt.Errorf("%w: it has %d bytes", ErrDamaged, size)
	}
	tail := make([]byte, min(size, endHead+end64Locator+end64Head))
	if err := readFullAt(r, tail, size-int64(len(tail))); err != nil {
		return zipEnd{}, err
	}
	le := binary.LittleEndian
	if le.Uint32(tail[len(tail)-endHead:]) != endMark {
		return zipEnd{}, fmt.Errorf("%w: the end is missing", ErrDamaged)
	}
	b := tail[len(tail)-endHead:]
	e := zipEnd{records: int64(le.Uint16(b[10:])), size: int64(le.Uint32(b[12:])), at: int64(le.Uint32(b[16:]))}
	one := le.Uint32(b[4:]) == 0 && int64(le.Uint16(b[8:])) == e.records && le.Uint16(b[20:]) == 0
	ends := size - endHead
	if e.records == math.MaxUint16 || e.size == math.MaxUint32 || e.at == math.MaxUint32 {
		ends -= end64Locator + end64Head
		if ends < 0 {
			return zipEnd{}, fmt.Errorf("%w: the ZIP64 end is incomplete", ErrDamaged)
		}
		locator := tail[end64Head:]
		one = one && le.Uint32(tail) == end64Mark && le.Uint32(locator) == end64LocMark &&
			le.Uint64(locator[8:]) == uint64(ends) &&
			le.Uint64(tail[24:]) == le.Uint64(tail[32:])
		e = zipEnd{records: int64(le.Uint64(tail[32:])), size: int64(le.Uint64(tail[40:])),
			at: int64(le.Uint64(tail[48:]))}
	}
	if !one || e.at < 0 || e.size < 0 || e.at > ends || e.size != ends-e.at || e.records < 0 ||
		e.records > e.size/recordHead {
		return zipEnd{}, fmt.Errorf("%w: its end does not match its size", ErrDamaged)
	}
	return e, nil
}

// record is a file as described by the directory of a zip.
type record struct {
	name         []byte
	method       uint16
	crc          uint32
	packed, size uint64
	at           uint64 // of the local header
}

// errShort marks a piece of a directory that ends within a record.
var errShort = errors.New("the directory ends within a record")

// parseRecord parses the record at the beginning of b and returns its length. The record refers to b.
func parseRecord(b []byte) (rec record, length int, err error) {
	le := binary.LittleEndian
	if len(b) < recordHead {
		return rec, 0, errShort
	}
	if le.Uint32(b) != recordMark {
		return rec, 0, fmt.Errorf("%w: a directory record has a wrong signature", ErrDamaged)
	}
	name, extra, comment := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	if length = recordHead + name + extra + comment; len(b) < length {
		return rec, 0, errShort
	}
	rec = record{
		name: b[recordHead : recordHead+name], method: le.Uint16(b[10:]), crc: le.Uint32(b[16:]),
		packed: uint64(le.Uint32(b[20:])), size: uint64(le.Uint32(b[24:])), at: uint64(le.Uint32(b[42:])),
	}
	for x := b[recordHead+name : recordHead+name+extra]; len(x) >= 4; {
		id, size := le.Uint16(x), int(le.Uint16(x[2:]))
		if x = x[4:]; size > len(x) {
			return rec, 0, fmt.Errorf("%w: a field of %.80q ends beyond its record", ErrDamaged, rec.name)
		}
		if id == extra64 {
			rec.readExtra64(x[:size])
		}
		x = x[size:]
	}
	return rec, length, nil
}

// readExtra64 reads the values that do not fit into 32 bits from their extra field.
func (r *record) readExtra64(field []byte) {
	for _, v := range []*uint64{&r.size, &r.packed, &r.at} {
		if *v == math.MaxUint32 && len(field) >= 8 {
			*v, field = binary.LittleEndian.Uint64(field), field[8:]
		}
	}
}

// pieceSize is the number of bytes of a directory that are read at once. No record is longer.
const pieceSize = 1 << 20

// eachRecord calls do for every record of a directory, in order.
func eachRecord(r io.ReaderAt, end zipEnd, do func(record) error) error {
	buf := make([]byte, 0, min(pieceSize, end.size))
	at, count := end.at, int64(0)
	for rest := end.size; rest > 0 || len(buf) > 0; {
		n := int(min(int64(cap(buf)-len(buf)), rest))
		if err := readFullAt(r, buf[len(buf):len(buf)+n], at); err != nil {
			return err
		}
		buf, at, rest = buf[:len(buf)+n], at+int64(n), rest-int64(n)
		used := 0
		for used < len(buf) {
			rec, length, err := parseRecord(buf[used:])
			if err == errShort && rest > 0 {
				break
			}
			if err != nil {
				return asDamaged(err)
			}
			if err := do(rec); err != nil {
				return err
			}
			used, count = used+length, count+1
		}
		buf = buf[:copy(buf, buf[used:])]
	}
	if count != end.records {
		return fmt.Errorf("%w: %d files in its directory, %d by its end", ErrDamaged, count, end.records)
	}
	return nil
}

// lastRecord returns the last record of a directory, which must be that of SHA256SUMS. It searches from the end.
func lastRecord(r io.ReaderAt, end zipEnd) (record, error) {
	tail := make([]byte, min(end.size, 128))
	if err := readFullAt(r, tail, end.at+end.size-int64(len(tail))); err != nil {
		return record{}, err
	}
	for from := len(tail) - recordHead - len(SumsFile); from >= 0; from-- {
		if binary.LittleEndian.Uint32(tail[from:]) != recordMark {
			continue
		}
		if rec, length, err := parseRecord(tail[from:]); err == nil && from+length == len(tail) &&
			string(rec.name) == SumsFile {
			return rec, nil
		}
	}
	return record{}, fmt.Errorf("%w: its last member is not %s", ErrDamaged, SumsFile)
}

// readFullAt fills b from offset at.
func readFullAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return asDamaged(err)
	}
	return nil
}

// Fields of members: the version that a reader needs, and the attributes of plain files on Unix that their owner may
// write.
const (
	needsVersion   = 20
	needsVersion64 = 45
	madeByUnix     = 3<<8 | 20
	plainFile      = 0o100644 << 16
)

// dosTime returns a time as zips store it: two-second steps, with the date in the upper half.
func dosTime(t time.Time) uint32 {
	t = t.UTC()
	date := t.Day() | int(t.Month())<<5 | (t.Year()-1980)<<9
	return uint32(date)<<16 | uint32(t.Second()/2|t.Minute()<<5|t.Hour()<<11)
}

// appendLocal appends the local header of a member.
func appendLocal(h []byte, e *entry, name string, modified uint32) []byte {
	h = binary.LittleEndian.AppendUint32(h, localMark)
	h = appendCommon(h, e, e.packed, e.size, modified, len(name), 0)
	return append(h, name...)
}

// appendCommon appends the fields that a local header and a directory record share, from the flags to the length of the
// extra field.
func appendCommon(h []byte, e *entry, packed, size, modified uint32, name, extra int) []byte {
	le := binary.LittleEndian
	method := uint16(methodStore)
	if e.offsetHigh&entryDeflated != 0 {
		method = methodDeflate
	}
	h = le.AppendUint16(h, needsVersion)
	h = le.AppendUint16(h, 0) // flags
	h = le.AppendUint16(h, method)
	h = le.AppendUint32(h, modified)
	h = le.AppendUint32(h, e.crc)
	h = le.AppendUint32(h, packed)
	h = le.AppendUint32(h, size)
	h = le.AppendUint16(h, uint16(name))
	return le.AppendUint16(h, uint16(extra))
}

// appendRecord appends the directory record of a member. A member beyond the first 4 GiB has an extra field for its
// offset.
func appendRecord(h []byte, e *entry, name []byte, modified uint32) []byte {
	le := binary.LittleEndian
	packed, size, at, extra := e.packed, e.size, uint32(e.offset()), 0
	if e.offset() >= math.MaxUint32 {
		packed, size, at, extra = math.MaxUint32, math.MaxUint32, math.MaxUint32, 4+3*8
	}
	h = le.AppendUint32(h, recordMark)
	h = le.AppendUint16(h, madeByUnix)
	h = appendCommon(h, e, packed, size, modified, len(name), extra)
	h = append(h, 0, 0, 0, 0, 0, 0) // no comment, first disk, no internal attributes
	h = le.AppendUint32(h, plainFile)
	h = le.AppendUint32(h, at)
	h = append(h, name...)
	if extra > 0 {
		h = le.AppendUint16(h, extra64)
		h = le.AppendUint16(h, uint16(extra-4))
		h = le.AppendUint64(h, uint64(e.size))
		h = le.AppendUint64(h, uint64(e.packed))
		h = le.AppendUint64(h, uint64(e.offset()))
	}
	return h
}

// appendEnd appends the end of a zip. A large zip gets the ZIP64 end as well.
func appendEnd(h []byte, e zipEnd) []byte {
	le := binary.LittleEndian
	records, size, at := e.records, e.size, e.at
	if records >= math.MaxUint16 || size >= math.MaxUint32 || at >= math.MaxUint32 {
		h = le.AppendUint32(h, end64Mark)
		h = le.AppendUint64(h, end64Head-12) // size of the rest of the ZIP64 end
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
		h = le.AppendUint32(h, 1) // number of disks
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
