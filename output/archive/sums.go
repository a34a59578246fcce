package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Sum is the SHA-256 of a file's bytes.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Line is one line of SHA256SUMS.
type Line struct {
	Name string
	Sum  Sum
}

// writeSums sorts the lines by name and writes them as sha256sum does: the sum, two spaces, the name.
func writeSums(w io.Writer, lines []Line) error {
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.Name, b.Name) })
	out := bufio.NewWriterSize(w, 64<<10)
	line := make([]byte, 0, longestLine)
	for _, l := range lines {
		line = hex.AppendEncode(line[:0], l.Sum[:])
		line = append(line, "  "...)
		line = append(line, l.Name...)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// FormatSums returns the text that writeSums writes.
func FormatSums(lines []Line) []byte {
	var b bytes.Buffer
	_ = writeSums(&b, lines) // writing to a buffer never fails
	return b.Bytes()
}

// ParseSums is the inverse of FormatSums. It rejects everything that FormatSums does not write.
func ParseSums(data []byte) ([]Line, error) {
	lines := make([]Line, 0, bytes.Count(data, []byte{'\n'}))
	err := EachSum(bytes.NewReader(data), func(name []byte, sum Sum) error {
		if string(name) == SumsFile {
			return errOwnSum
		}
		lines = append(lines, Line{string(name), sum})
		return nil
	})
	return lines, err
}

// errOwnSum marks a SHA256SUMS file that lists itself.
var errOwnSum = fmt.Errorf("%w: %s lists itself", ErrDamaged, SumsFile)

// longestLine is the length of a line with the longest name and its newline.
const longestLine = sumHead + maxName + 1

// EachSum calls do for every line, in order. The names must be sorted and distinct. A name is valid until do returns.
func EachSum(from io.Reader, do func(name []byte, sum Sum) error) error {
	r := bufio.NewReaderSize(from, 64<<10)
	last := make([]byte, 0, maxName)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF, err == nil && len(line) > longestLine, err == bufio.ErrBufferFull:
			return fmt.Errorf("%s line %d: %w: it has no newline", SumsFile, n, ErrDamaged)
		case err != nil:
			return err
		}
		name, sum, err := parseSum(line[:len(line)-1])
		if err != nil {
			return fmt.Errorf("%s line %d: %w", SumsFile, n, err)
		}
		if bytes.Compare(name, last) <= 0 {
			return fmt.Errorf("%s line %d: %w: names are not sorted and distinct", SumsFile, n, ErrDamaged)
		}
		if err := do(name, sum); err != nil {
			return err
		}
		last = append(last[:0], name...)
	}
}

// sumHead is the length of a line before its name.
const sumHead = 2*sha256.Size + 2

// parseSum parses one line without its newline; name is a part of line.
func parseSum(line []byte) (name []byte, sum Sum, err error) {
	if len(line) <= sumHead || string(line[sumHead-2:sumHead]) != "  " {
		return nil, sum, fmt.Errorf("%w: not a sum and a name", ErrDamaged)
	}
	for i := range sum {
		high, low := hexValue[line[2*i]], hexValue[line[2*i+1]]
		if high|low > 15 {
			return nil, sum, fmt.Errorf("%w: not a sum", ErrDamaged)
		}
		sum[i] = high<<4 | low
	}
	name = line[sumHead:]
	if err := checkName(name); err != nil {
		return nil, sum, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return name, sum, nil
}

// hexValue maps each lower-case hexadecimal digit to its value, and every other byte to a value above 15.
var hexValue = func() (of [256]byte) {
	for i := range of {
		of[i] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		of[c] = byte(i)
	}
	return of
}()
