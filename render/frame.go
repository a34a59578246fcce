package render

import (
	"bytes"
	"errors"
	"fmt"

	"tollbook/site"
)

// A list is written with a row a line, so that cutting a window out of it is splitting lines, not parsing.
const frameTail = "}\n"

// RowEnd is between two rows.
const RowEnd = ",\n"

// frame is the pieces of a framed file before the rows and before its meta. No route's names need escapes.
func frame(f site.Framing) (head, meta string) {
	if f == (site.Framing{}) {
		return "{\"data\":[\n", "],\"meta\":"
	}
	return "{" + f.Lead + "\"" + f.Rows + "\":[\n", "],\"" + f.Meta + "\":"
}

// ErrFrame marks bytes that Frame did not write.
var ErrFrame = errors.New("not a framed list")

// Frame writes a list: rows and meta are compact JSON, which holds no newline.
//
//	{"data":[
//	{"slug":"acme"},
//	{"slug":"zeta"}
//	],"meta":{"total":2}}
func Frame(rows [][]byte, meta []byte) []byte { return FrameAs(site.Framing{}, rows, meta) }

// FrameAs writes a list under a route's own names.
func FrameAs(f site.Framing, rows [][]byte, meta []byte) []byte {
	frameHead, frameMeta := frame(f)
	size := len(frameHead) + len(frameMeta) + len(meta) + len(frameTail)
	for _, r := range rows {
		size += len(r) + len(RowEnd)
	}
	return AppendFrame(make([]byte, 0, size), f, rows, meta)
}

// AppendFrame appends what FrameAs answers.
func AppendFrame(b []byte, f site.Framing, rows [][]byte, meta []byte) []byte {
	frameHead, frameMeta := frame(f)
	b = append(b, frameHead...)
	for i, r := range rows {
		b = append(b, r...)
		if i < len(rows)-1 {
			b = append(b, ',')
		}
		b = append(b, '\n')
	}
	b = append(b, frameMeta...)
	b = append(b, meta...)
	return append(b, frameTail...)
}

// AppendFrameOf appends what FrameAs answers of a list whose rows and meta are not encoded yet.
func AppendFrameOf[T any](b []byte, f site.Framing, list []T, meta any) (_ []byte, err error) {
	frameHead, frameMeta := frame(f)
	b = append(b, frameHead...)
	for i := range list {
		if b, err = AppendRow(b, &list[i]); err != nil {
			return b, err
		}
		if i < len(list)-1 {
			b = append(b, ',')
		}
		b = append(b, '\n')
	}
	b = append(b, frameMeta...)
	if b, err = AppendRow(b, &meta); err != nil {
		return b, err
	}
	return append(b, frameTail...), nil
}

// Ends is what FrameAs writes before the first row and behind the last one and its newline. meta is compact JSON.
func Ends(f site.Framing, meta []byte) (head, tail []byte) {
	frameHead, frameMeta := frame(f)
	return []byte(frameHead), append(append([]byte(frameMeta), meta...), frameTail...)
}

// Rows is the inverse of Frame. Rows and meta are parts of file. It looks at lines alone: what a row holds is not
// parsed.
func Rows(file []byte) (rows [][]byte, meta []byte, err error) { return RowsAs(site.Framing{}, file) }

// MetaAs is the meta of a list, found at its end without looking at the rows.
func MetaAs(f site.Framing, file []byte) ([]byte, error) {
	_, frameMeta := frame(f)
	body, ok := bytes.CutSuffix(file, []byte(frameTail))
	if !ok {
		return nil, fmt.Errorf("%w: no end", ErrFrame)
	}
	meta, ok := bytes.CutPrefix(body[bytes.LastIndexByte(body, '\n')+1:], []byte(frameMeta))
	if !ok || len(meta) == 0 {
		return nil, fmt.Errorf("%w: no meta", ErrFrame)
	}
	return meta, nil
}

// RowsAs is the inverse of FrameAs.
func RowsAs(f site.Framing, file []byte) (rows [][]byte, meta []byte, err error) {
	frameHead, frameMeta := frame(f)
	body, ok := bytes.CutPrefix(file, []byte(frameHead))
	if !ok {
		return nil, nil, fmt.Errorf("%w: no head", ErrFrame)
	}
	if body, ok = bytes.CutSuffix(body, []byte(frameTail)); !ok {
		return nil, nil, fmt.Errorf("%w: no end", ErrFrame)
	}
	more := false // the line before ended in a comma
	for {
		line, rest, found := bytes.Cut(body, []byte{'\n'})
		if !found {
			if meta, ok = bytes.CutPrefix(body, []byte(frameMeta)); !ok || more || len(meta) == 0 {
				return nil, nil, fmt.Errorf("%w: line %d is no meta", ErrFrame, len(rows)+2)
			}
			return rows, meta, nil
		}
		if len(rows) > 0 && !more {
			return nil, nil, fmt.Errorf("%w: no comma before line %d", ErrFrame, len(rows)+2)
		}
		if line, more = bytes.CutSuffix(line, []byte{','}); len(line) == 0 {
			return nil, nil, fmt.Errorf("%w: line %d is empty", ErrFrame, len(rows)+2)
		}
		rows, body = append(rows, line[:len(line):len(line)]), rest
	}
}
