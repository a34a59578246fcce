package archive

import (
	"strings"
	"testing"
)

// FuzzParseSums: what is taken for a list of sums is byte for byte the list that would be written of it, so that two
// texts never stand for the same files.
func FuzzParseSums(f *testing.F) {
	sum := strings.Repeat("0f", 32)
	f.Add([]byte(""))
	f.Add([]byte(sum + "  a\n" + sum + "  v1/services.json\n"))
	f.Add([]byte(sum + "  b\n" + sum + "  a\n"))
	f.Add([]byte(sum + " *a\n"))
	f.Add([]byte(strings.ToUpper(sum) + "  a\n"))
	f.Add([]byte(sum + "  ../a\n"))
	f.Add([]byte(sum + "  SHA256SUMS\n"))
	f.Add([]byte(sum + "  a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ParseSums(data)
		if err != nil {
			return
		}
		for _, l := range lines {
			if err := CheckName(l.Name); err != nil {
				t.Errorf("%q is taken: %v", l.Name, err)
			}
		}
		if again := FormatSums(lines); string(again) != string(data) {
			t.Errorf("%q is read as %q", data, again)
		}
	})
}
