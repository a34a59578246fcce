package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Sum is the sha256 of a file's bytes.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// named is one line of SHA256SUMS.
type named struct {
	name string
	sum  Sum
}

// formatSums sorts the lines by name and writes them as sha256sum does: the sum, two spaces, the name.
func formatSums(lines []named) []byte {
	slices.SortFunc(lines, func(a, b named) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(hex.EncodeToString(l.sum[:]))
		b.WriteString("  ")
		b.WriteString(l.name)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// parseSums is the inverse of formatSums. It takes nothing that formatSums would not write.
func parseSums(data []byte) ([]named, error) {
	lines := make([]named, 0, bytes.Count(data, []byte{'\n'}))
	text, last := string(data), ""
	for n := 1; text != ""; n++ {
		line, rest, ended := strings.Cut(text, "\n")
		if !ended {
			return nil, fmt.Errorf("%s line %d: %w: it does not end", SumsFile, n, ErrDamaged)
		}
		l, err := parseSum(line)
		if err != nil {
			return nil, fmt.Errorf("%s line %d: %w", SumsFile, n, err)
		}
		if l.name <= last || l.name == SumsFile {
			return nil, fmt.Errorf("%s line %d: %w: names are not sorted and distinct", SumsFile, n, ErrDamaged)
		}
		lines, text, last = append(lines, l), rest, l.name
	}
	return lines, nil
}

// parseSum reads one line without its end.
func parseSum(line string) (l named, err error) {
	const head = 2*sha256.Size + 2
	if len(line) <= head || line[head-2:head] != "  " {
		return l, fmt.Errorf("%w: not a sum and a name", ErrDamaged)
	}
	l.name = line[head:]
	if _, err := hex.Decode(l.sum[:], []byte(line[:head-2])); err != nil || strings.ToLower(line[:head-2]) != line[:head-2] {
		return l, fmt.Errorf("%w: not a sum", ErrDamaged)
	}
	if err := CheckName(l.name); err != nil {
		return l, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return l, nil
}
