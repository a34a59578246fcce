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

// Sum is the sha256 of a file's bytes.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// named is one line of SHA256SUMS.
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

// formatSums returns the text that writeSums writes.
func FormatSums(lines []Line) []byte {
	var b bytes.Buffer
	_ = writeSums(&b, lines) // a buffer returns no error
	return b.Bytes()
}

// parseSums is the inverse of formatSums. It takes nothing that formatSums would not write.
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

// errOwnSum is the answer to sums that have their own among them.
var errOwnSum = fmt.Errorf("%w: %s has a sum in itself", ErrDamaged, SumsFile)

// longestLine is a line of SHA256SUMS with the longest name and its end.
const longestLine = sumHead + maxName + 1

// eachSum reads lines one after the other, of which the names are sorted and distinct. A name is only good until do
// answers.
func EachSum(from io.Reader, do func(name []byte, sum Sum) error) error {
	r := bufio.NewReaderSize(from, 64<<10)
	last := make([]byte, 0, maxName)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF, err == nil && len(line) > longestLine, err == bufio.ErrBufferFull:
			return fmt.Errorf("%s line %d: %w: it does not end", SumsFile, n, ErrDamaged)
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

// sumHead is how much stands before a name.
const sumHead = 2*sha256.Size + 2

// parseSum reads one line without its end; name is a part of it.
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

// hexValue is what a small hexadecimal digit stands for, more than 15 for every other byte.
var hexValue = func() (of [256]byte) {
	for i := range of {
		of[i] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		of[c] = byte(i)
	}
	return of
}()
